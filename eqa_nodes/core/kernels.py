"""Compiled functions (numba) whose machine code is cached on disk, so that each installation compiles them once.

numba finds cached code by the name and the line of a function, and unpickles it before it checks whether the source has
changed: this fails after an update that renames a class among the arguments. It also checks only the kernel's own file,
although the code of called kernels is included. Therefore the name contains a digest of all of them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.dispatcher import Dispatcher

MANY = 5  # number of kernels compiled in a process after which it logs a warning: a single one is quick
_OURS: set[Callable[..., Any]] = set()
log = logging.getLogger(__name__)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator with a cache on disk. options: those of numba.njit."""
    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{_digest(function)}"
        _OURS.add(function)
        return numba.njit(cache=True, **options)(function)

    return decorate


class _Notice(event.Listener):
    """Logs why the first scene takes long. numba reports only kernels that are not in the cache."""

    def __init__(self) -> None:
        self._compiled = 0

    def on_start(self, event: Any) -> None:
        """Count a kernel."""
        if event.data["dispatcher"].py_func in _OURS:
            self._compiled += 1
            if self._compiled == MANY:
                log.warning("Compiling kernels, once an installation: this takes up to half a minute. "
                            "`python -m eqa_nodes.runners.kernels` does it beforehand.")

    def on_end(self, event: Any) -> None:
        """Do nothing."""


event.register("numba:compile", _Notice())


@cache
def start_compiler() -> None:
    """Make numba load what the first call of any compiled function needs: 0.25 s and 25 MB, which forks then share."""
    _nothing()


def _digest(function: Callable[..., Any]) -> str:
    """Return a digest of a kernel's file, of the kernels that it imports, and of the numbers that it uses.

    An imported kernel has such a digest in its own name. Absent source files (byte code only) count as unchanged.
    """
    known, code = function.__globals__, function.__code__
    kernels = (value.py_func.__qualname__ for value in known.values() if isinstance(value, Dispatcher))
    numbers = (f"{name}={known[name]!r}" for name in code.co_names if isinstance(known.get(name), (int, float, tuple)))
    parts = sorted({_content(code.co_filename), *kernels, *numbers})
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


@cache
def _content(source: str) -> str:
    path = Path(source)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


@njit()
def _nothing() -> int:
    return 0
