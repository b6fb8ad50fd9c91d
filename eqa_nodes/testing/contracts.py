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
from dataclasses import replace
from pathlib import Path

import numpy as np

from eqa_nodes.bench.judges.base import Judge
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.samples import check_samples
from eqa_nodes.core.errors import UnknownScene
from eqa_nodes.core.perception.detection import Detection, Detector, sound
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.protocols import Answerer, Policy
from eqa_nodes.core.types.floor import Action, Decision, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount
from eqa_nodes.core.types.questions import Answer, Question, Recalled, Situation, ViewAssessment
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Frame, Intrinsics, Keyframe, Label
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


_LABELS = {1: Label(1, "cup", "kitchen", {"colour": "red"}), 2: Label(2, "lamp", "kitchen", {"colour": "blue"})}


def detector_frames() -> list[Frame]:
    """Return frames of a red cup and a blue lamp, of nothing, of noise, without depth, and of other sizes; the last one
    is the first again."""
    rgb, depth_m = np.full((48, 64, 3), 110, np.uint8), np.full((48, 64), 2.0, np.float32)
    labels = np.zeros((48, 64), np.uint16)
    for number, (rows, columns, colour) in enumerate(((slice(10, 22), slice(8, 20), (250, 10, 10)),
                                                      (slice(30, 40), slice(30, 50), (10, 10, 240))), start=1):
        rgb[rows, columns], labels[rows, columns] = colour, number
    seen = Frame(1, rgb, depth_m, Intrinsics(64, 48, 32.0, 32.0, 32.0, 24.0), Transform.identity(), camera_mount(1.2),
                 labels)
    noise = np.random.default_rng(2).integers(0, 256, rgb.shape, np.uint8)
    empty = replace(seen, rgb=np.zeros_like(rgb), labels=np.zeros_like(labels))
    return [seen, empty, replace(seen, rgb=noise), replace(seen, depth_m=np.zeros_like(depth_m)),
            _enlarged(seen, 3, 2), _enlarged(seen, 1, 4), seen]


def check_detector(make: Callable[[], Detector]) -> int:
    """Check that a detector is deterministic, and that its boxes, scores, masks and order are valid for frames of any
    size; return the number of its detections. make: returns a new detector each time it is called."""
    shown, detector, twin = detector_frames(), make(), make()
    found = [list(detector.detect(view, _LABELS)) for view in shown]
    for view, seen in zip(shown, found, strict=True):
        _check_detections(view, seen)
    assert _equal(found[0], found[-1]), "another image in between does not change the result"
    assert all(_equal(seen, list(twin.detect(view, _LABELS))) for view, seen in zip(shown, found, strict=True)), (
        "two detectors with the same settings find the same")
    perceiver = Perceiver(detector)
    for stamp_ns, view in enumerate(shown, start=1):
        perceiver.take(replace(view, stamp_ns=stamp_ns), _LABELS)
    nothing = replace(shown[0], rgb=np.zeros((0, 0, 3), np.uint8), depth_m=np.zeros((0, 0), np.float32), labels=None)
    assert perceiver.take(nothing, _LABELS).found == (), "an image without pixels shows nothing"
    return sum(map(len, found))


def _check_detections(view: Frame, found: Sequence[Detection]) -> None:
    height, width = view.depth_m.shape
    for d in found:
        left, top, right, bottom = d.box
        assert 0 <= left < right <= width and 0 <= top < bottom <= height, f"a box lies in the image, and {d.box} not"
        assert 0.0 <= d.score <= 1.0, f"a score is 0 to 1, and not {d.score}"
        assert d.name.strip(), "a detection has a name"
        if d.mask is not None:
            assert d.mask.dtype == bool and d.mask.shape == (height, width), "a mask has the size of the image"
            outside = d.mask.copy()
            outside[top:bottom, left:right] = False
            assert not outside.any(), "a mask lies in its box"
        assert d.vector is None or np.isfinite(d.vector).all(), "a vector is finite"
    assert len(sound(found, view.depth_m.shape)) == len(found), "every detection can be used"
    assert [d.score for d in found] == sorted((d.score for d in found), reverse=True), "the highest score comes first"


def _equal(some: Sequence[Detection], others: Sequence[Detection]) -> bool:
    """Return whether two lists of detections are equal, masks and vectors to the last bit."""
    def arrays(found: Sequence[Detection]) -> list[bytes]:
        return [b"" if values is None else values.tobytes() for d in found for values in (d.mask, d.vector)]

    return ([d._replace(mask=None, vector=None) for d in some] == [d._replace(mask=None, vector=None) for d in others]
            and arrays(some) == arrays(others))


def _enlarged(shown: Frame, high: int, wide: int) -> Frame:
    """Return a frame with each pixel repeated."""
    def repeated(image: np.ndarray) -> np.ndarray:
        return np.repeat(np.repeat(image, high, axis=0), wide, axis=1)

    k, labels = shown.intrinsics, shown.labels
    intrinsics = Intrinsics(k.width * wide, k.height * high, k.fx * wide, k.fy * high, k.cx * wide, k.cy * high)
    return replace(shown, rgb=repeated(shown.rgb), depth_m=repeated(shown.depth_m), intrinsics=intrinsics,
                   labels=None if labels is None else repeated(labels))
