"""What documents show in Python runs, one block after the other."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
RNG = np.random.default_rng(4)
#: What the blocks take as given, in sizes that are quick.
COUNTS = RNG.poisson(RNG.gamma(2.0, 1.0, size=(120, 6)))
FLOOR, COUNTY = RNG.integers(0, 2, 60), np.sort(RNG.integers(0, 6, 60))
GIVEN = {
    "counts": COUNTS,
    "floor": FLOOR,
    "county": COUNTY,
    "y": 1.0 - 0.5 * FLOOR + RNG.normal(size=6)[COUNTY] * 0.3 + RNG.normal(size=60) * 0.5,
}


def blocks(document):
    """Blocks of Python, from the first that imports the package on."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    first = next(i for i, block in enumerate(found) if "import hmcvi" in block)
    return found[first:]


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "crates/hmcvi-python/README.md"])
def test_blocks_run(document, tmp_path, monkeypatch, capsys):
    import hmcvi

    monkeypatch.chdir(tmp_path)
    usual = hmcvi.VAE.__init__.__kwdefaults__
    monkeypatch.setitem(usual, "epochs", 2)
    monkeypatch.setitem(usual, "hidden", (16,))
    names = dict(GIVEN)
    for block in blocks(document):
        exec(compile(block, document, "exec"), names)  # noqa: S102  it is our own document
    assert names["fit"].finished and "log evidence" in repr(names["fit"])
    assert names["z"].shape == (120, 10)
