"""Messages of one moment whose stamps differ; frames of two cameras in order."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.types.views import Frame
from eqa_nodes.wire.pairing import HOLD_NS, FrameOrdering, LivePairing, RecordedPairing
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


def test_the_first_frame_waits_for_the_other_camera_also_at_stamp_0() -> None:
    row = Row()
    row.put(0, 0)
    assert not row.frames
    row.put(1, 0)
    assert row.stamps == [0, 1 / MS]
    row.put(0, 501)
    assert row.stamps == [0, 1 / MS]
    row.put(0, 1001)  # a frame waits 500 ms for the other camera
    assert row.stamps == [0, 1 / MS, 501]


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


def recorded(stamp_ns: int, frame_id: str = "camera") -> Any:
    stamp = SimpleNamespace(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    return SimpleNamespace(header=SimpleNamespace(stamp=stamp, frame_id=frame_id), data=b"12345678")


class Recording:
    """A recording of color, depth and camera_info whose poses are known up to a stamp."""

    def __init__(self, each: bool = False, only: set[int] | None = None, known_ns: int = 1 << 62) -> None:
        self.dropped = Counter[str]()
        self.pairing = RecordedPairing(("depth",), ("camera_info",), each, 20 * MS,
                                       lambda stamp_ns, camera: stamp_ns <= known_ns, self.dropped, only)
        self.pairing.put("camera_info", 0, recorded(0))

    def put(self, *rows: tuple[str, int], now_ns: int = 0) -> list[tuple[int, dict[str, int]]]:
        """Put in messages by part and stamp, as recorded at their stamps; return index and stamps of the moments."""
        for part, stamp_ns in rows:
            self.pairing.put(part, stamp_ns, recorded(stamp_ns))
        return [(color.index, {part: m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for part, m in parts.items()})
                for color, parts in self.pairing.complete(now_ns or max(stamp for _, stamp in rows))]


@pytest.mark.parametrize(("late_ns", "paired"), [(20 * MS, True), (-20 * MS, True), (20 * MS + 1, False),
                                                 (-20 * MS - 1, False)])
def test_a_recorded_depth_image_is_near_enough_up_to_the_tolerance(late_ns: int, paired: bool) -> None:
    recording = Recording()
    found = recording.put(("color", 100 * MS), ("depth", 100 * MS + late_ns), ("color", 200 * MS), ("depth", 200 * MS))
    assert found[:1] == [(0, {"color": 100 * MS, "depth": 100 * MS + late_ns, "camera_info": 0})] if paired else (
        recording.dropped == {"no depth": 1})


def test_a_recorded_image_waits_two_seconds_for_its_pose_and_no_longer() -> None:
    recording = Recording(known_ns=0)
    assert not recording.put(("color", 100 * MS), ("depth", 100 * MS), now_ns=100 * MS + HOLD_NS)
    assert len(recording.put(now_ns=100 * MS + HOLD_NS + 1)) == 1 and HOLD_NS == 2_000_000_000


def test_a_recorded_depth_image_serves_the_colour_image_that_is_nearest() -> None:
    recording = Recording()
    assert not recording.put(("color", 90 * MS), ("depth", 100 * MS))  # a later colour image may be nearer
    assert [index for index, _ in recording.put(("color", 104 * MS), ("depth", 200 * MS))] == [1]
    assert recording.dropped == {"no depth": 1}


def test_an_image_waits_for_the_camera_info_that_is_sent_with_each() -> None:
    recording = Recording(each=True)
    assert not recording.put(("color", 100 * MS), ("depth", 100 * MS))
    assert recording.put(("camera_info", 130 * MS)) == [
        (0, {"color": 100 * MS, "depth": 100 * MS, "camera_info": 130 * MS})]


def test_images_that_nobody_wants_are_paired_and_not_counted() -> None:
    recording = Recording(only={1})
    found = recording.put(("color", 100 * MS), ("color", 200 * MS), ("depth", 200 * MS), ("color", 300 * MS),
                          ("depth", 300 * MS), now_ns=10 * HOLD_NS)
    assert [index for index, _ in found] == [1] and not recording.dropped


def test_depth_images_without_colour_are_counted_when_they_are_too_old() -> None:
    recording = Recording()
    assert not recording.put(("depth", 100 * MS), now_ns=100 * MS + HOLD_NS) and not recording.dropped
    assert not recording.put(now_ns=100 * MS + HOLD_NS + 1) and recording.dropped == {"no color": 1}
