"""A tree of frames with transforms by stamp, interpolated between neighbours as in tf2 (which has no PyPI wheel)."""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from eqa_nodes.core.camera.config import TfConfig
from eqa_nodes.core.camera.jumps import FutureStampFilter, angle_between
from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.types.geometry import Transform, compose, inverse

_SURE = 3  # consecutive samples far in the past that mean that time was set back
KEEP_NS = 10_000_000_000  # ten seconds of history, as in tf2
Quaternion = tuple[float, float, float, float]


class NoTransform(BadFrame):
    """A link of the tree has no transform. child: its child frame; early: the stamp is before its first sample."""

    def __init__(self, child: str, message: str, early: bool = False) -> None:
        super().__init__(message)
        self.child, self.early = child, early


class TfBuffer:
    """Samples of parent_from_child by child frame; a moving frame keeps the last `keep_ns` of them.

    One sample that is much older is an outlier; several in a row mean that time was set back. corrected: thresholds
    (metres, radians) by frame for jumps by localisation: samples that differ by more are not interpolated.
    now: the receiver's clock, ns; samples stamped more than ahead_s later are accepted only if several in a row are,
    None = always. A frame keeps its first parent, and the tree has no loops: a transform that contradicts this is
    refused while the links that it contradicts are fresh.
    """

    def __init__(self, keep_ns: int = KEEP_NS, corrected: Mapping[str, tuple[float, float]] | None = None,
                 now: Callable[[], int] | None = None, ahead_s: float = 0.0) -> None:
        self._keep_ns, self._corrected = keep_ns, dict(corrected or {})
        self._now, self._watches = now, defaultdict[str, FutureStampFilter](lambda: FutureStampFilter(ahead_s))
        self._behind: dict[str, list[tuple[int, Transform]]] = {}
        self._parents: dict[str, str] = {}
        self._disputed: set[str] = set()
        self._refused: dict[str, tuple[str, Transform]] = {}  # static ones, which are sent once
        self._samples: dict[str, tuple[list[int], list[Transform]]] = {}
        self._static: dict[str, Transform] = {}

    def put(self, parent: str, child: str, stamp_ns: int, transform: Transform, static: bool = False) -> None:
        """Add one sample, even a late one. Raises BadPose when it is not a finite rigid transform between two frames.

        Raises it also for a single stamp in the future, and if the transform gives a frame a second parent or closes
        a loop.
        """
        transform.matrix()
        parent, child = parent.lstrip("/"), child.lstrip("/")  # as in tf2: ROS 1 names begin with /
        if parent == child or not parent or not child:
            raise BadPose(f"transform from {parent!r} to {child!r}: a transform needs two frames")
        if self._now is not None and not static and self._watches[child].stray(stamp_ns, self._now()):
            raise BadPose(f"transform of {child!r} is stamped in the future")
        try:
            self._hang(parent, child, None if static else stamp_ns)
        except BadPose:
            if static:
                self._refused[child] = parent, transform
            raise
        if static:
            self._static[child] = transform
            return
        stamps, samples = self._samples.setdefault(child, ([], []))
        if stamps and stamps[-1] - stamp_ns > self._keep_ns:
            behind = self._behind.setdefault(child, [])
            behind.append((stamp_ns, transform))
            if len(behind) >= _SURE:
                stamps.clear()
                samples.clear()
                for sample in self._behind.pop(child):
                    self.put(parent, child, *sample)
            return
        self._behind.pop(child, None)
        at = bisect.bisect_left(stamps, stamp_ns)
        if at < len(stamps) and stamps[at] == stamp_ns:
            samples[at] = transform
            return
        stamps.insert(at, stamp_ns)
        samples.insert(at, transform)
        while stamps[-1] - stamps[0] > self._keep_ns:
            stamps.pop(0), samples.pop(0)

    def _hang(self, parent: str, child: str, stamp_ns: int | None) -> None:
        """Attach a frame to a parent; stale links that contradict this are forgotten. Raises BadPose."""
        chain, known = self._above(parent), self._parents.get(child, parent)
        if known != parent:
            links, why = [child], f"{child!r} hangs from {known!r} already, and a frame has one parent"
        elif child in chain:
            links = chain[:chain.index(child)]
            why = f"{parent!r} hangs from {child!r} already, and transforms must not form a loop"
        else:
            self._parents[child] = parent
            return
        stale = [link for link in links if self._stale(link, stamp_ns)]
        if not stale:
            self._disputed.update(links)
            raise BadPose(f"transform from {parent!r} to {child!r} is refused: {why}. End one of the publishers of "
                          "these transforms")
        for link in stale:
            self._forget(link)
        self._hang(parent, child, stamp_ns)

    def _stale(self, child: str, stamp_ns: int | None) -> bool:
        """Return whether a link has no sample near this stamp (None: no sample at all)."""
        stamps, _ = self._samples.get(child, ([], []))
        return child not in self._static and not (
            stamps and (stamp_ns is None or abs(stamps[-1] - stamp_ns) <= self._keep_ns))

    def _forget(self, child: str) -> None:
        self._samples.pop(child, None)
        self._parents.pop(child, None)

    def forget_disputed(self) -> None:
        """Forget the moving links that other transforms contradicted: the next one to arrive is accepted."""
        for child in self._disputed - self._static.keys():
            self._forget(child)
        self._disputed.clear()
        refused, self._refused = self._refused, {}
        for child, (parent, transform) in refused.items():
            with suppress(BadPose):  # already reported on arrival
                self.put(parent, child, 0, transform, static=True)

    def lookup(self, target: str, source: str, stamp_ns: int) -> Transform:
        """Return target_from_source at the stamp, for frames of one tree.

        Raises BadFrame naming the link without a transform and the time range that is known.
        """
        target, source = target.lstrip("/"), source.lstrip("/")
        above = self._above(target)
        common, result = self._climb(source, above, stamp_ns)
        if common == target:
            return result
        _, back = self._climb(target, [common], stamp_ns)
        return compose(inverse(back), result)

    def _above(self, frame: str) -> list[str]:
        """Return a frame and all its ancestors."""
        found = [frame]
        while frame := self._parents.get(frame, ""):
            found.append(frame)
        return found

    def _climb(self, frame: str, ends: Sequence[str], stamp_ns: int) -> tuple[str, Transform]:
        """Return the first of `ends` among a frame and its ancestors, and the transform from the frame into it."""
        result = Transform.identity()
        while frame not in ends:
            result = compose(self._sample(frame, stamp_ns), result)
            frame = self._parents[frame]
        return frame, result

    def moving(self, frame: str) -> str:
        """Return the frame or its nearest ancestor that is not static in its parent."""
        while frame in self._static:
            frame = self._parents[frame]
        return frame

    def clear(self, child: str = "") -> None:
        """Forget the samples of all moving frames, or of one (time jumped)."""
        if child:
            self._samples.pop(child, None)
        else:
            self._samples.clear()

    def set_back(self, stamp_ns: int, by_ns: int) -> None:
        """Forget the samples from before time was set back by `by_ns` to `stamp_ns`; keep those received since."""
        for stamps, samples in self._samples.values():
            keep = bisect.bisect(stamps, stamp_ns + by_ns // 2) if by_ns > self._keep_ns else 0
            del stamps[keep:], samples[keep:]
        self._behind.clear()

    def _sample(self, child: str, stamp_ns: int) -> Transform:
        if child in self._static:
            return self._static[child]
        stamps, samples = self._samples.get(child, ([], []))
        at = bisect.bisect_left(stamps, stamp_ns)
        if at < len(stamps) and stamps[at] == stamp_ns:
            return samples[at]
        if at == 0 or at == len(stamps):
            known = f"{stamps[0] / 1e9:.3f} s to {stamps[-1] / 1e9:.3f} s" if stamps else "nothing"
            raise NoTransform(child, f"no transform of {child!r} at {stamp_ns / 1e9:.3f} s: there is {known}",
                              bool(stamps) and at == 0)
        if child in self._corrected and _jumped(samples[at - 1], samples[at], *self._corrected[child]):
            return samples[at - 1]
        share = (stamp_ns - stamps[at - 1]) / (stamps[at] - stamps[at - 1])
        return interpolate(samples[at - 1], samples[at], share)


class RobotPoses(Protocol):
    """Poses of a robot and its cameras. Every method raises BadFrame if the pose at the stamp is not known."""

    def map_from_base(self, stamp_ns: int, camera: str) -> Transform:
        """Return the pose of the base. camera: name of the optical frame, for a camera without a robot."""

    def base_from_camera(self, stamp_ns: int, camera: str) -> Transform:
        """Return the pose of an optical frame on the robot."""

    def between(self, stamp_ns: int, target: str, source: str) -> Transform:
        """Return target_from_source of two frames on the robot."""


class NamedFrames:
    """RobotPoses from transforms, by the configured names of the robot's frames."""

    def __init__(self, tf: TfBuffer, names: TfConfig) -> None:
        self._tf, self._names = tf, names

    def map_from_base(self, stamp_ns: int, camera: str) -> Transform:
        """As in RobotPoses."""
        return self._tf.lookup(self._names.map_frame, self._names.base_frame, stamp_ns)

    def base_from_camera(self, stamp_ns: int, camera: str) -> Transform:
        """As in RobotPoses."""
        return self._tf.lookup(self._names.base_frame, camera, stamp_ns)

    def between(self, stamp_ns: int, target: str, source: str) -> Transform:
        """As in RobotPoses."""
        try:
            a, b = (self._tf.lookup(self._names.base_frame, frame, stamp_ns) for frame in (target, source))
        except NoTransform as error:
            raise BadFrame(f"no transform of {error.child!r}, between {source!r} and {target!r}") from error
        return compose(inverse(a), b)


def _jumped(a: Transform, b: Transform, metres: float, radians: float) -> bool:
    return math.dist(a.xyz, b.xyz) > metres or angle_between(a, b) > radians


def interpolate(a: Transform, b: Transform, share: float) -> Transform:
    """Return the transform `share` (0..1) of the way from a to b: linear in translation, slerp in rotation."""
    xyz = tuple(p + share * (q - p) for p, q in zip(a.xyz, b.xyz))
    return Transform(xyz, _slerp(a.xyzw, b.xyzw, share))  # type: ignore[arg-type]


def _slerp(a: Quaternion, b: Quaternion, share: float) -> Quaternion:
    dot = sum(p * q for p, q in zip(a, b))
    sign = -1.0 if dot < 0 else 1.0
    angle = math.acos(min(1.0, abs(dot)))
    if angle < 1e-9:
        return a
    wa, wb = math.sin((1 - share) * angle) / math.sin(angle), sign * math.sin(share * angle) / math.sin(angle)
    return _unit(wa * p + wb * q for p, q in zip(a, b))


def _unit(values: Iterable[float]) -> Quaternion:
    q = tuple(values)
    norm = math.sqrt(sum(v * v for v in q))
    return tuple(v / norm for v in q)  # type: ignore[return-value]
