"""Questions for places and times: reading answers, measuring them, making them from tours, answering from memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.house.navqa import CATEGORIES, WITHIN_M, WITHIN_S, house_navqa, questions_about
from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.navqa import WITHIN_M as PAPER_M
from eqa_nodes.bench.metrics.navqa import WITHIN_S as PAPER_S
from eqa_nodes.bench.metrics.navqa import Errors, correct, errors_of, mark, position_in, seconds_in
from eqa_nodes.bench.metrics.question_score import question_score
from eqa_nodes.bench.metrics.values import value_of
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.samples import check_samples
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.errors import ConfigError, ErrorCode
from eqa_nodes.core.model import Message
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.recordings.history_views import ViewSelection
from eqa_nodes.runners.history import tour_source
from eqa_nodes.runners.navqa import NavqaRunner
from eqa_nodes.tours.tours import house_tour, pixels_by_frame
from sim_bridge.house.world import world

SCENE = "house:3"  # a train house


@pytest.mark.parametrize(("text", "place"), [
    ("(1.5, -2)", (1.5, -2.0)), ("It is at [3.0 m, 4 m].", (3.0, 4.0)), ("at (1, 2, 0.8) m", (1.0, 2.0, 0.8)),
    ("[1.54,2.14,0.0]", (1.54, 2.14, 0.0)), ('{"text": "there", "position": "[-.92, 1e1, .5]"}', (-0.92, 10.0, 0.5)),
    ("x = 1.5, y = -2", (1.5, -2.0)), ("(x: 1, y: 2, z: 3)", (1.0, 2.0, 3.0)), ("(1, \u22122)", (1.0, -2.0)),
    ("1, 2, 3", (1.0, 2.0, 3.0)), ("(" + "9" * 400 + ", 1)", None), ("(nan, inf)", None),
    ("about 1.25, 7", (1.25, 7.0)), ("in the kitchen", None), ("(a, b)", None), ("", None),
    ("seen 3 times at (0.5, 0.25)", (0.5, 0.25))])
def test_places_are_read_out_of_answers(text: str, place: tuple[float, ...] | None) -> None:
    assert position_in(text) == place


@pytest.mark.parametrize(("text", "time_s", "duration_s"), [
    ("12.5 s after the start", 12.5, 12.5), ("12.5 s after the start, 40 s ago", 12.5, 40.0), ("40 s ago", 60.0, 40.0),
    ("1 min 30 s", 90.0, 90.0), ("1 minute and 30 seconds ago", 10.0, 90.0), ("at 1:05", 65.0, 65.0),
    ("half past", None, None), ("37", 37.0, 37.0), ("2 hours", 7200.0, 7200.0), ("3 mugs", None, None),
    ("90 seconds earlier", 10.0, 90.0), ("", None, None), ("two minutes", 120.0, 120.0), ("half a minute ago",
    70.0, 30.0),
    ("an hour", 3600.0, 3600.0), ("1:02:03", 3723.0, 3723.0), ("1m30s", 90.0, 90.0), ("1 m ago", 40.0, 60.0),
    ("500 ms", 0.5, 0.5), ("at (1 m, 2 m), 30 s ago", 70.0, 30.0), ("9" * 400 + " s", None, None), ("2.5 mins",
    150.0, 150.0),
    ("1 hr", 3600.0, 3600.0), ("37 ago", 63.0, 37.0)])
def test_times_are_read_out_of_answers(text: str, time_s: float | None, duration_s: float | None) -> None:
    assert seconds_in(text, "time", 100.0) == time_s
    assert seconds_in(text, "duration", 100.0) == duration_s


def asked(expects: str, truth: object, **more: object) -> Sample:
    return Sample("a", "Where?", "there", metadata={"expects": expects, "truth": truth, "end_s": 100.0, **more})


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(-50, 50), st.floats(-50, 50))
def test_the_error_of_a_place_is_the_distance(x: float, y: float, u: float, v: float) -> None:
    told = Answer(f"({x:.3f}, {y:.3f})")
    off = errors_of(asked("position", [u, v]), told)
    assert off.position_m == pytest.approx(math.hypot(x - u, y - v), abs=2e-3) and off.time_s is None


@given(st.floats(0, 1000), st.floats(0, 1000), st.sampled_from(["time", "duration"]))
def test_the_error_of_a_time_is_the_difference(said: float, truth: float, expects: str) -> None:
    off = errors_of(asked(expects, truth), Answer(f"{said:.2f} s"))
    assert off.time_s == pytest.approx(abs(said - truth), abs=0.01) and off.position_m is None


def test_heights_count_where_truth_and_answer_have_one() -> None:
    assert errors_of(asked("position", [0.0, 0.0, 0.0]), Answer("(1, 2, 2)")).position_m == 3.0
    assert errors_of(asked("position", [0.0, 0.0, 9.0]), Answer("(3, 4)")).position_m == 5.0
    assert errors_of(asked("position", (0, 0)), Answer("[3, 4, 9]")).position_m == 5.0


@pytest.mark.parametrize(("expects", "truth", "said", "off_s"), [
    ("duration", 2.3, "2.3", 0.0), ("duration", 2.3, "2.3 minutes", 0.0), ("duration", 2.3, "138 s", 0.0),
    ("duration", 2, "three minutes", 60.0), ("time", 5.0, "5", 0.0), ("time", 5.0, "4.5 minutes ago", 30.0),
    ("time", 5.0, '{"text": "5 mins", "time": "5.0"}', 0.0), ("duration", 2.4, '{"time": null, "duration": "2.4"}',
    0.0)])
def test_minutes_as_navqa_counts_them(expects: str, truth: float, said: str, off_s: float) -> None:
    """Times count back from the end, and numbers are minutes; so they do where nobody says how long the history is."""
    sample = asked(expects, truth, unit="min", ago=True, end_s=600.0)
    if said.startswith('{"text"'):
        said = said.replace("5 mins", "a while")
    for one in (sample, replace(sample, metadata={**sample.metadata, "end_s": None})):
        assert errors_of(one, Answer(said)).time_s == pytest.approx(off_s)


@pytest.mark.parametrize(("expects", "truth"), [
    ("position", None), ("position", [1.0]), ("position", ["a", "b"]), ("position", [1.0, math.nan]), ("position",
    "(1, 2)"),
    ("position", 3.0), ("position", [1, 2, 3, 4]), ("position", [True, False]), ("time", "5 s"), ("time", math.inf),
    ("time", True), ("time", [5.0]), ("duration", None), ("duration", {}), ("duration", 10 ** 400)])
def test_a_truth_of_another_kind_is_unscored(expects: str, truth: object) -> None:
    sample = asked(expects, truth)
    score = question_score(sample, Prediction("a", Answer("(1, 2) 5 s")), OfflineJudge())
    assert (score.sigma, score.position_error_m, score.time_error_s) == (None, None, None)
    assert score.unscored and f"is no {expects}" in score.note
    assert value_of(score, "navqa_correct") is None


def test_thresholds_and_units_that_are_none_are_unscored() -> None:
    for more in ({"within_m": "near"}, {"within_m": None}, {"within_m": math.nan}, {"unit": "hours"}):
        sample = asked("position", [0.0, 0.0], **more)
        assert question_score(sample, Prediction("a", Answer("(0, 0)")), OfflineJudge()).sigma is None
    assert mark(asked("time", 5.0, end_s="late"), Answer("20 s ago")) == JudgeMark(1, None, "the answer names no time")
    assert mark(asked("time", 5.0, end_s="late"), Answer("5 s")) == JudgeMark(5, None, "0.0 s off, right within 120 s")


ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9),
                     st.lists(st.one_of(st.floats(), st.integers(), st.text(max_size=3)), max_size=4))
TOLD = st.one_of(st.text(max_size=30), st.from_regex(r"[-(\[0-9.,:xyzmsinhago =e)\]\"{}]{1,40}", fullmatch=True))


@given(st.sampled_from(["position", "time", "duration", "text", "yes-no", 3]),
ANYTHING, ANYTHING, ANYTHING, ANYTHING, TOLD)
def test_no_truth_and_no_answer_raises(expects: object, truth: object, end_s: object, within: object, unit: object,
                                       said: str) -> None:
    sample = Sample("a", "Where?", "there", metadata={"expects": expects, "truth": truth, "end_s": end_s, "unit": unit,
                                                      "within_m": within, "within_s": within, "ago": unit})
    score = question_score(sample, Prediction("a", Answer(said)), OfflineJudge())
    for off in (score.position_error_m, score.time_error_s):
        assert off is None or 0 <= off < math.inf


def test_thresholds_decide_and_no_place_is_wrong() -> None:
    near, far = Answer("(0, 1.9)"), Answer("(0, 2.1)")
    sample = asked("position", [0.0, 0.0], within_m=2.0)
    assert mark(sample, near) == JudgeMark(5, None, "1.9 m off, right within 2 m")
    assert mark(sample, far) == JudgeMark(1, None, "2.1 m off, right within 2 m")
    assert mark(sample, Answer("on the desk")) == JudgeMark(1, None, "the answer names no position")
    assert mark(sample, Answer("(0, 0)", abstained=True)) == JudgeMark(1, None, "the answer names no position")
    assert mark(asked("text", None), near) is None
    assert correct("position", PAPER_M, None) == correct("time", None, PAPER_S) == correct("duration", None, 0.0) == 1.0
    assert correct("position", PAPER_M + 0.1, None) == correct("time", None, PAPER_S + 0.1) == 0.0
    assert correct("position", None, None) == 0.0 and correct("text", None, None) is correct("", None, None) is None


def test_errors_stand_in_the_score() -> None:
    sample = asked("position", [3.0, 4.0])
    score = question_score(sample, Prediction("a", Answer("(0, 0)")), OfflineJudge())
    assert (score.position_error_m, score.time_error_s, score.sigma) == (5.0, None, 5)
    assert value_of(score, "position_error_m") == 5.0 and value_of(score, "navqa_correct") == 1.0
    silent = question_score(sample, Prediction("a", Answer(abstained=True)), OfflineJudge())
    assert (silent.position_error_m, silent.sigma, value_of(silent, "navqa_correct")) == (None, 1, 0.0)
    failed = question_score(sample, Prediction("a", Answer("(0, 0)", error=ErrorCode.MODEL)), OfflineJudge())
    assert failed.position_error_m is None and value_of(failed, "navqa_correct") is None
    assert errors_of(asked("time", None), Answer("3 s")) == Errors()


def test_the_truth_is_that_of_the_tour() -> None:
    samples = list(questions_about(SCENE))
    check_samples(samples)
    assert samples == list(questions_about(SCENE)) and {s.category for s in samples} <= set(CATEGORIES)
    tour, house = house_tour(SCENE), world(3).house
    frames, step_s = pixels_by_frame(tour), tour.robot.step_s
    for sample in samples:
        truth, question = sample.metadata.get("truth"), sample.question
        if sample.category == "position" and question.startswith("Where is"):
            assert any(t.position[:2] == pytest.approx(truth, abs=1e-3) for t in house.objects)
        elif sample.category == "position":
            assert isinstance(truth, list) and any(math.dist(p[:2], truth) < 1e-2 for p in tour.poses)
        elif sample.category in ("time", "duration"):
            assert isinstance(truth, float) and 0 <= truth <= (len(frames) - 1) * step_s == sample.metadata["end_s"]
        told = mark(sample, Answer(sample.answer))
        assert (told is None) == (sample.category in ("yes-no", "text")) and (told is None or told.sigma == 5)
        within_here = (sample.metadata.get("within_m"), sample.metadata.get("within_s"))
        assert within_here == ((None, None) if told is None else (WITHIN_M, WITHIN_S))
    with pytest.raises(ConfigError, match="unknown split 'val'"):
        house_navqa("val", 1)


def runner(tmp_path: Path, answerer: str, **selection: object) -> NavqaRunner:
    tour = house_tour(SCENE)
    robot = replace(tour.robot, camera=replace(tour.robot.camera, width=96, height=72))
    small = tour_source(replace(tour, robot=robot, actions=tour.actions[:40], poses=tour.poses[:41]))
    chosen = ViewSelection("recalled", 4, **selection)  # type: ignore[arg-type]
    return NavqaRunner(lambda sample: small, AnswererSettings(answerer=answerer), chosen, tmp_path)


def test_memory_answers_with_places_and_times(tmp_path: Path) -> None:
    frames = pixels_by_frame(house_tour(SCENE))[:41]
    house = world(3).house
    most = max((t for t in house.objects if t.kind in ("rug", "bench", "console table", "sofa", "piano")),
               key=lambda t: max(seen.get(t.id, 0) for seen in frames))
    run = runner(tmp_path, "label", labels=True)
    where = run.run(Sample("a", f"Where is the {most.kind}?", "there", metadata={
        "expects": "position", "truth": list(most.position[:2]), "episode_history": "h"}))
    place = position_in(where.answer.text)
    assert place is not None and math.dist(place, most.position[:2]) < 1.5
    assert where.answer.evidence and where.answer.evidence[0].frame >= 0 and "labels" in where.answer.receipt.privileged
    when = run.run(Sample("b", f"When did you last see the {most.kind}?", "then", metadata={
        "expects": "time", "truth": 1.0, "episode_history": "h"}))
    last = max(i for i, seen in enumerate(frames) if seen.get(most.id, 0) > 80) * 0.5
    told = seconds_in(when.answer.text, "time", 20.0)
    assert told is not None and abs(told - last) <= 5.0
    assert run.run(Sample("c", "Did you see a submarine?", "no", metadata={
        "expects": "yes-no", "episode_history": "h"})).answer.text == "no"
    run.close()


def test_a_model_is_told_times_and_the_form_of_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = '{"answer": "7.5 s after the start", "confidence": 0.8, "images": [1], "abstain": false}'
    backend = ScriptedBackend([said, said, said])
    monkeypatch.setattr("eqa_nodes.runners.answerers.open_model", lambda config: backend)
    run = runner(tmp_path, "vlm")
    result = run.run(Sample("a", "When did you first see the rug?", "then", metadata={
        "expects": "time", "truth": 8.0, "end_s": 20.0, "episode_history": "h"}))
    assert result.answer.text == "7.5 s after the start"
    text = texts(backend.requests[0])
    assert "such as 12.5 s after the start" in text and "s after the start of 20.0 s" in text
    run.run(Sample("b", "What is on the rug?", "nothing", metadata={"episode_history": "h"}))
    assert "after the start" not in texts(backend.requests[1])  # other questions are asked as ever
    run.run(Sample("c", "Has the rug been moved?", "no", metadata={"episode_history": "h"}))
    assert texts(backend.requests[2]).count("s after the start of 20.0 s") == len(pictures(backend.requests[2])) > 1
    run.close()


def pictures(request: Sequence[Message]) -> list[bytes]:
    return [part for message in request for part in message.parts if isinstance(part, bytes)]


def texts(request: Sequence[Message]) -> str:
    return "\n".join(part for message in request for part in message.parts if isinstance(part, str))
