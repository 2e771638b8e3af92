"""What scikit-learn asks of an estimator that transforms: parameters, tags, names of columns, and tables as output."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeVar

from .errors import DataError, SettingError

#: What `set_output` can be asked for.
OUTPUTS = ("default", "pandas", "polars")

Self = TypeVar("Self", bound="Estimator")


class Estimator:
    """Parameters of a constructor by name, and output as the user wants it. Works without scikit-learn."""

    n_features_in_: int
    feature_names_in_: Any

    def __init__(self) -> None:
        """Has no parameters itself."""

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        code = cls.__init__.__code__
        return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Arguments of the constructor by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Self, **parameters: Any) -> Self:
        """Sets arguments of the constructor by name."""
        for name in parameters:
            if name not in self._names():
                raise SettingError(f"there is no parameter `{name}`; there are {', '.join(self._names())}")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="density_estimator",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float64"]),
            input_tags=InputTags(sparse=True),
        )

    def set_output(self: Self, *, transform: str | None = None) -> Self:
        """Says what `transform` gives: "default", an array, or a table of "pandas" or "polars"."""
        if transform is not None:
            if transform not in OUTPUTS:
                allowed = ", ".join(f'"{name}"' for name in OUTPUTS)
                raise SettingError(f"`transform` is {transform!r}, but must be one of {allowed}")
            # The name under which `sklearn.base.clone` looks for it.
            self._sklearn_output_config = {"transform": transform}
        return self

    def _outputs(self) -> int:
        """Columns of what `transform` gives."""
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Any:
        """Names of the columns that `transform` gives: `vae0`, `vae1`, ..."""
        import numpy as np

        count = self._outputs()
        if input_features is not None:
            before = getattr(self, "feature_names_in_", None)
            if before is not None and not np.array_equal(before, np.asarray(input_features, dtype=object)):
                raise DataError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise DataError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), "
                    f"got {len(input_features)}"
                )
        return np.array([f"{type(self).__name__.lower()}{at}" for at in range(count)], dtype=object)

    def _table(self, values: Any, of: Any) -> Any:
        """Transformed rows as an array, or as the table that was asked for."""
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform")
        sklearn = sys.modules.get("sklearn")
        if wanted is None and sklearn is not None:
            wanted = sklearn.get_config().get("transform_output")
        if wanted in (None, "default"):
            return values
        names = self.get_feature_names_out()
        if wanted == "pandas":
            import pandas

            # Rows keep their labels.
            index = of.index if isinstance(of, (pandas.DataFrame, pandas.Series)) else getattr(of, "obs_names", None)
            return pandas.DataFrame(values, index=index, columns=names)
        import polars

        return polars.DataFrame(values, schema=list(names), orient="row")


def numbers_of(table: Any) -> Any:
    """The numbers of a table of pandas, or what it was if it is none. An exception names columns that are no numbers."""
    import numpy as np

    if not (hasattr(table, "iloc") and hasattr(table, "columns")):
        return table
    text, missing = [], []
    for at, name in enumerate(table.columns):
        column = table.iloc[:, at]
        kind = getattr(column.dtype, "kind", "O")
        is_category = hasattr(column.dtype, "categories")
        if is_category or kind not in "biuf" and not (kind == "O" and _numeric(column)):
            text.append((name, "categories" if is_category else str(column.dtype)))
        elif column.isna().any():
            missing.append((name, int(column.isna().sum())))
    if text:
        found = ", ".join(f"`{name}` ({kind})" for name, kind in text)
        raise DataError(
            f"columns that are no numbers: {found}; leave them out, or turn them into numbers, as OneHotEncoder of "
            "scikit-learn in a ColumnTransformer does, or `pandas.get_dummies`",
            str(text[0][0]),
        )
    if missing:
        found = ", ".join(f"`{name}` ({count} of {len(table)} rows)" for name, count in missing)
        raise DataError(
            f"columns with missing values (NaN): {found}; fill them in, as SimpleImputer of scikit-learn does, or leave out "
            "such rows",
            str(missing[0][0]),
        )
    if any(getattr(dtype, "kind", "O") == "O" or not isinstance(dtype, np.dtype) for dtype in table.dtypes):
        # Numbers of pandas' own types, or in a column of objects, are plain ones of NumPy from here on.
        return table.astype({name: _plain_type(dtype) for name, dtype in table.dtypes.items()})
    return table


def _numeric(column: Any) -> bool:
    return all(isinstance(value, (int, float)) or hasattr(value, "__float__") or value is None for value in column)


def _plain_type(dtype: Any) -> Any:
    import numpy as np

    if isinstance(dtype, np.dtype):
        return float if dtype.kind == "O" else dtype
    return getattr(dtype, "numpy_dtype", float)
