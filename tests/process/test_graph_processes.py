"""Children of the runner end together, and an interrupt reaches them through their parent alone."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

from eqa_nodes.ros.runner import CLOSED, READY, Child, RunningGraph
from eqa_nodes.testing.waiting import gone, until

CHILD = f"""
import pathlib, sys, time
print({READY!r}, flush=True)
sys.stdin.read()
while len(sys.argv) > 1 and not pathlib.Path(sys.argv[1]).exists():  # it has something to end
    time.sleep(0.01)
print({CLOSED!r}, flush=True)
time.sleep(600)  # as one that hangs at exit
"""


class Scripted(Child):
    """A child that runs a script instead of nodes."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self._script = [sys.executable, "-c", CHILD, *arguments]
        super().__init__([name], [], os.environ, folder / f"{name}.log")

    def command(self) -> list[str]:
        return self._script


def test_nobody_dies_before_all_have_closed(tmp_path: Path) -> None:
    done = tmp_path / "done"
    quick, slow = Scripted(tmp_path, "mapper"), Scripted(tmp_path, "recorder", str(done))
    for child in (quick, slow):
        assert child.ready.wait(60.0)
        child.process.send_signal(signal.SIGINT)  # as the terminal does
    graph = SimpleNamespace(children=[quick, slow], _watching=threading.Event())
    ending = threading.Thread(target=RunningGraph._stop, args=(graph,))
    ending.start()
    assert quick.closed.wait(60.0)
    assert not slow.closed.is_set() and not gone(quick.process.pid) and not gone(slow.process.pid)
    done.touch()
    ending.join(60.0)
    assert slow.closed.is_set()
    until(lambda: gone(quick.process.pid) and gone(slow.process.pid))
    assert not any(child.tail() for child in (quick, slow))  # no traceback of an interrupt
