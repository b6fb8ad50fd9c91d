"""Compiled functions (numba) whose machine code is kept on the disk: each installation compiles them once.

numba finds stored code by the name and the line of a function, and unpickles it before it looks whether the source has
changed: after an update that renames a class among the arguments this fails. So the name holds a digest of the source.
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

MANY = 5  # kernels that one process compiles before it says so: a single one is quick
_OURS: set[Callable[..., Any]] = set()
log = logging.getLogger(__name__)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator with a cache on the disk. options: as of numba.njit."""
    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{_digest(function.__code__.co_filename)}"
        _OURS.add(function)
        return numba.njit(cache=True, **options)(function)

    return decorate


class _Notice(event.Listener):
    """Says why a first scene takes long. numba reports only what it did not find on the disk."""

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
    """Let numba load what the first call of any compiled function loads: 0.25 s and 25 MB, which forks then share."""
    _nothing()


@cache
def _digest(source: str) -> str:
    """Return what changes when a source file does; where it is absent (byte code alone) there is no such change."""
    path = Path(source)
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else ""


@njit()
def _nothing() -> int:
    return 0
