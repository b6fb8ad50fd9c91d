"""A memory outlives the process that wrote it, and has one writer at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import RecallQuery
from tests.fixtures.frames import LABELS, frame
from tests.fixtures.paths import ROOT

_KILLED = """
import sys
from pathlib import Path
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.memory import MemoryStore
from tests.fixtures.frames import LABELS, frame
store = MemoryStore(Path(sys.argv[1]))
for i in range(1000):
    print(store.take(frame(i, Pose2(float(i), 0.0, 0.0), {1: (0, 0, 12, 12)}), LABELS).id, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    child = subprocess.Popen([sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                             env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= 12:
            child.send_signal(signal.SIGKILL)
            break
    acknowledged = [int(line) for line in child.stdout.read().split()] or [12]
    assert child.wait(30) == -signal.SIGKILL
    store = MemoryStore(path)
    ids = [k.id for k in store.since(0)]
    assert ids == list(range(1, len(ids) + 1))
    assert len(ids) >= max(acknowledged)
    assert len(store.recall(RecallQuery("kettle", limit=5000))) == len(ids)
    store.close()


SECOND = 10**9
NOON = 1_794_830_400 * SECOND


def _open(path: str, says: multiprocessing.Queue[str]) -> None:
    try:
        MemoryStore(Path(path)).close()
        says.put("opened")
    except StorageError as error:
        says.put(str(error))


def test_a_second_writer_is_refused_and_a_reader_is_not(store: MemoryStore) -> None:
    store.take(frame(NOON, boxes={1: (10, 10, 40, 40)}), LABELS)
    spawn = multiprocessing.get_context("spawn")
    says: multiprocessing.Queue[str] = spawn.Queue()
    child = spawn.Process(target=_open, args=(str(store.path), says))
    child.start()
    assert "is being written by process" in says.get(timeout=30)
    child.join(10)
    reader = MemoryStore(store.path, write=False)
    assert len(reader.recall(RecallQuery("kettle"))) == 1
    store.take(frame(NOON + SECOND, Pose2(3.0, 0.0, 0.0), {4: (10, 10, 40, 40), 1: (40, 10, 60, 40)}), LABELS)
    assert len(reader.recall(RecallQuery("kettle"))) == len(reader.objects()) == 1  # as it was when opened
    assert len(store.recall(RecallQuery("kettle"))) == 2
    reader.close()
    with pytest.raises(StorageError, match="no memory file"):
        MemoryStore(store.path.with_name("absent.db"), write=False)
    with pytest.raises(StorageError, match="being written"):
        MemoryStore(store.path)
