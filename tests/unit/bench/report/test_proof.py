"""What proves an answer is drawn into the picture that proves it."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
from PIL import Image

from eqa_nodes.bench.report.pictures import pointed_at, proof_picture
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.measures import points_of, shown_note, with_point
from tests.fixtures.synthetic_run import VIEW

ORANGE = np.array((245, 158, 11))


def call(*points: tuple[float, float], keyframe_id: int = VIEW.id) -> ModelCall:
    return ModelCall(1, Pose2(0.0, 0.0, 0.0), "q", "decide", (CallPicture(keyframe_id, points=points),))


def test_a_ring_stands_round_what_the_model_pointed_at() -> None:
    with Image.open(io.BytesIO(proof_picture(VIEW, "mug", [call((100.0, 60.0))]))) as image:
        rows, columns = np.nonzero(np.abs(np.asarray(image).astype(int) - ORANGE).sum(axis=2) < 90)
    assert abs(rows.mean() - 60) < 3 and abs(columns.mean() - 100) < 3 and np.ptp(columns) > 20
    assert not ((rows == 60) & (columns == 100)).any(), "the thing itself stays free"


def test_the_last_call_that_pointed_into_the_view_counts() -> None:
    calls = [call((1.0, 2.0)), call((3.0, 4.0)), call(), call((5.0, 6.0), keyframe_id=9)]
    assert pointed_at(VIEW.id, calls) == ((3.0, 4.0),) and pointed_at(8, calls) == ()
    assert pointed_at(VIEW.id, [call((float("nan"), 4.0))]) == ()


def test_without_a_point_or_with_a_damaged_picture_it_stays_as_it_is() -> None:
    damaged = replace(VIEW, jpeg=b"no picture")
    assert proof_picture(VIEW, "mug", [call()]) is VIEW.jpeg
    assert proof_picture(damaged, "mug", [call((1.0, 2.0))]) is damaged.jpeg


def test_a_note_may_hold_the_place_itself_and_people_do_not_read_it() -> None:
    with Image.open(io.BytesIO(VIEW.jpeg)) as image:
        at = 100 / image.width, 60 / image.height
    note = with_point("mug; on the table", at)
    with Image.open(io.BytesIO(proof_picture(VIEW, note, [call((3.0, 4.0))]))) as image:
        rows, columns = np.nonzero(np.abs(np.asarray(image).astype(int) - ORANGE).sum(axis=2) < 90)
    assert abs(rows.mean() - 60) < 3 and abs(columns.mean() - 100) < 3
    assert shown_note(note) == "mug; on the table" and shown_note(with_point("", at)) == ""
    assert points_of("pointed at (1.400 0.200)") == () == points_of("pointed at the mug")
