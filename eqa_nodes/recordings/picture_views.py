"""Views of a history that holds colour images without depth, and mostly without poses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.camera.privacy import PrivacyConfig, hidden_shares
from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError
from eqa_nodes.core.memory import MemoryConfig
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels
from eqa_nodes.core.types.geometry import Transform, pose2_of
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.recordings.formats.pictures import ColourHistory, Picture
from eqa_nodes.recordings.history_index import FramePosition, HistoryIndex

NOWHERE = "the recording has no poses: x, y and heading are unknown and stand as 0"


def picked(history: ColourHistory, choose: Callable[[int], list[int]], memory: MemoryConfig) -> HistoryIndex:
    """Return the images that are chosen by their number; damaged ones are counted and others take their place.

    The path has the poses of these images alone. Raises StorageError where none can be read, ConfigError where places
    or kinds of things are to be hidden in them.
    """
    check_privacy(history, memory.privacy)
    usable, dropped = list(history.pictures), Counter[str]()
    read: dict[int, _Read] = {}
    while True:
        wanted = [usable[i] for i in choose(len(usable))]
        damaged = [p for p in wanted if p.number not in read and not _take(p, memory, read, dropped)]
        if not damaged:
            break
        usable = [p for p in usable if p not in damaged]
    if not wanted:
        raise StorageError(f"the history {history.name} has no usable image: {dict(dropped)}")
    views = tuple(Keyframe(p.number + 1, p.stamp_ns, read[p.number].pose or Transform.identity(), read[p.number].jpeg)
                  for p in wanted)
    way = tuple((p.stamp_ns, pose2_of(pose)) for p in wanted if (pose := read[p.number].pose) is not None)
    spots = {str(p.number + 1): FramePosition(p.number, -1) for p in wanted}
    return HistoryIndex(history.name, len(usable), dropped, way, spots, views)


def check_privacy(history: ColourHistory, privacy: PrivacyConfig) -> None:
    """Raise ConfigError for masks that need to know where things are."""
    if privacy.kinds or privacy.zones:
        raise ConfigError("privacy.kinds and privacy.zones hide what lies somewhere, and "
                          f"{history.lacking}; privacy.image works without")


class _Read(NamedTuple):
    """An image that was read."""

    jpeg: bytes
    pose: Transform | None


def _take(picture: Picture, memory: MemoryConfig, read: dict[int, _Read], dropped: Counter[str]) -> bool:
    """Read one image; False, and count it, where it is damaged."""
    try:
        rgb, pose = picture.rgb(), picture.map_from_base()
    except BadFrame as error:
        dropped[str(error)] += 1
        return False
    hidden = hidden_shares(rgb.shape[0], rgb.shape[1], memory.privacy.image)
    shown = np.where(hidden[..., None], np.uint8(0), rgb)
    read[picture.number] = _Read(jpeg_of_pixels(shown, memory.keyframes.jpeg_quality), pose)
    return True
