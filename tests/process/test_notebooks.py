"""The library in a process of its own: its import, and the notebooks of examples/notebooks from top to bottom.

The notebooks are kept with what they show. `make pages` (--rewrite-pages) runs them again, and keeps that.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.paths import ROOT
from tests.fixtures.printed import steady

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install 'eqa-nodes[dev]'")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install 'eqa-nodes[dev]'")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install 'eqa-nodes[dev]'")

BOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
CELL_S = 300
MOST_BYTES = 1_000_000  # of a notebook with its pictures
PICTURE = re.compile(r"data:image/([\w+]+);base64,[A-Za-z0-9+/=]+")


def shown(notebook: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield what each cell shows, line by line; of pictures the kind alone, and no time that the machine decides."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            text = output.get("text") or data.get("text/html") or data.get("text/plain", "")
            pictures = [kind for kind in data if kind.startswith("image/")]
            yield number, pictures or steady(PICTURE.sub(r"\1", text))


@pytest.mark.thorough
@pytest.mark.parametrize("book", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_is_kept_with(book: Path, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    kept, notebook = (nbformat.read(book, as_version=4) for _ in range(2))
    nbclient.NotebookClient(notebook, timeout=CELL_S, kernel_name="python3", record_timing=False,
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    if pytestconfig.getoption("--rewrite-pages"):
        for output in [output for cell in notebook.cells for output in cell.get("outputs", ())]:
            if len(output.get("data", {})) > 1:
                output.data.pop("text/plain")  # the same as words, with the bytes of pictures
        notebook.metadata = kept.metadata
        nbformat.write(notebook, book)
        kept = notebook
    assert list(shown(kept)) == list(shown(notebook)), "make pages keeps what it shows now"
    assert list(shown(kept)), "it shows nothing"
    assert book.stat().st_size < MOST_BYTES


def test_there_are_notebooks() -> None:
    assert len(BOOKS) == 3


def test_importing_the_package_imports_nothing_else() -> None:
    words = "import sys, eqa_nodes; print([m for m in sys.modules if m.startswith(('eqa_nodes.', 'numpy', 'rclpy'))])"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
