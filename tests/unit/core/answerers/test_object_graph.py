"""Views -> things, what is likest to a question, how things stand, and few views that show them all."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eqa_nodes.core.answerers.object_graph import GraphObject, described, likest, objects_in, relations, snapshots
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.rooms import HOME, KITCHEN, sighted, view

Point = tuple[float, float, float]


def box(kind: str, low: Point, high: Point) -> GraphObject:
    return GraphObject(kind, low, high, ())


def table(number: int, pixels: int, pose: Pose2 = Pose2(0.0, 0.0, 0.0), shift: float = 0.0) -> Keyframe:
    return view(number, pose, sighted(number, "table", "kitchen", (2.0 + shift, 0.0, 0.4), (1.2, 0.8, 0.8), pixels))


def test_one_thing_in_several_views_is_one_instance_with_its_best_crop_first() -> None:
    found, = objects_in([table(2, 900, shift=0.1), table(1, 500), table(3, 700)], None)
    assert [c.view.id for c in found.crops] == [2, 3, 1]
    assert found.low == pytest.approx((1.4, -0.4, 0.0)) and found.high == pytest.approx((2.7, 0.4, 0.8))


def test_things_of_other_names_or_places_are_others() -> None:
    lamp = view(2, Pose2(0.0, 0.0, 0.0), sighted(7, "lamp", "kitchen", (2.0, 0.0, 0.4), (1.2, 0.8, 0.8)))
    assert [t.kind for t in objects_in([table(1, 500), lamp, table(3, 500, shift=1.5)], None)] == [
        "table", "lamp", "table"]
    assert objects_in([table(1, 500, Pose2(-2.1, 0.0, 0.0))], None) == []  # farther than 4 m


@settings(max_examples=8, deadline=None)
@given(st.permutations(HOME), st.floats(0.5, 8.0))
def test_the_order_of_the_views_changes_nothing(views: list[Keyframe], range_m: float) -> None:
    found = objects_in(views, None, range_m)
    assert found == objects_in(HOME, None, range_m)
    kept = snapshots(found, range_m)
    shown = [t for s in kept for t in s.objects]
    assert len(shown) == len(found) and all(t in shown for t in found)  # each thing belongs to one snapshot
    assert all(s.view in [c.view for c in t.crops] for s in kept for t in s.objects)


def test_the_question_ranks_things_by_their_names() -> None:
    objects = objects_in([view(1, Pose2(6.5, 2.0, 0.0), *KITCHEN)], None)
    assert likest("Is the fridge open?", objects, None, 1)[0].kind == "refrigerator"  # a synonym
    assert [t.kind for t in likest("zxqv?", objects, None)] == [t.kind for t in objects]
    assert len(likest("Is the kettle on?", objects, None, 3)) == 3


def test_boxes_tell_how_things_stand() -> None:
    objects = [box("table", (0.0, 0.0, 0.0), (1.0, 1.0, 0.8)), box("cup", (0.4, 0.4, 0.8), (0.5, 0.5, 0.9)),
               box("chair", (1.2, 0.0, 0.0), (1.7, 0.5, 0.9)), box("sofa", (5.0, 5.0, 0.0), (7.0, 6.0, 0.8)),
               box("box", (0.1, 0.1, 0.1), (0.3, 0.3, 0.3))]
    named = {(objects[r.a].kind, r.name, objects[r.b].kind) for r in relations(objects)}
    assert named == {("cup", "on", "table"), ("chair", "next to", "table"), ("box", "in", "table")}


@pytest.mark.parametrize(("gap_m", "related"), [(0.5, True), (0.51, False)])
def test_things_half_a_metre_apart_are_related(gap_m: float, related: bool) -> None:
    pair = [box("sofa", (0.0, 0.0, 0.0), (2.0, 1.0, 0.8)), box("lamp", (2.0 + gap_m, 0.0, 0.0), (3.0, 0.4, 1.6))]
    assert bool(relations(pair)) is related


@pytest.mark.parametrize(("low", "top", "name"), [
    (0.8, 0.9, "on"), (0.9, 1.0, "on"), (0.91, 1.0, "next to"), (0.1, 0.3, "in")])
def test_on_is_within_a_decimetre_of_the_top(low: float, top: float, name: str) -> None:
    pair = [box("table", (0.0, 0.0, 0.0), (1.0, 1.0, 0.8)), box("cup", (0.2, 0.2, low), (0.4, 0.4, top))]
    assert [(r.a, r.name, r.b) for r in relations(pair)] == [(1, name, 0)]


@pytest.mark.parametrize(("inside_m", "name"), [(0.36, "on"), (0.34, "next to")])
def test_seven_tenths_of_a_footprint_lie_on_it(inside_m: float, name: str) -> None:
    """A tray of 0.5 m x 1 m of which a part reaches over the edge of the table."""
    pair = [box("table", (0.0, 0.0, 0.0), (1.0, 1.0, 0.8)), box("tray", (1.0 - inside_m, 0.0, 0.8),
                                                               (1.5 - inside_m, 1.0, 0.9))]
    assert [r.name for r in relations(pair)] == [name]


corner = st.tuples(*[st.floats(-2, 2)] * 3)


@given(st.lists(st.tuples(corner, corner), max_size=12))
def test_relations_are_a_forest(corners: list[tuple[Point, Point]]) -> None:
    objects = [box(str(i), tuple(map(min, *pair)), tuple(map(max, *pair)))  # type: ignore[arg-type]
               for i, pair in enumerate(corners)]
    found = relations(objects)
    groups = [{i} for i in range(len(objects))]
    for r in found:
        a, b = (next(g for g in groups if i in g) for i in (r.a, r.b))
        assert a is not b  # an edge within a group would close a ring
        groups.remove(b)
        a |= b


def test_a_line_tells_the_box_or_not() -> None:
    cup = box("cup", (0.4, 0.4, 0.8), (0.6, 0.5, 0.9))
    assert described(3, cup, "a blue cup", False) == "3. cup: a blue cup"
    assert described(3, cup, "a blue cup", True) == (
        "3. cup: a blue cup; box centre (0.5, 0.5, 0.9) m, size 0.2 x 0.1 x 0.1 m")


def test_snapshots_keep_things_that_are_seen_together() -> None:
    chair = sighted(5, "chair", "kitchen", (1.0, 1.5, 0.4), (0.5, 0.5, 0.9), 300)
    alone, = table(1, 900).sightings
    lamp = sighted(6, "lamp", "kitchen", (1.0, -1.5, 0.4), (0.3, 0.3, 0.9), 300)
    views = [view(1, Pose2(0.0, 0.0, 0.0), alone), view(2, Pose2(0.0, 0.0, 0.0), alone, chair),
             view(3, Pose2(0.0, 0.0, 0.0), lamp)]
    kept = snapshots(objects_in(views, None), 3.5)
    assert [(s.view.id, sorted(t.kind for t in s.objects)) for s in kept] == [(2, ["chair", "table"]), (3, ["lamp"])]
    assert snapshots(objects_in(views, None), 1.0) == []


def test_a_crop_shows_the_thing_or_says_why_not() -> None:
    out = io.BytesIO()
    Image.new("RGB", (640, 480), "gray").save(out, "JPEG")
    seen = sighted(1, "table", "", (2.0, 0.0, 0.4), (1.0, 1.0, 1.0), bbox=(100, 100, 300, 200))
    found, = objects_in([view(1, Pose2(0.0, 0.0, 0.0), seen, jpeg=out.getvalue())], None)
    assert Image.open(io.BytesIO(found.crops[0].jpeg())).size == (240, 120)
    broken, = objects_in([view(1, Pose2(0.0, 0.0, 0.0), seen)], None)
    with pytest.raises(BadFrame, match="keyframe 1"):
        broken.crops[0].jpeg()
