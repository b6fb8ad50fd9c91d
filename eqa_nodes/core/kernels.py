"""Compiled functions (numba) whose machine code is kept on the disk: each installation compiles them once.

numba finds stored code by the name and the line of a function, and unpickles it before it looks whether the source has
changed: after an update that renames a class among the arguments this fails. So the name holds a digest of the source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator with a cache on the disk. options: as of numba.njit."""
    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"_{_digest(function.__code__.co_filename)}"
        return numba.njit(cache=True, **options)(function)

    return decorate


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
