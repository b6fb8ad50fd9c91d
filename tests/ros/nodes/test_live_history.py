"""What a publisher shows is the history that a listener gets: the same images and poses, to the last bit."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.nodes.replay import ReplayNode
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.ros.live_history import LiveHistory
from eqa_nodes.ros.observation import Observations
from tests.fixtures.frames import LABELS
from tests.fixtures.histories import walk


class Robot:
    """Shows a walk over and over, each frame for a twentieth of a second, with stamps that go on."""

    def __init__(self, ros: Any, labels: bool = False) -> None:
        node = ros.add(ReplayNode)
        self._observations, self._labels = Observations(node), labels
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._drive, daemon=True)
        self._thread.start()

    def _drive(self) -> None:
        frames, turn = walk(5), 0
        while not self._stop.is_set():
            for frame in frames:
                ids = np.ones(frame.depth_m.shape, np.uint16) if self._labels else None
                shown = replace(frame, stamp_ns=frame.stamp_ns + turn * 10**9, labels=ids)
                table: dict[int, Label] = {1: LABELS[1]} if self._labels else {}
                self._observations.publish(shown, table)
                if not self._labels:  # as in lock-step: a frame that comes twice is one
                    self._observations.publish(shown, table, again=True)
                time.sleep(0.05)
            turn += 1

    def end(self) -> None:
        self._stop.set()
        self._thread.join(3.0)


@pytest.fixture
def robot(ros: Any) -> Iterator[Robot]:
    robot = Robot(ros)
    yield robot
    robot.end()


def assert_same(frames: list[Frame], tolerance: float = 0.0) -> None:
    """Each is one of the walk's, by the part of its stamp that turns do not change."""
    walked = {frame.stamp_ns % 10**9: frame for frame in walk(5)}
    assert frames
    stamps = [frame.stamp_ns for frame in frames]
    assert stamps == sorted(set(stamps))
    for frame in frames:
        same = walked[frame.stamp_ns % 10**9]
        assert np.array_equal(frame.rgb, same.rgb) and np.array_equal(frame.depth_m, same.depth_m)
        assert frame.intrinsics == same.intrinsics
        assert np.allclose(frame.map_from_camera(), same.map_from_camera(), atol=tolerance, rtol=0)


def test_what_is_shown_is_heard(ros: Any, robot: Robot) -> None:
    history = LiveHistory(seconds=1.0, domain_id=ros.context.get_domain_id())
    assert len(history) == 0  # unknown
    frames = list(history)
    assert len(frames) <= 25
    assert_same(frames, 1e-9)
    assert frames[0].labels is None
    # of what was received before all topics were found
    assert all(reason.startswith("no ") for reason in history.dropped) and sum(history.dropped.values()) <= 25


def test_it_ends_when_the_camera_is_switched_off(ros: Any, robot: Robot) -> None:
    history = LiveHistory(quiet_s=5.0, domain_id=ros.context.get_domain_id())
    frames: list[Frame] = []
    for frame in history:
        frames.append(frame)
        if len(frames) == 3:
            robot.end()
    assert 3 <= len(frames) < 10


def test_labels_come_with_their_table(ros: Any) -> None:
    robot = Robot(ros, labels=True)
    history = LiveHistory(seconds=0.5, labels=True, domain_id=ros.context.get_domain_id())
    try:
        frames = list(history)
    finally:
        robot.end()
    assert frames and all(frame.labels is not None and (frame.labels == 1).all() for frame in frames)
    assert history.labels == {1: LABELS[1]}


def test_a_robot_that_is_not_there_is_a_named_error(ros: Any) -> None:
    domain = ros.context.get_domain_id()
    with pytest.raises(StorageError, match=f"domain {domain}.*no publisher on /r2/camera/color/image_raw, /depth"):
        next(iter(LiveHistory("r2", {"depth": "/depth"}, quiet_s=0.5, domain_id=domain)))
    with pytest.raises(ConfigError, match="'colour'.*color"):
        LiveHistory(remap={"colour": "/rgb"})


def test_a_robot_is_exported_as_a_bag(ros: Any, robot: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(os.environ, "ROS_DOMAIN_ID", str(ros.context.get_domain_id()))
    assert main(["history", "export", "live:", str(tmp_path / "bag"), "--to", "bag", "--seconds", "1"]) == 0
    assert "written" in capsys.readouterr().out
    assert_same(list(open_history(tmp_path / "bag")), 1e-9)
