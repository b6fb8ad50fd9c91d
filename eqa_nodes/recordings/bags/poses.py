"""Poses of the robot from a bag: from a window of its transforms, or from all of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.types.geometry import Pose2, Transform, compose, inverse
from eqa_nodes.recordings.bags.reader import BagMessage, Messages
from eqa_nodes.wire import messages
from eqa_nodes.wire.transforms import NoTransform, TfBuffer

KEYS = ("tf", "tf_static", "odom")
_FOREVER_NS = 1 << 63
_BACK_NS = 1_000_000_000  # if a frame's next stamp is older by this, the clock was set back
_LEARN_NS = 60_000_000_000  # the frames are learned from the first minute of transforms
FIXED = ("map", "odom", "world")
BASES = ("base_link", "base_footprint", "base")


class Poses:
    """Transforms of a bag in order of reading; odometry is used if no transform moves the base.

    fixed: frame used as the map: the given one, or the first of map, odom, world that is an ancestor of the base
    base: the robot's frame; "" if there is none: a camera alone has its base on the ground (z = 0) below it.
    invalid: number of transforms that are not finite and rigid, by child; stamps_ns: stamps of the base's poses.
    """

    def __init__(self, bag: Messages, keep_ns: int = _FOREVER_NS, fixed: str = "", base: str = "") -> None:
        """Find the frames and load the static transforms. Raises StorageError when there is no pose."""
        self._buffer, self._back_ns = TfBuffer(keep_ns), _BACK_NS if keep_ns < _FOREVER_NS else keep_ns
        self._newest_ns: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        self.base, self.fixed = base, fixed
        self.invalid: Counter[str] = Counter()
        self._refused: dict[str, str] = {}
        self.stamps_ns: list[int] = []
        self._learn(bag)
        for recorded in bag.read(("tf_static",)):
            self.take(recorded)
        self.invalid.clear()  # they are counted again when the bag is read

    def take(self, recorded: BagMessage) -> None:
        """Add a message of one of KEYS; odometry is used only if no transform moves the base."""
        if recorded.key == "odom" and not self._by_odometry:
            return
        for header, child, transform in self._links(recorded):
            self._put(header, child, transform, recorded.key == "tf_static")

    def map_from_base(self, stamp_ns: int, camera: str) -> Transform:
        """Return the base's pose. camera: name of the optical frame. Raises BadFrame if it is unknown at the stamp."""
        if self.base:
            return self._lookup(self.fixed, self.base, stamp_ns)
        m = self._lookup(self.fixed, _name(camera), stamp_ns).matrix()
        return Pose2(float(m[0, 3]), float(m[1, 3]), math.atan2(m[1, 2], m[0, 2])).transform()

    def base_from_camera(self, stamp_ns: int, camera: str) -> Transform:
        """Return the pose of an optical frame on the robot. Raises BadFrame if it is unknown."""
        if self.base:
            return self._lookup(self.base, _name(camera), stamp_ns)
        from scipy.spatial.transform import Rotation  # takes 0.1 s, which every start of eqa ask would pay

        m = self._lookup(self.fixed, _name(camera), stamp_ns).matrix()
        m = np.linalg.inv(self.map_from_base(stamp_ns, camera).matrix()) @ m
        x, y, z = m[:3, 3].tolist()
        qx, qy, qz, qw = Rotation.from_matrix(m[:3, :3]).as_quat().tolist()
        return Transform((x, y, z), (qx, qy, qz, qw))

    def known(self, stamp_ns: int, camera: str) -> bool:
        """Return whether the pose of an optical frame is known at the stamp."""
        try:
            self.base_from_camera(stamp_ns, camera)
            self.map_from_base(stamp_ns, camera)
        except BadFrame:
            return False
        return True

    def between(self, stamp_ns: int, target: str, source: str) -> Transform:
        """Return target_from_source of two frames on the robot. Raises BadFrame if it is unknown at the stamp."""
        a, b = (self._lookup(self.base or self.fixed, _name(frame), stamp_ns) for frame in (target, source))
        return compose(inverse(a), b)

    def _lookup(self, target: str, source: str, stamp_ns: int) -> Transform:
        try:
            return self._buffer.lookup(target, source, stamp_ns)
        except NoTransform as error:
            if error.child in self._refused:
                raise BadFrame(self._refused[error.child]) from error
            raise

    def _learn(self, bag: Messages) -> None:
        """Learn the frames from the first minute of transforms."""
        odometry = ""
        for recorded in chain(bag.read(("tf_static",)), _first_minute(bag)):
            for header, child, _ in self._links(recorded):
                if recorded.key != "odom":
                    self._parents.setdefault(child, _name(header.frame_id))
            if recorded.key == "odom" and not odometry:
                odometry, base = _name(recorded.message.header.frame_id), _name(recorded.message.child_frame_id)
            if (self.fixed or FIXED[0]) in self._above(self.base or BASES[0]):
                break  # both are first choices: later messages cannot change them, and reading a minute takes long
        names = {*self._parents, *self._parents.values()}
        self.base = self.base or next((name for name in BASES if name in names), "")
        if odometry and not self.base:
            self.base = base or BASES[0]
        self._by_odometry = bool(odometry) and self.base not in self._parents
        if self._by_odometry:
            self._parents[self.base] = odometry
        parents = set(self._parents.values())
        above = self._above(self.base) if self.base else parents
        self.fixed = self.fixed or next((name for name in FIXED if name in above), "")
        if self.fixed not in parents:
            roots = ", ".join(sorted(parents - set(self._parents)))
            why = bag.missing("odom")
            raise StorageError(f"bag {bag.path} does not say where the robot was: it has no transforms from "
                               f"{self.fixed or 'map, odom or world'}" + (
                                   f" (its frames begin at {roots}: name the one that stands for the map)" if roots
                                   else "" if why else " and no odometry; record /tf, /tf_static and odom")
                               + (f"; {why}" if why else ""))

    def _above(self, frame: str) -> list[str]:
        """Return the ancestors of a frame in the TF tree."""
        found: list[str] = []
        while (frame := self._parents.get(frame, "")) and frame not in found:
            found.append(frame)
        return found

    def _links(self, recorded: BagMessage) -> list[tuple[Any, str, Transform]]:
        """Return header, child frame and transform of each link in a message."""
        message = recorded.message
        if recorded.key == "odom":
            return [(message.header, self.base, messages.pose_of(message.pose.pose))]
        return [(t.header, _name(t.child_frame_id), messages.transform_of(t)) for t in message.transforms]

    def _put(self, header: Any, child: str, transform: Transform, static: bool) -> None:
        stamp_ns = messages.ns_of(header.stamp)
        if self._newest_ns.get(child, stamp_ns) - stamp_ns > self._back_ns:
            self._buffer.clear(child)  # time jumped back: a simulation restarted, or the last stamp was invalid
        self._newest_ns[child] = stamp_ns
        try:
            self._buffer.put(_name(header.frame_id), child, stamp_ns, transform, static)
        except BadPose as error:
            self.invalid[child] += 1
            self._refused[child] = f"no valid transform of {child!r}: {error}"
            return
        if child == self.base:
            self.stamps_ns.append(stamp_ns)


def _first_minute(bag: Messages) -> Iterator[BagMessage]:
    """Yield transforms and odometry of the first minute."""
    begin_ns = None
    for recorded in bag.read(("tf", "odom")):
        begin_ns = recorded.log_ns if begin_ns is None else begin_ns
        if recorded.log_ns - begin_ns > _LEARN_NS:
            return
        yield recorded


def all_poses(bag: Messages) -> Poses:
    """Return all poses of a bag, with sorted stamps and without duplicates."""
    poses = Poses(bag)
    for recorded in bag.read(("tf", "odom")):
        poses.take(recorded)
    poses.stamps_ns = sorted(set(poses.stamps_ns))
    return poses


def _name(frame: str) -> str:
    """Return a frame's name without the leading slash of old recordings."""
    return frame.lstrip("/")
