from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.report.pictures import measured_picture, measures_svg
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.measures import MeasuredLine, measures_of, noted
from eqa_nodes.core.types.questions import Evidence
from tests.fixtures.synthetic_run import JPEG, VIEW

YELLOW = np.array((255, 214, 10))


def drawn(measure: MeasuredLine) -> np.ndarray:
    with Image.open(io.BytesIO(measured_picture(VIEW, f"sofa, {noted(measure)}"))) as image:
        return np.abs(np.asarray(image).astype(int) - YELLOW).sum(axis=2) < 90


def test_a_line_is_drawn_where_the_camera_sees_it() -> None:
    rows, columns = np.nonzero(drawn(MeasuredLine((2.0, 0.5, 1.0), (2.0, -0.5, 1.0))))
    assert (columns.min(), columns.max()) == pytest.approx((110, 210), abs=4)
    assert rows.max() < 140  # the line is in the middle, its length above it


def test_a_line_that_leaves_the_image_is_drawn_as_far_as_it_is_seen() -> None:
    _, columns = np.nonzero(drawn(MeasuredLine((2.0, 0.0, 1.0), (2.0, -9.0, 1.0))))
    assert columns.min() > 150
    assert columns.max() > 310


@pytest.mark.parametrize("note", ["", "sofa", noted(MeasuredLine((-2.0, 0.0, 1.0), (-3.0, 0.0, 1.0)))])
def test_without_a_measure_in_view_the_picture_stays_as_it_is(note: str) -> None:
    assert measured_picture(VIEW, note) is JPEG


def test_a_damaged_picture_stays_as_it_is() -> None:
    damaged = replace(VIEW, jpeg=b"no picture")
    assert measured_picture(damaged, noted(MeasuredLine((2.0, 0.5, 1.0), (2.0, -0.5, 1.0)))) is damaged.jpeg


def test_a_note_keeps_a_measure_to_a_millimetre() -> None:
    measure = MeasuredLine((1.2345, -0.0001, 0.0), (-3.0, 2.0, 0.75))
    assert measures_of(f"bed, {noted(measure)}")[0].metres == pytest.approx(measure.metres, abs=0.002)
    assert measures_of("bed, measured from (here) to (there)") == []


def test_the_map_shows_a_measure_once() -> None:
    note = noted(MeasuredLine((0.0, 0.0, 0.0), (1.5, 0.0, 0.0)))
    proofs = [Evidence(k, k, Pose2(0.0, 0.0, 0.0), note) for k in (1, 2)]
    assert measures_svg(proofs).count("<line") == 1
    assert "1.50 m" in measures_svg(proofs)
    assert measures_svg([Evidence(1, 1, Pose2(0.0, 0.0, 0.0), "sofa")]) == ""
