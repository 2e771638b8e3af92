"""Variational auto-encoders in the manner of scikit-learn, and the run directories that they are kept in."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from . import _hmcvi, plots
from . import progress as bars
from .errors import DataError, Interrupted, SettingError
from .estimator import Estimator, numbers_of
from .fits import assignments
from .kept import packed, unpack
from .known import whole

#: Files of a run that a copy of its network needs.
FILES = ("config.toml", "run.json", "summary.json", "metrics.jsonl", "best.safetensors", "last.safetensors")


class Encoded:
    """Draws from posteriors of rows, before and after the HMC steps."""

    __slots__ = ("after", "before", "bound", "mean", "sd")

    def __init__(self, before: Any, after: Any, mean: Any, sd: Any, bound: Any) -> None:
        #: Draws of the encoder, `[draws, rows, latent]`.
        self.before = before
        #: The same after the HMC steps.
        self.after = after
        #: Means of the encoder, `[rows, latent]`.
        self.mean = mean
        #: Standard deviations of the encoder, `[rows, latent]`.
        self.sd = sd
        #: Bounds on `log p(x)`, means over the draws, `[rows]`.
        self.bound = bound


class Scores:
    """Log-likelihoods of rows, in nats, and what they were estimated with."""

    __slots__ = ("bound", "effective_sample_size", "estimator", "k_hat", "log_likelihood", "standard_error")

    def __init__(
        self,
        bound: Any,
        log_likelihood: Any,
        standard_error: Any,
        effective_sample_size: Any,
        k_hat: Any,
        samples: int,
    ) -> None:
        #: "importance sampling", or "bound" where no samples were asked for.
        self.estimator = "importance sampling" if samples else "bound"
        #: The bound of each row, a mean over five draws.
        self.bound = bound
        #: The estimate of each row.
        self.log_likelihood = log_likelihood if samples else bound
        #: Effective number of samples of each row.
        self.effective_sample_size = effective_sample_size
        #: Shape of the tail of the weights of each row; above 0.7 the estimate is too low.
        self.k_hat = k_hat
        #: Standard error of each estimate as far as its weights know it.
        self.standard_error = standard_error


class VAE(Estimator):
    """An auto-encoder whose posterior approximation is improved by HMC steps inside the bound that it learns from.

    `likelihood` is "bernoulli", "gaussian", "poisson", "negative-binomial", "zero-inflated-negative-binomial",
    "multinomial" or "categorical"; left out, the data decide. `kind` says what values are taken for ("binary", "byte",
    "count", "real", "class") where they do not say it themselves. `settings` has all other settings by their names in
    the program: `{"train.average": 0.5}`.

    Training happens in a run directory of the program: `run` names it, else it is a temporary one. A run that is there
    goes on where it was left.

    >>> import hmcvi
    >>> import numpy as np
    >>> counts = np.random.default_rng(1).poisson(3.0, size=(100, 5))
    >>> vae = hmcvi.VAE(latent=2, likelihood="poisson", hidden=(8,), epochs=2, progress=False).fit(counts)
    >>> vae.transform(counts).shape, vae.sample(3).shape, vae.score_samples(counts[:4]).shape
    ((100, 2), (3, 5), (4,))
    """

    def __init__(
        self,
        latent: int = 10,
        likelihood: str | None = None,
        hmc_steps: int = 3,
        leapfrog_steps: int = 4,
        *,
        hidden: int | Sequence[int] = (200, 200),
        epochs: int = 60,
        batch: int = 100,
        learning_rate: float | None = None,
        validation_fraction: float = 0.1,
        kind: str | None = None,
        seed: int = 1,
        run: str | os.PathLike[str] | None = None,
        device: str = "cpu",
        threads: int = 0,
        settings: dict[str, Any] | None = None,
        progress: bool | Callable[..., None] | None = None,
    ) -> None:
        self.latent = latent
        self.likelihood = likelihood
        self.hmc_steps = hmc_steps
        self.leapfrog_steps = leapfrog_steps
        self.hidden = hidden
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.kind = kind
        self.seed = seed
        self.run = run
        self.device = device
        self.threads = threads
        self.settings = settings
        self.progress = progress

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    # Learning.

    def fit(self, X: Any, y: Any = None) -> VAE:
        """Trains on rows: an array, a sparse matrix, a table of pandas, an object with `X` such as AnnData, or the path
        of a file or folder that the program reads.

        A share of the rows, `validation_fraction`, chooses the best epoch and is not trained on. Ctrl-C ends the
        training with `hmcvi.Interrupted` at a state that is kept; with `run`, `fit` goes on from there.
        """
        given: dict[str, Any] = {}
        if isinstance(X, (str, os.PathLike)):
            data, kind, source = None, None, os.path.abspath(os.fspath(X))
            given["data.source"], given["data.kind"] = source, self.kind
        else:
            rows = self._checked(X, fitting=True)
            kind = self.kind or _kind(rows, annotated=hasattr(X, "obs_names"))
            data = self._divided(rows)
        given = {
            "seed": whole("seed", self.seed),
            "model.latent": self.latent,
            "model.likelihood": self.likelihood,
            "model.hidden": [self.hidden] if isinstance(self.hidden, int) else list(self.hidden),
            "chain.hmc_steps": self.hmc_steps,
            "chain.leapfrog_steps": self.leapfrog_steps,
            "train.epochs": self.epochs,
            "train.batch": self.batch,
            "train.learning_rate.first": self.learning_rate,
            **given,
            **(self.settings or {}),
        }
        folder = os.fspath(self.run or _temporary(self))
        with bars.shown(self.progress, "VAE") as watch:
            ended = _hmcvi.train(
                folder,
                assignments(given),
                data,
                kind=kind,
                force=self.run is None,
                device=self.device,
                threads=whole("threads", self.threads),
                watch=watch,
            )
        if ended is not None and not isinstance(ended, KeyboardInterrupt):
            raise ended
        self.run_ = folder
        self._network_: _hmcvi.Network | None = None
        if ended is None:
            if data is None:
                self.n_features_in_ = self._network.columns
            return self._opened()
        raise Interrupted("the training was interrupted; `fit` with a `run` goes on from there", self) from None

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Trains, and gives the latent points of the rows."""
        return self.fit(X, y).transform(X)

    # What a trained auto-encoder does.

    def transform(self, X: Any) -> Any:
        """Means of the encoder's Gaussians, `[rows, latent]`: an array, or the table that `set_output` asks for."""
        return self._table(self.posterior(X).mean, X)

    def _outputs(self) -> int:
        return self._network.latent

    def posterior(self, X: Any, draws: int = 1, seed: int = 1) -> Encoded:
        """Draws from the posteriors of rows before and after the HMC steps."""
        import numpy as np

        draws, seed = whole("draws", draws, 1), whole("seed", seed)
        rows = self._rows(X)
        found = [self._network.encode(rows, seed, draw) for draw in range(draws)]
        before, after = (np.stack([part[i] for part in found]) for i in (0, 1))
        bound = np.mean([part[4] for part in found], axis=0)
        return Encoded(before, after, found[0][2], np.exp(0.5 * found[0][3]), bound)

    def inverse_transform(self, Z: Any) -> Any:
        """Means of rows at latent points."""
        import numpy as np

        places = np.ascontiguousarray(Z, dtype=np.float32)
        if places.ndim != 2:
            raise DataError(f"latent points are a matrix [rows, {self._network.latent}], not of the shape {places.shape}")
        return self._network.decode(places)

    def reconstruct(self, X: Any, *, steps: bool = True, seed: int = 1) -> Any:
        """Rows decoded from draws of their posteriors after the HMC steps, or before them."""
        found = self.posterior(X, seed=seed)
        return self.inverse_transform(found.after[0] if steps else found.before[0])

    def sample(self, n: int = 1, *, seed: int = 1, mean: bool = False) -> Any:
        """Rows drawn from the model, or their means."""
        return self._network.sample(whole("n", n, 1), whole("seed", seed), mean)

    def scores(self, X: Any, samples: int = 1000, seed: int = 1) -> Scores:
        """Log-likelihoods of rows by importance sampling, with their errors, and bounds.

        Random numbers belong to the content of a row and the seed: rows can be scored in any order, alone or together.
        """
        samples, seed = whole("samples", samples), whole("seed", seed)
        return Scores(*self._network.score(self._rows(X), samples, seed), samples)

    def score_samples(self, X: Any) -> Any:
        """The log-likelihood of each row, in nats, by importance sampling; `scores` has the errors."""
        return self.scores(X).log_likelihood

    def score(self, X: Any, y: Any = None) -> float:
        """The mean bound of the rows, in nats."""
        return float(self.scores(X, samples=0).bound.mean())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Copies the run directory to a place where there is nothing yet."""
        import shutil

        shutil.copytree(self._folder, folder)

    @property
    def history(self) -> list[dict[str, Any]]:
        """What happened in each epoch, as in `metrics.jsonl` of the run."""
        import json

        found: list[dict[str, Any]] = json.loads(self._network.epochs())
        return found

    def plot_trace(self) -> plots.Svg:
        """The bound over the epochs, of training and validation rows."""
        return plots.learning(self.history)

    def _repr_html_(self) -> str:
        from html import escape

        figure = self.plot_trace().text if hasattr(self, "run_") else ""
        return f"<div><p>{escape(repr(self))}</p>{figure}</div>"

    # Inside.

    @property
    def _folder(self) -> str:
        if not hasattr(self, "run_"):
            try:
                from sklearn.exceptions import NotFittedError
            except ImportError:
                raise DataError("this auto-encoder is not trained yet; call `fit` first") from None
            raise NotFittedError("this auto-encoder is not trained yet; call `fit` first")
        return self.run_

    @property
    def _network(self) -> _hmcvi.Network:
        folder = self._folder
        found: _hmcvi.Network | None = getattr(self, "_network_", None)
        if found is None:
            found = self._network_ = _hmcvi.Network(folder, "best", self.device, self.threads)
        return found

    def _opened(self) -> VAE:
        """With the network of the run, so that its use changes nothing any more."""
        self._network  # noqa: B018
        return self

    def _rows(self, X: Any) -> _hmcvi.Rows:
        self._folder  # noqa: B018  says that nothing is trained yet
        return table(self._checked(X, fitting=False))

    def _checked(self, X: Any, *, fitting: bool) -> Any:
        import numpy as np

        self._same_columns(X, fitting)
        X = numbers_of(_rows_of(X))
        if np.any(np.ma.getmask(X)):
            raise DataError("some elements of the rows are masked; fill in or leave out such rows")
        try:
            from sklearn.utils.validation import validate_data
        except ImportError:
            rows = _plain(X)
            if fitting:
                self.n_features_in_ = rows.shape[1]
            return rows
        return validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=fitting, ensure_min_samples=1 + fitting)

    def _same_columns(self, X: Any, fitting: bool) -> None:
        """Keeps the names that annotated data have for their columns, or refuses others than those of the training."""
        names = [str(name) for name in X.var_names] if hasattr(X, "var_names") else None
        if fitting:
            self.var_names_in_ = names
            return
        before: list[str] | None = getattr(self, "var_names_in_", None)
        if names is None or before is None or names == before:
            return
        missing = sorted(set(before) - set(names))
        what = f"have no {', '.join(f'`{name}`' for name in missing[:3])}" if missing else "have another order"
        raise DataError(
            f"the columns (`var_names`) {what}{', ...' if len(missing) > 3 else ''}, unlike those of the training, which "
            "`var_names_in_` names; `data[:, vae.var_names_in_]` has them in its order",
            missing[0] if missing else None,
        )

    def _divided(self, rows: Any) -> tuple[_hmcvi.Rows, _hmcvi.Rows, _hmcvi.Rows]:
        import numpy as np

        count = rows.shape[0]
        if not 0 < self.validation_fraction < 1:
            raise SettingError(f"`validation_fraction` is {self.validation_fraction}, but must be above 0 and below 1")
        held = min(max(1, round(self.validation_fraction * count)), count - 1)
        order = np.random.default_rng(whole("seed", self.seed)).permutation(count)
        train, validation = table(rows[np.sort(order[held:])]), table(rows[np.sort(order[:held])])
        return train, validation, validation

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_network_"}
        if "run_" in state:
            state["_files"] = packed(state.pop("run_"), FILES)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("_files", None)
        self.__dict__.update(state)
        if files is not None:
            self.run_ = _temporary(self)
            unpack(files, self.run_)

    def __repr__(self) -> str:
        parts = f"latent={self.latent}, hmc_steps={self.hmc_steps}, leapfrog_steps={self.leapfrog_steps}"
        return f"VAE({parts}{f', likelihood={self.likelihood!r}' if self.likelihood else ''})"


def table(rows: Any) -> _hmcvi.Rows:
    """Rows as the library takes them."""
    import numpy as np

    if hasattr(rows, "tocsr"):
        rows = rows.tocsr()
        rows.sum_duplicates()
        starts, indices = np.asarray(rows.indptr, dtype=np.int64), np.asarray(rows.indices, dtype=np.int64)
        return _hmcvi.Rows.sparse(rows.shape[1], starts, indices, np.asarray(rows.data, dtype=np.float32))
    with np.errstate(over="ignore"):
        # What single precision cannot hold is said by the library, with its place.
        return _hmcvi.Rows.dense(np.ascontiguousarray(rows, dtype=np.float32))


#: Most that a count can be: single precision holds every whole number up to here.
MOST_COUNT = 2**24 - 1


def _rows_of(X: Any) -> Any:
    """The rows of annotated data, also of those that are still in their file; all else is rows itself."""
    if not hasattr(X, "X"):
        return X
    rows = X.X
    if rows is None:
        raise DataError("the annotated data have no `X`; give the layer that has the counts: `fit(data.layers[name])`")
    return rows.to_memory() if hasattr(rows, "to_memory") else rows


def _kind(rows: Any, annotated: bool = False) -> str | None:
    """What the type of the values says about them, as in files of the program; the library cannot see it any more.

    Bytes that are not only 0 and 1 are intensities, and other whole numbers from 0 on are counts. Annotated data have
    counts in single precision: there, whole numbers are counts whatever their type is.
    """
    type_of = getattr(rows, "dtype", None)
    if annotated and type_of is not None and type_of.kind == "f":
        values = rows.data if hasattr(rows, "tocsr") else rows
        whole_numbers = (values == values.round()).all() and values.min(initial=0) >= 0
        return "count" if whole_numbers and 1 < values.max(initial=0) <= MOST_COUNT else None
    if type_of is None or type_of.kind not in "iu" or rows.max() <= 1:
        return None
    if type_of == "uint8":
        return None if hasattr(rows, "tocsr") else "byte"
    return "count" if rows.min() >= 0 and rows.max() <= MOST_COUNT else None


def _plain(X: Any) -> Any:
    """Rows of numbers, checked without scikit-learn."""
    import numpy as np

    if hasattr(X, "tocsr"):
        return X.tocsr()
    rows = np.asarray(X)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf" or min(rows.shape) == 0:
        raise DataError(f"expected a matrix of numbers with rows and columns, not {rows.dtype} of shape {rows.shape}")
    if rows.dtype.kind == "f" and not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise DataError(f"row {row} (from 0) has {rows[row, column]} in column {column}; fill in or leave out such rows")
    return rows


def _temporary(owner: VAE) -> str:
    """A folder that goes when its auto-encoder does."""
    import shutil
    import tempfile
    import weakref

    folder = tempfile.mkdtemp(prefix="hmcvi-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    return folder


def open_vae(folder: str | os.PathLike[str], device: str = "cpu", threads: int = 0) -> VAE:
    """The auto-encoder of a run directory, which the program or `VAE` made."""
    vae = VAE(device=device, threads=threads)
    vae.run_ = os.fspath(folder)
    network = vae._network
    vae.n_features_in_ = network.columns
    vae.latent = network.latent
    vae.likelihood = network.likelihood
    return vae
