"""The mapper node takes in what it can, says what it cannot, and keeps going."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import threading
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.msg import Episode

from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.types.floor import Staircase
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.nodes.mapper import MapperNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S, until
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.frames import frame

K = Intrinsics(64, 48, 32.0, 32.0, 32.0, 24.0)
SECOND = 1_000_000_000


class Camera:
    """Publishes observations as a bridge or a robot would, and hears what the mapper makes of them."""

    def __init__(self, ros: Any, **parameters: Any) -> None:
        self.mapper = ros.add(MapperNode, **parameters)
        self.node, self.map_frame = ros.plain("camera"), convert.MAP
        self._out = {}
        for key in ("depth", "camera_info", "tf"):
            topic = TOPICS[key]
            self._out[key] = self.node.create_publisher(interface(topic.type), topic.name, qos(topic.qos))
        self._heard = threading.Condition()
        self.taken: list[int] = []
        self.maps: list[Any] = []
        self.stairs: list[Any] = []
        for key, store in (("acknowledged", self.taken), ("map", self.maps), ("stairs", self.stairs)):
            topic = TOPICS[key]
            self.node.create_subscription(interface(topic.type), topic.name, partial(self._on, store), qos(topic.qos))
        response = Remotes(self.node).service("reset_mapper").call(WAIT_S, episode=Episode(episode_id="e"))
        assert response.error_code == 0

    def _on(self, store: list[Any], message: Any) -> None:
        with self._heard:
            store.append(messages.ns_of(message.stamp) if store is self.taken else message)
            self._heard.notify_all()

    def wait(self, stamp: int) -> None:
        """Wait until map and stairs of this stamp were heard."""
        with self._heard:
            assert self._heard.wait_for(lambda: all(s and messages.stamp_of(s[-1]) == stamp
                                                    for s in (self.maps, self.stairs)), WAIT_S)

    def show(self, stamp: int, depth: np.ndarray, *without: str, encoding: str = "32FC1", x: float = 0.0,
             z: float = 0.0, within_s: float = WAIT_S) -> bool:
        """Publish one observation until it is acknowledged; False when it is not."""
        image = convert.image_msg(depth.astype(np.float32), "32FC1", stamp)
        image.encoding = encoding
        pose = Pose2(x, 0.0, 0.0).transform(z)
        tf = [convert.transform_msg(self.map_frame, convert.BASE, stamp, pose),
              convert.transform_msg(convert.BASE, convert.CAMERA, stamp, camera_mount(1.2, 0.2))]
        parts = {"tf": interface("tf2_msgs/msg/TFMessage")(transforms=tf),
                 "camera_info": convert.camera_info_msg(K, stamp), "depth": image}
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            for key, message in parts.items():
                if key not in without:
                    self._out[key].publish(message)
            with self._heard:
                if self._heard.wait_for(lambda: stamp in self.taken, 0.5):
                    return True
        return False


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Compile what a first observation would wait for, longer than a camera here does."""
    MultiFloorMapper().integrate(frame(SECOND))


@pytest.fixture
def camera(ros: Any) -> Camera:
    return Camera(ros)


def test_every_observation_becomes_a_map_with_its_stamp(camera: Camera) -> None:
    assert camera.show(SECOND, np.full((48, 64), 2.0)) and camera.show(2 * SECOND, np.full((48, 64), 2.0))
    assert {SECOND, 2 * SECOND} <= {messages.stamp_of(m) for m in camera.maps}
    assert (messages.grid_of(camera.maps[-1]).cells == 100).any()


def test_the_map_is_in_the_frame_of_the_robots_map(ros: Any) -> None:
    camera = Camera(ros, node__tf__map_frame="r1/map")
    camera.map_frame = "r1/map"
    assert camera.show(SECOND, np.full((48, 64), 2.0))
    camera.wait(SECOND)
    assert camera.maps[-1].header.frame_id == camera.stairs[-1].header.frame_id == "r1/map"


