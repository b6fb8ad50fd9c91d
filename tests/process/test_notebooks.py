"""The library in a process of its own: its import, and the notebooks of examples/notebooks from top to bottom."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.paths import ROOT

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'eqa-nodes[dev]'")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install 'eqa-nodes[dev]'")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install 'eqa-nodes[dev]'")

BOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
CELL_S = 300


@pytest.mark.parametrize("book", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(book: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(book, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    nbclient.NotebookClient(notebook, timeout=CELL_S, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any(set(output.get("data", {})) & {"text/html", "image/jpeg", "image/svg+xml", "text/plain"}
               for output in shown)


def test_there_are_notebooks() -> None:
    assert len(BOOKS) == 3


def test_importing_the_package_imports_nothing_else() -> None:
    words = "import sys, eqa_nodes; print([m for m in sys.modules if m.startswith(('eqa_nodes.', 'numpy', 'rclpy'))])"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
