"""What proves an answer is drawn into its picture: measured lines, and rings around points of a model."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.report.pictures import measured_picture, measures_svg, pointed_at, proof_picture
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.measures import MeasuredLine, noted, points_of, shown_note, with_point
from eqa_nodes.core.types.questions import Evidence
from tests.fixtures.synthetic_run import JPEG, VIEW

YELLOW, ORANGE = np.array((255, 214, 10)), np.array((245, 158, 11))
LINE = MeasuredLine((2.0, 0.5, 1.0), (2.0, -0.5, 1.0))


def pixels(jpeg: bytes, colour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of a colour."""
    with Image.open(io.BytesIO(jpeg)) as image:
        rows, columns = np.nonzero(np.abs(np.asarray(image).astype(int) - colour).sum(axis=2) < 90)
    return rows, columns


def call(*points: tuple[float, float], keyframe_id: int = VIEW.id) -> ModelCall:
    return ModelCall(1, Pose2(0.0, 0.0, 0.0), "q", "decide", (CallPicture(keyframe_id, points=points),))


def test_a_line_is_drawn_as_far_as_the_camera_sees_it() -> None:
    rows, columns = pixels(measured_picture(VIEW, f"sofa, {noted(LINE)}"), YELLOW)
    assert (columns.min(), columns.max()) == pytest.approx((110, 210), abs=4)
    assert rows.max() < 140  # the line is in the middle, its length above it
    _, columns = pixels(measured_picture(VIEW, noted(MeasuredLine((2.0, 0.0, 1.0), (2.0, -9.0, 1.0)))), YELLOW)
    assert columns.min() > 150 and columns.max() > 310


@pytest.mark.parametrize("note", ["", "sofa", noted(MeasuredLine((-2.0, 0.0, 1.0), (-3.0, 0.0, 1.0)))])
def test_without_a_measure_in_view_the_picture_stays_as_it_is(note: str) -> None:
    assert measured_picture(VIEW, note) is JPEG and proof_picture(VIEW, note, [call()]) is JPEG
    damaged = replace(VIEW, jpeg=b"no picture")
    assert measured_picture(damaged, noted(LINE)) is damaged.jpeg
    assert proof_picture(damaged, note, [call((1.0, 2.0))]) is damaged.jpeg


def test_the_map_shows_a_measure_once() -> None:
    note = noted(MeasuredLine((0.0, 0.0, 0.0), (1.5, 0.0, 0.0)))
    proofs = [Evidence(k, k, Pose2(0.0, 0.0, 0.0), note) for k in (1, 2)]
    assert measures_svg(proofs).count("<line") == 1 and "1.50 m" in measures_svg(proofs)
    assert measures_svg([Evidence(1, 1, Pose2(0.0, 0.0, 0.0), "sofa")]) == ""


@pytest.mark.parametrize("note", ["mug", with_point("mug; on the table", (100 / 320, 60 / 240))])
def test_a_ring_stands_round_the_point_of_the_note_else_of_the_model(note: str) -> None:
    points = (3.0, 4.0) if "pointed" in note else (100.0, 60.0)
    rows, columns = pixels(proof_picture(VIEW, note, [call(points)]), ORANGE)
    assert abs(rows.mean() - 60) < 3 and abs(columns.mean() - 100) < 3 and np.ptp(columns) > 20
    assert not ((rows == 60) & (columns == 100)).any(), "the thing itself stays free"


def test_the_last_call_that_pointed_into_the_view_counts() -> None:
    calls = [call((1.0, 2.0)), call((3.0, 4.0)), call(), call((5.0, 6.0), keyframe_id=9)]
    assert pointed_at(VIEW.id, calls) == ((3.0, 4.0),) and pointed_at(8, calls) == ()
    assert pointed_at(VIEW.id, [call((float("nan"), 4.0))]) == ()


def test_people_do_not_read_the_point_of_a_note() -> None:
    note = with_point("mug; on the table", (0.3, 0.25))
    assert shown_note(note) == "mug; on the table" and shown_note(with_point("", (0.3, 0.25))) == ""
    assert points_of("pointed at (1.400 0.200)") == () == points_of("pointed at the mug")
