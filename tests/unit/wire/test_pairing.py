"""Messages of one moment whose stamps differ; frames of two cameras in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.types.views import Frame
from eqa_nodes.wire.pairing import FrameOrdering, LivePairing
from tests.fixtures.frames import frame

MS = 1_000_000


def matcher(bound: int = 30) -> LivePairing:
    return LivePairing("depth", ("color",), ("camera_info",), 20 * MS, bound)


def test_the_nearest_colour_is_taken_as_soon_as_it_is_there() -> None:
    m = matcher()
    assert not [*m.put("camera_info", 0, "k")] and not [*m.put("color", 80 * MS, "old")]
    assert not [*m.put("color", 95 * MS, "c")] and not [*m.put("color", 130 * MS, "later")]
    assert [*m.put("depth", 100 * MS, "d")] == [(100 * MS, {"depth": "d", "color": "c", "camera_info": "k"})]
    assert [*m.put("depth", 133 * MS, "e")] == [(133 * MS, {"depth": "e", "color": "later", "camera_info": "k"})]
    assert not m.unpaired


def test_an_anchor_whose_partner_was_lost_is_let_go_when_the_next_has_come() -> None:
    m = matcher()
    assert not [*m.put("camera_info", 0, "k")] and not [*m.put("depth", 100 * MS, "d")]
    assert not [*m.put("depth", 133 * MS, "e")] and not m.unpaired
    assert [stamp for stamp, _ in m.put("color", 135 * MS, "c")] == [133 * MS]
    assert m.unpaired == [(100 * MS, "no color")]


def test_without_partners_no_more_than_the_bound_wait() -> None:
    m = matcher(bound=3)
    for k in range(1, 6):
        assert not [*m.put("depth", 100 * k * MS, k)]
    assert m.unpaired == [(100 * MS, "no camera_info and color"), (200 * MS, "no camera_info and color")]


def test_no_more_partners_than_the_bound_wait_and_clear_forgets_them() -> None:
    def found(at: int, clear: bool = False) -> bool:
        m = matcher(bound=3)
        assert not [*m.put("camera_info", 0, "k")]
        for k in range(10):
            assert not [*m.put("color", 100 * k * MS, k)]
        if clear:
            m.clear()
        return bool([*m.put("depth", 100 * at * MS, "d")])

    assert [found(k) for k in range(10)] == 7 * [False] + 3 * [True]
    assert not any(found(k, clear=True) for k in range(10))


def test_cleared_anchors_are_forgotten_too() -> None:
    m = matcher()
    assert not [*m.put("depth", 100 * MS, "d")]
    m.clear()
    assert not [*m.put("camera_info", 0, "k"), *m.put("color", 100 * MS, "c")] and not m.unpaired


@given(st.lists(st.tuples(st.integers(-15, 15), st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_every_pair_that_comes_is_found_once(moments: list[tuple[int, bool, bool]]) -> None:
    m = matcher()
    assert not [*m.put("camera_info", 0, "k")]
    found = []
    for i, (late, colored, deep) in enumerate(moments, 1):
        parts = [("color", 100 * i + late)] * colored + [("depth", 100 * i)] * deep
        for part, stamp in sorted(parts, key=lambda p: p[1]):
            found += [stamp // MS for stamp, _ in m.put(part, stamp * MS, i)]
    whole = [100 * i for i, (_, colored, deep) in enumerate(moments, 1) if colored and deep]
    assert found == whole


class Row:
    """What two cameras' frames come out as."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.refused: list[int] = []
        self.order = FrameOrdering(2, lambda frame, labels: self.frames.append(frame), lambda at,
                                   _: self.refused.append(at))

    def put(self, camera: int, stamp_ms: int) -> None:
        self.order.put(camera, frame(stamp_ms * MS), {})

    @property
    def stamps(self) -> list[float]:
        return [f.stamp_ns / MS for f in self.frames]


def test_frames_of_two_cameras_come_in_order() -> None:
    row = Row()
    for camera, stamp in ((0, 100), (0, 200), (1, 150), (1, 190), (1, 250), (0, 300)):
        row.put(camera, stamp)
    assert row.stamps == [100, 150, 190, 200, 250] and not row.refused


def test_a_camera_that_is_silent_is_not_waited_for_and_comes_too_late() -> None:
    row = Row()
    for stamp in range(100, 1100, 100):
        row.put(0, stamp)
    assert row.stamps == [100, 200, 300, 400, 500]
    row.put(1, 250)
    assert row.refused == [250 * MS] and row.stamps[-1] == 500
    row.put(1, 700)
    assert row.stamps == [100, 200, 300, 400, 500, 600, 700, 700 + 1 / MS]


@pytest.mark.parametrize("first", [0, 1])
def test_two_frames_of_one_stamp_are_a_nanosecond_apart(first: int) -> None:
    row = Row()
    for stamp in (100, 200):
        row.put(first, stamp)
        row.put(1 - first, stamp)
    assert row.stamps == [100, 100 + 1 / MS, 200, 200 + 1 / MS] and not row.refused
    assert np.array_equal(row.frames[0].depth_m, row.frames[1].depth_m)
