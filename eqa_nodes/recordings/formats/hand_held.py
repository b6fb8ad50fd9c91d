"""Base class for recordings of hand-held devices: coarse depth, images on their side, an unknown floor height.

Phones and tablets store images in the orientation of the sensor, so a recording in portrait shows a room on its side:
all images of a recording are rotated by the same number of quarter turns, so that most of them are upright. The origin
of their world is where the session began: the map's floor is found from the depth of a few frames.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.camera.image_geometry import scaled
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.types.views import Frame, Intrinsics, clean_depth
from eqa_nodes.recordings.formats.cameras import (
    GL_FROM_OPTICAL,
    MAP_FROM_GL,
    base_below,
    heights,
    mount,
    onto_color,
    rigid,
)
from eqa_nodes.recordings.formats.map_frames import DepthView, find_map_frame

FAR_M = 5.0  # maximum range of a phone's LiDAR
_FLOOR_FRAMES = 12  # frames used to find the floor
_FLOOR_PERCENT = 2.0  # percentage of their points below the floor: reflections and errors
_QUARTER = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])  # camera from the camera turned left


class HandHeldRecording(ABC):
    """Frames of a hand-held device in the map frame: z up, floor at 0, the base below the camera.

    A frame has the size of the colour image; depth is the nearest measurement to each pixel's ray.
    """

    notes: tuple[str, ...]

    def __init__(self, name: object, world_from_camera: Sequence[np.ndarray | None]) -> None:
        """name: name of the recording, for messages; world_from_camera: (4, 4) pose of each image's optical frame in a
        world with z up, None if it was lost. Raises StorageError when there is no pose or no depth."""
        self.name, self._poses = name, world_from_camera
        known = [pose for pose in world_from_camera if pose is not None]
        if not known:
            raise StorageError(f"{name} holds no pose of any image: without poses nothing can be placed on a map")
        self._turns = quarter_turns(known)
        found = find_map_frame(name, len(self), self._depth_view, z_up=True, floor_at_0=False)
        self._map_from_world, self.notes = found.map_from_world.copy(), (found.note,)
        self._map_from_world[2, 3] -= self._floor()

    def __len__(self) -> int:
        return len(self._poses)

    @abstractmethod
    def stamp_ns(self, index: int) -> int:
        """Return the time stamp of an image, nanoseconds."""

    @abstractmethod
    def camera(self, index: int) -> Intrinsics:
        """Return the intrinsics of a colour image as stored. Raises BadFrame."""

    @abstractmethod
    def rgb(self, index: int) -> np.ndarray:
        """Return a colour image as stored, (H, W, 3) uint8. Raises BadFrame."""

    @abstractmethod
    def depth(self, index: int) -> np.ndarray:
        """Return a depth image as stored, (h, w) float32 metres, with the colour camera's field of view, 0 = no return.

        Raises BadFrame."""

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame when it is incomplete or cannot be used."""
        map_from_camera = self._map_from_world @ self._pose(index)
        k, rgb, depth_m = self.camera(index), self.rgb(index), self.depth(index)
        if rgb.shape[:2] != (k.height, k.width):
            raise BadFrame(f"image {index} of {self.name} is {rgb.shape[1]}x{rgb.shape[0]}, its camera has "
                           f"{k.width}x{k.height}: the images were resized after the export")
        depth_m = onto_color(depth_m, scaled(k, depth_m.shape), k)
        for _ in range(self._turns):
            k, map_from_camera = turned_left(k), map_from_camera @ _QUARTER
        map_from_base = base_below(map_from_camera, 0.0)
        return Frame(self.stamp_ns(index), np.ascontiguousarray(np.rot90(rgb, self._turns)),
                     np.ascontiguousarray(np.rot90(depth_m, self._turns)), k, map_from_base,
                     mount(map_from_base, map_from_camera))

    def _pose(self, index: int) -> np.ndarray:
        pose = self._poses[index]
        if pose is None:
            raise BadFrame("no pose")
        return rigid(pose, f"the pose of image {index} of {self.name}")

    def _depth_view(self, index: int) -> DepthView:
        """Return the upright depth image with its camera and pose. Raises BadFrame."""
        depth_m, pose = self.depth(index), self._pose(index)
        k = scaled(self.camera(index), depth_m.shape)
        for _ in range(self._turns):
            k, pose = turned_left(k), pose @ _QUARTER
        return np.rot90(depth_m, self._turns), k, pose

    def _floor(self) -> float:
        """Return the height of the floor along the map's z. Raises StorageError when no frame has depth."""
        every = max(1, len(self) // _FLOOR_FRAMES)
        parts, reason = [np.empty(0)], "none has depth"
        for index in range(0, len(self), every):
            try:
                depth_m = clean_depth(self.depth(index), FAR_M)[0]
                pose = self._map_from_world @ self._pose(index)
                parts.append(heights(depth_m, scaled(self.camera(index), depth_m.shape), pose))
            except BadFrame as error:
                reason = str(error)
        found = np.concatenate(parts)
        if not len(found):
            raise StorageError(f"{self.name}: no frame of {len(range(0, len(self), every))} that were looked at can be "
                               f"used to find the floor: {reason}")
        return float(np.percentile(found, _FLOOR_PERCENT))


def from_arkit(world_from_camera: np.ndarray) -> np.ndarray:
    """Convert ARKit's (4, 4) pose (y up; camera axes right, up, back) to the optical frame in a world with z up."""
    return np.asarray(MAP_FROM_GL @ world_from_camera @ GL_FROM_OPTICAL)


def quarter_turns(poses: Sequence[np.ndarray]) -> int:
    """Return the number of quarter turns to the left after which most images are upright.

    poses: (4, 4) poses of optical frames in a world with z up.
    """
    right, down = np.mean([pose[2, :2] for pose in poses], axis=0)  # upward component of the image's axes
    return int(np.argmax([-down, right, down, -right]))


def turned_left(k: Intrinsics) -> Intrinsics:
    """Return the intrinsics of an image after a quarter turn to the left."""
    return Intrinsics(k.height, k.width, k.fy, k.fx, k.cy, k.width - k.cx)
