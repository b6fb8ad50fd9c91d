"""Recordings of hand-held devices, by numbers that were worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.formats.hand_held import HandHeldRecording, from_arkit, quarter_turns, turned_left

K = Intrinsics(4, 3, 5.0, 6.0, 1.5, 1.0)


def looking(right: tuple[int, int, int], down: tuple[int, int, int], z: float) -> np.ndarray:
    """Return the pose of an optical frame at x 1, y 2 by its axes in a world with z up."""
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = right, down, np.cross(right, down), (1.0, 2.0, z)
    return pose


AHEAD = looking((0, -1, 0), (0, 0, -1), 3.0)  # along x
BELOW = looking((1, 0, 0), (0, -1, 0), 3.0)


class Device(HandHeldRecording):
    """Images of one colour, with depth of a wall in half the size of colour."""

    def __init__(self, poses: list[np.ndarray | None], depth_m: float = 2.0) -> None:
        self._depth_m = depth_m
        super().__init__("device", poses)

    def stamp_ns(self, index: int) -> int:
        return 10 * index

    def camera(self, index: int) -> Intrinsics:
        return K if index != 2 else K._replace(width=5)

    def rgb(self, index: int) -> np.ndarray:
        return np.arange(36, dtype=np.uint8).reshape(3, 4, 3)

    def depth(self, index: int) -> np.ndarray:
        if self._depth_m < 0:
            raise BadFrame("no depth image")
        return np.full((3, 4), self._depth_m, np.float32)


def test_the_floor_is_at_0_and_the_base_below_the_camera() -> None:
    """From 3 m up the floor is seen 2 m below, so it is at 1 m of the world."""
    frame = Device([BELOW, BELOW])[1]
    assert frame.stamp_ns == 10 and frame.intrinsics == K and (frame.depth_m == 2.0).all()
    assert frame.map_from_base.xyz == (1.0, 2.0, 0.0)
    assert frame.base_from_camera.xyz == pytest.approx((0.0, 0.0, 2.0))


@pytest.mark.parametrize(("right", "down", "turns"), [
    ((0, -1, 0), (0, 0, -1), 0), ((0, 0, 1), (0, -1, 0), 1), ((0, 1, 0), (0, 0, 1), 2), ((0, 0, -1), (0, 1, 0), 3)])
def test_images_are_turned_upright_with_their_camera(right: tuple[int, int, int], down: tuple[int, int, int],
                                                     turns: int) -> None:
    device = Device([looking(right, down, 3.0)])
    frame = device[0]
    assert quarter_turns([looking(right, down, 3.0)]) == turns
    assert np.array_equal(frame.rgb, np.rot90(device.rgb(0), turns))
    assert frame.map_from_camera()[:3, :3] == pytest.approx(AHEAD[:3, :3])
    assert frame.intrinsics == [K, (3, 4, 6.0, 5.0, 1.0, 2.5), (4, 3, 5.0, 6.0, 2.5, 2.0), (3, 4, 6.0, 5.0, 2.0, 1.5)][
        turns]
    assert turned_left(K) == (3, 4, 6.0, 5.0, 1.0, 2.5)


def test_the_axes_of_arkit_become_optical_ones_in_a_world_with_z_up() -> None:
    """ARKit: x right, y up, camera looks along -z; the map's x is where the session began, along -z."""
    pose = np.eye(4)
    pose[:3, 3] = 1.0, 2.0, -3.0  # 1 m to the right, 2 m up, 3 m ahead
    found = from_arkit(pose)
    assert found[:3, 3] == pytest.approx((3.0, -1.0, 2.0))
    assert found[:3, :3] == pytest.approx(AHEAD[:3, :3])


def test_frames_that_cannot_be_used_and_recordings_without_poses_or_depth_are_named() -> None:
    device = Device([BELOW, None, BELOW])
    with pytest.raises(BadFrame, match="no pose"):
        device[1]
    with pytest.raises(BadFrame, match="image 2 of device is 4x3, its camera has 5x3"):
        device[2]
    with pytest.raises(StorageError, match="no pose of any image"):
        Device([None, None])
    with pytest.raises(StorageError, match="no frame of 2 that were looked at .*: no depth image"):
        Device([BELOW, BELOW], -1.0)
    with pytest.raises(StorageError, match="none has depth"):
        Device([BELOW], 5.1)  # beyond the range of a phone's LiDAR
    assert Device([BELOW], 4.9)[0].base_from_camera.xyz[2] == pytest.approx(4.9)
