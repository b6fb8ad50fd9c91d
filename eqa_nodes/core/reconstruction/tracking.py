"""Tracks the camera from frame to frame: each view is registered to the last anchor, and anchors form a chain.

If a view fits none before it, a new piece begins; pieces that show the same place are joined later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.ndimage import zoom

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.config import PoseSearchConfig
from eqa_nodes.core.reconstruction.odometry import (
    TOO_FAST,
    Motion,
    RgbdImage,
    RgbdView,
    information,
    moved,
    prepared,
    register,
)

OTHER_CAMERA = "taken with other intrinsics than the first"
OLD_STAMP = "its stamp is not later than that of the frame before"
_SOLID = 3  # minimum number of frames of a piece that later views can rejoin
_LITTLE_OVERLAP = 0.6  # overlap with the anchor below which the view becomes the next anchor
_NEAR_M, _NEAR_DEG = 1.2, 40.0  # two views farther apart share too little
_APART = 4  # minimum difference of the numbers of two anchors that are compared with the same one
_ALIKE = 0.75  # minimum correlation of two small images that look alike
_SIZE = (12, 16)
_SURER = 0.85  # minimum agreement to join two pieces, higher because no pose predicts the motion
_SAME_M, _SAME_DEG = 0.15, 4.0  # maximum difference of two consistent joints of two pieces
_JOINTS = 12  # maximum number of pairs of anchors that are tried for two pieces

Tried = set[tuple[int, int]]


@dataclass(eq=False)
class PoseAnchor:
    """A keyframe of the pose graph. piece_from_camera: (4, 4), from odometry alone; piece: number of its piece."""

    view: RgbdView
    piece: int
    piece_from_camera: np.ndarray


class PoseLink(NamedTuple):
    """A measured motion between two anchors, by number: target_from_source (4, 4), and its information matrix (6, 6).

    loop: whether it closes a loop; it is then dropped if it contradicts the others.
    """

    source: int
    target: int
    target_from_source: np.ndarray
    information: np.ndarray
    loop: bool


class PlacedFrame(NamedTuple):
    """A frame placed by an anchor: number and stamp of its image, number of the anchor, anchor_from_camera (4, 4)."""

    number: int
    stamp_ns: int
    anchor: int
    anchor_from_camera: np.ndarray


class TrackBreak(NamedTuple):
    """Two successive frames that could not be joined, by index, and the reason."""

    last: int
    next: int
    reason: str


@dataclass(eq=False)
class CameraTrack:
    """The result of tracking the camera. unusable: reason for each unusable frame, by index."""

    anchors: list[PoseAnchor] = field(default_factory=list)
    links: list[PoseLink] = field(default_factory=list)
    frames: list[PlacedFrame] = field(default_factory=list)
    breaks: list[TrackBreak] = field(default_factory=list)
    unusable: dict[int, str] = field(default_factory=dict)
    images: int = 0


class CameraTracker:
    """Tracks the camera over successive images. Keeps the anchors in memory, 0.6 MB each."""

    def __init__(self, config: PoseSearchConfig = PoseSearchConfig()) -> None:
        self.config, self.track = config, CameraTrack()
        self._last: RgbdView | None = None
        self._step = np.eye(4)  # last_from_next of the newest frames
        self._solid: PlacedFrame | None = None  # the newest frame of a piece with at least _SOLID frames
        self._solid_view: RgbdView | None = None
        self._length = 0  # number of frames of the newest piece
        self._camera: object = None

    def add(self, image: RgbdImage) -> None:
        """Place an image, or record why it is unusable."""
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
        """Return the image prepared for registration. Raises BadFrame if it is unusable."""
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
        """Place a view relative to the newest anchor or to the last frame; return why neither works, "" if one does."""
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
        """Place a view relative to the newest frame of a longer piece; return whether that works."""
        if self._solid is None or self._solid_view is None or self._solid_view is self._last:
            return False
        motion = register(view, self._solid_view, np.eye(4), self.config, wide=True)
        if motion.refused or self._too_fast(motion.target_from_source, self._solid_view, view):
            return False
        self._length = _SOLID
        self._accept(view, self._anchor(self._solid, self._solid_view), motion, np.eye(4))
        return True

    def _too_fast(self, step: np.ndarray, last: RgbdView, view: RgbdView) -> str:
        """Return TOO_FAST if a motion exceeds the limits, otherwise ""."""
        metres, degrees = moved(step)
        seconds = (view.stamp_ns - last.stamp_ns) / 1e9
        fast = metres > self.config.max_m_s * seconds + 0.05 or degrees > self.config.max_deg_s * seconds + 2.0
        return TOO_FAST if fast else ""

    def _accept(self, view: RgbdView, anchor: int, motion: Motion, step: np.ndarray) -> None:
        """Place a view relative to an anchor; make it an anchor itself if it is far from that one."""
        self._step = step
        self._place(view, anchor, motion.target_from_source)
        metres, degrees = moved(motion.target_from_source)
        if (metres > self.config.keyframe_m or degrees > self.config.keyframe_deg
                or motion.fit.overlap < _LITTLE_OVERLAP):
            frame = self.track.frames.pop()
            self._place(view, self._anchor(frame, view), np.eye(4))

    def _anchor(self, frame: PlacedFrame, view: RgbdView) -> int:
        """Return the number of a frame's own anchor, creating it if necessary."""
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


