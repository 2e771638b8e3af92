"""Take what is known: numbers, arrays, lists and columns of tables, as arrays of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt


def numeric(given: Any) -> npt.NDArray[Any]:
    """An array of real numbers; a `TypeError` says what is none."""
    import numpy as np

    masked = int(np.sum(np.ma.getmask(given)))
    if masked:
        raise TypeError(f"{masked} of its elements are masked; leave out or fill in what is missing")
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise TypeError(f"expected numbers, but this {type(given).__name__} is no array: {error}") from None
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind != "O":
        what = "text" if array.dtype.kind in "US" else f"elements of the type {array.dtype}"
        raise TypeError(f"expected numbers, not {what}{_advice(given)}")
    for place, element in _elements(array):
        why = _no_number(element)
        if why:
            raise TypeError(f"{why}{f' at {place} (from 0)' if place else ''}{_advice(given)}")
    return array.astype(float)


def whole(name: str, number: Any, least: int = 0, most: int = 2**63) -> int:
    """A whole number in these limits; an exception says what it is otherwise."""
    from operator import index

    from .errors import SettingError

    try:
        found = index(number)
    except TypeError:
        found = None
    if found is None or isinstance(number, bool) or not least <= found <= most:
        upper = f" from {least} to {most}" if most < 2**63 else f" of at least {least}"
        raise SettingError(f"`{name}` is {number!r}, but must be a whole number{upper}")
    return found


def _elements(array: npt.NDArray[Any]) -> Iterator[tuple[list[int], Any]]:
    import numpy as np

    if not array.ndim:
        yield [], array.item()
        return
    for place in np.ndindex(*array.shape):
        yield list(place), array[place]


def _no_number(element: Any) -> str | None:
    """Why an object of Python is no real number."""
    if element is None:
        return "leave out or fill in what is missing: there is None"
    try:
        # Text can be turned into a number, but is none.
        float("a" if isinstance(element, (str, bytes)) else element)
    except (TypeError, ValueError):
        return f"expected numbers, but there is {element!r:.40} of the type {type(element).__name__}"
    except OverflowError:
        return "there is a number that is too large"
    return None


def _advice(given: Any) -> str:
    """What to do with tables that say more than numbers."""
    if hasattr(getattr(given, "cat", given), "codes"):
        return "; the `codes` of categories are numbers"
    if hasattr(given, "keys"):
        return "; parts that have names are data of their own: `model(**table)`, or `model(x=table[\"x\"], ...)`"
    return "; `toarray()` gives the numbers" if hasattr(given, "toarray") else ""
