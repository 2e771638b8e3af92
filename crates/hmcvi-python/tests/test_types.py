"""The package is typed, for mypy and for pyright."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


#: What users write, which sees the package from outside.
USE = "tests/typed_use.py"


@pytest.mark.parametrize("what", [[], ["--config-file=", "--strict", "--follow-imports=silent", USE]])
def test_mypy_has_no_complaint(what):
    pytest.importorskip("mypy")
    run = [sys.executable, "-m", "mypy", *what]
    paths = {**os.environ, "MYPYPATH": "python"} if what else None
    found = subprocess.run(run, cwd=PACKAGE, env=paths, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_pyright_has_no_complaint():
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed beside this Python")
    # The package of that name fetches the program when it is first started.
    if subprocess.run([pyright, "--version"], capture_output=True).returncode != 0:
        pytest.skip("pyright could not be fetched")
    run = [pyright, "--pythonpath", sys.executable, "python/hmcvi", USE]
    found = subprocess.run(run, cwd=PACKAGE, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
