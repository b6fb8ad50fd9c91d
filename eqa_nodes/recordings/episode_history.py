"""The protocol of an episode history, independent of the recording device, and its summary."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from eqa_nodes.core.camera.jumps import Rhythm, rhythm_of
from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Frame, Label, check_frame


@dataclass(frozen=True, eq=False)
class RecordedFrame:
    """A frame and its place in the recording.

    index: number of the image in the recording, from 0, including dropped ones; offset_ns: offset of its colour image
    from the start of the bag, ns (for `ros2 bag play --start-offset`), -1 if there is no bag; labels: those of its
    moment, where rooms and states change within the recording, None = those of the history.
    """

    index: int
    offset_ns: int
    frame: Frame
    labels: Mapping[int, Label] | None = None


class EpisodeHistory(Protocol):
    """Frames with poses from a robot or a hand-held camera; each iteration reads them again, a few at a time.

    name: name of the history; dropped: number of frames that the last iteration skipped, by reason; labels: id in the
    frames' label images -> label, empty if there are no labels (privileged: only simulators know them).
    """

    @property
    def name(self) -> str:
        """Return the name of the history."""

    @property
    def dropped(self) -> Counter[str]:
        """Return the number of frames that the last iteration skipped, by reason."""

    @property
    def labels(self) -> Mapping[int, Label]:
        """Return id in Frame.labels -> label (privileged); empty if there are no labels."""

    @property
    def notes(self) -> Sequence[str]:
        """Return notes for the user on its map frame and cameras, such as assumed intrinsics."""

    def __len__(self) -> int:
        """Return the number of recorded images: an iteration yields as many frames, less the dropped ones.

        Use it for progress bars only: it is 0 if the number is not known before the end, as with a live robot.
        """

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames in recorded order. Raises StorageError when nothing more can be read."""

    def recorded(self) -> Iterator[RecordedFrame]:
        """Yield the frames like an iteration, each with its place in the recording."""


class FramesAlone(ABC):
    """Base class of histories: iterates over the frames of `recorded` without their places, and has no notes."""

    notes: Sequence[str] = ()

    @abstractmethod
    def recorded(self) -> Iterator[RecordedFrame]:
        """As in EpisodeHistory."""

    def __iter__(self) -> Iterator[Frame]:
        return (recorded.frame for recorded in self.recorded())


class PosedFrames(Protocol):
    """Frames that are read by their index, in the map frame."""

    def __len__(self) -> int:
        """Return the number of frames."""

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame or BadPose when it cannot be used."""


class RecordedHistory(FramesAlone):
    """A recording as an episode history: frames that cannot be used are skipped and counted."""

    labels: Mapping[int, Label] = MappingProxyType({})

    def __init__(self, name: str, recording: PosedFrames, first: int = 0) -> None:
        """first: use only images whose number is below it, 0 = all. recording: may have `numbers` (if it has gaps;
        by default images count from 0) and `notes`."""
        self.name, self.recording = name, recording
        self.notes = getattr(recording, "notes", ())
        numbers: Sequence[int] = getattr(recording, "numbers", range(len(recording)))
        self._wanted: Sequence[int] = (
            [i for i, number in enumerate(numbers) if number < first] if first else range(len(recording)))
        self.dropped: Counter[str] = Counter()
        self.labels: Mapping[int, Label] = {}

    def __len__(self) -> int:
        return len(self._wanted)

    def recorded(self) -> Iterator[RecordedFrame]:
        """As in EpisodeHistory."""
        self.dropped = Counter()
        for i in self._wanted:
            try:
                frame = self.recording[i]
                check_frame(frame)
            except (BadFrame, BadPose) as error:
                self.dropped[str(error)] += 1
            else:
                yield RecordedFrame(i, -1, frame)


class HistoryFormat(NamedTuple):
    """A format of recordings. fits: whether a path has this format; open: returns its history, raises StorageError."""

    traits: HistoryTraits
    fits: Callable[[Path], bool]
    open: Callable[[Path], EpisodeHistory]


def recorded_format(looks_like: str, fits: Callable[[Path], bool], read: Callable[[Path], PosedFrames],
                    library: str = "", extra: str = "") -> HistoryFormat:
    """Return a format whose recordings `read` opens as frames by index; other arguments as in HistoryTraits."""
    return HistoryFormat(HistoryTraits(looks_like=looks_like, library=library, extra=extra), fits,
                         lambda path: RecordedHistory(path.name if path.is_dir() else path.stem, read(path)))


class Survey(NamedTuple):
    """Summary of a history. image: width and height in pixels; lengths of the base's path in metres, map frame."""

    frames: int
    image: tuple[int, int]
    rhythm: Rhythm
    path_m: float
    lowest: tuple[float, float, float]
    highest: tuple[float, float, float]


def no_frame(frames: object, refused: Mapping[str, int] = MappingProxyType({})) -> StorageError:
    """Return the error for a history, or other frames, of which no frame can be used; call it after reading all.

    frames: may have the attributes name, remedy, and dropped (number of dropped frames by reason).
    refused: number of frames that the caller could not use, by reason.
    """
    name, dropped = getattr(frames, "name", ""), {**getattr(frames, "dropped", {}), **refused}
    reasons = "; ".join(f"{n} x {reason}" for reason, n in sorted(dropped.items()))
    remedy = getattr(frames, "remedy", "")
    return StorageError(f"the history{f' {name}' * bool(name)} has no usable frame: {reasons or 'no image was found'}"
                        f"{f'. {remedy}' * bool(remedy)}")


def survey(frames: Iterable[Frame], progress: Callable[[int], None] = lambda read: None) -> Survey:
    """Summarize all frames, read one at a time. Raises StorageError when there is none."""
    reading = iter(frames)
    first = next(reading, None)
    if first is None:
        raise no_frame(frames)
    stamps_ns, path_m, here = [first.stamp_ns], 0.0, first.map_from_base.xyz
    lowest = highest = here
    for frame in reading:
        before, here = here, frame.map_from_base.xyz
        path_m += math.dist(before, here)
        stamps_ns.append(frame.stamp_ns)
        progress(len(stamps_ns))
        lowest, highest = _each(min, lowest, here), _each(max, highest, here)
    k = first.intrinsics
    return Survey(len(stamps_ns), (k.width, k.height), rhythm_of(stamps_ns), path_m, lowest, highest)


def _each(choose: Callable[[float, float], float], a: tuple[float, float, float],
          b: tuple[float, float, float]) -> tuple[float, float, float]:
    return choose(a[0], b[0]), choose(a[1], b[1]), choose(a[2], b[2])
