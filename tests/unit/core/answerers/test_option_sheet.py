"""The sheet of options: which thumbnail each gets, and whether a model can read it."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.answerers.option_sheet import SIDE_PX, Sheet, sheet_of, thumbnails
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.floor import CLOSER, LOOK_ROUND, Option
from tests.fixtures.briefs import BACK, DOOR, HIDDEN, view

VIEWS = view(1, math.pi), view(2)
THROUGH = Option(5.06, 2.0, 0.0, "doorway", 2.0)  # the middle of the true doorway


def pixels(sheet: Sheet) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(sheet)).convert("L"))


def test_every_option_that_a_view_shows_is_on_it_and_no_other() -> None:
    here = Option(*view(2).pose, LOOK_ROUND, 0.0)
    thumbs = thumbnails((DOOR, HIDDEN, BACK, here), VIEWS)
    assert [thumb.number for thumb in thumbs] == [1, 3, 4]
    assert [thumb.seen.view.id for thumb in thumbs if thumb.seen] == [2, 1] and thumbs[2].seen is None
    assert thumbnails((DOOR,), ()) == []


def test_a_thumbnail_shows_the_place_within_the_picture() -> None:
    for thumb in thumbnails((DOOR, THROUGH, BACK), VIEWS):
        left, top, right, bottom = thumb.box
        assert thumb.seen is not None and left <= thumb.seen.u <= right and top <= thumb.seen.v <= bottom
        assert left >= 0 and top >= 0 and right <= 640 and bottom <= 480
        assert (right - left) / (bottom - top) == pytest.approx(4 / 3)


def test_a_doorway_at_the_robots_feet_is_shown_by_the_floor_behind_it() -> None:
    near = Option(3.5, 2.0, 0.0, "doorway", 0.5)  # nearer than the floor that the camera sees
    [thumb] = thumbnails((near,), VIEWS)
    assert thumb.seen is not None and thumb.seen.depth_m > 1.0
    assert thumbnails((near._replace(kind="frontier"),), VIEWS) == []


def test_a_thing_is_cropped_closer_than_a_place() -> None:
    place = Option(5.06, 2.0, 0.0, "frontier", 2.0)
    thing = place._replace(kind=f"{CLOSER} the bowl")
    widths = [thumb.box[2] - thumb.box[0] for thumb in thumbnails((place, thing), VIEWS)]
    assert widths[0] == pytest.approx(2.0 * widths[1], rel=0.01)


@pytest.mark.parametrize(("count", "passed", "height"), [
    (1, 0, 150), (3, 0, 150), (4, 0, 304), (3, 5, 246), (0, 2, 92)])
def test_it_is_as_wide_as_a_tile_and_what_was_passed_over_is_small(count: int, passed: int, height: int) -> None:
    [thumb] = thumbnails([DOOR], VIEWS)
    options = [DOOR] * count + [DOOR._replace(value=-1.0)] * passed
    sheet = sheet_of([thumb._replace(number=n, option=option) for n, option in enumerate(options, 1)])
    assert pixels(sheet).shape == (height, SIDE_PX)
    assert list(sheet.crops) == [crop.marks[0].number for crop in sheet.crops.values()] == list(
        range(1, count + passed + 1))
    assert {Image.open(io.BytesIO(crop)).size for crop in sheet.crops.values()} == {
        *([(168, 126)] if count else []), *([(99, 74)] if passed else [])}


def test_of_places_that_look_the_same_on_it_the_first_is_listed() -> None:
    beside, behind = DOOR._replace(y=2.15), DOOR._replace(x=6.0)
    assert [thumb.number for thumb in thumbnails((DOOR, beside, behind), VIEWS)] == [1, 3]
    thing = DOOR._replace(kind=f"{CLOSER} the bowl")
    assert [thumb.number for thumb in thumbnails((thing, DOOR, thing), VIEWS)] == [1, 2, 3], "it names another thing"


def test_of_what_was_passed_over_the_nearest_fill_one_row() -> None:
    passed = [Option(x, y, 0.0, "doorway", abs(x - 3.0), value=-1.0) for x in (7.2, 4.6, 1.0) for y in (1.3, 2.7)]
    fresh = [one._replace(value=0.5) for one in passed]
    assert len(thumbnails(fresh, VIEWS)) == 6
    for new in (0, 2, 6):
        others = [one._replace(x=one.x + 0.3) for one in passed]
        listed = [thumb.option for thumb in thumbnails((*fresh[:new], *others), VIEWS)]
        assert [one.passed_over for one in listed] == [False] * new + [True] * (len(listed) - new)
        assert len(listed) - new == 5 if not new else len(listed) - new <= 5
    assert {one.x for one in listed if one.passed_over} <= {1.3, 4.9}, "the nearest"


def test_numbers_are_bright_on_black_and_at_least_ten_pixels_high() -> None:
    for options, strip in (([DOOR], 24), ([DOOR._replace(value=-1.0)], 18)):
        written = pixels(sheet_of(thumbnails(options, VIEWS)))[:strip, :14]
        rows = np.flatnonzero((written > 200).any(axis=1))
        assert len(rows) >= 10 and (written < 40).mean() > 0.5


def test_a_picture_that_cannot_be_decoded_is_named() -> None:
    broken = replace(view(2), jpeg=b"no picture")
    with pytest.raises(BadFrame, match="keyframe 2 cannot be decoded"):
        sheet_of(thumbnails((DOOR,), (broken,)))
