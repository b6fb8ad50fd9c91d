"""`eqa memory` while another process writes the memory."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
VERBS = {"info": [], "objects": [], "recall": ["kettle"], "ask": ["When did you last see the kettle?"]}


def _hold(path: str, says: Any, end: Any) -> None:
    """Write to a memory until told to end."""
    store = MemoryStore(Path(path))
    number = 0
    while not end.is_set():
        number += 1
        store.take(frame(NOON + number * SECOND, Pose2(20.0 + number, 0.0, 0.0), {3: (0, 0, 30, 30)}), LABELS)
        if number == 3:
            says.put("writing")
    store.close()


def test_one_can_look_while_a_robot_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "home.sqlite"
    store = MemoryStore(home)
    store.reset("first", map_name="home")
    store.take(frame(NOON, boxes={1: (20, 16, 32, 30), 2: (0, 30, 60, 46)}), LABELS)
    store.close()
    spawn = multiprocessing.get_context("spawn")
    says, end = spawn.Queue(), spawn.Event()
    robot = spawn.Process(target=_hold, args=(str(home), says, end))
    robot.start()
    try:
        assert says.get(timeout=60) == "writing"
        for verb, words in VERBS.items():
            assert main(["memory", verb, str(home), *words]) == 0 and capsys.readouterr().out
        assert main(["memory", "forget", str(home), "--everything"]) == 2
        assert "is being written by process" in capsys.readouterr().err
    finally:
        end.set()
        robot.join(30)
    assert robot.exitcode == 0
