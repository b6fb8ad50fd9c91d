"""Where detected objects are, by their boxes alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import pytest

from eqa_nodes.core.perception.relations import relations_of
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Point
from eqa_nodes.perception.oracle import LabelDetector
from eqa_nodes.tours.tours import RECIPES, TourHistory, plan_tour

FLOOR_M = 3.0  # of an upper storey


class Box(NamedTuple):
    """A box of a kind, heights above the floor."""

    kind: str
    low: Point
    high: Point


def box(kind: str, x: float, y: float, bottom: float, sides: Point) -> Box:
    return Box(kind, (x - sides[0] / 2, y - sides[1] / 2, FLOOR_M + bottom),
               (x + sides[0] / 2, y + sides[1] / 2, FLOOR_M + bottom + sides[2]))


TABLE = box("table", 0.0, 0.0, 0.04, (1.6, 0.9, 0.7))
COUNTER_FRONT = box("kitchen counter", 3.0, 0.0, 0.04, (1.2, 0.04, 0.86))
SHELF = box("bookshelf", 6.0, 0.0, 0.1, (1.0, 0.3, 1.7))
SOFA = box("sofa", 9.0, 0.0, 0.08, (2.0, 0.9, 0.7))
STOVE_FRONT = box("stove", 3.9, 0.0, 0.04, (0.58, 0.04, 0.86))
CURTAIN = box("curtains", 12.0, 0.0, 0.1, (2.0, 0.1, 2.2))
PLATE = box("plate", 0.5, 0.2, 0.75, (0.22, 0.22, 0.05))
PERSON = box("person", 15.0, 0.0, 0.02, (0.5, 0.4, 1.7))
WORLD = [TABLE, COUNTER_FRONT, SHELF, SOFA, STOVE_FRONT, CURTAIN, PLATE, PERSON]


@pytest.mark.parametrize(("seen", "relation", "support"), [
    (box("mug", 0.3, -0.2, 0.76, (0.08, 0.08, 0.09)), "on", "table"),
    (box("mug", 2.7, 0.2, 0.92, (0.08, 0.08, 0.09)), "on", "kitchen counter"),  # behind the only visible part of it
    (box("mug", 3.6, 0.1, 0.92, (0.08, 0.08, 0.09)), "", ""),  # or on the stove
    (box("vase", 6.2, 0.0, 0.84, (0.1, 0.1, 0.25)), "in", "bookshelf"),
    (box("toolbox", 6.2, 0.0, 0.11, (0.3, 0.2, 0.25)), "in", "bookshelf"),  # on its lowest board
    (box("cushion", 9.5, 0.1, 0.46, (0.4, 0.15, 0.33)), "on", "sofa"),
    (box("trash can", 0.2, 0.1, 0.02, (0.25, 0.25, 0.4)), "under", "table"),
    (box("shoes", 0.2, 0.1, 0.0, (0.2, 0.25, 0.1)), "under", "table"),
    (box("chair", 0.2, 0.5, 0.03, (0.4, 0.4, 0.85)), "floor", ""),
    (box("rug", 0.0, 0.0, 0.0, (2.0, 1.5, 0.02)), "floor", ""),
    (box("painting", 9.0, 0.5, 1.4, (0.9, 0.03, 0.6)), "wall", ""),
    (box("towel", 20.0, 0.5, 0.95, (0.4, 0.03, 0.6)), "wall", ""),
    (box("wall cabinet", 3.0, 0.3, 1.45, (1.2, 0.35, 0.6)), "wall", ""),
    (box("ceiling lamp", 0.0, 0.0, 2.45, (0.35, 0.35, 0.12)), "ceiling", ""),
    (box("window", 20.0, 0.0, 0.9, (1.2, 0.04, 1.2)), "wall", ""),
    (box("bottle", 20.0, 0.0, 0.9, (0.08, 0.06, 0.25)), "", ""),  # on something that was not detected
    (box("bottle", 20.0, 0.0, 1.5, (0.08, 0.06, 0.25)), "", ""),
    (box("candle", 0.5, 0.2, 0.82, (0.06, 0.06, 0.1)), "on", "table"),  # on a plate, which supports nothing
    (box("chair", 0.0, 0.0, 0.74, (0.4, 0.05, 0.15)), "on", "table"),  # geometry cannot tell its back from a thing
    (box("table", 0.3, 0.1, 0.74, (0.4, 0.4, 0.2)), "", ""),  # a part of the table
    (box("clock", 12.0, 0.0, 1.2, (0.2, 0.05, 0.2)), "", ""),  # in a curtain
    (box("mug", 15.0, 0.0, 1.0, (0.08, 0.08, 0.1)), "", ""),  # in a hand
    (box("text", 0.0, 0.0, 1.6, (0.4, 0.01, 0.2)), "", ""),
])
def test_boxes_show_where_an_object_is(seen: Box, relation: str, support: str) -> None:
    wanted = {name: value for name, value in (("relation", relation), ("support", support)) if value}
    assert relations_of([seen], [*WORLD, seen], FLOOR_M) == [wanted]


def test_nothing_in_view_has_no_relation() -> None:
    assert relations_of([], WORLD, FLOOR_M) == [] and relations_of([], [], FLOOR_M) == []


def test_along_a_tour_hardly_any_is_wrong() -> None:
    tour = plan_tour("house:3", RECIPES["openeqa"])
    camera = replace(tour.robot.camera, width=320, height=240, color=False)
    assert isinstance(camera, CameraModel)
    history = TourHistory(replace(tour, robot=replace(tour.robot, camera=camera), actions=tour.actions[:60],
                                  poses=tour.poses[:61]))
    perceiver, claims = Perceiver(LabelDetector()), Counter[str]()
    for shown in (recorded.frame for recorded in history.recorded()):
        for d, s in perceiver.take(shown, history.labels).found:
            assert shown.labels is not None and d.mask is not None
            truth = history.labels[int(Counter(shown.labels[d.mask].tolist()).most_common(1)[0][0])].attributes
            said, support = s.label.attributes.get("relation", ""), s.label.attributes.get("support")
            right = (said == truth["relation"] or {said, truth["relation"]} == {"in", "on"}) and (
                support in (None, truth.get("support")))
            claims["none" if not said else "right" if right else "wrong"] += 1
    assert claims["right"] > 200 and claims["wrong"] <= 0.05 * claims["right"], claims
    assert claims["none"] <= 0.3 * claims["right"], claims
