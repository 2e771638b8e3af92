"""The notebook runs, and its cells show what they should."""

from pathlib import Path

import pytest

PLACE = Path(__file__).parents[1] / "notebooks/tour.ipynb"


def test_the_notebook_shows_a_fit_an_auto_encoder_and_a_comparison():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.read(PLACE, as_version=4)
    assert all(not cell.get("outputs") for cell in book.cells), "outputs are not kept"
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    shown = [
        "".join(str(text) for output in cell.outputs for text in output.get("data", {}).values())
        for cell in book.cells
        if cell.cell_type == "code"
    ]
    fit, check, pairs, compared, trained, used = shown
    assert "bound" in fit and fit.count("<svg") >= 2 and "theta[8]" in fit
    assert "hmcvi.Check" in check and "<svg" in pairs and "all alike" in compared
    assert "<svg" in trained and "(300, 2)" in used


STOPPED = """
import signal
import hmcvi

def stop(*told):
    if told[0] == "gaussian":
        signal.raise_signal(signal.SIGINT)

endless = {"learning.most_updates": 1_000_000_000, "learning.tolerance": 0.0}
fit = hmcvi.builtin("eight-schools").fit(draws=100, progress=stop, settings=endless)
"""
GOES_ON = "import sys\nfit = sys.last_value.result\nfit.finished, len(fit.draws()['mu'])"


def test_an_interrupted_cell_leaves_its_fit():
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(code) for code in (STOPPED, GOES_ON)]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3", allow_errors=True).execute()
    first, second = (cell.outputs[-1] for cell in book.cells)
    assert first["ename"] == "Interrupted" and second["data"]["text/plain"] == "(False, 100)"