def close_loops(anchors: Sequence[PoseAnchor], poses: Sequence[np.ndarray], config: PoseSearchConfig, tried: Tried,
                progress: Callable[[int], None] = lambda done: None) -> list[PoseLink]:
    """Return links between anchors of one piece that are near each other according to `poses` or look alike.

    poses: common_from_camera (4, 4) of each anchor; tried: pairs to skip, to which the compared ones are added.
    """
    alike, found = likeness([anchor.view for anchor in anchors]), list[PoseLink]()
    for j in range(len(anchors)):
        for i in _candidates(j, anchors, poses, alike, config.loops):
            if (j, i) in tried:
                continue
            tried.add((j, i))
            guess = np.linalg.inv(poses[i]) @ poses[j]
            found += (_link(anchors, j, i, guess, config)
                      or (_link(anchors, j, i, guess, config, wide=True) if alike[j, i] > _ALIKE else []))
        progress(j + 1)
    return found


def join_pieces(anchors: Sequence[PoseAnchor], pieces: Sequence[int], config: PoseSearchConfig) -> list[PoseLink]:
    """Return links between pieces that show the same place; each pair needs at least two consistent links.

    pieces: numbers of the pieces to try.
    """
    links = list[PoseLink]()
    if len(pieces) < 2:
        return links
    alike, surer = likeness([anchor.view for anchor in anchors]), replace(config, min_agreement=_SURER)
    of = np.array([anchor.piece for anchor in anchors])
    for at, one in enumerate(pieces):
        for other in pieces[at + 1:]:
            between = np.where((of[:, None] == other) & (of[None, :] == one), alike, -1.0)
            best = np.argsort(-between, axis=None)[:_JOINTS]
            pairs = [(int(k // len(of)), int(k % len(of))) for k in best if between.flat[k] > _ALIKE / 2]
            joints = [link for j, i in pairs for link in _link(anchors, j, i, np.eye(4), surer, wide=True)]
            links += _consistent(anchors, joints)
    return links


def likeness(views: Sequence[RgbdView]) -> np.ndarray:
    """Return the similarity (n, n) of the small images of views: mean correlation of brightness and inverse depth."""
    def described(image: np.ndarray) -> np.ndarray:
        small: np.ndarray = zoom(image, (_SIZE[0] / image.shape[0], _SIZE[1] / image.shape[1]), order=1).ravel()
        small = small - small.mean()
        return small / max(float(np.linalg.norm(small)), 1e-6)

    grey = np.array([described(view.grey) for view in views])
    near = np.array([described(np.where(view.depth_m > 0, 1 / np.maximum(view.depth_m, 0.3), 0)) for view in views])
    alike: np.ndarray = (grey @ grey.T + near @ near.T) / 2
    return alike


def _candidates(j: int, anchors: Sequence[PoseAnchor], poses: Sequence[np.ndarray], alike: np.ndarray,
                most: int) -> Iterator[int]:
    """Yield at most `most` earlier anchors to compare with anchor j, spread in time."""
    ranked = list[tuple[float, int]]()
    for i in range(j - 1):
        metres, degrees = moved(np.linalg.inv(poses[i]) @ poses[j])
        if metres < _NEAR_M and degrees < _NEAR_DEG:
            ranked.append((metres / _NEAR_M + degrees / _NEAR_DEG, i))
        elif alike[j, i] > _ALIKE and metres < 3 * _NEAR_M:
            ranked.append((3.0 - alike[j, i], i))
    chosen = list[int]()
    for _, i in sorted(ranked):
        if len(chosen) < most and all(abs(i - other) >= _APART for other in chosen):
            chosen.append(i)
            yield i


def _link(anchors: Sequence[PoseAnchor], j: int, i: int, guess: np.ndarray, config: PoseSearchConfig,
          wide: bool = False) -> list[PoseLink]:
    """Return the link of two anchors, [] if they do not fit."""
    source, target = anchors[j].view, anchors[i].view
    motion = register(source, target, guess, config, wide)
    if motion.refused:
        return []
    weight = information(source, target, motion.target_from_source, config.range_m)
    return [PoseLink(j, i, motion.target_from_source, weight, True)]


def _consistent(anchors: Sequence[PoseAnchor], joints: Sequence[PoseLink]) -> list[PoseLink]:
    """Return the largest group of links that agree on the pose of one piece in the other; [] if fewer than two do."""
    poses = [anchors[k.target].piece_from_camera @ k.target_from_source
             @ np.linalg.inv(anchors[k.source].piece_from_camera) for k in joints]
    groups = [[link for link, pose in zip(joints, poses, strict=True) if _same(one, pose)] for one in poses]
    best = max(groups, key=len, default=[])
    return best if len(best) >= 2 else []


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    metres, degrees = moved(np.linalg.inv(a) @ b)
    return metres < _SAME_M and degrees < _SAME_DEG
