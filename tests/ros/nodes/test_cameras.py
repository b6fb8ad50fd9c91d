"""However a robot's cameras publish, map and memory become the same."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.msg import Episode

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import compose
from eqa_nodes.core.types.views import Frame
from eqa_nodes.nodes.mapper import MapperNode
from eqa_nodes.nodes.memory import MemoryNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.camera_robot import BEGIN_NS, STEP_NS, CameraRobot, Feed, expected
from tests.fixtures.house_views import BACK, MOUNT, PATH, shots

WAIT_S = 60.0


class Walk:
    """A mapper and a memory that hear a robot, moment by moment."""

    def __init__(self, ros: Any, folder: Path, feed: Feed, second: bool = False, starts_s: int = 1,
                 unheard: str = "", **parameters: Any) -> None:
        """starts_s: how long before its first moment the episode begins; unheard: the part that nobody listens to."""
        declared = {f"node__camera__{name}": value for name, value in asdict(feed.camera).items()}
        declared |= {f"node__second_camera__{name}": value for name, value in asdict(feed.camera).items()}
        declared |= {"node__tf__base_frame": feed.base, **parameters}
        mapping = {name: declared.pop(name) for name in ("relocated",) if name in declared}
        self.mapper = ros.add(MapperNode, **declared, **mapping)
        self.memory = ros.add(MemoryNode, folder=str(folder), **declared)
        node = ros.plain("robot")
        self.robot = CameraRobot(node, feed, second)
        self._heard, self._acknowledged = threading.Condition(), dict[str, set[int]]()
        node.create_subscription(interface(TOPICS["acknowledged"].type), TOPICS["acknowledged"].name, self._on,
                                 qos("event"))
        for name in ("mapper", "memory"):
            episode = Episode(episode_id="walk", map_name="house")
            episode.header.stamp.sec = BEGIN_NS // 10**9 - starts_s
            assert Remotes(node).service(f"reset_{name}").call(WAIT_S, episode=episode).error_code == 0
        self.until(lambda: self.robot.listened_to(2, unheard))

    def _on(self, header: Any) -> None:
        with self._heard:
            self._acknowledged.setdefault(header.frame_id, set()).add(messages.ns_of(header.stamp))
            self._heard.notify_all()

    def until(self, done: Callable[[], bool]) -> None:
        with self._heard:
            for _ in range(round(WAIT_S / 0.1)):
                if self._heard.wait_for(done, 0.1):
                    return
        raise AssertionError(f"mapper {self.mapper.counts}, memory {self.memory.counts}, taken {self._acknowledged}")

    def taken(self, number: int) -> bool:
        return all(self.robot.stamp(number) in self._acknowledged.get(name, ()) for name in ("mapper", "memory"))

    def go(self, begin: int = 0, end: int = len(PATH), lag: int = 0) -> None:
        """Show moments; each, or the one that lies `lag` before, is taken in before the next."""
        for number in range(begin, end):
            self.robot.show(number)
            if number - lag >= begin:
                self.until(lambda at=number - lag: self.taken(at))

    @property
    def map(self) -> GridMap:
        return self.mapper.mapper.grid()


def of_core(frames: list[Frame]) -> GridMap:
    mapper = MultiFloorMapper()
    for frame in frames:
        mapper.integrate(frame)
    return mapper.grid()


def agreement(a: GridMap, b: GridMap) -> tuple[float, float, float]:
    """Return how far two maps agree.

    Shares: of the cells that one knows the other knows too; of those both see alike; or see alike with a neighbour:
    walls of this house stand on borders of cells, where a millimetre is one cell.
    """
    corners = ([round(o / g.resolution_m) for o in g.origin] for g in (a, b))
    one, other = ({(gx + x, gy + y): int(g.cells[y, x]) for y, x in np.argwhere(g.cells >= 0)}
                  for g, (gx, gy) in zip((a, b), corners))
    both = one.keys() & other.keys()
    near = sum(any(other.get((x + i, y + j)) == one[x, y] for i in (-1, 0, 1) for j in (-1, 0, 1)) for x, y in both)
    return len(both) / len(one | other), sum(one[at] == other[at] for at in both) / len(both), near / len(both)


EXACT, ROUNDED, APART = (1.0, 1.0, 1.0), (0.999, 0.995, 1.0), (0.95, 0.9, 0.99)
VARIANTS = {
    "best effort, base_footprint": (Feed(reliable=False, base="base_footprint"), EXACT),
    "unsynchronised": (Feed(CameraConfig(tolerance_s=0.02), color_late_ns=12_000_000, reliable=False), EXACT),
    "quarters of a millimetre": (Feed(CameraConfig(depth_unit_m=0.00025), depth="16UC1"), ROUNDED),
    "all of it": (Feed(CameraConfig(True, True, "pinhole", True, 0.0, 0.02), "16UC1", False, -9_000_000), APART),
}


THOROUGH = {
    "plain": (Feed(), EXACT),
    "millimetres": (Feed(depth="16UC1"), ROUNDED),
    "compressed": (Feed(CameraConfig(compressed=True, compressed_depth=True), depth="16UC1"), ROUNDED),
    "compressed floats": (Feed(CameraConfig(compressed_depth=True)), ROUNDED),
    "distorted": (Feed(CameraConfig(lens="distorted")), APART),
    "unaligned": (Feed(CameraConfig(align=True)), APART),
}


@pytest.mark.parametrize(("feed", "least"), [
    *(pytest.param(*case, id=name) for name, case in VARIANTS.items()),
    *(pytest.param(*case, id=name, marks=pytest.mark.thorough) for name, case in THOROUGH.items())])
def test_map_and_memory_do_not_depend_on_how_a_camera_publishes(ros: Any, tmp_path: Path, feed: Feed,
                                                                least: tuple[float, ...]) -> None:
    walk = Walk(ros, tmp_path, feed)
    walk.go()
    alike = agreement(walk.map, of_core(expected()))
    assert all(share >= enough for share, enough in zip(alike, least, strict=True)), alike
    assert not walk.mapper.counts and not walk.memory.counts
    assert 5 <= len(walk.memory.store) <= 9


def test_transforms_may_come_after_the_images(ros: Any, tmp_path: Path) -> None:
    walk = Walk(ros, tmp_path, Feed(tf_late=True))
    walk.go(lag=1)
    assert not walk.taken(len(PATH) - 1)
    walk.robot.place(len(PATH) - 1)
    walk.until(lambda: walk.taken(len(PATH) - 1))
    assert agreement(walk.map, of_core(expected())) == EXACT and not walk.mapper.counts


def test_what_stays_without_a_transform_is_dropped_and_the_rest_goes_on(ros: Any, tmp_path: Path) -> None:
    walk = Walk(ros, tmp_path, Feed(tf_late=True), node__tf__wait_s=0.45)
    walk.robot.show(0)
    for number in range(2, 8):  # its own transform never comes, nor one before it
        walk.robot.show(number)
    walk.until(lambda: walk.taken(0) and walk.taken(6))
    for node in (walk.mapper, walk.memory):
        assert node.counts == {"no transform within 0.45 s": 1}


def test_a_clock_that_is_set_back_is_counted_and_the_walk_goes_on(ros: Any, tmp_path: Path) -> None:
    walk = Walk(ros, tmp_path, Feed(back_at=7))
    walk.go(0, 7)
    declared = "time went back by 100 s: what was waiting is dropped"
    for number in (7, 8, 9):  # one alone could be a stray
        assert declared not in walk.mapper.counts
        walk.robot.show(number)
    walk.until(lambda: all(declared in node.counts for node in (walk.mapper, walk.memory)))
    walk.go(10)
    frames = expected()
    assert agreement(walk.map, of_core(frames[:7] + frames[10:])) == EXACT
    for node in (walk.mapper, walk.memory):
        assert node.counts[declared] == 1
    assert [s[0] for s in walk.memory.store.sessions()] == ["walk", "walk"]
    assert len({s[2] for s in walk.memory.store.sessions()}) == 1  # of one place


def test_messages_from_long_ago_are_dropped_alone(ros: Any, tmp_path: Path) -> None:
    walk, stray = Walk(ros, tmp_path, Feed(), starts_s=500), CameraRobot(ros.plain("stray"), Feed(back_at=0))
    walk.until(lambda: stray.listened_to(2))
    for number in range(len(PATH)):
        walk.go(number, number + 1)
        stray.show(number)
        walk.until(lambda at=number: walk.mapper.counts["observation from the past"] > at)
    assert agreement(walk.map, of_core(expected())) == EXACT
    assert not any("went back" in reason for node in (walk.mapper, walk.memory) for reason in node.counts)


def test_messages_of_the_future_are_dropped_alone(ros: Any, tmp_path: Path) -> None:
    walk, stray = Walk(ros, tmp_path, Feed(), node__tf__wait_s=2.0), CameraRobot(ros.plain("stray"), Feed(ahead=True))
    walk.until(lambda: stray.listened_to(2))
    for number in range(len(PATH)):
        stray.show(number)
        walk.until(lambda at=number: walk.mapper.counts["depth is stamped in the future"] > at)
        walk.until(lambda at=number: walk.mapper.counts["transform of 'odom' is stamped in the future"] > 2 * at + 1)
        walk.go(number, number + 1)
    assert agreement(walk.map, of_core(expected())) == EXACT


@pytest.mark.parametrize("kept", ["new", "keep"])
def test_a_robot_that_is_found_elsewhere_smears_no_map(ros: Any, tmp_path: Path, kept: str) -> None:
    walk = Walk(ros, tmp_path, Feed(jump_at=8), relocated=kept)
    walk.go()
    after = of_core(expected(8, jumped=True))
    if kept == "new":
        assert agreement(walk.map, after) == EXACT
    else:
        assert agreement(walk.map, of_core(expected(0, 8) + expected(8, jumped=True))) == EXACT
    what = "the map begins anew" if kept == "new" else "the map is kept"
    reason, = walk.mapper.counts
    assert reason.startswith("localisation jumped by ") and reason.endswith(what)
    reason, = walk.memory.counts
    assert reason.endswith("52 degrees: a new session of memory begins")
    assert len(walk.memory.store.sessions()) == 2


def test_two_cameras_make_one_map(ros: Any, tmp_path: Path) -> None:
    walk = Walk(ros, tmp_path, Feed(), second=True, node__second_camera__present=True)
    walk.go(lag=2)  # a frame waits until the other camera has come as far
    frames, behind = expected(), shots(compose(BACK, MOUNT))
    later = [replace(f, stamp_ns=f.stamp_ns + STEP_NS // 2, base_from_camera=compose(BACK, MOUNT), rgb=s.rgb,
                     depth_m=s.depth_m) for f, s in zip(frames, behind, strict=True)]
    whole = of_core([frame for pair in zip(frames, later) for frame in pair][:-1])  # the last one's other is not known
    walk.until(lambda: walk.taken(len(PATH) - 1))
    assert agreement(walk.map, whole) == EXACT
    assert len(walk.memory.store) > 9  # views ahead, and views behind
    assert not walk.mapper.counts and not walk.memory.counts


def test_depth_from_beside_that_nobody_aligns_is_refused_by_name(ros: Any, tmp_path: Path) -> None:
    walk = Walk(ros, tmp_path, Feed(CameraConfig(align=True)), node__camera__align=False,
                unheard="depth_camera_info")
    walk.go(0, 2)
    for node in (walk.mapper, walk.memory):
        reason, = node.counts
        assert node.counts[reason] == 2 and "set node.camera.align, or publish depth that is aligned" in reason
    assert not len(walk.memory.store)


def test_a_lens_that_is_not_straight_is_told(ros: Any, tmp_path: Path) -> None:
    walk = Walk(ros, tmp_path, Feed(CameraConfig(lens="distorted")), node__camera__lens="pinhole")
    walk.go(0, 2)
    reason, = walk.mapper.counts
    assert walk.mapper.counts[reason] == 2 and reason.endswith("taken as straight: node.camera.lens")
    assert walk.map.cells.any()


def test_simulated_time_that_jumps_back_is_told_by_its_clock(ros: Any, tmp_path: Path) -> None:
    walk = Walk(ros, tmp_path, Feed(back_at=3), use_sim_time=True)
    topic = TOPICS["clock"]
    clock = ros.plain("clock").create_publisher(interface(topic.type), topic.name, qos(topic.qos))
    walk.until(lambda: clock.get_subscription_count() >= 2)

    def tick(number: int) -> None:
        clock.publish(interface(topic.type)(clock=convert.time_of(walk.robot.stamp(number) - 10_000_000)))

    tick(2)
    walk.until(lambda: all(n.get_clock().now().nanoseconds > BEGIN_NS for n in (walk.mapper, walk.memory)))
    walk.go(0, 3)
    tick(3)
    declared = "time went back by 100 s: what was waiting is dropped"
    walk.until(lambda: all(n.counts == {declared: 1} for n in (walk.mapper, walk.memory)))
    walk.go(3, 6, lag=1)  # none is dropped
    walk.until(lambda: walk.taken(5))
    assert agreement(walk.map, of_core(expected(0, 6))) == EXACT
