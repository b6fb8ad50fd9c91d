"""Histories as plain arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.arrays import arrays_of
from eqa_nodes.recordings.episode_history import FramesAlone, RecordedFrame
from tests.fixtures.frames import frame

SECOND = 10**9


class Kept(FramesAlone):
    """Frames in memory; the second image of the recording could not be used."""

    name, labels = "kept", {}

    def __init__(self, *frames: Frame) -> None:
        self._frames, self.dropped = frames, Counter[str]()

    def __len__(self) -> int:
        return len(self._frames) + 1

    def recorded(self):  # type: ignore[no-untyped-def]
        return (RecordedFrame(i + (i > 0), -1, each) for i, each in enumerate(self._frames))


def test_a_history_becomes_arrays_all_of_it_or_evenly_spaced() -> None:
    history = Kept(*(frame(i * SECOND) for i in range(5)))
    whole, some = arrays_of(history), arrays_of(history, 3)
    assert whole.stamps_ns.tolist() == [i * SECOND for i in range(5)]
    assert some.stamps_ns.tolist() == [0, 2 * SECOND, 4 * SECOND]
    assert np.array_equal(whole.rgb[3], frame(3 * SECOND).rgb) and some.depth_m.shape == (3, *frame(0).depth_m.shape)
    assert np.allclose(whole.map_from_camera[4], frame(4 * SECOND).map_from_camera())
    assert whole.intrinsics == frame(0).intrinsics


def test_histories_that_no_arrays_hold_are_named() -> None:
    with pytest.raises(StorageError, match="kept has no usable frame"):
        arrays_of(Kept())
    other = replace(frame(SECOND), intrinsics=frame(0).intrinsics._replace(fx=40.0))
    with pytest.raises(ConfigError, match="frames of several cameras"):
        arrays_of(Kept(frame(0), other))
