"""Histories with colour images without depth, such as the frames that OpenEQA offers for download.

Without depth an image is not a Frame: agents that use evenly spaced images can answer from it; code that needs depth,
or poses that are missing, raises an error with a remedy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.traits import HistoryTraits
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.episode_history import EpisodeHistory, FramesAlone, RecordedFrame
from eqa_nodes.recordings.formats.scannet import RATE_HZ, numbered
from eqa_nodes.wire.image_files import read_rgb


class ImagesFormat:
    """Folders that contain only images."""

    traits = HistoryTraits(looks_like="a folder of images named by number (00012.jpg), without depth and poses")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is such a folder."""
        return path.is_dir() and colour_alone(path, "")

    @staticmethod
    def open(path: Path) -> EpisodeHistory:
        """Return the history of a folder. Raises StorageError."""
        return read_pictures(path, "")


@dataclass(frozen=True)
class StoredPicture(ABC):
    """An image of a recording. number: index in the recording, from 0; stamp_ns: time stamp of the image, ns."""

    number: int
    stamp_ns: int
    path: Path

    @abstractmethod
    def rgb(self) -> np.ndarray:
        """Return the image, (H, W, 3) uint8. Raises BadFrame if the file cannot be read."""

    @abstractmethod
    def map_from_base(self) -> Transform | None:
        """Return the pose of the robot, None if it was not recorded. Raises BadFrame."""


class NumberedPicture(StoredPicture):
    """An image without further data."""

    def rgb(self) -> np.ndarray:
        """As in StoredPicture."""
        return read_rgb(self.path)

    def map_from_base(self) -> Transform | None:
        """Return None."""
        return None


class ColourHistory(FramesAlone):
    """Images without depth, some with poses. It has pictures, but no frames."""

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
    return ColourHistory(folder.name, tuple(NumberedPicture(n, round((n + 1) * 1e9 / RATE_HZ), p) for n, p in files))


def colour_alone(folder: Path, ending: str) -> bool:
    """Return whether a folder has such images, but neither depth images nor poses."""
    return not numbered(folder, "-depth") and not any(
        p.suffix == ".txt" for p in numbered(folder).values()) and any(
        p.suffix != ".txt" for p in numbered(folder, ending).values())
