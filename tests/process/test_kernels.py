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
