"""Give draws to ArviZ: as InferenceData of its versions before 1.0, as a DataTree since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from .errors import DataError

if TYPE_CHECKING:
    from . import _hmcvi
    from .models import Posterior


def arviz() -> Any:
    """The package ArviZ."""
    try:
        import arviz as found
    except ImportError:
        raise ImportError("`to_arviz` needs ArviZ; `pip install arviz` gets it") from None
    return found


#: Names of quantities: one, several, or those under which others are given.
Names = Union[str, Sequence[str], Mapping[str, str], None]

#: What ArviZ calls the numbers that a sampler gives beside each draw, and what they are.
STATISTICS = {
    "lp__": ("lp", float),
    "log_weight__": ("log_weight", float),
    "stepsize__": ("step_size", float),
    "treedepth__": ("tree_depth", int),
    "n_leapfrog__": ("n_steps", int),
    "divergent__": ("diverging", bool),
    "energy__": ("energy", float),
}


def statistics(drawn: _hmcvi.Drawn) -> dict[str, Any]:
    """What a sampler says of each draw, `[chain, draw]`, under the names of ArviZ."""
    known = ((*STATISTICS[name], values) for name, values in drawn.statistics() if name in STATISTICS)
    return {name: values.astype(kind) for name, kind, values in known}


def to_arviz(
    model: Posterior,
    drawn: _hmcvi.Drawn,
    likelihoods: Sequence[tuple[str, tuple[int, ...], Any]],
    groups: tuple[Names, Names, Names],
    coords: Mapping[str, Sequence[Any]] | None,
    dims: Mapping[str, Sequence[str]] | None,
) -> Any:
    """Groups of arrays `[chain, draw, ...]` with the names of their dimensions."""
    found = arviz()
    coords, dims = dict(coords or {}), {name: list(names) for name, names in (dims or {}).items()}
    posterior, said = dict(drawn.arrays()), statistics(drawn)
    predictive, densities, seen = _divided(model, posterior, groups)
    draws = said["lp"].shape
    densities.update({name: values.reshape(*draws, *shape) for name, shape, values in likelihoods if name in model.observed})
    observed = {**model.observed, **seen}
    parts = [posterior, predictive, densities]
    shapes = {name: values.shape[2:] for part in parts for name, values in part.items()}
    shapes.update({name: values.shape for name, values in observed.items()})
    _check(shapes, coords, dims)
    filled: dict[str, Any] = {"posterior": posterior, "sample_stats": said}
    optional = {"posterior_predictive": predictive, "log_likelihood": densities, "observed_data": observed}
    filled.update({name: group for name, group in optional.items() if group})
    if _is_old(found):
        return found.from_dict(**filled, coords=coords, dims=dims)
    return found.from_dict(filled, coords=coords, dims=dims)


def _divided(
    model: Posterior, draws: dict[str, Any], groups: tuple[Names, Names, Names]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Draws of data, log-likelihoods and observed data; the first two leave the other draws."""
    import numpy as np

    predictive, densities, seen = (_named(names) for names in groups)
    generated = set(model.generated)
    replicated = {name: name.removesuffix("_rep") for name in model.generated if name.endswith("_rep")}
    if predictive is None:
        predictive = {name: name for name, of in replicated.items() if of in model.data}
    if densities is None:
        densities = {name: name for name in ("log_lik",) if name in generated}
    if seen is None:
        seen = {of: of for of in (replicated.get(name) for name in predictive.values()) if of in model.data}
    for argument, names in (("posterior_predictive", predictive), ("log_likelihood", densities)):
        for name in names.values():
            if name not in generated:
                have = ", ".join(model.generated) or "none"
                raise DataError(f"`{argument}` names `{name}`, but the generated quantities are {have}", name)
    for name in seen.values():
        if name not in model.data:
            raise DataError(f"`observed_data` names `{name}`, but the data are {', '.join(model.data) or 'none'}", name)
    moved = [{to: draws[name] for to, name in names.items()} for names in (predictive, densities)]
    for name in {*predictive.values(), *densities.values()}:
        del draws[name]
    return moved[0], moved[1], {to: np.asarray(model.data[name]) for to, name in seen.items()}


def _named(names: Names) -> dict[str, str] | None:
    """Names in a group, each with that of the quantity."""
    if names is None:
        return None
    if isinstance(names, str):
        return {names: names}
    return dict(names) if isinstance(names, Mapping) else {name: name for name in names}


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
