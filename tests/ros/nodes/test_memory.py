"""The memory node begins episodes after all that it keeps, also while the robot goes on seeing."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pytest
from eqa_interfaces.msg import Episode, Keyframe, WatchEvent

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.memory.watches import set_watch
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.nodes.recorder import RecorderNode
from eqa_nodes.nodes.replay import ReplayNode
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.observation import Observations
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S, holds, until
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.frames import frame
from tests.fixtures.histories import walk

UNWAIT_S = 0.5
NO_LABELS: Mapping[int, Label] = MappingProxyType({})


class Robot:
    """Shows views to a memory that stays, and begins its episodes."""

    def __init__(self, ros: Any, folder: Path, **parameters: Any) -> None:
        self.memory = ros.add(MemoryNode, folder=str(folder), **parameters)
        self.camera = ros.add(ReplayNode)
        self._observations = Observations(self.camera)
        self.agent = ros.plain("agent")
        self._reset = Remotes(self.agent).service("reset_memory")

    def begin(self, name: str, stamp_ns: int) -> int:
        """Ask for an episode that keeps what is remembered; return the stamp that memory says it may begin with."""
        asked = Episode(header=convert.header(stamp_ns), episode_id=name, keep_memory=True)
        return messages.stamp_of(self._reset.call(WAIT_S, episode=asked).episode)

    def show(self, frame: Frame, seconds: float, done: Callable[[], bool] = lambda: False,
             labels: Mapping[int, Label] = NO_LABELS) -> bool:
        """Show a view again and again. Returns whether it was done within this time."""
        def shown() -> bool:
            self._observations.publish(frame, labels)
            return done()

        return holds(shown, seconds)

    def remember(self, frame: Frame, labels: Mapping[int, Label] = NO_LABELS) -> None:
        """Show a view until memory has it."""
        assert self.show(frame, WAIT_S, lambda: self.memory.last_ns == frame.stamp_ns, labels)


def test_an_episode_that_must_begin_later_is_not_put_off_by_what_comes_meanwhile(ros: Any, tmp_path: Path) -> None:
    robot = Robot(ros, tmp_path)
    first, second, third = walk(3)
    assert robot.begin("monday", 0) == 0
    assert robot.show(first, WAIT_S, lambda: robot.memory.last_ns == first.stamp_ns)
    later = robot.begin("tuesday", first.stamp_ns - 1)
    assert later == first.stamp_ns + 1
    robot.show(second, UNWAIT_S)  # nobody has told the camera to wait
    assert robot.begin("tuesday", later) == later
    assert robot.show(third, WAIT_S, lambda: robot.memory.last_ns == third.stamp_ns)


def test_what_is_in_view_is_kept_when_it_is_asked_for_and_published(ros: Any, tmp_path: Path) -> None:
    memory, other = ros.add(MemoryNode, folder=str(tmp_path)), ros.plain("agent")
    remotes, heard = Remotes(other), list[int]()
    keep, reset, recall = (remotes.service(name) for name in ("keep_view", "reset_memory", "recall"))
    topic = TOPICS["keyframes"]
    other.create_subscription(Keyframe, topic.name, lambda view: heard.append(view.keyframe_id), qos(topic.qos))
    with pytest.raises(convert.RemoteError, match="has no episode"):
        keep.call(WAIT_S)
    first = replace(walk(1)[0], stamp_ns=time.time_ns())
    reset.call(WAIT_S, episode=Episode(header=convert.header(first.stamp_ns), episode_id="monday"))
    (x, y, z), turn = first.map_from_base
    memory.take(first, {})
    memory.take(replace(first, stamp_ns=first.stamp_ns + 1, map_from_base=Transform((x + 0.3, y, z), turn)), {})
    for _ in range(2):  # it is kept once
        keep.call(WAIT_S)
    assert [view.keyframe_id for view in recall.call(WAIT_S, in_order=True).keyframes] == [1, 2]
    until(lambda: 2 in heard)


def test_an_event_of_a_watch_is_published_once_and_after_a_restart_if_it_was_not(ros: Any, tmp_path: Path) -> None:
    robot, topic = Robot(ros, tmp_path, labels=True, file="home.sqlite"), TOPICS["watch_events"]
    heard, late = list[WatchEvent](), list[WatchEvent]()
    robot.agent.create_subscription(WatchEvent, topic.name, heard.append, qos(topic.qos))

    def see(second: int, state: str) -> tuple[Frame, dict[int, Label]]:
        return frame(second * 10**9, boxes={1: (20, 16, 32, 30)}), {1: Label(1, "kettle", "kitchen", {"state": state})}

    robot.begin("monday", 0)
    set_watch(tmp_path / "home.sqlite", "the kettle is on")
    for second, state in enumerate(("off", "on", "on", "off"), 1):
        robot.remember(*see(second, state))
    until(lambda: heard)
    event, = heard
    assert (event.event_id, event.watch, event.statement, event.text) == (
        1, 1, "the kettle is on", "the kettle is on, in the kitchen")
    assert messages.stamp_of(event) == messages.ns_of(event.since) == 2 * 10**9 and event.object_id == 1
    robot.memory.store.take(*see(5, "on"))  # as by a node that died before it published
    robot.begin("tuesday", 6 * 10**9)
    until(lambda: [event.event_id for event in heard] == [1, 2])
    assert robot.memory.store.events_to_publish() == []
    Remotes(robot.agent).service("forget").call(WAIT_S, kind="kettle")
    ros.plain("late").create_subscription(WatchEvent, topic.name, late.append, qos(topic.qos))
    robot.remember(*see(7, "off"))
    robot.remember(*see(8, "on"))
    until(lambda: late)
    assert [event.event_id for event in late] == [3]  # no event that was forgotten


def test_a_view_meets_its_own_label_table_however_late_that_arrives(ros: Any, tmp_path: Path) -> None:
    """A person walks into the hallway, and memory has the images before the table that says so."""
    robot = Robot(ros, tmp_path, labels=True)
    robot.begin("monday", 0)
    first, second = (frame((k + 1) * 10**9, Pose2(0.0, 0.0, 1.5 * k), {1: (20, 10, 40, 40)}) for k in range(2))
    kitchen, hallway = ({1: Label(1, "person", room, {})} for room in ("kitchen", "hallway"))
    robot.remember(first, kitchen)
    robot.show(replace(second, labels=None), 0.0)
    robot.camera.send("labels", convert.image_msg(cast(np.ndarray, second.labels), "16UC1", second.stamp_ns))
    until(lambda: robot.memory.frames.lacking(second.stamp_ns) == "no label_table")
    robot.remember(second, hallway)
    views = [robot.memory.store.keyframe(k) for k in (1, 2)]
    assert [s.label.room for view in views for s in view.sightings] == ["kitchen", "hallway"]


def test_a_camera_whose_clock_is_ahead_is_refused_by_the_graphs_clock(ros: Any, tmp_path: Path) -> None:
    """By the computer's, as on a robot; where somebody publishes /clock stamps are of that one."""
    memory, other = ros.add(MemoryNode, folder=str(tmp_path)), ros.plain("agent")
    asked = Episode(header=convert.header(time.time_ns()), episode_id="monday", keep_memory=True)
    assert Remotes(other).service("reset_memory").call(WAIT_S, episode=asked).error_code == 0
    first, second = walk(2)
    day = 86400 * 10**9
    with pytest.raises(BadFrame, match="from the future.*over an hour after now"):
        memory.take(replace(first, stamp_ns=time.time_ns() + day // 2), {})
    memory.take(replace(first, stamp_ns=time.time_ns()), {})
    memory.store.set_now(0)
    assert memory.store.take(replace(second, stamp_ns=time.time_ns() + day), {}) is not None
    asked.episode_id = "tuesday"
    assert Remotes(other).service("reset_memory").call(WAIT_S, episode=asked).error_code == 0
    told, = memory.counts
    assert "holds 1 views that are stamped after now" in told
    clock = TOPICS["clock"]
    other.create_publisher(interface(clock.type), clock.name, qos(clock.qos))
    assert holds(lambda: memory.count_publishers(clock.name) == 1, WAIT_S)
    memory.take(replace(second, stamp_ns=time.time_ns() + 2 * day), {})
    assert len(memory.store) == 3


def test_simulated_time_that_lags_behind_its_stamps_refuses_nothing(ros: Any, tmp_path: Path) -> None:
    """The first observation of an episode may come before the clock that jumps to it."""
    memory, other = ros.add(MemoryNode, folder=str(tmp_path), use_sim_time=True), ros.plain("agent")
    clock = TOPICS["clock"]
    out = other.create_publisher(interface(clock.type), clock.name, qos(clock.qos))
    message = interface(clock.type)()
    message.clock.sec = 5

    def ticks() -> bool:
        out.publish(message)
        return bool(memory.get_clock().now().nanoseconds == 5 * 10**9)

    assert holds(ticks, WAIT_S)
    asked = Episode(header=convert.header(1000 * 10**9), episode_id="monday", keep_memory=True)
    assert Remotes(other).service("reset_memory").call(WAIT_S, episode=asked).error_code == 0
    first, second = walk(2)
    memory.take(replace(first, stamp_ns=1000 * 10**9 + 1), {})
    memory.take(replace(second, stamp_ns=1009 * 10**9), {})
    assert len(memory.store) == 2 and not memory.counts
    with pytest.raises(BadFrame, match="from the future"):
        memory.take(replace(second, stamp_ns=2000 * 10**9), {})


def test_a_recorder_that_comes_late_has_the_views_of_its_episode_alone(ros: Any, tmp_path: Path) -> None:
    """As one that memory has not discovered yet: nobody knows when it will be."""
    robot, topic = Robot(ros, tmp_path / "memory"), TOPICS["keyframes"].name
    monday, tuesday, later = walk(3)
    robot.begin("monday", 0)
    robot.remember(monday)
    robot.begin("tuesday", tuesday.stamp_ns)
    robot.remember(tuesday)
    recorder = ros.add(RecorderNode, folder=str(tmp_path / "bags"))
    until(lambda: recorder.diagnostics.received(topic) == 2, "the recorder receives what memory has published")
    reset = Remotes(robot.agent).service("reset_recorder")
    reset.call(WAIT_S, episode=Episode(header=convert.header(tuesday.stamp_ns), episode_id="tuesday"))
    robot.remember(later)
    until(lambda: recorder.diagnostics.received(topic) == 3, "the recorder receives what comes then")
    reset.call(WAIT_S)
    views = trace_of(tmp_path / "bags" / "tuesday").keyframes
    assert [view.stamp_ns for view in views] == [tuesday.stamp_ns, later.stamp_ns]


def test_who_comes_late_is_given_no_view_that_was_forgotten(ros: Any, tmp_path: Path) -> None:
    robot, topic, heard = Robot(ros, tmp_path), TOPICS["keyframes"], list[Keyframe]()
    first, second = walk(2)
    robot.begin("monday", 0)
    robot.remember(first)
    forgotten = Remotes(robot.agent).service("forget").call(WAIT_S, everything=True)
    assert forgotten.keyframes == 1
    ros.plain("late").create_subscription(Keyframe, topic.name, heard.append, qos(topic.qos))
    robot.remember(second)
    until(lambda: heard and messages.stamp_of(heard[-1]) == second.stamp_ns, "the view after that")
    assert [messages.stamp_of(view) for view in heard] == [second.stamp_ns]
