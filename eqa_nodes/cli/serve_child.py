"""Runs the server program of `eqa serve` so that it ends with its parent, however that dies: standard input closes.

The device is tried here, before the model is loaded, and not by the parent: a process that uses a GPU keeps some of
its memory.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from itertools import pairwise

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.models.accelerator import device_of

PROGRAM = "transformers.cli.transformers"


def run(program: str = PROGRAM) -> None:
    """Run a module with this process's arguments, as `python -m` does; a device that there is not is one line."""
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    _try_device(sys.argv[1:])
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def _try_device(words: list[str]) -> None:
    name = dict(pairwise(words)).get("--device", "auto")
    if name == "auto":
        return
    import torch

    try:
        device_of(torch, name, "--device")
    except ConfigError as error:
        raise SystemExit(f"eqa: {error}") from error


def _end_with_the_parent() -> None:
    while os.read(0, 1024):  # not through sys.stdin, whose lock a thread must not hold when Python ends
        pass
    os._exit(1)


if __name__ == "__main__":
    run()
