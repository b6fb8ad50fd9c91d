"""Contact sheets show the worst failures, with the boxes of the truth and of the detector."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.perception.failures import CONFUSED, FALSE, MISSED, OF_A_KIND, FailurePictures, contact_sheet
from eqa_nodes.bench.perception.matching import match
from eqa_nodes.core.perception.detection import Detection
from tests.fixtures.labelled_views import CUP, SOFA, of, view, within

GREEN, RED = (0, 200, 90), (240, 50, 70)


def kept(*views: list[Detection]) -> FailurePictures:
    failures = FailurePictures()
    for n, found in enumerate(views):
        shown = view("house:1000", n)
        failures.add(shown, match(shown, found, 0.3))
    return failures


def has(image: Image.Image, colour: tuple[int, int, int]) -> bool:
    return bool((np.asarray(image) == colour).all(axis=2).any())


def test_failures_are_sorted_into_sheets() -> None:
    failures = kept([of("dog", SOFA, 0.8), within("ghost", (0, 40, 10, 48), 0.7)])
    assert {sheet: [f.words for f in failures.worst(sheet)] for sheet in (MISSED, FALSE, CONFUSED)} == {
        MISSED: [("cup, 50 px, 2.0 m", "house:1000, view 0")],  # the other cup is no wider than 20 px
        FALSE: [('"ghost" 0.70, 50 px, 3.0 m', "house:1000, view 0")],
        CONFUSED: [('sofa: "dog" 0.80', "house:1000, view 0")]}


def test_the_worst_come_first_and_few_of_a_kind() -> None:
    failures = kept(*[[of("sofa", SOFA), of("cup", CUP), within("ghost", (0, 40, 9, 48), 0.5 + n / 100)]
                      for n in range(9)], [of("cup", CUP)])
    assert [f.weight for f in failures.worst(FALSE)] == pytest.approx([0.58, 0.57, 0.56]) and failures.count(FALSE) == 9
    assert [f.kind for f in failures.worst(MISSED)] == ["sofa"]
    missed = kept(*[[]] * 5).worst(MISSED)
    assert [f.kind for f in missed] == ["sofa"] * OF_A_KIND + ["cup"] * OF_A_KIND


def test_a_sheet_shows_both_boxes_and_names() -> None:
    failures = kept([of("dog", SOFA), within("ghost", (0, 40, 10, 48))])
    confused = contact_sheet(failures.worst(CONFUSED), "confused")
    assert has(confused, RED), "the boxes are the same, and the detector's is drawn last"
    false = contact_sheet(failures.worst(FALSE), "false")
    assert has(false, RED) and not has(false, GREEN)
    missed = contact_sheet(failures.worst(MISSED), "missed")
    assert has(missed, GREEN) and not has(missed, RED)
    assert contact_sheet([], "nothing").size[1] > 0


def test_a_crop_stays_inside_the_picture_and_its_boxes_inside_the_crop() -> None:
    for one in kept([within("ghost", (60, 0, 64, 4)), within("ghost", (0, 44, 4, 48)), of("dog", SOFA)]).worst(FALSE):
        height, width = one.crop.shape[:2]
        assert one.found_box is not None and 0 <= one.found_box[0] < one.found_box[2] <= width
        assert 0 <= one.found_box[1] < one.found_box[3] <= height
