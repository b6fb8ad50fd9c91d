"""Kernels are compiled once an installation, and a process that compiles many of them says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from eqa_nodes.core.kernels import MANY

LINE = "Compiling kernels, once an installation"


def _called(folder: Path, kernels: int) -> str:
    """Return what a new process that calls so many kernels writes to stderr."""
    source = "from eqa_nodes.core.kernels import njit\n" + "".join(
        f"@njit()\ndef kernel_{i}(x):\n    return x + {i}\n" for i in range(kernels))
    file = folder / f"kernels_{kernels}.py"
    if not file.exists():  # a new time would make numba compile anew
        file.write_text(source)
    calls = "; ".join(f"assert m.kernel_{i}(1) == {i + 1}" for i in range(kernels))
    done = subprocess.run([sys.executable, "-c", f"import kernels_{kernels} as m; {calls}"], cwd=folder, timeout=300,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
                          capture_output=True, text=True, check=True)
    return done.stderr


def test_many_kernels_are_announced_once_and_only_while_they_are_compiled(tmp_path: Path) -> None:
    assert LINE not in _called(tmp_path, MANY - 1)
    assert _called(tmp_path, MANY + 1).count(LINE) == 1
    assert LINE not in _called(tmp_path, MANY + 1)


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_has_changed(tmp_path: Path) -> None:
    """Also where another kernel stands between the two, and where a number is imported from a third file."""
    head = "from eqa_nodes.core.kernels import njit\n"
    outer = "@njit()\ndef middle(x):\n    return inner(x)\n@njit()\ndef outer(x):\n    return middle(x)\n"
    inner = "from numbers_of import STEP\n@njit()\ndef inner(x):\n    return x + {} + STEP\n"
    for file, text, found in (("outer.py", f"{head}from inner import inner\n{outer}", None),
                              ("inner.py", head + inner.format(1), None), ("numbers_of.py", "STEP = 10\n", 111),
                              ("inner.py", head + inner.format(2), 112), ("numbers_of.py", "STEP = 20\n", 122)):
        (tmp_path / file).write_text(text)
        if found is not None:
            assert _printed(tmp_path, "from outer import outer; print(outer(100))") == f"{found}\n"


def _printed(folder: Path, source: str) -> str:
    done = subprocess.run([sys.executable, "-B", "-c", source], cwd=folder, timeout=300, check=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
                          stdout=subprocess.PIPE)
    return done.stdout
