"""Tables of what draws say about the numbers of a model, and draws by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: What is said of each number of a model by independent draws.
COLUMNS = ("mean", "sd", "q05", "q50", "q95", "mcse")
#: What is said of them by chains, and where it stands in a record.
OF_CHAINS = (*COLUMNS, "r_hat", "ess_bulk", "ess_tail")


class Row:
    """What draws say about one number of a model; each column is an attribute."""

    mean: float
    sd: float
    q05: float
    q50: float
    q95: float
    mcse: float
    #: Of chains alone.
    r_hat: float | None
    ess_bulk: float | None
    ess_tail: float | None
    #: Of checks alone.
    wasserstein: float

    def __init__(self, name: str, columns: Sequence[str], entries: Sequence[float | None]) -> None:
        #: The number, as Stan writes it: `mu`, `theta[1]`.
        self.name = name
        self.__dict__.update(zip(columns, entries))

    def __repr__(self) -> str:
        return f"<hmcvi.Row {', '.join(f'{key}={value}' for key, value in self.__dict__.items())}>"


class Summary:
    """A table with a row for each number of a model. `summary["tau"].mean` is one entry of it."""

    def __init__(self, rows: list[tuple[Any, ...]], columns: Sequence[str] = COLUMNS) -> None:
        #: Names of the columns.
        self.columns = tuple(columns)
        self._rows = {row[0]: Row(row[0], columns, row[1:]) for row in rows}

    @classmethod
    def read(cls, text: str, chains: bool = False) -> Summary:
        """The rows of a record, which is JSON."""
        import json

        columns = OF_CHAINS if chains else COLUMNS
        rows = [{**row, "r_hat": row["rhat"]} for row in json.loads(text)]
        return cls([(row["name"], *(row[column] for column in columns)) for row in rows], columns)

    def __getitem__(self, name: str) -> Row:
        if name not in self._rows:
            raise KeyError(f"there is no number `{name}`; there are {', '.join(self._rows)}")
        return self._rows[name]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __len__(self) -> int:
        return len(self._rows)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Entries by name and column."""
        return {row.name: {column: getattr(row, column) for column in self.columns} for row in self}

    def to_pandas(self) -> Any:
        """The table for pandas, with the names of the numbers as its index."""
        import pandas

        return pandas.DataFrame.from_dict(self.to_dict(), orient="index", columns=pandas.Index(self.columns))

    def _texts(self, row: Row) -> list[str]:
        entries = (getattr(row, column) for column in self.columns)
        return ["" if entry is None else f"{entry:.3f}" for entry in entries]

    def __repr__(self) -> str:
        width = max([4, *(len(name) for name in self._rows)])
        head = " " * width + "".join(f"{column:>10}" for column in self.columns)
        body = (f"{row.name:<{width}}" + "".join(f"{text:>10}" for text in self._texts(row)) for row in self)
        return "\n".join([head, *body])

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{column}</th>" for column in ("", *self.columns))
        rows = []
        for row in self:
            cells = "".join(f"<td>{text}</td>" for text in self._texts(row))
            rows.append(f"<tr><th>{escape(row.name)}</th>{cells}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
