"""What is kept of an episode history that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe


class FramePosition(NamedTuple):
    """Where a keyframe stands in its recording; as in RecordedFrame."""

    frame: int
    offset_ns: int


@dataclass(frozen=True)
class HistoryIndex:
    """What is kept of a history beside a memory. frames: how many could be used; dropped: others, by reason.

    way: stamps and poses along it, empty where no pose is known; spots: of the keyframes, by id; views: K keyframes
    evenly spaced, where wanted.
    """

    name: str
    frames: int
    dropped: Mapping[str, int]
    way: tuple[tuple[int, Pose2], ...]
    spots: Mapping[str, FramePosition]
    views: tuple[Keyframe, ...] = ()
