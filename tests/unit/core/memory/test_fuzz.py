"""Damaged memory files: they open and answer, or say what is wrong; EQA_FUZZ=4000 reads that many."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path

import pytest

from eqa_nodes.core.errors import EqaError, StorageError
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.forgetting import ForgetSelection
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import RecallQuery
from tests.fixtures.frames import LABELS, frame

COUNT = int(os.environ.get("EQA_FUZZ", "50"))
CONFIG = MemoryConfig(embedder="none")
NOON = 1_794_830_400 * 10**9


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("memory") / "memory.db"
    store = MemoryStore(path, CONFIG)
    store.reset("first", map_name="home")
    for i in range(14):
        store.take(frame(NOON + i * 10**9, Pose2(float(i), 0.0, 0.0), {1 + i % 7: (10, 10, 40, 40)}), LABELS)
    store.forget(ForgetSelection(kind="painting"))  # also empties the log into the file
    store.close()
    return path.read_bytes()


def _damaged(data: bytes, dice: random.Random) -> bytes:
    out = bytearray(data)
    kind = dice.randrange(4)
    if kind == 0:
        return bytes(out[:dice.randrange(len(out))])
    for _ in range(dice.choice((1, 4, 40))):
        at = dice.randrange(len(out))
        if kind == 1:
            out[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            out[at:at + 16] = bytes(dice.randrange(256) for _ in range(16))
        else:
            out[at:at + 512] = b"\0" * 512
    return bytes(out)


def test_a_damaged_file_answers_or_is_named(sound: bytes, tmp_path: Path) -> None:
    dice, answered, named = random.Random(0), 0, 0
    for i in range(COUNT):
        path = tmp_path / f"{i}.db"
        path.write_bytes(_damaged(sound, dice))
        try:
            store = MemoryStore(path, CONFIG)
        except StorageError:
            named += 1
            path.unlink()
            continue
        for use in (lambda s: s.recall(RecallQuery("kettle near the kitchen")), lambda s: s.objects("lamp"),
                    lambda s: s.since(0), lambda s: s.recollect("What changed?"), lambda s: s.info(),
                    lambda s: s.take(frame(NOON + 10**12, Pose2(3.0, 3.0, 0.0), {1: (10, 10, 40, 40)}), LABELS),
                    lambda s: s.forget(ForgetSelection(region="study"))):
            try:
                use(store)
                answered += 1
            except EqaError:
                named += 1
        store.close()
        path.unlink()
    assert answered > 0 and named > 0


def test_a_row_that_says_nonsense_is_named(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for column, value in (("sightings", "[[1"), ("map_from_base", b"short"), ("places", "[[1, 2]]")):
        path.write_bytes(sound)
        db = sqlite3.connect(path)
        db.execute(f"UPDATE keyframes SET {column} = ?", (value,))
        db.commit()
        db.close()
        store = MemoryStore(path, CONFIG)
        with pytest.raises(StorageError, match="damaged"):
            store.since(0)
        store.close()
