"""Pairs messages with slightly different stamps into observations, for a running camera and for a recording.

For a running camera a pair is formed as soon as two stamps are close enough, without delay. For a recording it is
formed when no later message can be closer.
"""

from __future__ import annotations

import bisect
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.wire import messages

Held = list[tuple[int, Any]]


class LivePairing:
    """Finds for each message of an anchor part the nearest message of every partner part, within a tolerance.

    The observation has the anchor's stamp. The nearest message at hand is used once it is within the tolerance, so the
    tolerance must be less than half the time between two images. A message is used once. latest: parts
    whose last message stays valid until the next (intrinsics). At most `bound` messages of a part wait.
    """

    def __init__(self, anchor: str, partners: Iterable[str], latest: Iterable[str], tolerance_ns: int,
                 bound: int) -> None:
        self._anchor, self._partners = anchor, tuple(partners)
        self._latest: dict[str, Any] = dict.fromkeys(latest)
        self._tolerance_ns, self._bound = tolerance_ns, bound
        self._held: dict[str, Held] = {part: [] for part in (anchor, *self._partners)}
        self.unpaired: list[tuple[int, str]] = []  # stamps of dropped anchors and the reason; the reader clears it

    @property
    def parts(self) -> frozenset[str]:
        """Return the parts that are paired."""
        return frozenset((*self._held, *self._latest))

    def put(self, part: str, stamp_ns: int, message: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        """Add a message of one of the parts; yield stamp and messages of each complete observation."""
        if part in self._latest:
            self._latest[part] = message
        else:
            bisect.insort(self._held[part], (stamp_ns, message), key=lambda held: held[0])
            if part != self._anchor:
                del self._held[part][:-self._bound]
        anchors = self._held[self._anchor]
        while anchors:
            lacking = self._lacking(anchors[0][0])
            if lacking and len(anchors) <= self._bound and not self._passed(anchors[0][0]):
                return
            stamp_ns, message = anchors.pop(0)
            if lacking:
                self.unpaired.append((stamp_ns, f"no {' and '.join(lacking)}"))
            else:
                yield stamp_ns, {self._anchor: message, **self._latest, **self._parts_at(stamp_ns)}

    def clear(self) -> None:
        """Forget all waiting messages; those of `latest` parts stay valid."""
        for held in self._held.values():
            held.clear()

    def _near(self, part: str, stamp_ns: int) -> int | None:
        """Return the index of the nearest message of a part; None if none is within the tolerance."""
        held = self._held[part]
        at = min(range(len(held)), key=lambda i: abs(held[i][0] - stamp_ns), default=None)
        return at if at is not None and abs(held[at][0] - stamp_ns) <= self._tolerance_ns else None

    def _lacking(self, stamp_ns: int) -> list[str]:
        return ([part for part, message in self._latest.items() if message is None]
                + [part for part in self._partners if self._near(part, stamp_ns) is None])

    def _passed(self, stamp_ns: int) -> bool:
        """Return whether a missing partner can no longer arrive, because later messages have arrived."""
        return any(self._near(part, stamp_ns) is None and self._held[part]
                   and self._held[part][-1][0] > stamp_ns + self._tolerance_ns for part in self._partners)

    def _parts_at(self, stamp_ns: int) -> dict[str, Any]:
        """Remove and return the partners of an anchor, and drop older ones: anchors are processed in stamp order."""
        parts = {}
        for part in self._partners:
            at = self._near(part, stamp_ns)
            assert at is not None
            parts[part] = self._held[part][at][1]
            del self._held[part][:at + 1]
        return parts


HOLD_NS = 2_000_000_000  # an image of a recording waits this long, in recorded time, for its partner and its pose
_HOLD_BYTES = 256 << 20  # of waiting images; above this the oldest is processed with the messages at hand


@dataclass(frozen=True, eq=False)
class HeldMessage:
    """An image or camera_info of a recording. index: its number among the messages of its part."""

    stamp_ns: int
    log_ns: int
    message: Any
    index: int

    @property
    def size(self) -> int:
        """Return the size of its image in bytes."""
        return len(self.message.data) if hasattr(self.message, "data") else 0


class RecordedPairing:
    """Finds for each colour image of a recording its nearest partners, once their pose is known.

    A partner is used for one colour image only, the nearest one, so each depth image is decoded once. infos: parts with
    camera_info, of which each image gets the nearest message; each: whether one was recorded for each image.
    """

    def __init__(self, parts: tuple[str, ...], infos: tuple[str, ...], each: bool, tolerance_ns: int,
                 known: Callable[[int, str], bool], dropped: Counter[str], only: Collection[int] | None = None) -> None:
        """parts: partner parts of color; known: says whether the pose of a camera frame is known at a stamp (ns);
        dropped: counter of the images without a partner; only: indices of the requested colour images, None = all."""
        self._parts, self._infos, self._tolerance_ns = parts, infos, tolerance_ns
        self._known, self._dropped, self._only = known, dropped, only
        self._held: dict[str, deque[HeldMessage]] = {key: deque() for key in ("color", *parts, *infos)}
        self._awaited = (*parts, "camera_info") if each else parts
        self._bytes, self._count = 0, Counter[str]()

    def put(self, part: str, log_ns: int, message: Any) -> None:
        """Add a message. log_ns: time of recording, ns."""
        self._held[part].append(HeldMessage(messages.stamp_of(message), log_ns, message, self._count[part]))
        self._count[part] += 1
        self._bytes += self._held[part][-1].size

    def complete(self, now_ns: int) -> Iterator[tuple[HeldMessage, dict[str, Any]]]:
        """Yield each colour image that is complete or has waited long enough, with its partner messages.

        now_ns: time at which the last message was recorded, ns.
        """
        colors = self._held["color"]
        while colors:
            expired = now_ns - colors[0].log_ns > HOLD_NS or self._bytes > _HOLD_BYTES
            if not expired and not self._ready(colors[0]):
                break
            color = colors.popleft()
            self._bytes -= color.size
            wanted = self._only is None or color.index in self._only
            parts = {part: held for part in self._parts if (held := self._partner(part, color))}
            if lacking := [part for part in self._parts if part not in parts]:
                self._dropped.update([f"no {' and '.join(lacking)}"] * wanted)
                continue
            for part, held in parts.items():
                self._held[part].remove(held)
                self._bytes -= held.size
            if wanted:
                infos = {info: self._nearest(info, color) for info in self._infos}
                yield color, {part: held.message for part, held in ({"color": color} | parts | infos).items() if held}
        self._forget(now_ns)

    def _ready(self, color: HeldMessage) -> bool:
        """Return whether the frame of this image no longer depends on later messages."""
        for key in self._awaited:
            if not any(held.stamp_ns >= color.stamp_ns for held in self._held[key]):
                return False
        depth = self._partner("depth", color)
        if depth is None:
            return True
        if depth.stamp_ns > color.stamp_ns and len(self._held["color"]) < 2:
            return False  # the next colour image may be nearer to it
        return self._known(color.stamp_ns, depth.message.header.frame_id)

    def _nearest(self, part: str, color: HeldMessage) -> HeldMessage | None:
        return min(self._held[part], key=lambda held: abs(held.stamp_ns - color.stamp_ns), default=None)

    def _partner(self, part: str, color: HeldMessage) -> HeldMessage | None:
        """Return the nearest image of a part if it is within the tolerance and no other colour image is nearer."""
        near = self._nearest(part, color)
        if near is None or (off := abs(near.stamp_ns - color.stamp_ns)) > self._tolerance_ns:
            return None
        rivals = (abs(other.stamp_ns - near.stamp_ns) for other in self._held["color"] if other is not color)
        return None if min(rivals, default=off) < off else near

    def _forget(self, now_ns: int) -> None:
        """Drop messages that are too old for any later image; the last camera_info stays valid until the next."""
        for infos in (self._held[info] for info in self._infos):
            while len(infos) > 1 and now_ns - infos[0].log_ns > HOLD_NS:
                infos.popleft()
        for held in (self._held[part] for part in self._parts):
            while held and (now_ns - held[0].log_ns > HOLD_NS or self._bytes > _HOLD_BYTES):
                self._bytes -= held.popleft().size
                self._dropped["no color"] += 1


_PATIENCE_NS = 500_000_000  # frames do not wait for a camera that is silent for longer

Deliver = Callable[[Frame, Mapping[int, Label]], None]


class FrameOrdering:
    """Delays frames until every camera has reached their stamp or is silent; frames that arrive later are refused.

    The second of two frames with equal stamps is delivered with a stamp 1 ns later: stamps identify observations.
    """

    def __init__(self, cameras: int, deliver: Deliver, refuse: Callable[[int, str], None]) -> None:
        self._cameras, self._deliver, self._refuse = cameras, deliver, refuse
        self.clear()

    def clear(self) -> None:
        """Drop all delayed frames."""
        self._newest = [-1] * self._cameras
        self._held: list[tuple[int, Frame, Mapping[int, Label]]] = []
        self._last_ns = -1

    def put(self, camera: int, frame: Frame, labels: Mapping[int, Label]) -> None:
        """Add the next frame of a camera."""
        self._newest[camera] = max(self._newest[camera], frame.stamp_ns)
        bisect.insort(self._held, (frame.stamp_ns, frame, labels), key=lambda held: held[0])
        horizon = max(min(self._newest), max(self._newest) - _PATIENCE_NS)
        while self._held and self._held[0][0] <= horizon:
            self._hand_on(*self._held.pop(0))

    def _hand_on(self, stamp_ns: int, frame: Frame, labels: Mapping[int, Label]) -> None:
        if stamp_ns < self._last_ns - 1:
            self._refuse(stamp_ns, "came after a later frame of the other camera")
            return
        self._last_ns = max(stamp_ns, self._last_ns + 1)
        self._deliver(frame if self._last_ns == stamp_ns else replace(frame, stamp_ns=self._last_ns), labels)
