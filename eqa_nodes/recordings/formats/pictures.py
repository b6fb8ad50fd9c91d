"""Histories with colour images without depth: folders of images, such as OpenEQA's frames for download, and videos.

Without depth an image is not a Frame: agents that use evenly spaced images can answer from it; code that needs depth,
or poses that are missing, raises an error with a remedy.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import numpy as np

from eqa_nodes.core.errors import BadFrame, MissingExtra, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.episode_history import FramesAlone, HistoryFormat, RecordedFrame
from eqa_nodes.recordings.formats.scannet import RATE_HZ, numbered
from eqa_nodes.wire.image_files import MAX_PIXELS, read_rgb

_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")
_NEAR = 60  # maximum number of images decoded to reach one further on; beyond that the reader seeks


@dataclass(frozen=True)
class StoredPicture:
    """An image of a recording. number: index in the recording, from 0; stamp_ns: time stamp of the image, ns.

    rgb: returns the image, (H, W, 3) uint8; raises BadFrame if the file cannot be read.
    """

    number: int
    stamp_ns: int
    rgb: Callable[[], np.ndarray]


class ColourHistory(FramesAlone):
    """Images without depth and poses. It has pictures, but no frames."""

    labels: Mapping[int, Label] = MappingProxyType({})

    def __init__(self, name: str, pictures: tuple[StoredPicture, ...]) -> None:
        """pictures: the images in recorded order."""
        self.name, self.pictures, self.dropped = name, pictures, Counter[str]()

    def __len__(self) -> int:
        return len(self.pictures)

    def first(self, count: int) -> ColourHistory:
        """Return the images whose numbers are below `count`."""
        return ColourHistory(self.name, tuple(p for p in self.pictures if p.number < count))

    def recorded(self) -> Iterator[RecordedFrame]:
        """Raise StorageError: there are no frames."""
        raise StorageError(self.lacking)

    @property
    def lacking(self) -> str:
        """What is missing in this history, and the remedy."""
        return (f"the history {self.name} holds colour images without depth: agents that look at evenly "
                "spaced images can use it (blind, socratic-captions, multi-frame, --frames uniform or none). All "
                "others need a recording with depth and poses; of OpenEQA's frames, let its extract-frames.py write "
                "depth and poses too (without --rgb-only), or render its agent states with `eqa history render`")


def read_pictures(folder: Path, ending: str) -> ColourHistory:
    """Return images named by their number and an ending before the suffix ("-rgb"), at 30 Hz.

    Raises StorageError if there are none.
    """
    files = sorted((n, p) for n, p in numbered(folder, ending).items() if p.suffix != ".txt")
    if not files:
        raise StorageError(f"{folder} holds no image that is named by its number{f' and {ending}' * bool(ending)}")
    return ColourHistory(folder.name, tuple(
        StoredPicture(n, round((n + 1) * 1e9 / RATE_HZ), partial(read_rgb, p)) for n, p in files))


def colour_alone(folder: Path, ending: str) -> bool:
    """Return whether a folder has such images, but neither depth images nor poses."""
    return not numbered(folder, "-depth") and not any(
        p.suffix == ".txt" for p in numbered(folder).values()) and any(
        p.suffix != ".txt" for p in numbered(folder, ending).values())


class VideoImages:
    """The images of a video by their number, decoded on demand; reading in order is fastest.

    stamps_ns: time of each image since the first, ns; shape: height and width as stored.
    """

    def __init__(self, name: object, opened: Callable[[], IO[bytes]], upright: bool = False,
                 remedy: str = "copy it again") -> None:
        """upright: rotate images as the file states. Raises StorageError with the remedy, MissingExtra without PyAV."""
        try:
            import av
        except ImportError as error:
            raise MissingExtra("PyAV (av)", "video") from error
        self._av, self._name, self._opened, self._upright = av, name, opened, upright
        self._next, self._images = 0, self._decoded(0)
        try:
            with opened() as file, av.open(file) as container:
                stream = container.streams.video[0]
                self.shape = stream.codec_context.height, stream.codec_context.width
                self._times = sorted(_time(packet) for packet in container.demux(stream) if packet.size)
                self.stamps_ns = [round((t - self._times[0]) * (stream.time_base or 0) * 10**9) for t in self._times]
        except (BadFrame, OSError, IndexError, av.FFmpegError) as error:
            raise StorageError(f"{name} cannot be read as a video ({error}): {remedy}") from error
        if not 0 < self.shape[0] * self.shape[1] <= MAX_PIXELS or not self._times:
            raise StorageError(f"{name} has {len(self._times)} images of {self.shape[1]}x{self.shape[0]}: {remedy}")

    def image(self, number: int) -> np.ndarray:
        """Return an image, (H, W, 3) uint8. Raises BadFrame if the video ends before it or is damaged."""
        if not self._next <= number < self._next + _NEAR:
            self._next, self._images = number, self._decoded(number)
        try:
            for image in self._images if number < len(self._times) else ():
                self._next = bisect_right(self._times, _time(image))
                if self._next > number:
                    turns = round(image.rotation / 90) if self._upright else 0
                    return np.ascontiguousarray(np.rot90(image.to_ndarray(format="rgb24"), turns))
        except (BadFrame, OSError, self._av.FFmpegError) as error:
            after, self._next = self._next, len(self._times)  # the next image needs a new seek
            raise BadFrame(f"{self._name} is damaged after image {after}: {error}") from error
        raise BadFrame(f"{self._name} ends before the last image")

    def _decoded(self, number: int) -> Iterator[Any]:
        """Yield the images from the last I-frame of the video before `number` on."""
        with self._opened() as file, self._av.open(file) as container:
            stream = container.streams.video[0]
            if number:
                container.seek(self._times[number], stream=stream)
            yield from container.decode(stream)


def _time(part: Any) -> int:
    """Return the display time of a packet or an image in the stream's time base; some containers only order them."""
    return int(part.pts if part.pts is not None else part.dts or 0)


def _read_video(path: Path) -> ColourHistory:
    video = VideoImages(path, lambda: path.open("rb"), upright=True)
    return ColourHistory(path.stem, tuple(StoredPicture(i, stamp_ns, partial(video.image, i))
                                          for i, stamp_ns in enumerate(video.stamps_ns)))


IMAGES = HistoryFormat(
    HistoryTraits(looks_like="a folder of images named by number (00012.jpg), without depth and poses"),
    lambda path: path.is_dir() and colour_alone(path, ""), lambda path: read_pictures(path, ""))
VIDEO = HistoryFormat(
    HistoryTraits(library="av", extra="video", looks_like=f"a video ({', '.join(_SUFFIXES)}), of colour alone"),
    lambda path: path.suffix.lower() in _SUFFIXES and path.is_file(), _read_video)
