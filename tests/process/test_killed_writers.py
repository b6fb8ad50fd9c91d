"""What a killed process had written before it died is there: bags and runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader

from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.recover import recover
from tests.fixtures.paths import ROOT
from tests.fixtures.synthetic_run import plain

_KILLED = """
import sys, time
from pathlib import Path
from eqa_nodes.recordings.bags.writer import BagWriter
from tests.fixtures.bags import FRAME_TOPICS, Cdr, record_frames, topics_of
writer = BagWriter(Path(sys.argv[1]), topics_of(*FRAME_TOPICS))
record_frames(Cdr(), writer, 10)
writer.flush()
print("flushed", flush=True)
record_frames(Cdr(), writer, 0)
time.sleep(60)
"""


def test_a_killed_recorder_leaves_what_was_flushed(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    child = subprocess.Popen([sys.executable, "-c", _KILLED, str(bag)], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                             env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert child.stdout is not None
    assert child.stdout.readline() == "flushed\n"
    child.send_signal(signal.SIGKILL)
    child.wait(30)
    with (bag / "bag_0.mcap").open("rb") as stream:  # what another tool gets out of it as it is
        found: list[int] = []
        with pytest.raises(McapError):
            found.extend(m.log_time for _, _, m in NonSeekingReader(stream).iter_messages(log_time_order=False))
    assert len(found) >= 41
    with pytest.raises(StorageError, match=r"eqa_nodes\.recordings\.bags\.recover"):
        BagHistory(bag)
    assert recover(bag) == len(found)
    assert recover(bag) == -1
    assert len(list(BagHistory(bag))) == 10
    assert sorted(p.name for p in bag.iterdir()) == ["bag_0.mcap", "metadata.yaml"]


def test_survives_kill(tmp_path: Path) -> None:
    """A process killed without warning in its third question has lost nothing of the first two."""
    script = f"""
import os, signal
from pathlib import Path
from tests.fixtures.synthetic_run import plain
from eqa_nodes.bench.running.runner import run_benchmark
asked, runner = plain(4)
play = runner.run
def run(sample):
    if sample.id == "q2":
        os.kill(os.getpid(), signal.SIGKILL)
    return play(sample)
runner.run = run
run_benchmark(asked, runner, Path({str(tmp_path)!r}))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert list(read_predictions(tmp_path).predictions) == ["q0", "q1"]
    asked, runner = plain(4)
    assert run_benchmark(asked, runner, tmp_path).resumed == 2
    assert runner.asked == ["q2", "q3"]
