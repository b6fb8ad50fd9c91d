"""Histories that hold colour images alone, such as the frames that OpenEQA offers for download.

Nothing is known of where an image was taken, so that it is no Frame: agents that look at images even in time can
answer from it, and everything that needs depth or poses is refused with what to do instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from eqa_nodes.recordings.files import read_rgb
from eqa_nodes.recordings.scannet import RATE_HZ, numbered


class Picture(NamedTuple):
    """An image of a recording. number: which one it is, from 0; stamp_ns: since the recording began, at 30 Hz."""

    number: int
    stamp_ns: int
    path: Path

    def rgb(self) -> np.ndarray:
        """Return (H, W, 3) uint8. Raises BadFrame where the file cannot be read."""
        return read_rgb(self.path)


class ColourHistory(FramesAlone):
    """Numbered images without depth and poses. It has pictures, and no frames."""

    labels: Mapping[int, Label] = MappingProxyType({})

    def __init__(self, folder: Path, ending: str, first: int = 0) -> None:
        """ending: between number and suffix ("-rgb"). first: only numbers below it, 0 = all. Raises StorageError."""
        self.name, self.dropped = folder.name, Counter[str]()
        self._folder, self._ending = folder, ending
        files = sorted((n, p) for n, p in numbered(folder, ending).items() if p.suffix != ".txt")
        self.pictures = tuple(Picture(i, round((n + 1) * 1e9 / RATE_HZ), p) for i, (n, p) in enumerate(files)
                              if not first or n < first)
        if not self.pictures:
            raise StorageError(f"{folder} holds no image that is named by its number{f' and {ending}' * bool(ending)}")

    def __len__(self) -> int:
        return len(self.pictures)

    def first(self, count: int) -> ColourHistory:
        """Return the images whose numbers are below `count`."""
        return ColourHistory(self._folder, self._ending, count)

    def recorded(self) -> Iterator[RecordedFrame]:
        """Raise StorageError: there are no frames."""
        raise StorageError(self.lacking)

    @property
    def lacking(self) -> str:
        """What is missing here, and what to do about it."""
        return (f"the history {self.name} holds colour images alone, without depth and poses: agents that look at "
                "images even in time can use it (blind, socratic-captions, multi-frame, --frames uniform or none). For "
                "all others let OpenEQA's extract-frames.py write depth and poses too (without --rgb-only), or render "
                "its agent states with `eqa history render`")


def colour_alone(folder: Path, ending: str) -> bool:
    """Return whether a folder has such images, and neither depth images nor poses."""
    return not numbered(folder, "-depth") and not any(
        p.suffix == ".txt" for p in numbered(folder).values()) and any(
        p.suffix != ".txt" for p in numbered(folder, ending).values())
