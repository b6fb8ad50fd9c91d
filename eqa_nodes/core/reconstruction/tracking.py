"""Follows the camera from frame to frame: each view is registered to the last anchor, and anchors follow each other.

Where a view fits nothing before it, a new piece begins; pieces are joined later, where they show the same place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.config import PoseSearchConfig
from eqa_nodes.core.reconstruction.odometry import TOO_FAST, Motion, information, moved, register
from eqa_nodes.core.reconstruction.rgbd import RgbdImage, RgbdView, prepared

OTHER_CAMERA = "taken with other intrinsics than the first"
OLD_STAMP = "its stamp is not later than that of the frame before"
_SOLID = 3  # frames that make a piece which later ones are joined to
_LITTLE_OVERLAP = 0.6  # with the anchor: the view becomes the next one


@dataclass(eq=False)
class PoseAnchor:
    """A keyframe of the pose graph. piece_from_camera: (4, 4), by odometry alone; piece: number of its piece."""

    view: RgbdView
    piece: int
    piece_from_camera: np.ndarray


class PoseLink(NamedTuple):
    """A measured motion between two anchors, by number: target_from_source (4, 4), and its (6, 6) information.

    loop: it closes a loop, and is left out where it contradicts the others.
    """

    source: int
    target: int
    target_from_source: np.ndarray
    information: np.ndarray
    loop: bool


class PlacedFrame(NamedTuple):
    """Where a frame hangs: its image's number and stamp, the number of an anchor, and anchor_from_camera (4, 4)."""

    number: int
    stamp_ns: int
    anchor: int
    anchor_from_camera: np.ndarray


class TrackBreak(NamedTuple):
    """Two frames in succession that could not be joined, by index, and why."""

    last: int
    next: int
    reason: str


@dataclass(eq=False)
class CameraTrack:
    """What following the camera gave. unusable: why a frame could not be used at all, by index."""

    anchors: list[PoseAnchor] = field(default_factory=list)
    links: list[PoseLink] = field(default_factory=list)
    frames: list[PlacedFrame] = field(default_factory=list)
    breaks: list[TrackBreak] = field(default_factory=list)
    unusable: dict[int, str] = field(default_factory=dict)
    images: int = 0


class CameraTracker:
    """Takes images one after the other. Holds the anchors in memory, 0.6 MB each."""

    def __init__(self, config: PoseSearchConfig = PoseSearchConfig()) -> None:
        self.config, self.track = config, CameraTrack()
        self._last: RgbdView | None = None
        self._step = np.eye(4)  # last_from_next, of the newest frames
        self._solid: PlacedFrame | None = None  # the newest frame of a piece of some length
        self._solid_view: RgbdView | None = None
        self._length = 0  # frames of the newest piece
        self._camera: object = None

    def add(self, image: RgbdImage) -> None:
        """Place an image, or count why it cannot be used."""
        self.track.images += 1
        try:
            view = self._usable(image)
        except BadFrame as error:
            self.track.unusable[image.number] = str(error)
            return
        if self._last is None:
            self._begin(view)
        elif (reason := self._follow(view)) and not self._rejoin(view):
            self.track.breaks.append(TrackBreak(self._last.index, view.index, reason))
            self._begin(view)
        self._last, self._length = view, self._length + 1
        if self._length >= _SOLID:
            self._solid, self._solid_view = self.track.frames[-1], view

    def _usable(self, image: RgbdImage) -> RgbdView:
        """Return the image prepared. Raises BadFrame."""
        if self._last is not None and image.stamp_ns <= self._last.stamp_ns:
            raise BadFrame(OLD_STAMP)
        if self._camera not in (None, image.intrinsics):
            raise BadFrame(OTHER_CAMERA)
        view = prepared(image, self.config.range_m)
        self._camera = image.intrinsics
        return view

    def _begin(self, view: RgbdView) -> None:
        """Begin a new piece."""
        piece = self.track.anchors[-1].piece + 1 if self.track.anchors else 0
        self.track.anchors.append(PoseAnchor(view, piece, np.eye(4)))
        self._length, self._step = 0, np.eye(4)
        self._place(view, len(self.track.anchors) - 1, np.eye(4))

    def _follow(self, view: RgbdView) -> str:
        """Place a view by the newest anchor, or by the frame before it; return why neither works, "" where one does."""
        assert self._last is not None
        before = self.track.frames[-1]
        direct = register(view, self.track.anchors[before.anchor].view, before.anchor_from_camera @ self._step,
                          self.config)
        step = np.linalg.inv(before.anchor_from_camera) @ direct.target_from_source
        if not direct.refused and not self._too_fast(step, self._last, view):
            self._accept(view, before.anchor, direct, step)
            return ""
        why = direct.refused or TOO_FAST
        for guess in (self._step, np.eye(4)):
            motion = register(view, self._last, guess, self.config, wide=True)
            why = motion.refused or self._too_fast(motion.target_from_source, self._last, view)
            if not why:
                self._accept(view, self._anchor(before, self._last), motion, motion.target_from_source)
                return ""
        return why

    def _rejoin(self, view: RgbdView) -> bool:
        """Place a view by the newest frame of a longer piece, where the last few fit nothing; return whether it fits.
        """
        if self._solid is None or self._solid_view is None or self._solid_view is self._last:
            return False
        motion = register(view, self._solid_view, np.eye(4), self.config, wide=True)
        if motion.refused or self._too_fast(motion.target_from_source, self._solid_view, view):
            return False
        self._length = _SOLID
        self._accept(view, self._anchor(self._solid, self._solid_view), motion, np.eye(4))
        return True

    def _too_fast(self, step: np.ndarray, last: RgbdView, view: RgbdView) -> str:
        """Return TOO_FAST where a motion exceeds the limits, else ""."""
        metres, degrees = moved(step)
        seconds = (view.stamp_ns - last.stamp_ns) / 1e9
        fast = metres > self.config.max_m_s * seconds + 0.05 or degrees > self.config.max_deg_s * seconds + 2.0
        return TOO_FAST if fast else ""

    def _accept(self, view: RgbdView, anchor: int, motion: Motion, step: np.ndarray) -> None:
        """Place a view by an anchor; make it one itself where it is far from that."""
        self._step = step
        self._place(view, anchor, motion.target_from_source)
        metres, degrees = moved(motion.target_from_source)
        if (metres > self.config.keyframe_m or degrees > self.config.keyframe_deg
                or motion.fit.overlap < _LITTLE_OVERLAP):
            frame = self.track.frames.pop()
            self._place(view, self._anchor(frame, view), np.eye(4))

    def _anchor(self, frame: PlacedFrame, view: RgbdView) -> int:
        """Return the number of the anchor that a frame is, after making it one where it is none."""
        old = self.track.anchors[frame.anchor]
        if old.view is view:
            return frame.anchor
        weight = information(view, old.view, frame.anchor_from_camera, self.config.range_m)
        new = len(self.track.anchors)
        self.track.anchors.append(PoseAnchor(view, old.piece, old.piece_from_camera @ frame.anchor_from_camera))
        self.track.links.append(PoseLink(new, frame.anchor, frame.anchor_from_camera, weight, False))
        return new

    def _place(self, view: RgbdView, anchor: int, anchor_from_camera: np.ndarray) -> None:
        self.track.frames.append(PlacedFrame(view.index, view.stamp_ns, anchor, anchor_from_camera))

