"""Of a tour with many pictures of nearly the same, a model is shown few that differ and that fit the question."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.memory.diversity import diverse, recall_diverse
from eqa_nodes.core.memory.keyframes import jpeg_of, spread
from eqa_nodes.core.perception.projection import geometry_of
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Recalled, RecallQuery
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.frames import frame

SECOND = 10**9
ROOMS, VIEWS, MOST = 6, 4, 24  # each room shows another wall to each of four sides
WAITED = ROOMS * VIEWS * 5  # in the first room: five of six pictures are near-duplicates


def view(number: int, x: float, yaw_deg: float, depth: bool = True, shade: int = 100) -> Keyframe:
    seen = frame(number * SECOND, Pose2(x, 0.0, math.radians(yaw_deg)), depth=2.0, shade=shade)
    return Keyframe(number, seen.stamp_ns, seen.map_from_base, jpeg_of(seen, 90),
                    geometry=geometry_of(seen) if depth else None)


def tour(depth: bool) -> list[Keyframe]:
    """Return a long wait in the first room, where pose and camera shake, then one look round in each room."""
    rng = np.random.default_rng(5)
    waited = [view(i + 1, *(rng.normal(0, (0.03, 1.0))).tolist(), depth) for i in range(WAITED)]
    places = [(6.0 * room, 90.0 * side) for room in range(ROOMS) for side in range(VIEWS)]
    return waited + [view(WAITED + i + 1, x, yaw, depth) for i, (x, yaw) in enumerate(places)]


def places(views: Sequence[Keyframe]) -> set[tuple[int, int]]:
    """Return which room and side the views show."""
    return {(round(v.pose.x / 6), round(math.degrees(v.pose.yaw) / 90) % 4) for v in views}


def unknown(views: Sequence[Keyframe]) -> list[Recalled]:
    return [Recalled(one, 0.0, "") for one in views]


@pytest.mark.parametrize("depth", [True, False])
def test_a_tour_of_duplicates_is_shown_with_all_its_rooms(depth: bool) -> None:
    views = tour(depth)
    assert len(places([item.keyframe for item in spread(views, MOST)])) < 6  # what evenly spaced ones show
    chosen = [item.keyframe for item in diverse(unknown(views), MOST)]
    assert len(places(chosen)) == len(chosen) == ROOMS * VIEWS
    few = [item.keyframe for item in diverse(unknown(views), ROOMS)]
    assert len(few) == ROOMS and len({room for room, _ in places(few)}) >= ROOMS - 2


@pytest.mark.parametrize("depth", [True, False])
def test_fewer_are_shown_where_the_rest_adds_nothing(depth: bool) -> None:
    waited = tour(depth)[:WAITED]
    assert len(diverse(unknown(waited), 12)) <= 4
    assert len(diverse(unknown(waited[:1]), 12)) == 1 and diverse([], 12) == []


def test_what_fits_the_question_comes_first_and_its_duplicates_do_not() -> None:
    views = [view(i, 6.0 * (i // 3), i % 3) for i in range(12)]  # four rooms, three pictures of nearly the same in each
    scores = {6: 9.0, 7: 8.9, 8: 8.8, 3: 5.0, 4: 4.9}  # the third room fits best, then the second
    items = [Recalled(one, scores.get(one.id, 0.0), "") for one in views]
    items.sort(key=lambda item: -item.score)
    chosen = [item.keyframe.id for item in diverse(items, 4)]
    assert chosen[:2] == [6, 3] and {i // 3 for i in chosen} == {0, 1, 2, 3}


def test_a_view_that_has_changed_is_shown_before_and_after() -> None:
    before, same, after = view(1, 0.0, 0.0, shade=0), view(2, 0.02, 0.5, shade=0), view(3, 0.02, 0.5, shade=0)
    turned = frame(3 * SECOND, after.pose, {4: (0, 0, 64, 24)}, shade=0)
    after = Keyframe(3, 3 * SECOND, after.map_from_base, jpeg_of(turned, 90), geometry=after.geometry)
    assert [item.keyframe.id for item in diverse(unknown([before, same, after]), 12)] == [1, 3]


def test_memory_is_asked_for_more_than_is_shown() -> None:
    asked: list[RecallQuery] = []

    def recall(query: RecallQuery) -> list[Recalled]:
        asked.append(query)
        return unknown(tour(True))[-query.limit:]

    assert len(recall_diverse(recall, "Is there a lamp?", 6)) == 6
    assert [query.text for query in asked] == ["Is there a lamp?"] and asked[0].limit >= 24


@given(st.lists(st.tuples(st.floats(-20, 20), st.floats(-180, 180), st.floats(0, 10), st.booleans()), max_size=25),
       st.integers(1, 12))
def test_no_more_than_asked_for_each_once_and_the_same_again(
        drawn: list[tuple[float, float, float, bool]], most: int) -> None:
    items = [Recalled(view(i, x, yaw, depth), score, "") for i, (x, yaw, score, depth) in enumerate(drawn, 1)]
    chosen = diverse(items, most)
    assert len(chosen) <= most and bool(chosen) is bool(items)
    assert len({item.keyframe.id for item in chosen}) == len(chosen) and all(item in items for item in chosen)
    assert diverse(items, most) == chosen