@pytest.mark.parametrize(("parent", "child", "why"), [(convert.BASE, convert.MAP, "must not form a loop"),
                                                      ("ghost", convert.BASE, "hangs from 'map' already")])
def test_a_forged_transform_is_named_and_the_map_goes_on(camera: Camera, parent: str, child: str, why: str) -> None:
    wall = np.full((48, 64), 2.0)
    assert camera.show(SECOND, wall)
    forged = convert.transform_msg(parent, child, SECOND, Pose2(9.0, 9.0, 1.0).transform())
    camera._out["tf"].publish(interface("tf2_msgs/msg/TFMessage")(transforms=[forged]))
    until(lambda: any(f"transform from '{parent}' to '{child}' is refused" in reason and why in reason
                      for reason in camera.mapper.counts))
    assert camera.show(2 * SECOND, wall)
    camera.wait(2 * SECOND)


def test_floors_are_published_apart_and_on_the_stairs_the_stamp_goes_on(camera: Camera) -> None:
    wall = np.full((48, 64), 2.0)
    for k, z in enumerate((0.0, 1.4, 2.8, 2.8, 2.8), 1):
        assert camera.show(k * SECOND, wall, x=0.25 * k, z=z)
    camera.wait(5 * SECOND)
    grids = {grid.stamp_ns: grid for grid in map(messages.grid_of, camera.maps)}
    assert [grids[k * SECOND].z for k in range(1, 6)] == [0.0, 0.0, 0.0, 0.0, 2.8]
    assert np.array_equal(grids[SECOND].cells, grids[4 * SECOND].cells)
    assert camera.mapper.counts["observations between two floors, which are in no map"] == 3
    assert messages.staircases_of(camera.stairs[-1]) == (Staircase((0.25, 0.0, 0.0), (0.75, 0.0, 2.8)),)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0, -3.0, 1e9])
def test_depth_that_says_nothing_changes_no_map_and_is_counted(camera: Camera, bad: float) -> None:
    assert camera.show(SECOND, np.full((48, 64), 2.0))
    before = messages.grid_of(camera.maps[-1]).cells
    assert camera.show(2 * SECOND, np.full((48, 64), bad)) and camera.show(3 * SECOND, np.full((48, 64), bad))
    after = messages.grid_of(camera.maps[-1]).cells
    assert np.array_equal(before == 100, after == 100)
    assert bad == 0.0 or any("depth pixels" in reason for reason in camera.mapper.counts)


def test_a_wrong_encoding_is_refused_and_the_next_observation_taken_in(camera: Camera) -> None:
    assert camera.show(SECOND, np.full((48, 64), 2.0), encoding="mono8")  # acknowledged: nobody waits for it
    assert any("mono8" in reason for reason in camera.mapper.counts) and not camera.maps
    assert camera.show(2 * SECOND, np.full((48, 64), 2.0)) and camera.maps


def test_stamps_that_go_back_are_refused(camera: Camera) -> None:
    assert camera.show(2 * SECOND, np.full((48, 64), 2.0))
    until(lambda: not camera.show(SECOND, np.full((48, 64), 2.0), within_s=0.1)
          and camera.mapper.counts["observation from the past"] > 0)


@pytest.mark.parametrize("missing", ["camera_info", "tf"])
def test_what_lacks_a_part_waits_and_later_ones_wait_behind_it(camera: Camera, missing: str) -> None:
    assert not camera.show(SECOND, np.full((48, 64), 2.0), missing, within_s=2.0)
    assert camera.show(SECOND, np.full((48, 64), 2.0))


def test_a_transform_that_is_none_is_counted(camera: Camera) -> None:
    nonsense = Transform((np.nan, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    transform = convert.transform_msg(convert.MAP, convert.BASE, SECOND, nonsense)
    message = interface("tf2_msgs/msg/TFMessage")(transforms=[transform])

    def told() -> bool:
        camera._out["tf"].publish(message)
        return bool(camera.mapper.counts)

    until(told)
    assert any("not a finite translation" in reason for reason in camera.mapper.counts)
