"""kill -9 of a writer of memory at random moments: what it acknowledged is there, and the file opens clean."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.questions import RecallQuery
from tests.fixtures.paths import ROOT

KILLS = int(os.environ.get("EQA_KILLS", "8"))
_WRITER = """
import sys
from pathlib import Path
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from tests.fixtures.frames import LABELS, frame
store = MemoryStore(Path(sys.argv[1]), MemoryConfig(embedder="none"))  # its model takes a second to load
begin = len(store.since(0))
for i in range(begin, begin + 100000):
    boxes = {1 + i % 7: (10, 10, 40, 40)}
    keyframe = store.take(frame((i + 1) * 10**9, Pose2(1.1 * (i % 50), 1.1 * (i // 50), 0.0), boxes), LABELS)
    print(keyframe.id, flush=True)
"""


def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    path, dice = tmp_path / "memory.db", random.Random(0)
    acknowledged: list[int] = []
    for _ in range(KILLS):
        child = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True,
                                 cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert child.stdout is not None
        acknowledged.append(int(child.stdout.readline()))  # all is loaded
        time.sleep(dice.uniform(0.0, 0.2))
        child.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in child.stdout.read().splitlines() if line.isdecimal()]
        assert child.wait(30) == -signal.SIGKILL
        store = MemoryStore(path)  # the lock went with its process
        views = store.since(0)
        ids = [view.id for view in views]
        assert ids == list(range(1, len(ids) + 1))
        assert set(acknowledged) <= set(ids)
        assert all(view.jpeg.startswith(b"\xff\xd8") for view in views[-3:])
        assert len(store) == len(ids)
        found = store.recall(RecallQuery("kettle", limit=10**6))
        assert len(found) >= sum(any(s.label.kind == "kettle" for s in view.sightings) for view in views)
        assert {o.keyframe_id for o in store.objects()} <= set(ids)
        store.close()
    assert len(acknowledged) > KILLS
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
