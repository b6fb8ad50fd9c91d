"""A recording on topics: as a robot shows it, frame by frame in lock-step or by its stamps, and it cannot be driven."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from eqa_interfaces.msg import Episode
from eqa_interfaces.srv import Act
from sensor_msgs.msg import Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.errors import ErrorCode, StorageError
from eqa_nodes.core.types.views import Frame
from eqa_nodes.nodes import replay
from eqa_nodes.nodes.replay import Reel, ReplayNode
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.episode_history import RecordedHistory
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import until
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.histories import walk

COUNT = 6


class Audience:
    """A replay of a short walk, its client, and an observer that acknowledges depth images when told to."""

    def __init__(self, ros: Any, bag: Path, **parameters: Any) -> None:
        self.bag = bag
        usual = {"observers": ["watcher"], "repeat_s": 0.2, "acknowledged_deadline_s": 30.0}
        ros.add(ReplayNode, **{**usual, **parameters})
        self.node = ros.plain("watcher")
        self.acknowledge, self.delay_s = True, 0.0
        self.depths: list[tuple[int, bytes, float]] = []  # stamp, pixels, when it came
        self.labels: list[Image] = []
        self.links: list[Any] = []
        self.status: DiagnosticStatus | None = None
        self.reports = 0
        self.ended = threading.Event()
        self._acknowledged = self.node.create_publisher(Header, TOPICS["acknowledged"].name, qos("event"))
        for key, kind, callback in (("depth", Image, self._on_depth), ("labels", Image, self.labels.append),
                                    ("tf", TFMessage, lambda m: self.links.extend(m.transforms)),
                                    ("replay_status", DiagnosticStatus, self._on_status)):
            self.node.create_subscription(kind, TOPICS[key].name, callback, qos(TOPICS[key].qos))
        remotes = Remotes(self.node)
        self._act, self._reset = remotes.service("act"), remotes.service("reset_simulator")

    def _on_depth(self, image: Image) -> None:
        self.depths.append((messages.stamp_of(image), bytes(image.data), time.monotonic()))
        time.sleep(self.delay_s)
        if self.acknowledge:
            self._acknowledged.publish(Header(stamp=image.header.stamp, frame_id="watcher"))

    def _on_status(self, status: DiagnosticStatus) -> None:
        self.status, self.reports = status, self.reports + 1
        if status.message.split(":")[0] in ("finished", "failed"):
            self.ended.set()

    def reset(self, scene: str | None = None, **fields: Any) -> Any:
        episode = Episode(scene=str(self.bag) if scene is None else scene, episode_id="e", **fields)
        return self._reset.exchange(60.0, episode=episode)

    def act(self, action: int) -> Any:
        return self._act.exchange(60.0, action=action)

    def facts(self) -> dict[str, int]:
        assert self.status is not None
        return {value.key: int(value.value) for value in self.status.values}

    def shown_again(self, times: int) -> int:
        """Return the stamp of the newest image once it has come so many times, else 0."""
        came = [stamp for stamp, _, _ in self.depths]
        return came[-1] if came and came.count(came[-1]) >= times else 0

    def stamps(self) -> list[int]:
        """Return the stamps of the images in the order they came, each once."""
        return list(dict.fromkeys(stamp for stamp, _, _ in self.depths))


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    labels = np.arange(64 * 48, dtype=np.uint16).reshape(48, 64)
    write_bag([replace(frame, labels=labels) for frame in walk(COUNT)], tmp_path / "bag")
    return tmp_path / "bag"


def test_every_frame_is_shown_as_it_was_recorded(ros: Any, bag: Path) -> None:
    audience = Audience(ros, bag)
    assert audience.act(Act.Request.STATUS).error_code == ErrorCode.SIMULATOR
    begun = audience.reset()
    assert begun.error_code == 0, begun.error_message
    refused = audience.act(Act.Request.MOVE_FORWARD)
    assert refused.error_code == ErrorCode.SIMULATOR and "cannot be driven" in refused.error_message
    assert messages.ns_of(begun.episode.header.stamp) == walk(1)[0].stamp_ns
    assert not audience.depths  # nothing before the first OBSERVE: observers are told of the episode first
    audience.delay_s = 0.02
    assert audience.act(Act.Request.OBSERVE).error_code == 0
    assert audience.ended.wait(60.0)
    assert audience.status is not None and audience.status.message == "finished"
    assert audience.facts() == {"shown": COUNT, "frames": COUNT}
    assert audience.stamps() == [frame.stamp_ns for frame in walk(COUNT)]
    shown = {stamp: data for stamp, data, _ in audience.depths}
    assert all(shown[frame.stamp_ns] == frame.depth_m.tobytes() for frame in walk(COUNT))
    bases = {messages.stamp_of(t): messages.transform_of(t) for t in audience.links if t.child_frame_id == "base_link"}
    assert bases == {frame.stamp_ns: frame.map_from_base for frame in walk(COUNT)}
    assert not audience.labels  # a robot has none
    status = audience.act(Act.Request.STATUS)
    assert messages.pose_of(status.pose) == walk(COUNT)[-1].map_from_base
    assert status.steps == 0 and status.metres > 1.0


def test_the_next_frame_waits_for_the_observer(ros: Any, bag: Path) -> None:
    audience = Audience(ros, bag)
    audience.reset()
    audience.act(Act.Request.OBSERVE)
    audience.acknowledge = False
    held = until(lambda: audience.shown_again(3), "the frame that is not acknowledged is shown again")
    assert held == audience.stamps()[-1]
    until(lambda: audience.shown_again(6))
    assert held == audience.stamps()[-1] and len(audience.stamps()) < COUNT
    audience.acknowledge = True
    assert audience.ended.wait(60.0) and len(audience.stamps()) == COUNT


def test_an_observer_that_is_gone_ends_the_replay_with_its_name(ros: Any, bag: Path) -> None:
    audience = Audience(ros, bag, acknowledged_deadline_s=1.5)
    audience.reset()
    audience.act(Act.Request.OBSERVE)
    audience.acknowledge = False
    assert audience.ended.wait(60.0) and audience.status is not None
    assert audience.status.level == DiagnosticStatus.ERROR
    assert audience.status.message.startswith("failed: watcher did not take in")


@pytest.mark.parametrize("rate", [4.0, pytest.param(1.0, marks=pytest.mark.thorough)])
def test_a_rate_keeps_the_recorded_time(ros: Any, bag: Path, rate: float) -> None:
    audience = Audience(ros, bag, rate=rate)
    audience.reset()
    began = time.monotonic()
    audience.act(Act.Request.OBSERVE)
    audience.acknowledge = False  # at a rate nobody is waited for
    assert audience.ended.wait(60.0) and len(audience.stamps()) == COUNT
    came = {stamp: at - began for stamp, _, at in reversed(audience.depths)}
    for frame in walk(COUNT):  # none before its time
        assert came[frame.stamp_ns] >= (frame.stamp_ns - walk(1)[0].stamp_ns) / 1e9 / rate - 0.01


def test_it_reports_while_the_recorded_robot_stands_still(ros: Any, bag: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "ALIVE_S", 0.1)
    audience = Audience(ros, bag, rate=0.001)  # more than a minute between two frames
    audience.reset()
    audience.act(Act.Request.OBSERVE)
    before = audience.reports
    until(lambda: audience.reports - before >= 5)
    assert len(audience.stamps()) == 1
    assert audience.status is not None and audience.status.message == "playing"


def test_labels_are_shown_when_they_are_asked_for(ros: Any, bag: Path) -> None:
    audience = Audience(ros, bag, labels=True)
    audience.reset()
    audience.act(Act.Request.OBSERVE)
    assert audience.ended.wait(60.0)
    assert {messages.stamp_of(image) for image in audience.labels} == {frame.stamp_ns for frame in walk(COUNT)}
    assert messages.pixels_of(audience.labels[0])[1, 1] == 65


@pytest.mark.parametrize(("scene", "complaint"), [("/absent", "no /absent"), ("/", "holds no episode history")])
def test_a_source_that_is_no_history_is_a_named_error(ros: Any, bag: Path, scene: str, complaint: str) -> None:
    refused = Audience(ros, bag).reset(scene)
    assert refused.error_code == ErrorCode.STORAGE and complaint in refused.error_message


def test_stamps_go_on_when_it_is_shown_again(ros: Any, bag: Path) -> None:
    audience = Audience(ros, bag)
    for _ in range(2):
        audience.ended.clear()
        audience.reset()
        audience.act(Act.Request.OBSERVE)
        assert audience.ended.wait(60.0)
    stamps = audience.stamps()
    assert len(stamps) == 2 * COUNT and stamps == sorted(stamps)
    assert np.diff(stamps[COUNT:]).tolist() == np.diff(stamps[:COUNT]).tolist()


def test_a_new_episode_ends_the_one_that_plays(ros: Any, bag: Path) -> None:
    audience = Audience(ros, bag, rate=0.01)
    audience.reset()
    audience.act(Act.Request.OBSERVE)
    assert audience.reset().error_code == 0  # the first would go on for minutes, longer than the call waits


class Shelf:
    """A recording of given frames."""

    def __init__(self, frames: list[Frame]) -> None:
        self._frames = frames

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: int) -> Frame:
        return self._frames[index]


def test_frames_out_of_order_are_counted() -> None:
    first, second, third = walk(3)
    reel = Reel(RecordedHistory("shelf", Shelf([first, third, second, third])), 0, labels=False)
    assert [reel.frame.stamp_ns, *(f.stamp_ns for f in reel.coming())] == [first.stamp_ns, third.stamp_ns]
    assert sum(reel.skipped.values()) == 2
    with pytest.raises(StorageError, match="shelf has no usable frame"):
        Reel(RecordedHistory("shelf", Shelf([])), 0, labels=False)
