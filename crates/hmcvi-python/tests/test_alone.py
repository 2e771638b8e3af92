"""The package needs NumPy alone; what else is installed is used where it helps."""

import subprocess
import sys

import hmcvi
import pytest
from conftest import QUICK, SCHOOLS, schools

#: A process in which nothing but NumPy can be imported of what users usually have.
ALONE = """
import sys
for name in ("matplotlib", "sklearn", "scipy", "pandas", "polars", "tqdm", "arviz", "IPython", "anndata"):
    sys.modules[name] = None
import hmcvi, numpy as np
from hmcvi import progress
progress.EVERY = 0.0
"""
USES = {
    "a fit with its figures": """
fit = hmcvi.builtin("eight-schools").fit(method="gaussian", draws=200, progress=False)
shown = fit._repr_html_()
assert shown.count("<svg") >= 2 and "theta[8]" in shown and str(fit.plot_pairs("mu", "tau")).startswith("<svg")
assert "<svg" in fit.model.nuts(chains=2, draws=40, warm_up=40, progress=False)._repr_html_()
try:
    fit.to_arviz()
except ImportError as error:
    assert "pip install arviz" in str(error)
""",
    "an auto-encoder": """
rows = np.random.default_rng(1).poisson(3.0, size=(80, 4))
vae = hmcvi.VAE(latent=2, hidden=(8,), epochs=2, progress=False)
try:
    vae.transform(rows)
except hmcvi.DataError as error:
    assert "call `fit` first" in str(error)
assert vae.fit_transform(rows).shape == (80, 2) and vae.score_samples(rows[:3]).shape == (3,) and "<svg" in vae._repr_html_()
assert vae.get_feature_names_out().tolist() == ["vae0", "vae1"]
try:
    vae.fit(rows * np.nan)
except hmcvi.DataError as error:
    assert "row 0 (from 0) has nan in column 0" in str(error)
""",
    "progress in lines": """
hmcvi.builtin("eight-schools").fit(method="gaussian", draws=100, progress=True)
hmcvi.VAE(latent=2, hidden=(8,), epochs=1, progress=True).fit(np.random.default_rng(1).normal(size=(80, 4)))
print("said", file=sys.stderr)
""",
}


@pytest.mark.parametrize("use", list(USES))
def test_numpy_is_enough(use):
    found = subprocess.run([sys.executable, "-c", ALONE + USES[use]], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    if use == "progress in lines":
        lines = found.stderr.splitlines()
        assert any(line.startswith("eight-schools: learning the Gaussian, ") and ", bound -3" in line for line in lines)
        assert any(line.startswith("VAE: training, ") for line in lines) and lines[-1] == "said"


def test_importing_it_loads_nothing_else():
    code = "import sys, hmcvi; print([name for name in ('numpy', 'sklearn', 'pandas', 'tqdm', 'arviz') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"


def test_bars_are_those_of_tqdm(monkeypatch):
    auto, bars = pytest.importorskip("tqdm.auto"), []

    class Bar(auto.tqdm):
        """A bar that remembers what it was called."""

        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            bars.append(self)

        def close(self):
            self.said = self.postfix
            super().close()

    monkeypatch.setattr(auto, "tqdm", Bar)
    # Bars are looked at every 50 ms: the fit takes longer than that.
    longer = {"learning.most_updates": 6000, "learning.tolerance": 0.0}
    schools(**SCHOOLS).fit(**{**QUICK, "settings": longer, "progress": True})
    names = [bar.desc.removesuffix(": ") for bar in bars]
    assert "schools: learning the Gaussian" in names and all(name.startswith("schools: ") for name in names)
    assert all(bar.disable or bar.n <= bar.total for bar in bars) and any("bound -3" in (bar.said or "") for bar in bars)


def test_figures_are_files(tmp_path, quick_fit):
    figure = quick_fit.plot_trace()
    figure.save(tmp_path / "trace.svg")
    assert (tmp_path / "trace.svg").read_text(encoding="utf-8") == str(figure) == figure._repr_svg_()
    with pytest.raises(FileExistsError):
        figure.save(tmp_path / "trace.svg")
    assert isinstance(figure, hmcvi.Svg)
