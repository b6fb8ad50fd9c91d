"""Converts episode histories to plain arrays, as OpenEQA's agents use them (supplement D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.memory.keyframes import evenly
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.recordings.episode_history import EpisodeHistory, no_frame


@dataclass(frozen=True, eq=False)
class HistoryArrays:
    """N frames of one camera, oldest first.

    rgb: (N, H, W, 3) uint8; depth_m: (N, H, W) float32, metres along the optical axis, 0 = no return;
    map_from_camera: (N, 4, 4) float64, optical axes (x right, y down, z forward), metres; stamps_ns: (N,) int64.
    """

    rgb: np.ndarray
    depth_m: np.ndarray
    map_from_camera: np.ndarray
    intrinsics: Intrinsics
    stamps_ns: np.ndarray

    def __len__(self) -> int:
        return len(self.rgb)


def arrays_of(history: EpisodeHistory, k: int = 0) -> HistoryArrays:
    """Return k evenly spaced frames of a history, or all of them if k is 0, without labels.

    Raises StorageError if there is no frame, ConfigError if the frames are from several cameras.
    """
    wanted: set[int] | None = None
    if k:
        usable = [recorded.index for recorded in history.recorded()]
        wanted = {usable[i] for i in evenly(len(usable), k)}
    frames = [r.frame for r in history.recorded() if wanted is None or r.index in wanted]
    if not frames:
        raise no_frame(history)
    if len({frame.intrinsics for frame in frames}) > 1:
        raise ConfigError(f"the history {history.name} has frames of several cameras, which no one array holds: export "
                          "it at one size")
    return HistoryArrays(np.stack([f.rgb for f in frames]), np.stack([f.depth_m for f in frames]),
                         np.stack([f.map_from_camera() for f in frames]), frames[0].intrinsics,
                         np.array([f.stamp_ns for f in frames], np.int64))
