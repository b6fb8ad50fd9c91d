"""A robot that wakes up with a new map frame: memory finds it among the known maps, or says why not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.index import ROW
from eqa_nodes.core.memory.reading import spread
from eqa_nodes.core.memory.relocalise import EVERY, register_maps
from eqa_nodes.core.observing import EpisodicMemory
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import RecallQuery
from eqa_nodes.core.types.views import Frame
from tests.fixtures.box_rooms import FLAT, OTHER, Box, look_round
from tests.fixtures.frames import LABELS

DAY = 86_400 * 10**9
TOUR = ((1.5, 1.5), (1.6, 3.6), (3.0, 3.6))
GLANCE = ((2.4, 1.6), (1.8, 2.6))
NEW = Pose2(7.0, -3.0, 2.1)  # map_from_house of the later session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A tour of the flat, with a kettle in its first view."""
    file = tmp_path / "home.sqlite"
    store = MemoryStore(file)
    store.reset("monday", map_name="home")
    for i, seen in enumerate(look_round(FLAT, TOUR)):
        labels = np.zeros(seen.depth_m.shape, np.uint16)
        labels[10:30, 20:40] = 1 if i == 0 else 0
        store.take(replace(seen, labels=labels), LABELS)
    store.close()
    return file


@pytest.fixture
def store(path: Path) -> Iterator[MemoryStore]:
    opened = MemoryStore(path, MemoryConfig(relocalise=True))
    opened.reset("tuesday", keep=True)
    yield opened
    opened.close()


def seen_later(boxes: list[Box]) -> Iterator[Frame]:
    return look_round(boxes, GLANCE, NEW, DAY)


def test_a_robot_in_a_new_frame_recalls_what_it_knew(store: MemoryStore) -> None:
    said: list[str] = []
    memory = EpisodicMemory(store, tell=said.append)
    frames = list(seen_later(FLAT))
    assert memory.recall(RecallQuery("kettle")) == []
    for frame in frames[:EVERY]:
        memory.take(frame, {})
    found = memory.recall(RecallQuery("kettle"))  # waits for the comparison
    assert len(said) == 1 and "found to lie in 'home'" in said[0]
    x, y = 7.0 + 1.5 * math.cos(2.1) - 1.5 * math.sin(2.1), -3.0 + 1.5 * math.sin(2.1) + 1.5 * math.cos(2.1)
    assert found[0].keyframe.pose.distance(Pose2(x, y, 0.0)) < 0.05
    assert [place for _, _, place in store.sessions()] == [1, 1]
    for frame in frames[EVERY:]:
        memory.take(frame, {})
    memory.recall(RecallQuery("kettle"))
    assert len(said) == 1  # it is known where the robot is


def test_the_result_is_taken_in_by_the_stamps_not_by_the_clock(store: MemoryStore) -> None:
    memory = EpisodicMemory(store)
    places = []
    for frame in seen_later(FLAT):
        memory.take(frame, {})
        places.append(store.sessions()[-1][2])
    assert places.index(1) == EVERY + 1  # frames are a second apart, and the result is due two seconds later


def test_another_place_stays_one_of_its_own_and_says_why(store: MemoryStore) -> None:
    said: list[str] = []
    memory = EpisodicMemory(store, tell=said.append)
    for frame in seen_later(OTHER):
        memory.take(frame, {})
    assert not any(found.keyframe.sightings for found in memory.recall(RecallQuery("kettle"))) and said == []
    assert memory.relocaliser.last.startswith("not in the map 'home': ")
    assert [place for _, _, place in store.sessions()] == [1, 2]


def test_nothing_is_compared_unless_it_is_wanted_nor_in_a_known_map(path: Path) -> None:
    for config, name in ((MemoryConfig(), ""), (MemoryConfig(relocalise=True), "home")):
        store = MemoryStore(path, config)
        store.reset(f"wednesday {name}", keep=True, map_name=name)
        memory = EpisodicMemory(store)
        for frame in seen_later(FLAT):
            memory.take(frame, {})
        memory.recall(RecallQuery("kettle"))
        assert memory.relocaliser.last == ""
        store.close()


def test_views_of_an_earlier_version_are_a_named_error_and_the_robot_goes_on(store: MemoryStore) -> None:
    store._db.execute("DELETE FROM geometries")
    said: list[str] = []
    memory = EpisodicMemory(store, tell=said.append)
    for frame in seen_later(FLAT):
        memory.take(frame, {})
    memory.recall(RecallQuery("kettle"))
    assert "could not be compared with 'home'" in said[0] and "has a depth image" in said[0]
    with pytest.raises(StorageError, match="the map 'home' cannot be aligned: none of 0 views has a depth image"):
        register_maps(store, "tuesday", "home")
    with pytest.raises(StorageError, match="'home' cannot lie in itself"):
        register_maps(store, "home", "home")


def test_the_views_that_are_compared_are_bounded_spread_and_the_newest() -> None:
    rows = np.zeros(4000, ROW)
    rows["id"], rows["stamp_ns"] = np.arange(1, 4001), np.arange(4000)
    rows["x"], rows["y"] = np.arange(4000) % 40 / 4, np.arange(4000) // 40 % 40 / 4
    chosen = spread(rows, 100)
    assert 40 < len(chosen) <= 100 and chosen == sorted(chosen) and min(chosen) > 2400
    assert spread(rows[:50], 100) == list(range(1, 51))
    rows["x"] = rows["y"] = 0.0
    assert spread(rows, 100) == [4000]


def test_align_auto_finds_the_transform_or_changes_nothing(path: Path, capsys: pytest.CaptureFixture[str],
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    store = MemoryStore(path)
    for name, boxes in (("attic", FLAT), ("cellar", OTHER)):
        store.reset(name, keep=True, map_name=name)
        for frame in look_round(boxes, GLANCE, NEW, DAY):
            store.take(frame, {})
    store.close()
    assert main(["memory", "align", "--auto", str(path), "attic", "home"]) == 0
    assert "attic lies in home at (6.12, 4.53) m, turned by -120.3 degrees (overlap" in capsys.readouterr().out
    assert main(["memory", "align", "--auto", str(path), "cellar", "home"]) == 2
    assert "cellar was not found in home: " in capsys.readouterr().err
    store = MemoryStore(path, write=False)
    assert [place for _, _, place in store.sessions()] == [1, 1, 3]
    store.close()


@pytest.mark.parametrize("words", [[], ["1", "2"]])
def test_align_wants_a_pose_or_auto(path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "align", str(path), "attic", "home", *words]) == 2
    assert "X Y DEGREES, or --auto" in capsys.readouterr().err
