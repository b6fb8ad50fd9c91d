"""Builds the trace of an episode from its bag, for reports.

Several nodes publish, so a map may be recorded shortly after the decision that used it. Stamps decide which map and
image were the newest when the robot decided.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.mapping.map_picture import picture_of
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels, small_jpeg
from eqa_nodes.core.types.floor import Frontier
from eqa_nodes.core.types.geometry import Pose2, pose2_of
from eqa_nodes.core.types.trace import EpisodeTrace, Moment, TraceDecision
from eqa_nodes.recordings.bags.poses import Poses, all_poses
from eqa_nodes.recordings.bags.reader import Messages, open_bag
from eqa_nodes.wire import messages
from eqa_nodes.wire.images import rgb_of

T = TypeVar("T")
PARTS = ("map", "explored", "color")
_LATE = 3  # number of recent moments that a message recorded later may still belong to
KEYS = ("question", "answer", "decision", "model_calls", "frontiers", "keyframes", "view_assessments", *PARTS)


def trace_of(bag: Path, namespace: str = "") -> EpisodeTrace:
    """Return the trace of an episode; fields without data in the bag stay empty. The answer is the last question's.

    Raises StorageError when the bag cannot be read, or has an answer, a decision or a model call that is not in this
    project's format.
    """
    with open_bag(Path(bag), namespace) as opened:
        return trace_from(opened)


def trace_from(source: Messages) -> EpisodeTrace:
    """Return the trace of an episode from its messages, as `trace_of` does. Raises StorageError."""
    trace, moments = EpisodeTrace(), Moments()
    last: dict[str, Any] = {}
    if source.count("tf") or source.count("odom"):  # a recorder that was killed early wrote neither
        trace.poses = list(_path(all_poses(source)))
    for key, _, message in source.read(KEYS):
        last[key] = message
        _add(trace, key, message, last, source.path)
        if key in PARTS:
            moments.hear(key, message)
        elif key in ("decision", "keyframes"):
            newest = trace.decisions[-1] if key == "decision" else trace.keyframes[-1]
            moments.note(newest.stamp_ns, looked=key == "decision")
    trace.moments = moments.all()
    if "color" in last:
        with suppress(BadFrame):  # skip an image that cannot be read
            trace.view = _jpeg(last["color"])
    if "map" in last:
        trace.grid = messages.grid_of(last["map"], last.get("explored"))
    return trace


def _add(trace: EpisodeTrace, key: str, message: Any, last: Mapping[str, Any], source: Path) -> None:
    """Add one message. last: key -> last message until now."""
    if key == "question":
        trace.question, trace.answer = str(message.data), None
    elif key == "answer":
        trace.answer = _read(messages.answer_of, message, source)
    elif key == "decision":
        trace.decisions.append(_decision(message, last.get("frontiers"), source))
    elif key == "model_calls":
        trace.calls.append(_read(messages.call_of, message, source))
    elif key == "view_assessments":
        trace.judged.append(_read(messages.assessment_of, message, source)._replace(places=()))
    elif key == "keyframes":
        trace.keyframes.append(messages.keyframe_of(message))


def _jpeg(message: Any) -> bytes:
    """Return an image as a JPEG, as it was recorded if it is one. Raises BadFrame."""
    pixels = rgb_of(message)
    return bytes(message.data) if "jpeg" in getattr(message, "format", "") else jpeg_of_pixels(pixels)


def _path(poses: Poses) -> Iterator[tuple[int, Pose2]]:
    for stamp_ns in poses.stamps_ns:
        try:
            yield stamp_ns, pose2_of(poses.map_from_base(stamp_ns, ""))
        except BadFrame:
            continue  # the pose is unknown before the first fix of the localisation


def _decision(message: Any, frontiers: Any | None, bag: Path) -> TraceDecision:
    """Return the decision, with the frontiers that were last published before it."""
    decision = _read(messages.decision_of, message, bag)
    known: tuple[Frontier, ...] = messages.frontiers_of(frontiers) if frontiers is not None else ()
    return decision if decision.frontiers else decision._replace(frontiers=known)


def _read(convert: Callable[[Any], T], message: Any, bag: Path) -> T:
    try:
        return convert(message)
    except (AttributeError, TypeError, ValueError) as error:  # a type of the same name with other fields, or a number
        raise StorageError(f"bag {bag} has a message that this project did not write: {error}") from error


class _Open(NamedTuple):
    """An unfinished moment. looked: its image is needed, because no keyframe shows it."""

    stamp_ns: int
    looked: bool
    held: dict[str, Any]


class Moments:
    """Collects moments. Pass messages of PARTS to `hear`, decisions and keyframes to `note`, in recorded order."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}
        self._open: deque[_Open] = deque()
        self._done: list[Moment] = []

    def hear(self, key: str, message: Any) -> None:
        """Add a message of PARTS."""
        self._last[key] = message
        for moment in self._open:
            if messages.stamp_of(message) <= moment.stamp_ns:
                moment.held[key] = message

    def note(self, stamp_ns: int, looked: bool) -> None:
        """Add a decision (looked) or a keyframe, which has its own image."""
        known = next((moment for moment in self._open if moment.stamp_ns == stamp_ns), None)
        if known is None:
            self._open.append(_Open(stamp_ns, looked, dict(self._last)))
        elif not looked:
            self._open[self._open.index(known)] = known._replace(looked=False)
        while len(self._open) > _LATE:
            self._done.append(_closed(self._open.popleft()))

    def all(self) -> list[Moment]:
        """Return the moments, oldest first; no messages may be added after that."""
        while self._open:
            self._done.append(_closed(self._open.popleft()))
        return sorted(self._done, key=lambda moment: moment.stamp_ns)


def _closed(moment: _Open) -> Moment:
    held: Mapping[str, Any] = moment.held
    seen = picture_of(messages.grid_of(held["map"], held.get("explored"))) if "map" in held else None
    view = b""
    if moment.looked and "color" in held:
        with suppress(BadFrame):  # skip an image that cannot be read
            view = small_jpeg(rgb_of(held["color"]))
    return Moment(moment.stamp_ns, view, seen)
