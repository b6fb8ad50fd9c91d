"""What supports an answer, how likely that makes it, and where the line is drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.questions import Agent
from eqa_nodes.core.agent.stopping import FEATURES, Calibration, Stop, load_calibration, make_stop, support_of
from eqa_nodes.core.errors import ConfigError, ErrorCode
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.protocols import Ports
from eqa_nodes.core.types.floor import Allowance, Decision, NavCode, NavResult
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import (
    Answer,
    Limits,
    Question,
    Recalled,
    Support,
    ViewAssessment,
)
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.agent_world import GOAL, QUESTION, World

LOOKS = Calibration((-4.0, 1.0, 2.0, 2.0, -0.5))  # the more places say the same, the likelier it is right


def view(says: str, x: float = 0.0, enough: float = 0.8, target: tuple[float, float] | None = None) -> ViewAssessment:
    return ViewAssessment(1, 1, 0.9, enough, pose=Pose2(x, 0.0, 0.0), target=target, says=says)


def test_support_counts_places_and_weighs_what_disagrees() -> None:
    views = [view("the kitchen", 0.0, 0.6, (3.0, 0.0)), view("Kitchen.", 0.5, 0.6),
             view("kitchen", 2.0, 0.6, (3.0, 0.0)), view("bathroom", 4.0, 0.6), view("", 5.0, 0.9)]
    support = support_of(Answer("kitchen", 0.7), views)
    assert support.looks == 2  # the second place is half a metre from the first
    assert support.agreement == pytest.approx(1.8 / 2.4)  # what says nothing does not disagree
    assert support == Support(0.7, 2, support.agreement, 1.0)


def test_an_answer_that_no_view_gives_has_no_support_but_its_own_confidence() -> None:
    assert support_of(Answer("kitchen", 0.7), [view("bathroom")]) == Support(0.7, 0, 0.0, 6.0)
    assert support_of(Answer("kitchen", 0.7), []) == Support(0.7, 0, 0.0, 6.0)


def test_features_are_finite_for_any_confidence_and_have_the_names_they_are_told_by() -> None:
    features = Support(1.0, 3, 0.5, 60.0).features()
    assert features == pytest.approx((1.0, math.log(99), math.log(4), 0.5, 1.0))
    assert len(features) == len(FEATURES)


@pytest.mark.parametrize(("sure", "places", "agrees", "likely"), [
    (0.6, 2, 1.0, 1 - 0.4 ** 1.5), (0.6, 3, 0.5, 1 - 0.4 ** 1.5), (0.5, 2, 1.0, 1 - 0.5 ** 1.5), (0.49, 2, 1.0, 0.49),
    (0.6, 1, 1.0, 0.6)])
def test_each_further_place_with_the_same_answer_is_half_an_independent_look(
        sure: float, places: int, agrees: float, likely: float) -> None:
    """p = 1 - (1 - c) ^ (1 + (looks - 1) * agreement / 2), from a confidence of a half on."""
    same = [view("red", 0.75 * n, 0.5) for n in range(places)]
    other = [view("blue", 9.0, 0.5 * places * (1 / agrees - 1))] if agrees < 1 else []
    assert Stop(0.7).agreeing(Answer("red", sure), [*same, *other]) == pytest.approx(likely)
    assert Stop(0.7, LOOKS).agreeing(Answer("red", sure), same) == sure


@pytest.mark.parametrize(("apart_m", "looks"), [(0.74, 1), (0.75, 2)])
def test_places_three_quarters_of_a_metre_apart_are_two_looks(apart_m: float, looks: int) -> None:
    assert support_of(Answer("red", 0.7), [view("red"), view("red", apart_m)]).looks == looks


def test_a_probability_by_hand_and_at_its_bounds() -> None:
    """-4 + 1 * ln(0.8 / 0.2) + 2 * ln(1 + 2) + 2 * 0.5 - 0.5 * 3 / 6 = 0.333."""
    z = -4 + math.log(4) + 2 * math.log(3) + 1.0 - 0.25
    assert LOOKS.probability(Support(0.8, 2, 0.5, 3.0)) == pytest.approx(1 / (1 + math.exp(-z)))
    for weight, bound in ((-1e6, -30.0), (1e6, 30.0)):
        extreme = Calibration((weight, 0.0, 0.0, 0.0, 0.0))
        assert extreme.probability(Support(0.5, 0, 0.0, 0.0)) == pytest.approx(1 / (1 + math.exp(-bound)))
    with pytest.raises(ConfigError, match="weights up to 1e"):
        Calibration((1.1e6, 0.0, 0.0, 0.0, 0.0))
    assert Support(0.0, 0, 0.0, 7.0).features()[1:] == pytest.approx((math.log(0.01 / 0.99), 0.0, 0.0, 1.0))


supports = st.builds(Support, st.floats(0, 1), st.integers(0, 20), st.floats(0, 1), st.floats(0, 20))


@given(supports, st.floats(0, 1))
def test_more_agreement_is_never_less_likely(support: Support, other: float) -> None:
    less, more = sorted((support.agreement, other))
    for fitted in (LOOKS, load_calibration("label")):
        probabilities = [fitted.probability(support._replace(agreement=a)) for a in (less, more)]
        assert probabilities[1] >= probabilities[0]
        assert all(0 < p < 1 for p in probabilities)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.floats(0.01, 0.9))
def test_the_line_is_the_smallest_one_that_keeps_the_risk(wrong: list[int], risk: float) -> None:
    counts = tuple(sorted(wrong, reverse=True))
    thresholds = tuple((k + 1) / len(counts) for k in range(len(counts)))
    fitted = Calibration(LOOKS.weights, thresholds, counts, 30)
    good = [each for each, count in zip(thresholds, counts, strict=True) if (count + 1) / 31 <= risk]
    if good:
        assert fitted.threshold_for(risk) == min(good)
    else:
        with pytest.raises(ConfigError, match="cannot be promised"):
            fitted.threshold_for(risk)


def test_a_risk_that_is_too_small_is_told_what_can_be_promised() -> None:
    fitted = Calibration(LOOKS.weights, (0.5, 0.9), (4, 1), 99)
    with pytest.raises(ConfigError, match=r"risk 0.001 .* 99 calibration questions: accept at least 0.02,"):
        fitted.threshold_for(0.001)
    assert fitted.threshold_for(0.02) == 0.9


def test_an_unknown_calibration_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no calibration 'other' .* one of detected, label"):
        load_calibration("other")
    with pytest.raises(ConfigError, match="no calibration"):
        load_calibration(str(tmp_path / "missing.json"))


@pytest.mark.parametrize("values", [
    {"weights": [1.0, 2.0]},
    {"weights": [0.0] * 5, "thresholds": [0.1], "wrong": []},
    {"weights": [0.0] * 5, "thresholds": [0.2, 0.1], "wrong": [1, 0]},
    {"weights": [0.0] * 5, "thresholds": [0.1, 0.2], "wrong": [0, 1]}])
def test_a_calibration_whose_numbers_do_not_fit_is_refused(tmp_path: Path, values: dict[str, object]) -> None:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(values))
    with pytest.raises(ConfigError, match="fit it again"):
        load_calibration(str(path))


def test_a_risk_needs_a_calibration() -> None:
    with pytest.raises(ConfigError, match="set agent.calibration"):
        make_stop(0.7, "", 0.1)
    assert make_stop(0.7, "", 0.0) == Stop(0.7)


def test_without_a_calibration_the_confidence_counts_and_an_abstention_never_does() -> None:
    assert Stop(0.7).sure(Answer("yes", 0.4), []) == 0.4
    assert Stop(0.7, LOOKS).sure(Answer("", 0.9, abstained=True), []) == 0.0


@dataclass
class Saying(World):
    """Each view says what `says` has for it, and is taken two metres from the one before."""

    says: Sequence[str] = ()

    def since(self, keyframe_id: int) -> list[Keyframe]:
        return [Keyframe(i, i, Pose2(2.0 * i, 0.0, 0.0).transform(), b"")
                for i in range(keyframe_id + 1, self.seen + 1)]

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        return [ViewAssessment(v.id, v.stamp_ns, 0.9, 0.8, pose=v.pose, says=self.says[v.id - 1]) for v in views]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        texts = [self.says[item.keyframe.id - 1] for item in items]
        return Answer(max(dict.fromkeys(texts), key=texts.count), 0.8)

    def decide(self, question: Question, *_: object) -> Decision:  # type: ignore[override]
        return Decision(GOAL if self.seen < len(self.says) else None, "on")


def saying(*says: str, **more: Any) -> Saying:
    return Saying({}, says=says, **more)


@pytest.fixture
def by_looks(tmp_path: Path) -> str:
    """Return a calibration for which one look is thin, that can promise a risk of 0.05 and of 0.5."""
    path = tmp_path / "looks.json"
    path.write_text(json.dumps({"weights": LOOKS.weights, "thresholds": [0.1, 0.99], "wrong": [30, 0], "episodes": 99}))
    return str(path)


def test_the_label_answerer_is_calibrated_and_a_parameter_file_wins(tmp_path: Path) -> None:
    agent = RunConfig(answerer="label").settings.agent.agent
    assert agent.calibration == "label" and agent.enough > AgentConfig().enough
    file = tmp_path / "own.yaml"
    file.write_text("/**/agent:\n  ros__parameters:\n    agent.enough: 0.5\n")
    assert RunConfig(answerer="label", params=file).settings.agent.agent.enough == 0.5
    assert RunConfig(answerer="vlm").settings.agent.agent == AgentConfig()


def test_answers_about_detected_objects_have_a_calibration_of_their_own(tmp_path: Path) -> None:
    chosen = RunConfig(answerer="label", detector=DetectorConfig("perceiver")).settings.agent.agent
    assert (chosen.calibration, chosen.enough) == ("detected", 0.8)
    file = tmp_path / "own.yaml"
    file.write_text("/**/perception:\n  ros__parameters:\n    detector.name: perceiver\n"
                    "/**:\n  ros__parameters:\n    labels_from: detector\n")
    assert RunConfig(answerer="label", params=file).settings.agent.agent.calibration == "detected"
    from_labels, detected = (load_calibration(name).probability(Support(0.9, 3, 1.0, 1.5))
                             for name in ("label", "detected"))
    assert 0.7 < detected < from_labels, "a detector may repeat its mistake"


def test_thin_support_drives_on_where_confidence_alone_would_stop(by_looks: str) -> None:
    at_once, later = saying(*["red"] * 5), saying(*["red"] * 5)
    assert at_once.ask().text == later.ask(calibration=by_looks).text == "red"
    assert (at_once.seen, later.seen) == (1, 2)


def test_views_that_disagree_keep_it_looking(by_looks: str) -> None:
    world = saying("red", *["blue"] * 5)
    answer = world.ask(calibration=by_looks)
    assert answer.text == "blue" and world.seen == 4 and 0.7 <= answer.confidence < 1


def test_a_look_alike_is_looked_at_again_and_does_not_stand(by_looks: str) -> None:
    world = saying("red", "red", *["blue"] * 6, confirms=1)
    assert world.ask(calibration=by_looks).text == "blue"
    assert world.calls[:6] == ["regions", "look", "drive", "drive", "keep", "drive"]


def test_below_the_line_of_a_risk_it_does_not_know(by_looks: str) -> None:
    answer = saying("red", "blue").ask(calibration=by_looks, risk=0.05)
    assert answer.abstained and not answer.text
    assert answer.message.startswith("I don't know: 'red': confidence 0.") and "threshold 0.99" in answer.message
    assert saying("red", "blue").ask(calibration=by_looks, risk=0.5).text == "red"  # a risk that allows for it


def test_a_limit_or_a_failure_does_not_talk_it_into_an_answer(by_looks: str) -> None:
    class Broken(Saying):
        def go_to(self, goal: Pose2, deadline_s: float, allowance: Allowance, what: str = "drive") -> NavResult:
            return NavResult(NavCode.FAILED, "a wheel came off")

    for limits in (Limits(steps=1), Limits(steps=2)):
        world = saying("red", "blue")
        agent = Agent(Ports(world, world, world, world, world), AgentConfig(calibration=by_looks, risk=0.05))
        limited = agent.ask(QUESTION._replace(limits=limits))
        assert limited.abstained and not limited.text
    broken = Broken({}, says=("red", "blue")).ask(calibration=by_looks, risk=0.05)
    assert broken.abstained and not broken.text and broken.error is ErrorCode.NAVIGATION
    assert "a wheel came off" in broken.message


def test_when_exploration_ends_without_an_answer_the_reason_is_told() -> None:
    class Empty(Saying):
        def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
            return [ViewAssessment(v.id, v.stamp_ns, 0.0, 0.0, pose=v.pose) for v in views]

    answer = Empty({}, says=("red",)).ask()
    assert answer.abstained and answer.message == "nothing was seen that bears on the question; on"
