"""Reads video files: as a history of colour images, and for recordings that have other data beside their video."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from eqa_nodes.core.errors import BadFrame, MissingExtra, StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.recordings.episode_history import EpisodeHistory
from eqa_nodes.recordings.formats.pictures import ColourHistory, NumberedPicture
from eqa_nodes.wire.image_files import MAX_PIXELS

_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")
_NEAR = 60  # maximum number of images decoded to reach one further on; beyond that the reader seeks


class VideoFormat:
    """Videos of any camera."""

    traits = HistoryTraits(library="av", extra="video", looks_like=f"a video ({', '.join(_SUFFIXES)}), of colour alone")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such a file."""
        return path.suffix.lower() in _SUFFIXES and path.is_file()

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return the history of a video; stamps are times in the video. Raises StorageError, MissingExtra."""
        video = VideoImages(path, lambda: path.open("rb"), upright=True)
        return ColourHistory(path.stem, tuple(VideoPicture(i, stamp_ns, path, video)
                                              for i, stamp_ns in enumerate(video.stamps_ns)))


@dataclass(frozen=True)
class VideoPicture(NumberedPicture):
    """An image of a video."""

    video: VideoImages

    def rgb(self) -> np.ndarray:
        """As in StoredPicture."""
        return self.video.image(self.number)


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
