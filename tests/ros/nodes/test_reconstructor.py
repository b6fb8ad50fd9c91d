"""The reconstructor node: its cloud, when it comes, that it acknowledges, and what it survives."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import sys
from typing import Any

import numpy as np
import pytest
from eqa_interfaces.msg import Answer, Episode
from sensor_msgs.msg import PointField

from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame
from eqa_nodes.nodes.reconstructor import ReconstructorNode
from eqa_nodes.ros import convert
from eqa_nodes.ros.interfaces import qos
from eqa_nodes.ros.remote import Remotes
from eqa_nodes.testing.waiting import WAIT_S
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures import frames
from tests.fixtures.observed_robot import ObservedRobot

pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")

SECOND = 1_000_000_000


def frame(stamp: int) -> Frame:
    """Return a wall that does not lie just on the corners of voxels."""
    shown = frames.frame(stamp)
    shown.depth_m[:] -= 0.07
    return shown


class Camera(ObservedRobot):
    """Publishes observations, and keeps the clouds that the node makes of them."""

    def __init__(self, ros: Any, **parameters: Any) -> None:
        self.reconstructor = ros.add(ReconstructorNode, **{"reconstruction__min_views": 1, **parameters})
        super().__init__(ros.plain("camera"), "reconstruction")
        self.clouds = self.heard["reconstruction"]
        self._answer = self.node.create_publisher(Answer, TOPICS["answer"].name, qos(TOPICS["answer"].qos))
        self.begin("e")

    def begin(self, episode: str, stamp: int = 0) -> None:
        request = Episode(episode_id=episode, header=convert.header(stamp))
        assert Remotes(self.node).service("reset_reconstructor").call(WAIT_S, episode=request).error_code == 0

    def answer(self) -> None:
        self._answer.publish(Answer(answer="a red mug"))

    def cloud(self, stamp: int, points: bool = True) -> Any:
        """Return the cloud of this stamp, with points or empty, once it is received."""
        def fits(m: Any) -> bool:
            return messages.stamp_of(m) == stamp and (m.width > 0) == points
        assert self.until(lambda: any(map(fits, self.clouds))), [messages.stamp_of(m) for m in self.clouds]
        return next(filter(fits, self.clouds))


@pytest.fixture
def camera(ros: Any) -> Camera:
    return Camera(ros)


def xyz_of(cloud: Any) -> np.ndarray:
    return np.frombuffer(cloud.data, [("xyz", "<f4", 3), ("bgr", "u1", 3), ("_", "u1")])["xyz"]


def test_a_cloud_has_the_fields_that_viewers_expect_and_the_frames_up_to_its_stamp(camera: Camera) -> None:
    shown = frame(SECOND)
    shown.rgb[:] = (200, 90, 30)
    camera.show(shown, "reconstructor")
    cloud = camera.cloud(SECOND)
    assert [(f.name, f.offset, f.datatype) for f in cloud.fields] == [
        ("x", 0, PointField.FLOAT32), ("y", 4, PointField.FLOAT32), ("z", 8, PointField.FLOAT32),
        ("rgb", 12, PointField.FLOAT32)]
    assert (cloud.header.frame_id, cloud.point_step, cloud.height) == ("map", 16, 1)
    assert len(cloud.data) == cloud.row_step == 16 * cloud.width and not cloud.is_bigendian
    depth = xyz_of(cloud) @ shown.map_from_camera()[:3, 2] - shown.map_from_camera()[:3, 2] @ shown.map_from_camera()[
        :3, 3]
    assert abs(np.median(depth) - np.median(shown.depth_m)) < 0.03
    bytes_ = np.frombuffer(cloud.data, np.uint8).reshape(-1, 16)
    assert (np.abs(bytes_[:, 12:].astype(int) - (30, 90, 200, 0)) <= 1).all(), "blue, green, red, unused"


def test_clouds_come_every_few_seconds_of_the_stamps_after_an_answer_and_at_the_end(camera: Camera) -> None:
    for stamp in (SECOND, 2 * SECOND, 6 * SECOND, 7 * SECOND):
        camera.show(frame(stamp), "reconstructor")
    camera.cloud(6 * SECOND)
    assert {messages.stamp_of(m) for m in camera.clouds} == {0, SECOND, 6 * SECOND}
    camera.answer()
    camera.cloud(7 * SECOND)
    camera.show(frame(8 * SECOND), "reconstructor")
    camera.begin("")
    camera.cloud(8 * SECOND)


def test_a_new_episode_begins_with_an_empty_cloud(camera: Camera) -> None:
    camera.show(frame(SECOND), "reconstructor")
    camera.cloud(SECOND)
    camera.begin("f", 3 * SECOND)
    camera.cloud(3 * SECOND, points=False)
    assert camera.reconstructor._built.frames == 0


def test_a_cloud_is_thinned_to_the_most_points(ros: Any) -> None:
    camera = Camera(ros, max_points=300)
    camera.show(frame(SECOND), "reconstructor")
    assert 100 < camera.cloud(SECOND).width <= 300


def test_what_cannot_be_used_is_counted_and_acknowledged(camera: Camera) -> None:
    empty = frame(SECOND)
    empty.depth_m[:] = np.nan
    camera.show(empty, "reconstructor")
    assert camera.reconstructor.counts["no depth within 4 m"] == 1
    camera.show(frame(2 * SECOND), "reconstructor")
    camera.cloud(2 * SECOND)


def test_a_full_reconstruction_is_counted_and_stays(ros: Any) -> None:
    camera = Camera(ros, reconstruction__max_blocks=1)
    camera.show(frame(SECOND), "reconstructor")
    assert any("need more blocks than memory may hold" in reason for reason in camera.reconstructor.counts)


def test_where_localisation_jumps_it_begins_anew(camera: Camera) -> None:
    camera.show(frame(SECOND), "reconstructor")
    moved = Transform((5.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    camera.show(frame(2 * SECOND), "reconstructor", map_from_odom=moved)
    assert camera.reconstructor._built.frames == 1
    assert any("the reconstruction begins anew" in reason for reason in camera.reconstructor.counts)


def test_without_the_library_it_does_not_start_and_names_the_extra(ros: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[map3d\]'"):
        ros.add(ReconstructorNode)
