"""A question's area: no goal outside it is ever sent, whatever the policy, memory or a wish to be shown says."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from eqa_nodes.cli.groups import area_of
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.errors import BadQuestion, ConfigError, EqaError, ErrorCode
from eqa_nodes.core.mapping.area import check_area, fenced, inside, is_inside
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Allowance, Area, Decision, Frontier, GridMap, NavResult, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import (
    Answer,
    Evidence,
    Limits,
    Question,
    RankedRegion,
    Recalled,
    RecallQuery,
    Recollection,
    Situation,
    ViewAssessment,
)
from tests.fixtures.agent_world import World, view

SQUARE: Area = ((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))
L_SHAPE: Area = ((0.0, 0.0), (4.0, 0.0), (4.0, 1.0), (1.0, 1.0), (1.0, 3.0), (0.0, 3.0))


def test_inside_of_a_polygon_with_a_corner_that_goes_in() -> None:
    within = [(0.5, 0.5), (3.5, 0.5), (0.5, 2.5)]
    outside = [(2.0, 2.0), (-0.1, 0.5), (4.1, 0.5), (0.5, 3.1), (math.nan, 0.5), (math.inf, 0.5)]
    assert all(is_inside(L_SHAPE, *p) and is_inside(L_SHAPE[::-1], *p) for p in within)
    assert not any(is_inside(L_SHAPE, *p) for p in outside)
    assert is_inside((), 99.0, -99.0)
    x, y = np.array([0.5, 2.0]), np.array([2.5, 2.0])
    assert inside(L_SHAPE, x, y).tolist() == [True, False] and inside((), x, y).all()


@pytest.mark.parametrize(("area", "complaint"), [
    (((0.0, 0.0),), "1 corners"), (((0.0, 0.0), (1.0, 1.0)), "2 corners"),
    (((0.0, 0.0), (1.0, 1.0), (2.0, 2.0)), "is a line"), (((0.0, 0.0), (1.0, math.nan), (2.0, 2.0)), "finite")])
def test_what_bounds_no_area_is_no_question(area: Area, complaint: str) -> None:
    with pytest.raises(BadQuestion, match=complaint):
        check_area(area)
    answer = Wanderer([]).ask(Question("Where?", limits=Limits(area=area)))
    assert answer.error is ErrorCode.BAD_QUESTION and complaint in answer.message


def test_corners_on_the_command_line() -> None:
    assert area_of("0,0 2,0 2,2 0,2") == SQUARE and area_of("") == ()
    for words in ("0,0 2", "0;0 1;1 2;0", "a,b c,d e,f", "0,0 1,1"):
        with pytest.raises(EqaError):
            area_of(words)
    with pytest.raises(ConfigError, match="--area is '0,0 2'"):
        area_of("0,0 2")


def test_a_policy_sees_the_outside_as_occupied_and_no_frontier_there() -> None:
    grid = GridMap(0, 0.5, (-1.0, -1.0), np.zeros((8, 8), np.int8), np.zeros((8, 8), bool))
    frontiers = [Frontier(1.0, 1.0, 0.0, 1.0), Frontier(2.5, 1.0, 0.0, 1.0)]
    asked = Question("Where?", limits=Limits(area=SQUARE))
    here = fenced(Situation(asked, Pose2(1.0, 1.0, 0.0), grid, frontiers))
    assert here.frontiers == frontiers[:1] and np.count_nonzero(here.grid.cells == 0) == 16
    assert here.grid.cells[2, 2] == 0 and here.grid.cells[1, 2] == 100 and not grid.cells.any()
    outside = fenced(Situation(asked, Pose2(-0.5, 1.0, 0.0), grid, frontiers))
    assert outside.grid is grid and outside.frontiers == frontiers[:1]  # it has to get in
    free = Situation(Question("Where?"), Pose2(1.0, 1.0, 0.0), grid, frontiers)
    assert fenced(free) is free


class Wanderer(World):
    """A policy that wants to go to `goals`, one after the other, a memory and views that point anywhere."""

    def __init__(self, goals: Sequence[Pose2], evidence: Pose2 | None = None, told: Recollection | None = None) -> None:
        super().__init__(dict.fromkeys(range(0, 99, 3), 0.9))
        self.wanted, self.evidence, self.told = list(goals), evidence, told
        self.sent: list[Pose2] = []

    def ask(self, question: Question) -> Answer:  # type: ignore[override]
        return Agent(Ports(self, self, self, self, self), AgentConfig(stale_s=0.0)).ask(question)

    def last(self) -> tuple[int, Pose2]:
        return 10 ** 12, self.sent[-1] if self.sent else Pose2(0.0, 0.0, 0.0)

    def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
        if what == "drive":
            self.sent.append(goal)
        return super().go_to(goal, deadline_s, allowance, what)

    def recollect(self, question: str) -> Recollection | None:  # type: ignore[override]
        return self.told

    def recall(self, query: RecallQuery) -> list[Recalled]:
        return [Recalled(view(1), 1.0, "")]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        answer = super().answer(question, items)
        if self.evidence is not None:
            answer.evidence = (Evidence(1, 1, self.evidence),)
        return answer

    def options(self, question: Question, assessments: Sequence[ViewAssessment]) -> None:
        """List no options: views are judged one by one."""

    def decide(self, question: Question, assessments: Sequence[ViewAssessment], regions: Sequence[RankedRegion],
               advice: Sequence[WeighedOption] = ()) -> Decision:
        return Decision(self.wanted.pop(0) if self.wanted else None, "on")

    def confirm(self, question: Question, assessments: Sequence[ViewAssessment],
                regions: Sequence[RankedRegion]) -> Decision:
        return self.decide(question, assessments, regions)


def test_nothing_left_within_the_area_is_said() -> None:
    world = Wanderer([Pose2(1.0, 1.0, 0.0), Pose2(5.0, 1.0, 0.0), Pose2(1.5, 1.0, 0.0)])
    world.shows, world.answer_confidence = {}, 0.1
    answer = world.ask(Question("Where is the kettle?", limits=Limits(area=SQUARE)))
    assert world.sent == [Pose2(1.0, 1.0, 0.0)]
    world = Wanderer([Pose2(5.0, 1.0, 0.0)])
    world.shows = {}
    world.recall = lambda query: []  # type: ignore[method-assign]
    world.assess = lambda question, views: []  # type: ignore[method-assign]
    answer = world.ask(Question("Where is the kettle?", limits=Limits(area=SQUARE)))
    assert answer.abstained and "nothing left within the area" in answer.message and not world.sent


@pytest.mark.parametrize("seed", range(20))
def test_no_goal_outside_is_ever_sent(seed: int) -> None:
    """Exploring, confirming, looking again at what is remembered, and showing."""
    dice = random.Random(seed)

    def pose() -> Pose2:
        return Pose2(dice.uniform(-3.0, 6.0), dice.uniform(-3.0, 6.0), 0.0)

    told = Recollection("there", 0.9, (Evidence(1, 1, pose()),), verify=True) if seed % 4 == 0 else None
    area = dice.choice([SQUARE, L_SHAPE])
    world = Wanderer([pose() for _ in range(12)], pose(), told)
    world.answer_confidence, world.after_confirming = dice.random(), dice.random()
    answer = world.ask(Question("Where is the kettle?", limits=Limits(area=area), show=bool(seed % 2)))
    assert all(is_inside(area, goal.x, goal.y) for goal in world.sent)
    assert answer.error is ErrorCode.NONE
    if answer.shown:
        assert is_inside(area, *answer.evidence[0].pose[:2])


def test_limits_in_a_manifest_are_the_same_when_it_is_read_again() -> None:
    """Else a run would not resume; without an area it is one of before there were areas."""
    for limits in (Limits(steps=5), Limits(area=((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)))):
        assert json.loads(json.dumps(limits.as_json())) == limits.as_json()
    assert Limits().as_json() == {"steps": 0, "metres": 0.0, "seconds": 0.0, "calls": 0}
