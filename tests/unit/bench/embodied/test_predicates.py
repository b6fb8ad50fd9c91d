"""Goal predicates: each with both values, and the distances of EmbodiedEval's evaluator."""

from __future__ import annotations

from typing import Any

import pytest

from eqa_nodes.bench.embodied.predicates import EpisodeFacts, holds
from eqa_nodes.bench.embodied.tasks import PARAMETERS, Predicate
from tests.fixtures.tasks import POINTS, Plain

PLACES = {p.id: (p.x, p.y, p.z) for p in POINTS}
TRUE: dict[str, Any] = {"right_answer_content": "yes", "point": 1, "object": 9, "support": 5, "other": 8,
                        "action_text": "pick up the mug"}
FALSE: dict[str, Any] = {**TRUE, "right_answer_content": "no", "point": 3, "object": 8, "support": 6,
                         "action_text": "x"}
# Values of the world below for predicates that no parameter makes false.
ALWAYS = {"near": True, "not_near": False, "closer": False, "further": False, "at": False,
          "looking_at": True, "switched_on": True, "switched_off": False, "open": False, "closed": False, "in": False,
          "agent_near": True}


class Two(Plain):
    """Thing 9 is at (2, 1), thing 8 half a metre above and beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.taken, self.objects[8] = 9, self.objects[9]

    def position(self, obj: int) -> tuple[float, float, float]:
        return (2.0, 1.0, 0.7) if obj == 9 else (2.4, 1.0, 1.0)


def now() -> EpisodeFacts:
    return EpisodeFacts(PLACES, 1, {0, 1}, {9}, {"pick up the mug"}, "yes", "yes")


def of(kind: str, values: dict[str, Any]) -> Predicate:
    return Predicate(kind, **{name: values[name] for name in PARAMETERS[kind]})


@pytest.mark.parametrize("kind", PARAMETERS)
def test_every_predicate_has_a_check(kind: str) -> None:
    so_far, world = now(), Two()
    so_far.begin([of(kind, TRUE), of(kind, FALSE)], world)
    found = holds(of(kind, TRUE), world, so_far), holds(of(kind, FALSE), world, so_far)
    assert all(type(value) is bool for value in found)
    assert found == ((ALWAYS[kind],) * 2 if kind in ALWAYS else (True, False))
    elsewhere = EpisodeFacts(PLACES, 3)
    assert not (kind in ("agent_at", "agent_pass", "agent_near", "grab_once") and holds(of(kind, TRUE), world,
                                                                                        elsewhere))


@pytest.mark.parametrize(("kind", "place", "holding"), [
    ("agent_near", (2.0, 1.49, 0.7), True), ("agent_near", (2.0, 1.5, 0.7), False),  # the agent is at (2, 0)
    ("agent_at", (2.0, 0.29, 0.7), True), ("agent_at", (2.0, 0.3, 0.7), False),
    ("at", (2.29, 0.0, 0.7), True), ("at", (2.0, 0.3, 0.7), False),  # the point is at (2, 0)
    ("near", (2.0, 1.49, 0.7), True), ("near", (2.0, 1.5, 0.7), False),
    ("not_near", (2.0, 1.5, 0.7), False), ("not_near", (2.0, 1.51, 0.7), True),
    ("not_at", (2.0, 0.0, 0.3), False), ("not_at", (2.0, 0.0, 0.31), True)])  # in space, not on the floor plan
def test_how_near_is_near(kind: str, place: tuple[float, float, float], holding: bool) -> None:
    facts = Plain()
    facts.position = lambda obj: place  # type: ignore[method-assign]
    point = {} if kind.startswith("agent") else {"point": 1}
    assert holds(Predicate(kind, object=9, **point), facts, EpisodeFacts(PLACES, 1)) is holding


@pytest.mark.parametrize(("kind", "before", "after", "holding"), [
    ("closer", 4.0, 2.0, False), ("closer", 4.0, 1.99, True), ("further", 1.0, 2.0, False),
    ("further", 1.0, 2.01, True)])
def test_closer_and_further_compare_with_the_start(kind: str, before: float, after: float, holding: bool) -> None:
    facts, predicate, so_far = Plain(), Predicate(kind, object=9, point=1), EpisodeFacts(PLACES, 1)
    facts.position = lambda obj: (2.0, before, 0.7)  # type: ignore[method-assign]
    so_far.begin([predicate], facts)
    facts.position = lambda obj: (2.0, after, 0.7)  # type: ignore[method-assign]
    assert holds(predicate, facts, so_far) is holding


def test_places_beside_the_graph_are_reached_from_its_points() -> None:
    beside = EpisodeFacts({**PLACES, 7: (2.0, 0.2, 0.0), 8: (2.0, 0.4, 0.0)}, 1, {1})
    assert holds(Predicate("agent_at", point=7), Plain(), beside) and holds(Predicate("agent_pass", point=7), Plain(),
                                                                            beside)
    assert not holds(Predicate("agent_at", point=8), Plain(), beside)


@pytest.mark.parametrize(("pixels", "holding"), [(400, True), (399, False)])
def test_a_thing_is_looked_at_when_it_fills_enough_of_the_image(pixels: int, holding: bool) -> None:
    facts = Plain()
    facts.share = lambda obj: pixels / (640 * 480)  # type: ignore[method-assign]
    assert holds(Predicate("looking_at", object=9), facts, EpisodeFacts({0: (0.0, 0.0)}, 0)) is holding
