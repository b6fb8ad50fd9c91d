"""Large things are seen in parts: halves of a sofa, or through a doorway. What was moved is told by its empty place."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.answerers.object_graph import objects_in
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.objects import ObjectRecord, Objects, ObjectsConfig
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Keyframe, Label, Sighting
from tests.fixtures.frames import INTRINSICS, frame

SECOND = 10**9
NOON = 1_794_830_400 * SECOND  # a stamp of 2026
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


def looked(objects: Objects, seen: list[Sighting], taken: Frame | None, stamp_ns: int = 1) -> list[ObjectRecord]:
    found = objects.associate(seen, stamp_ns)[0] if taken is None else objects.look(taken, seen, 1.0)
    new = itertools.count(len(objects.known) + 1)
    found.associated = [(s, known if known.id else replace(known, id=next(new))) for s, known in found.associated]
    objects.apply(found)
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


@pytest.mark.parametrize("hidden", [True, False])
def test_a_sofa_that_is_hidden_or_has_a_wall_close_behind_is_not_taken_for_moved(hidden: bool) -> None:
    behind = 6.0 if hidden else FAR + 0.1
    objects = Objects((), ObjectsConfig(), None)
    looked(objects, [part(-1.1, 1.1)], view(1, (-1.1, 1.1), behind=behind))
    second = view(2, (0.3, 1.1), behind=behind)
    if hidden:
        second.depth_m[:, 32:] = 1.0  # a door leaf
    assert looked(objects, [part(0.3, 1.1)], second)[0].low[1] == pytest.approx(-1.1)


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


HALVES = ((-1.1, -0.05), (0.05, 1.1))


@pytest.mark.parametrize("framed", [True, False])
def test_halves_are_one_when_the_whole_is_seen(framed: bool) -> None:
    objects = Objects((), ObjectsConfig(), None)
    for stamp, between in enumerate((*HALVES, (-1.1, 1.1), HALVES[0], HALVES[1]), 1):
        known = looked(objects, [part(*between)], view(stamp, (-1.1, 1.1)) if framed else None, stamp)
        assert len(known) == (2 if stamp == 2 else 1)
    assert (known[0].id, known[0].times, known[0].first_ns, known[0].last_ns) == (1, 5, 1, 5)
    assert (known[0].low[1], known[0].high[1]) == (pytest.approx(-1.1), pytest.approx(1.1))


def test_two_that_were_seen_side_by_side_stay_two() -> None:
    objects = Objects((), ObjectsConfig(), None)
    looked(objects, [part(*half) for half in HALVES], None)
    assert len(looked(objects, [part(-1.1, 1.1)], None)) == 2


def test_what_earlier_maps_know_is_not_joined() -> None:
    """A better alignment of the maps may part them again."""
    objects = Objects((), ObjectsConfig(), None)
    for half in HALVES:
        looked(objects, [part(*half)], None)
    stored = Objects(list(objects.known.values()), ObjectsConfig(), None)
    assert len(looked(stored, [part(-1.1, 1.1)], None)) == 2


@pytest.mark.parametrize("other", [SOFA._replace(kind="armchair"), SOFA._replace(attributes={"colour": "red"}),
                                   SOFA._replace(attributes={})])
def test_what_differs_is_no_part(other: Label) -> None:
    objects = Objects((), ObjectsConfig(), None)
    looked(objects, [part(*HALVES[0])], None)
    looked(objects, [part(*HALVES[1], other)], None)
    assert len(looked(objects, [part(-1.1, 1.1)], None)) == 2


def test_a_store_keeps_one_of_two_halves_with_the_views_of_both(store: MemoryStore) -> None:
    for number, (left, right) in enumerate(((0, 30), (34, 64), (0, 64))):
        store.take(frame(NOON + number * SECOND, boxes={6: (left, 10, right, 40)}, shade=60 + 60 * number), {6: SOFA})
    sofa, = store.objects()
    assert sofa.times == 3
    path = store.path
    store.close()
    again = MemoryStore(path)
    assert again.objects() == [sofa]
    again.close()


def test_captions_of_a_graph_hold_a_sofa_seen_in_halves_once() -> None:
    views = [Keyframe(number, number, Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)), b"", (part(*between),))
             for number, between in enumerate((*HALVES, (-1.1, 1.1)), 1)]
    obj, = objects_in(views, None)
    assert {crop.view.id for crop in obj.crops} == {1, 2, 3}


@given(st.lists(st.tuples(st.floats(-1.1, 0.0), st.floats(0.1, 1.1)), min_size=1, max_size=6), st.randoms())
def test_the_order_of_parts_changes_no_box(parts: list[tuple[float, float]], random: object) -> None:
    boxes = set()
    for order in (parts, parts[::-1], sorted(parts)):
        objects = Objects((), ObjectsConfig(overlap=0.01), None)
        for left, right in order:
            known = looked(objects, [part(left, right)], None)
        boxes.add((len(known), round(min(k.low[1] for k in known), 6), round(max(k.high[1] for k in known), 6)))
    assert len(boxes) == 1
