"""The protocol of an episode history, whatever it was recorded with, and its summary."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

from eqa_nodes.core.camera.jumps import Rhythm, rhythm_of
from eqa_nodes.core.errors import BadFrame, BadPose, StorageError
from eqa_nodes.core.types.views import Frame, Label, check_frame


@dataclass(frozen=True, eq=False)
class RecordedFrame:
    """A frame and its place in the recording.

    index: which of the recorded images it is, from 0, dropped ones counted; offset_ns: how far into the bag its colour
    image was recorded (`ros2 bag play --start-offset` goes there), -1 where there is no bag.
    """

    index: int
    offset_ns: int
    frame: Frame


class EpisodeHistory(Protocol):
    """What a robot or a person with a camera saw, with poses; each iteration reads it again, a few frames at a time.

    name: what the history is called; dropped: what the last iteration could not use, by reason; labels: what the ids
    in the frames' label images are, empty where nothing labels (privileged: only simulators know).
    """

    @property
    def name(self) -> str:
        """Return what the history is called."""

    @property
    def dropped(self) -> Counter[str]:
        """Return what the last iteration could not use, by reason."""

    @property
    def labels(self) -> Mapping[int, Label]:
        """Return what the ids in Frame.labels are (privileged); empty where nothing labels."""

    @property
    def notes(self) -> Sequence[str]:
        """Return what people should know of its map frame and cameras, such as intrinsics that are assumed."""

    def __len__(self) -> int:
        """Return how many images were recorded: an iteration yields as many frames, less the dropped ones.

        For progress bars only: 0 where nobody knows before the end, as of what a live robot sees.
        """

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames in the order of their recording. Raises StorageError where nothing more can be read."""

    def recorded(self) -> Iterator[RecordedFrame]:
        """Yield as an iteration does, each frame with its place in the recording."""


class FramesAlone(ABC):
    """Gives a history its iteration: the frames of `recorded` without their places; it has nothing to note."""

    notes: Sequence[str] = ()

    @abstractmethod
    def recorded(self) -> Iterator[RecordedFrame]:
        """As in EpisodeHistory."""

    def __iter__(self) -> Iterator[Frame]:
        return (recorded.frame for recorded in self.recorded())


class PosedFrames(Protocol):
    """Frames that are read by their index, in the map frame."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, index: int) -> Frame:
        """Return one frame. Raises BadFrame or BadPose when it cannot be used."""


class RecordedHistory(FramesAlone):
    """A recording as an episode history: frames that cannot be used are skipped and counted."""

    labels: Mapping[int, Label] = MappingProxyType({})

    def __init__(self, name: str, recording: PosedFrames, first: int = 0) -> None:
        """first: only images whose number is below it, 0 = all. A recording with gaps has `numbers`, else they count
        from 0; one that has to say something has `notes`."""
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


class Survey(NamedTuple):
    """Summary of a history. image: width and height in pixels; lengths in metres, map frame, of the base's path."""

    frames: int
    image: tuple[int, int]
    rhythm: Rhythm
    path_m: float
    lowest: tuple[float, float, float]
    highest: tuple[float, float, float]


def no_frame(frames: object, refused: Mapping[str, int] = MappingProxyType({})) -> StorageError:
    """Return the error that says why nothing of a history, or of other frames, can be used; all of it was read.

    frames: may have a name, a remedy, and a count of what was dropped, by reason.
    refused: frames that whoever read them could not use, by reason.
    """
    name, dropped = getattr(frames, "name", ""), {**getattr(frames, "dropped", {}), **refused}
    reasons = "; ".join(f"{n} x {reason}" for reason, n in sorted(dropped.items()))
    remedy = getattr(frames, "remedy", "")
    return StorageError(f"the history{f' {name}' * bool(name)} has no usable frame: {reasons or 'no image was found'}"
                        f"{f'. {remedy}' * bool(remedy)}")


def survey(frames: Iterable[Frame], progress: Callable[[int], None] = lambda read: None) -> Survey:
    """Read all frames, one at a time. Raises StorageError when there is none."""
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
