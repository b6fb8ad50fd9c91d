"""Contract checks for each kind of component, which any test can call, also for your own components.

    from eqa_nodes.testing.contracts import check_policy

    def test_my_policy_keeps_its_promises() -> None:
        check_policy(MyPolicy)

A broken contract raises an AssertionError that names it. The checks need neither ROS nor a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from eqa_nodes.bench.judges.base import Judge
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.samples import check_samples
from eqa_nodes.core.errors import UnknownScene
from eqa_nodes.core.protocols import Answerer, Policy
from eqa_nodes.core.types.floor import Action, Decision, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Question, Recalled, Situation, ViewAssessment
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Keyframe
from sim_bridge.simulator import EpisodeSetup, Simulator

_CELL_M = 0.1
_DATE_NS = 1_794_472_200 * 10**9  # 2026-11-12 08:30 UTC
_SMALL = RobotModel(camera=CameraModel(width=64, height=48))


def half_known_room() -> Situation:
    """Return a robot in a room of 6 x 4 m whose eastern half is unknown, with the frontier between the halves."""
    cells = np.full((40, 60), -1, np.int8)
    cells[:, :30] = 0
    cells[[0, -1], :30] = cells[:, 0] = 0
    cells[[0, -1], :30], cells[:, 0] = 100, 100
    grid = GridMap(1, _CELL_M, (0.0, 0.0), cells, cells == 0)
    return Situation(Question("Where is the lamp?", seed=3), Pose2(1.0, 2.0, 0.0), grid,
                     (Frontier(2.9, 2.0, 0.0, 3.8),))


def check_policy(make: Callable[[], Policy]) -> None:
    """Check that a policy is pure, drives to free floor, gives reasons, and ends if nothing can be reached."""
    situation, policy, twin = half_known_room(), make(), make()
    decisions = [_decided(each, situation) for each in (policy, twin, policy)]
    assert decisions[0] == decisions[1] == decisions[2], "the same situation and seed give the same decision"
    decision = decisions[0]
    assert decision.reason, "a decision says why"
    assert decision.goal is not None, "a frontier that can be reached is a place to go to"
    x, y, yaw = decision.goal
    assert all(map(math.isfinite, (x, y, yaw))), f"a goal is finite, not {decision.goal}"
    cell = math.floor(y / _CELL_M), math.floor(x / _CELL_M)
    assert situation.grid.cells[cell] == 0, f"a goal lies on free floor, and {decision.goal} does not"
    assert all(0.0 <= c.weight < math.inf for c in decision.candidates), "weights of candidates are finite and >= 0"
    assert policy.confirm(situation).goal is None, "an answer without evidence in view stands as it is"


def _decided(policy: Policy, situation: Situation) -> Decision:
    policy.reset(situation.question.seed)
    return policy.decide(situation)


def check_answerer(make: Callable[[], Answerer], question: Question, views: Sequence[Keyframe]) -> Answer:
    """Check an answerer's reply to a question that it accepts, with these views. Return its answer."""
    answerer = make()
    assert answerer.why_unanswerable(question) == "", f"{question.text!r} is accepted"
    assert all(0.0 <= region.weight <= 1.0 for region in answerer.regions(question)), "weights are 0..1"
    assessed = answerer.assess(question, views)
    assert [a.keyframe_id for a in assessed] == [view.id for view in views], "one assessment for each view, in order"
    assert all(_is_sound(a) for a in assessed), "relevance, enough and worth are 0..1"
    guess = answerer.answer(question._replace(force_guess=True), ())
    assert guess.text and not guess.abstained, "a forced guess is an answer, also without a view"
    assert not guess.evidence, "a guess without views has no evidence"
    answer = answerer.answer(question, [Recalled(view, 1.0, "") for view in views])
    assert 0.0 <= answer.confidence <= 1.0, "a confidence is 0..1"
    assert answer.abstained or answer.text, "an answer has a text, or it is an abstention"
    assert {e.keyframe_id for e in answer.evidence} <= {view.id for view in views}, "evidence is what was shown"
    assert answerer.spent().calls >= 0, "spent() counts calls"
    return answer


def _is_sound(assessment: ViewAssessment) -> bool:
    return all(0.0 <= value <= 1.0 for value in (assessment.relevance, assessment.enough, assessment.worth))


def check_reader(read: Callable[[ReaderOptions], list[Sample]], folder: Path | None = None) -> list[Sample]:
    """Check that a reader's samples are valid, have unique ids, and are the same when read twice. Return them."""
    options = ReaderOptions("under test", folder, limit=20)
    samples = read(options)
    assert samples, "a data set has questions"
    check_samples(samples)
    assert len({sample.id for sample in samples}) == len(samples), "ids are unique"
    assert read(options) == samples, "the same options give the same samples"
    return samples


def check_judge(make: Callable[[], Judge], right: Sample, wrong_text: str) -> None:
    """Check that a judge prefers the right answer, marks a missing one 1, and has a name and a version."""
    with closing(make()) as judge, closing(make()) as twin:
        assert judge.name and judge.version == twin.version, "the same rules have the same version"
        marks = [judge.judge(right, text).sigma for text in (right.answer, wrong_text, "")]
    assert all(mark is None or 1 <= mark <= 5 for mark in marks), f"marks are 1..5 or None, not {marks}"
    assert marks[2] == 1, "no answer marks 1"
    assert marks[0] is not None and marks[1] is not None and marks[0] > marks[1], f"right is better than wrong: {marks}"


def check_simulator(make: Callable[[], Simulator], scene: str) -> None:
    """Check how a simulator counts, turns, measures, stamps and closes, in one of its scenes."""
    with closing(make()) as simulator:
        first = simulator.reset(EpisodeSetup(scene, robot=_SMALL))
        assert (first.steps, first.metres, first.collided) == (0, 0.0, False), "an episode begins at zero"
        assert first.frame.rgb.shape == (48, 64, 3) and first.frame.depth_m.shape == (48, 64), "images as configured"
        again = simulator.act(Action.OBSERVE)
        assert again.steps == 0 and np.array_equal(again.frame.rgb, first.frame.rgb), "OBSERVE renders, and counts not"
        turns = round(2 * math.pi / _SMALL.turn_rad)
        steps = [simulator.act(Action.TURN_LEFT) for _ in range(turns)]
        assert [step.steps for step in steps] == list(range(1, turns + 1)), "each action counts once"
        stamps = [first.frame.stamp_ns, *(step.frame.stamp_ns for step in steps)]
        assert stamps == sorted(set(stamps)), "each action advances the stamp"
        assert math.dist(steps[-1].frame.map_from_base.xyz, first.frame.map_from_base.xyz) < 1e-6, "turning stays"
        here = first.frame.map_from_base.xyz[:2]
        assert simulator.geodesic(here, here) == 0.0, "no distance to where one is"
        later = simulator.reset(EpisodeSetup(scene, robot=_SMALL))
        assert later.frame.stamp_ns > stamps[-1], "stamps never go back, also over a reset"
        dated = simulator.reset(EpisodeSetup(scene, robot=_SMALL, clock_ns=_DATE_NS)).frame.stamp_ns
        assert _DATE_NS < dated < _DATE_NS + 60e9, "the clock is set to the date of the episode"
        _refuses(simulator, scene.partition(":")[0] + ":no such place")
        simulator.close()  # it is called again at the end: a second call does nothing


def _refuses(simulator: Simulator, scene: str) -> None:
    try:
        simulator.reset(EpisodeSetup(scene, robot=_SMALL))
    except UnknownScene:
        return
    raise AssertionError(f"the scene {scene!r} is refused with UnknownScene")
