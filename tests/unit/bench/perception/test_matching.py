"""Detections and objects form pairs by overlap, one to one, those of one kind first."""

from __future__ import annotations

from typing import Any

import pytest

from eqa_nodes.bench.perception.matching import MatchedView, match
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.types.views import Label
from tests.fixtures.labelled_views import BOXES, CUP, LABELS, SMALL_CUP, SOFA, of, view, within


def matched(*found: Detection, depth_m: float = 2.0, labels: dict[int, Label] | None = None) -> MatchedView:
    return match(view(depth_m=depth_m, labels=labels), found, 0.3)


def as_found(result: MatchedView) -> dict[tuple[int, ...], str]:
    return {t.box: t.found_as for t in result.truth}


def test_a_detector_without_fault_finds_everything() -> None:
    result = matched(of("cup", CUP), of("couch", SOFA), of("cup", SMALL_CUP))
    assert [(t.kind, t.right) for t in result.truth] == [("cup", True), ("sofa", True), ("cup", True)]
    assert all(f.right and f.counted for f in result.found)


def test_widths_are_those_of_a_wide_picture_and_distances_are_medians() -> None:
    result = matched(of("cup", SMALL_CUP))
    assert [(t.width_px, t.distance_m) for t in result.truth] == [(50.0, 2.0), (200.0, 2.0), (20.0, 2.0)]
    assert (result.found[0].width_px, result.found[0].distance_m) == (20.0, 2.0)


@pytest.mark.parametrize(("right", "found"), [(36, True), (31, False)])  # overlaps of 0.4 and 0.275
@pytest.mark.parametrize("masked", [True, False])
def test_a_part_of_an_object_needs_enough_overlap(right: int, found: bool, masked: bool) -> None:
    result = matched(within("sofa", (20, 20, right, 40), masked=masked))
    assert as_found(result)[BOXES[SOFA]] == ("sofa" if found else "")
    assert result.found[0].true_kind == ("sofa" if found else "")


def test_an_object_is_found_once_by_the_detection_that_fits_best() -> None:
    result = matched(within("sofa", (20, 20, 40, 40), 0.99), of("sofa", SOFA, 0.3))
    assert [f.right for f in result.found] == [False, True]
    assert (result.found[0].true_kind, result.found[0].part) == ("", True)


@pytest.mark.parametrize("masked", [True, False])
def test_a_part_of_an_object_is_known_as_one(masked: bool) -> None:
    result = matched(within("sofa", (50, 20, 60, 40), masked=masked), within("sofa", (0, 20, 30, 40), masked=masked),
                     within("dog", (20, 20, 30, 40), masked=masked))
    assert [(f.true_kind, f.part) for f in result.found] == [("", True), ("", False), ("", False)]


def test_the_kind_comes_before_the_overlap() -> None:
    result = matched(of("dog", SOFA), within("sofa", (20, 20, 40, 40)))
    assert [f.true_kind for f in result.found] == ["", "sofa"]
    assert as_found(result)[BOXES[SOFA]] == "sofa"


def test_a_wrong_name_is_a_confusion() -> None:
    result = matched(of("dog", SOFA), of("sofa", CUP))
    assert as_found(result) == {BOXES[CUP]: "sofa", BOXES[SOFA]: "dog", BOXES[SMALL_CUP]: ""}
    assert [(f.true_kind, f.right, f.true_box) for f in result.found] == [
        ("sofa", False, BOXES[SOFA]), ("cup", False, BOXES[CUP])]


def test_what_is_too_far_away_counts_neither_as_missed_nor_as_found() -> None:
    result = matched(of("cup", CUP), of("dog", SOFA), depth_m=7.0)
    assert not any(t.counted for t in result.truth)
    assert [f.counted for f in result.found] == [False, True], "a wrong name is an error at any distance"


def test_walls_do_not_count() -> None:
    labels = {**LABELS, SOFA: Label(SOFA, "wall", "", {})}
    result = matched(of("wall", SOFA), within("floor", (0, 40, 64, 48)), labels=labels)
    assert [t.counted for t in result.truth] == [True, False, True]
    assert [f.counted for f in result.found] == [False, False]


def test_ids_without_a_label_are_no_objects() -> None:
    assert [t.kind for t in matched(labels={CUP: LABELS[CUP]}).truth] == ["cup"]


def test_what_a_detection_says_of_its_object_is_kept() -> None:
    said: dict[str, Any] = {"attributes": {"colour": "blue"}, "room": "kitchen"}
    result = matched(of("cup", CUP, **said), of("dog", SOFA, **said))
    assert [dict(t.said) for t in result.truth] == [{"colour": "blue", "room": "kitchen"}, {}, {}]


def test_facts_are_those_of_the_label() -> None:
    assert [dict(t.facts) for t in matched().truth] == [
        {"colour": "red", "state": "full", "room": "second bedroom"},
        {"colour": "gray", "material": "fabric", "room": "living room"}, {"state": "empty", "room": "kitchen"}]
