"""Children of the runner end together, and an interrupt reaches them through their parent alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

from eqa_nodes.ros.environment import CLOSED, READY
from eqa_nodes.ros.runner import Child, Process, RunningGraph
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


def scripted(folder: Path, name: str, *arguments: str) -> Child:
    """Return a child that runs a script instead of nodes, and knows of no terminal's interrupt."""
    def start() -> Process:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            return subprocess.Popen([sys.executable, "-c", CHILD, *arguments], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return Child([name], start, folder / f"{name}.log")


def test_nobody_dies_before_all_have_closed(tmp_path: Path) -> None:
    done = tmp_path / "done"
    quick, slow = scripted(tmp_path, "mapper"), scripted(tmp_path, "recorder", str(done))
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
