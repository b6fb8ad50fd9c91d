"""Runs the server program of `eqa serve` so that it ends with its parent, however that dies: standard input closes."""

from __future__ import annotations

import os
import runpy
import threading

PROGRAM = "transformers.cli.transformers"


def run(program: str = PROGRAM) -> None:
    """Run a module with this process's arguments, as `python -m` does."""
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def _end_with_the_parent() -> None:
    while os.read(0, 1024):  # not through sys.stdin, whose lock a thread must not hold when Python ends
        pass
    os._exit(1)


if __name__ == "__main__":
    run()
