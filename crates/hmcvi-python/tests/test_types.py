"""The package is typed, for mypy and for pyright."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


def test_mypy_has_no_complaint():
    pytest.importorskip("mypy")
    found = subprocess.run([sys.executable, "-m", "mypy"], cwd=PACKAGE, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_pyright_has_no_complaint():
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed beside this Python")
    run = [pyright, "--pythonpath", sys.executable, "python/hmcvi"]
    found = subprocess.run(run, cwd=PACKAGE, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
