"""Give draws to ArviZ: as InferenceData of its versions before 1.0, as a DataTree since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import DataError

if TYPE_CHECKING:
    from .models import Posterior


def arviz() -> Any:
    """The package ArviZ."""
    try:
        import arviz as found
    except ImportError:
        raise ImportError("`to_arviz` needs ArviZ; `pip install arviz` gets it") from None
    return found


def to_arviz(
    model: Posterior,
    posterior: Mapping[str, Any],
    statistics: Mapping[str, Any],
    log_likelihood: Mapping[str, Any],
    coords: Mapping[str, Sequence[Any]] | None,
    dims: Mapping[str, Sequence[str]] | None,
) -> Any:
    """Groups of arrays `[chain, draw, ...]` with the names of their dimensions."""
    found = arviz()
    coords, dims = dict(coords or {}), {name: list(names) for name, names in (dims or {}).items()}
    shapes = {**{name: values.shape[2:] for name, values in posterior.items()}}
    observed = model.observed
    shapes.update({name: values.shape for name, values in observed.items()})
    _check(shapes, coords, dims)
    groups: dict[str, Any] = {"posterior": dict(posterior), "sample_stats": dict(statistics)}
    if log_likelihood:
        groups["log_likelihood"] = dict(log_likelihood)
    if observed:
        groups["observed_data"] = observed
    if _is_old(found):
        return found.from_dict(**groups, coords=coords, dims=dims)
    return found.from_dict(groups, coords=coords, dims=dims)


def _is_old(found: Any) -> bool:
    return int(str(found.__version__).split(".")[0]) < 1


def _check(
    shapes: Mapping[str, tuple[int, ...]], coords: Mapping[str, Sequence[Any]], dims: Mapping[str, Sequence[str]]
) -> None:
    for name, names in dims.items():
        if name not in shapes:
            raise DataError(f"`dims` names `{name}`, but the values are {', '.join(shapes)}", name)
        shape = shapes[name]
        if len(names) != len(shape):
            raise DataError(f"`dims` has {len(names)} names for `{name}`, but its shape is {shape}", name)
        for label, size in zip(names, shape):
            if label in coords and len(coords[label]) != size:
                raise DataError(
                    f"`coords` has {len(coords[label])} labels for `{label}`, but `{name}` has {size} there", name
                )
