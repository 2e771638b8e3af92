"""Exceptions. All of them are `hmcvi.Error`; their words are those of the program `hmcvi`."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Something that hmcvi cannot do as it was asked."""


class ModelError(Error, ValueError):
    """A model whose parts do not fit together. `variable` is the name of the part, where there is one."""

    def __init__(self, message: str, variable: str | None = None) -> None:
        super().__init__(message)
        self.variable = variable


class DataError(Error, ValueError):
    """Data that are missing, or that a model cannot take. `variable` is their name, where there is one."""

    def __init__(self, message: str, variable: str | None = None) -> None:
        super().__init__(message)
        self.variable = variable


class StanError(ModelError):
    """A Stan program that cannot be run, with its line and column, from 1."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class SettingError(Error, ValueError):
    """A setting that there is not, or that cannot have this value."""


class FitError(Error, RuntimeError):
    """A fit that cannot be made."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while something ran. `result` is what there was by then, if there was anything of use."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result
