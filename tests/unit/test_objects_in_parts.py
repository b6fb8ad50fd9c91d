"""Large things are seen in parts: halves of a sofa, or through a doorway. What was moved is told by its empty place."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.memory.objects import Known, Objects, ObjectsConfig
from eqa_nodes.core.types.views import Frame, Label, Sighting
from tests.unit.frame_fixture import INTRINSICS, frame

SOFA = Label(6, "sofa", "living room", {"colour": "green"})
NEAR, FAR = 2.5, 3.3  # of the front and back of a sofa that stands across the view, metres ahead


def part(left: float, right: float, label: Label = SOFA) -> Sighting:
    """Return a sighting of what lies between two y of the map, seen from the origin along x."""
    return Sighting(label, 400, (0, 0, 9, 9), ((NEAR + FAR) / 2, (left + right) / 2, 0.5),
                    (FAR - NEAR, right - left, 0.8))


def view(stamp_ns: int, *stands: tuple[float, float], behind: float = 6.0) -> Frame:
    """Return a frame that sees as far as `behind`, and sofas between the given y."""
    plain = frame(stamp_ns, depth=behind)
    columns = (np.arange(INTRINSICS.width) + 0.5 - INTRINSICS.cx) / INTRINSICS.fx
    depth = plain.depth_m.copy()
    for left, right in stands:
        for column, slope in enumerate(columns):
            if left <= -slope * NEAR <= right:
                depth[:, column] = NEAR
    return replace(plain, depth_m=depth)


def looked(objects: Objects, seen: list[Sighting], taken: Frame | None, stamp_ns: int = 1) -> list[Known]:
    found = objects.join(seen, stamp_ns)[0] if taken is None else objects.look(taken, seen, 1.0)
    new = itertools.count(len(objects.known) + 1)
    found.joined = [(s, known if known.id else replace(known, id=next(new))) for s, known in found.joined]
    objects.take(found)
    return list(objects.known.values())


@pytest.mark.parametrize("framed", [True, False])
@pytest.mark.parametrize("parts", [
    [(-1.1, 0.3), (-0.3, 1.1)], [(-1.1, 0.0), (-1.1, 1.1), (0.0, 1.1), (-1.1, 0.0)], [(-1.1, 1.1), (0.4, 1.1)],
    [(-1.1, 1.1), (-1.1, -0.5), (0.5, 1.1)], [(-1.1, -0.1), (-0.6, 0.5), (0.0, 1.1)]])
def test_a_sofa_seen_in_parts_is_one_and_whole(parts: list[tuple[float, float]], framed: bool) -> None:
    objects = Objects((), ObjectsConfig(), None)
    for stamp, (left, right) in enumerate(parts, 1):
        known = looked(objects, [part(left, right)], view(stamp, (-1.1, 1.1)) if framed else None, stamp)
    assert len(known) == 1
    assert (known[0].low[1], known[0].high[1]) == (pytest.approx(-1.1), pytest.approx(1.1))
    assert known[0].times == len(parts)


def test_a_sofa_behind_which_a_wall_stands_close_is_not_taken_for_moved() -> None:
    objects = Objects((), ObjectsConfig(), None)
    looked(objects, [part(-1.1, 1.1)], view(1, (-1.1, 1.1), behind=FAR + 0.1))
    known = looked(objects, [part(0.3, 1.1)], view(2, (0.3, 1.1), behind=FAR + 0.1))
    assert known[0].low[1] == pytest.approx(-1.1)


def test_a_part_that_something_hides_is_not_taken_for_moved() -> None:
    objects = Objects((), ObjectsConfig(), None)
    looked(objects, [part(-1.1, 1.1)], view(1, (-1.1, 1.1)))
    hidden = view(2, (0.3, 1.1))
    hidden.depth_m[:, 32:] = 1.0  # a door leaf
    assert looked(objects, [part(0.3, 1.1)], hidden)[0].low[1] == pytest.approx(-1.1)


def test_what_was_pushed_aside_has_the_box_where_it_stands() -> None:
    objects = Objects((), ObjectsConfig(), None)
    looked(objects, [part(-1.1, 0.3)], view(1, (-1.1, 0.3)))
    known = looked(objects, [part(-0.3, 1.1)], view(2, (-0.3, 1.1)))
    assert len(known) == 1
    assert (known[0].low[1], known[0].high[1]) == (pytest.approx(-0.3), pytest.approx(1.1))


def test_what_was_gone_begins_anew() -> None:
    objects = Objects((), ObjectsConfig(), None)
    known, = looked(objects, [part(-1.1, 0.3)], None)
    objects.known[known.id] = replace(known, gone_ns=5)
    assert looked(objects, [part(-0.3, 1.1)], None, 9)[0].low[1] == pytest.approx(-0.3)


@given(st.lists(st.tuples(st.floats(-1.1, 0.0), st.floats(0.1, 1.1)), min_size=1, max_size=6), st.randoms())
def test_the_order_of_parts_changes_no_box(parts: list[tuple[float, float]], random: object) -> None:
    boxes = set()
    for order in (parts, parts[::-1], sorted(parts)):
        objects = Objects((), ObjectsConfig(overlap=0.01), None)
        for left, right in order:
            known = looked(objects, [part(left, right)], None)
        boxes.add((len(known), round(min(k.low[1] for k in known), 6), round(max(k.high[1] for k in known), 6)))
    assert len(boxes) == 1
