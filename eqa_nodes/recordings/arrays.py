"""Converts episode histories to plain arrays and back, as OpenEQA's agents use them (supplement D)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.memory.keyframes import evenly
from eqa_nodes.core.types.views import Frame, Intrinsics, Label, check_frame
from eqa_nodes.recordings.episode_history import EpisodeHistory, FramesAlone, RecordedFrame, no_frame
from eqa_nodes.recordings.formats.cameras import base_below, mount, rigid

_CAMERA_HEIGHT_M = 1.0  # above the floor, if it is not given (OpenEQA, supplement B.1)


@dataclass(frozen=True, eq=False)
class HistoryArrays:
    """N frames of one camera, oldest first.

    rgb: (N, H, W, 3) uint8; depth_m: (N, H, W) float32, metres along the optical axis, 0 = no return;
    map_from_camera: (N, 4, 4) float64, optical axes (x right, y down, z forward), metres; stamps_ns: (N,) int64.
    labels: (N, H, W) uint16 instance ids and their names, if the caller has a detector; benchmarks give none.
    """

    rgb: np.ndarray
    depth_m: np.ndarray
    map_from_camera: np.ndarray
    intrinsics: Intrinsics
    stamps_ns: np.ndarray
    labels: np.ndarray | None = None
    names: Mapping[int, Label] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rgb)

    def __getitem__(self, index: int) -> Frame:
        """Return one frame; its base is on the floor, 1 m below the camera. Raises BadFrame."""
        matrix = rigid(np.asarray(self.map_from_camera[index], np.float64), f"map_from_camera[{index}]")
        base = base_below(matrix, float(matrix[2, 3]) - _CAMERA_HEIGHT_M)
        return Frame(int(self.stamps_ns[index]), self.rgb[index], self.depth_m[index], self.intrinsics, base,
                     mount(base, matrix), None if self.labels is None else self.labels[index])

    def digest(self) -> str:
        """Return a hash of everything in the arrays."""
        digest = hashlib.sha256(repr((self.intrinsics, sorted(self.names.items()))).encode())
        for array in (self.rgb, self.depth_m, self.map_from_camera, self.stamps_ns, self.labels):
            if array is not None:
                digest.update(repr((array.shape, array.dtype.str)).encode())
                digest.update(np.ascontiguousarray(array).data.cast("B"))
        return digest.hexdigest()


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


class ArraysHistory(FramesAlone):
    """Arrays as an episode history."""

    def __init__(self, arrays: HistoryArrays) -> None:
        self.name, self._arrays = "arrays", arrays
        self.dropped: Counter[str] = Counter()
        self.labels: Mapping[int, Label] = arrays.names

    def __len__(self) -> int:
        return len(self._arrays)

    def recorded(self) -> Iterator[RecordedFrame]:
        """Yield the frames. Raises BadFrame if the shapes of the arrays do not match: a caller's mistake."""
        for i in range(len(self._arrays)):
            frame = self._arrays[i]
            check_frame(frame)
            yield RecordedFrame(i, -1, frame)
