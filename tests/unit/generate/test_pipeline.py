"""Data generation with a scripted model: what is kept, refused, paid for once, and written."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import ConfigError, ModelError, StorageError, UnknownScene
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Answer, Question, Recalled
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.generate.filters import FilterConfig, Filters
from eqa_nodes.generate.journal import Journal, JournalEntry, Paid
from eqa_nodes.generate.pipeline import (
    RECORDS,
    STEPS,
    generate,
    read_examples,
    read_path,
    read_records,
)
from eqa_nodes.generate.results import READERS, VERIFIED, begin, finish, read_manifest
from eqa_nodes.generate.roles import moves, read_pair, read_verdict
from eqa_nodes.generate.values import ACCEPTED, FAILED, REJECTED, Evaluation, QuestionAnswer, ScenePath
from tests.fixtures.generating import (
    KETTLE,
    NOTHING,
    SCENE,
    Killed,
    Model,
    cast,
    here,
    job,
    made,
    small,
    verdicts,
    whole,
)

BAD = {"clarity": 0.9, "answerability": 0.1, "uniqueness": 0.9, "nontriviality": 0.9, "feedback": "no kettle in view"}


def test_accepted_questions_read_back_as_express_bench(tmp_path: Path) -> None:
    file = whole(tmp_path, Model(answer=here))
    raw, samples, path = json.loads(file.read_text()), READERS["express"](file), read_path(tmp_path, 0)
    assert [s.answer for s in samples] == ["A red kettle."] * 2 and {r["type"] for r in raw} == {"state", "knowledge"}
    for record, sample in zip(raw, samples, strict=True):
        assert set(record) == {"episode_id", "trajectory_id", "scene_id", "episode_path", "type", "question", "answer",
                               "start_position", "start_rotation", "goal_position", "goal_rotation",
                               "geodesic_distance", "step_length", "actions"}
        assert record["step_length"] == len(record["actions"]) == len(path.actions) == sample.reference_steps
        assert record["actions"][f"step_{len(path.actions) - 1}"]["position"] == record["goal_position"]
        assert sample.start == pytest.approx(path.poses[0]) and sample.target[:2] == pytest.approx(path.poses[-1][:2])
        assert sample.scene == SCENE and sample.reference_metres == path.way_m
        assert 10 <= record["step_length"] <= 100
    turns = [abs(wrap(b.yaw - a.yaw)) for a, b in zip(path.poses, path.poses[1:]) if b.yaw != a.yaw]
    assert turns == pytest.approx([math.radians(30)] * len(turns))


def test_accepted_questions_read_back_as_exploraqa(tmp_path: Path) -> None:
    file = whole(tmp_path, Model(), "exploraqa")
    path = read_path(tmp_path, 0)
    samples = READERS["exploraqa"](file)
    assert samples
    for sample in samples:
        assert sample.question.startswith("What stands")
        assert sample.instruction == "Go through the door. Stop at the desk."
        assert len(sample.viewpoints) == 3 >= len(path.views) and sample.reference_metres == path.way_m >= 6.5
        assert all(math.dist(place[:2], path.poses[-1][:2]) <= 3.0 for place in sample.viewpoints)
    yaws = [view.pose.yaw for view in path.views]
    assert all(abs(wrap(a - b)) >= math.pi / 2 - 1e-6 for i, a in enumerate(yaws) for b in yaws[:i])


def test_a_question_has_further_viewpoints_beside_the_view_that_shows_its_answer(tmp_path: Path) -> None:
    """One of three views shows it; of the four beside that view one is too near to it, and one shows something else."""
    class Solver:
        def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
            shown = {item.keyframe.id for item in items} & {1, 5, 7}
            return Answer("a red kettle" if shown else "a blue pot", 0.9)

    def view(number: int, x: float) -> Keyframe:
        return Keyframe(number, number, Pose2(x, 0.0, 0.0).transform(0.0), b"")

    views = tuple(view(i, 2.0 * i) for i in range(3))
    beside = ((view(3, 9.0),), (view(4, 2.1), view(5, 3.0), view(6, 0.0), view(7, 5.0)), ())
    path = ScenePath(0, SCENE, (), (), 8.0, 0.0, views, (), (), beside=beside)
    with closing(Journal(tmp_path / "steps.jsonl", JournalEntry)) as lines:
        filters = Filters(small("exploraqa"), Solver(), FilterConfig(blind=False),  # type: ignore[arg-type]
                          None, Paid(lines, Usage), 0)
        found = filters.check("0", path, QuestionAnswer("What stands there?", "A red kettle."), ())
        assert found.failed is None and found.viewpoints == ((1,), (beside[1][1].pose, beside[1][3].pose))
        assert found.checks[-1].note == "1 of 3 views show it alone, and 2 from beside them"
        asked = [entry.key for entry in lines.entries]
    assert "0/beside/1/0" not in asked and "0/beside/0/0" not in asked


def test_what_the_first_half_of_a_path_shows_is_no_question_of_exploraqa(tmp_path: Path) -> None:
    """Twelve views: all around the start, the first quarter and the middle. EXPRESS-Bench has no such check."""
    records = made(tmp_path / "a", Model(answer=KETTLE), "exploraqa", count=1, tries=2).records
    assert {r.reason for r in records} == {
        "seen before: from the first half of the path the answer was 'a red kettle'"}
    path = read_path(tmp_path / "a", 0)
    starts = [view.pose for view in path.before[:4]]
    assert len(path.before) == 12 and {pose[:2] for pose in starts} == {path.poses[0][:2]}
    assert {view.pose[:2] for view in path.before[8:]} == {path.poses[len(path.poses) // 2][:2]}
    assert sorted(round(math.degrees(wrap(pose.yaw - starts[0].yaw))) % 360 for pose in starts) == [0, 90, 180, 270]
    unsure = Model(answer=lambda number, text: {**KETTLE, "confidence": 0.4 if "Picture 4" in text else 0.9})
    assert made(tmp_path / "b", unsure, "exploraqa", count=1, tries=1).records[-1].reason.startswith("seen before")
    assert made(tmp_path / "c", Model(answer=here), count=1).records[-1].status == ACCEPTED


def test_the_evaluator_sends_a_proposal_back_and_all_of_it_is_kept(tmp_path: Path) -> None:
    model = Model(answer=here, evaluate=lambda n, text: BAD if n == 0 else Model().replies["evaluate"])
    record = made(tmp_path, model, count=1).records[0]
    assert record.status == ACCEPTED and len(record.rounds) == 2
    assert record.rounds[0].verdict.feedback == "no kettle in view" and record.pair == record.rounds[1].pair
    second = [text for role, text in model.texts if role == "propose"][1]
    assert "no kettle in view" in second and record.rounds[0].pair.question in second


def test_a_pair_that_never_satisfies_is_rejected_with_the_reason(tmp_path: Path) -> None:
    model = Model(evaluate=BAD)
    records = made(tmp_path, model, count=1, rounds=2, tries=1).records
    assert [r.status for r in records] == [REJECTED] and "no kettle in view" in records[0].reason
    assert model.calls["propose"] == model.calls["evaluate"] == 2 and not model.calls["answer"]


@pytest.mark.parametrize(("replies", "reason"), [
    ({"blind": {"answer": "a red kettle", "confidence": 0.1}}, "guessed"),
    ({"answer": lambda n, text: {"answer": "a bowl", "confidence": 0.9, "images": [1]}}, "not reproduced"),
    ({"answer": dict(NOTHING)}, "not reproduced"),
    ({"answer": lambda n, text: {"answer": "a bowl" if n == 3 else "a red kettle", "confidence": 0.9, "images": [1]}},
     "not unique"),
])
def test_filters_reject(tmp_path: Path, replies: dict[str, Any], reason: str) -> None:
    record = made(tmp_path, Model(**replies), count=1, tries=1, rounds=1).records[0]
    passed = [check.passed for check in record.checks]
    assert record.status == REJECTED and record.reason.startswith(reason + ":")
    assert passed == [True] * (len(passed) - 1) + [False]


def test_the_same_question_is_not_taken_twice_in_a_scene(tmp_path: Path) -> None:
    ask = {"question": "What is next to the desk?", "answer": "a red kettle"}
    again = {"question": "What is it that is next to the desks?", "answer": "a red kettle"}
    records = made(tmp_path, Model(answer=here, propose=lambda n, text: again if n else ask), count=2, tries=1).records
    assert [r.status for r in records] == [ACCEPTED, REJECTED] and records[1].reason.startswith("not new: shares 100%")


@pytest.mark.parametrize(("question", "cosine", "passed"), [
    ("Is the red wooden chair clean?", 0.0, False),  # 3 of 4 words: red, wooden and chair, of red, wooden, chair, clean
    ("Is the red wooden table clean?", 0.0, True),
    ("Who sleeps here?", 0.97, False), ("Who sleeps here?", 0.96, True)])
def test_what_counts_as_the_same_question(question: str, cosine: float, passed: bool) -> None:
    class Vectors:
        def embed(self, texts: list[str]) -> np.ndarray:
            return np.array([[1.0, 0.0], *([[cosine, math.sqrt(1 - cosine ** 2)]] * (len(texts) - 1))])

    filters = Filters(small("express"), None, FilterConfig(), Vectors(), None, 0)  # type: ignore[arg-type]
    assert filters._new(QuestionAnswer(question, "yes"), [QuestionAnswer("Is the red wooden chair?", "yes")]
                        ).passed is passed


@pytest.mark.parametrize(("score", "accepted"), [(0.5, True), (0.49, False)])
def test_the_least_score_of_an_evaluation(score: float, accepted: bool) -> None:
    assert Evaluation({"clarity": 1.0, "uniqueness": score}, "").accepts(FilterConfig().least) is accepted


def test_what_a_check_found_is_said_to_the_generator_and_its_next_proposal_may_pass(tmp_path: Path) -> None:
    model = Model(answer=here, blind=lambda n, text: KETTLE if n == 0 else {**KETTLE, "answer": "a lamp"})
    record = made(tmp_path, model, count=1, tries=1).records[0]
    second = [text for role, text in model.texts if role == "propose"][1]
    assert record.status == ACCEPTED and len(record.rounds) == 2 and all(check.passed for check in record.checks)
    assert record.rounds[0].verdict.feedback.startswith("guessed: without") and "guessed: without" in second


def test_where_a_category_has_no_question_the_next_one_is_tried(tmp_path: Path) -> None:
    def second(number: int, text: str) -> dict[str, object]:
        return {"question": "", "answer": ""} if number == 0 else Model().replies["propose"](number, text)

    records = made(tmp_path / "a", Model(answer=here, propose=second), count=1).records
    assert [(r.status, r.category) for r in records] == [(ACCEPTED, list(small("express").categories)[1])]
    model = Model(propose={"question": "", "answer": ""})
    records = made(tmp_path / "b", model, count=1, tries=2).records
    assert {r.reason for r in records} == {"nothing to ask about"}
    assert model.backend.usage.calls == 2 * len(small("express").categories)


@pytest.mark.parametrize("last", [0, 6, 12])
def test_a_kill_loses_nothing_and_pays_nothing_twice(tmp_path: Path, last: int) -> None:
    straight = Model(answer=here)
    made(tmp_path / "straight", straight)
    model = Model(answer=here)
    model.dies_at = last
    with pytest.raises(Killed):
        made(tmp_path / "killed", model)
    with (tmp_path / "killed" / STEPS).open("ab") as file:
        file.write(b'{"key":"half a li')
    model.dies_at = -1
    summary = made(tmp_path / "killed", model)
    assert (tmp_path / "killed" / RECORDS).read_bytes() == (tmp_path / "straight" / RECORDS).read_bytes()
    assert model.calls == straight.calls
    assert summary.spent.calls == sum(straight.calls.values())
    made(tmp_path / "killed", Model(propose=ModelError("nobody asks again")))


def test_a_paid_step_is_made_once_and_its_cost_summed(tmp_path: Path) -> None:
    spent = Usage()

    def ask() -> str:
        nonlocal spent
        spent += Usage(1, 100, 10)
        return "an answer"

    for _ in range(2):  # in this process, and in the next one
        with closing(Journal(tmp_path / "steps.jsonl", JournalEntry)) as lines:
            paid = Paid(lines, lambda: spent)
            assert [paid.once("0/propose", str, ask), paid.once("0/propose", str, ask)] == ["an answer"] * 2
            assert paid.spent() == spent == Usage(1, 100, 10)


def test_a_spent_budget_stops_in_order_and_the_rest_comes_later(tmp_path: Path) -> None:
    first = made(tmp_path, Model(budget_calls=9, answer=here))
    assert "budget of 9 model calls" in first.stopped and [r.status for r in first.records] == [ACCEPTED]
    second = made(tmp_path, Model(answer=here))
    assert not second.stopped and [r.status for r in second.records] == [ACCEPTED] * 2


def test_a_model_that_fails_once_is_asked_again_later_and_one_that_goes_on_failing_ends_it(tmp_path: Path) -> None:
    def sometimes(number: int, text: str) -> dict[str, object]:
        if number == 0:
            raise ModelError("timed out: once")
        return Model().replies["propose"](number, text)

    records = made(tmp_path, Model(answer=here, propose=sometimes), count=1).records
    assert [r.status for r in records] == [FAILED, ACCEPTED] and records[0].reason == "timed out: once"
    again = made(tmp_path, Model(answer=here), count=2).records
    assert [r.status for r in again[:2]] == [ACCEPTED, ACCEPTED]

    def never(number: int, text: str) -> dict[str, object]:
        raise ModelError("timed out: always")

    with pytest.raises(ModelError, match="always"):
        made(tmp_path / "dead", Model(propose=never))
    assert [r.status for r in read_records(tmp_path / "dead")] == [FAILED] * 3


def test_a_folder_keeps_to_its_settings_but_may_grow(tmp_path: Path) -> None:
    whole(tmp_path, Model(answer=here), count=1)
    with pytest.raises(ConfigError, match="another settings"):
        begin(tmp_path, small("express"), job(count=1, rounds=1), {"generator": "scripted"}, [])
    with pytest.raises(ConfigError, match="another cast"):
        begin(tmp_path, small("express"), job(count=1), {"generator": "other"}, [])
    later = Model(answer=here, propose={"question": "Where did I leave the towel?", "answer": "a red kettle"})
    whole(tmp_path, later, count=2)
    manifest = read_manifest(tmp_path)
    assert manifest.sessions == 2 and manifest.counts == {ACCEPTED: 2} and manifest.costs["calls"] == 14
    assert manifest.privileged == ["paths"]


def test_unknown_scenes_and_locked_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownScene, match="nowhere"):
        made(tmp_path, Model(), scenes=("toy:nowhere",))
    (tmp_path / RECORDS).write_text("rubbish\n")
    with pytest.raises(StorageError, match="line 1 is broken"):
        made(tmp_path, Model())


def test_a_scene_too_small_for_its_ways_says_so(tmp_path: Path) -> None:
    records = made(tmp_path, Model(), "exploraqa", count=1, tries=1, scenes=("toy:room",)).records
    assert records[0].status == REJECTED and records[0].reason.startswith("no way: scene 'toy:room'")


def test_only_what_all_reviewers_accept_in_the_same_words_passes(tmp_path: Path) -> None:
    whole(tmp_path, Model(answer=here), count=5)
    new = {"question": "What is red here?", "answer": "The kettle."}
    first = verdicts(tmp_path, "ann", r0={}, r1={"verdict": "reject"}, r2=new, r3=new, r4={})
    second = verdicts(tmp_path, "bob", r0={}, r1={}, r2=new, r3={})
    file, records = finish(tmp_path, [first, second])
    assert [r.status for r in records] == [ACCEPTED, REJECTED, ACCEPTED, REJECTED, REJECTED]
    assert [r.reason for r in records[3:]] == ["the reviewers want different words", "not all reviewers have seen it"]
    assert [(s.id, s.question) for s in READERS["express"](file)] == [("0", "What stands beside the kettle?"),
                                                                       ("2", "What is red here?")]
    assert len((tmp_path / VERIFIED).read_text().splitlines()) == 5
    assert read_manifest(tmp_path).reviewers == ["ann", "bob"]


def test_verdicts_on_other_questions_or_twice_by_one_person_are_refused(tmp_path: Path) -> None:
    whole(tmp_path, Model(answer=here), count=1)
    path = verdicts(tmp_path, "ann", r0={})
    with pytest.raises(ConfigError, match="has two files"):
        finish(tmp_path, [path, path])
    bad = verdicts(tmp_path, "bob", r0={"verdict": "perhaps"})
    with pytest.raises(ConfigError, match="accept or reject"):
        finish(tmp_path, [bad])
    whole(tmp_path, Model(answer=here), count=2)
    with pytest.raises(ConfigError, match="other questions"):
        finish(tmp_path, [path])


@pytest.mark.parametrize("reply", [
    {"question": "Where is it", "answer": "there"}, {"question": "???", "answer": "there"},
    {"question": "Where is it?", "answer": "..."}, {"question": "Where is it?", "answer": 3},
    {"question": "Where is it?", "answer": "x" * 301}, {"question": "Where?", "answer": "a", "alternatives": "b"}, {}])
def test_malformed_proposals_are_refused(reply: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must|empty|no words"):
        read_pair(reply)


@given(st.dictionaries(st.sampled_from(["clarity", "answerability", "uniqueness", "nontriviality", "feedback"]),
                       st.one_of(st.floats(), st.booleans(), st.text(max_size=3), st.none())))
def test_verdicts_hold_four_fractions_or_are_refused(reply: dict[str, object]) -> None:
    try:
        verdict = read_verdict(reply)
    except ValueError:
        return
    assert len(verdict.scores) == 4 and all(0 <= score <= 1 for score in verdict.scores.values())


def test_what_was_driven_is_told_in_turns_and_metres() -> None:
    poses = (Pose2(0, 0, 0), Pose2(0, 0, 0.5), Pose2(0, 0, 0), Pose2(1, 0, 0), Pose2(2, 0, 0),
             Pose2(2, 0, -math.pi / 2))
    left, right, move = Action.TURN_LEFT, Action.TURN_RIGHT, Action.MOVE_FORWARD
    path = ScenePath(0, SCENE, (left, right, move, move, right), poses, 2.0, 0.0, (), (), ())
    assert moves(path) == "forward 2.00 m, right 90 degrees"


def test_the_generator_is_shown_examples_and_which(tmp_path: Path) -> None:
    model = Model(answer=here)
    made(tmp_path / "own", model, count=1)
    kind = small("express")
    told = [text for role, text in model.texts if role == "propose"]
    assert all(json.dumps(e.question)[1:-1] in text for text in told for e in kind.examples) and len(kind.examples) == 7
    file = tmp_path / "examples.json"
    file.write_text(json.dumps([{"question": "Is the attic tidy?", "answer": "No."}]))
    own = replace(kind, examples=read_examples(file))
    other = Model(answer=here)
    generate(own, job(count=1), cast(own, other), tmp_path / "file")
    told = [text for role, text in other.texts if role == "propose"]
    assert told and all("Is the attic tidy?" in text and kind.examples[0].question not in text for text in told)
    explora = Model()
    made(tmp_path / "explora", explora, "exploraqa", count=1)
    assert not any("<examples>" in text for role, text in explora.texts)


@pytest.mark.parametrize("content", ["{}", "[]", "[1]", '[{"question": "Why?"}]', '[{"question": "", "answer": "x"}]'])
def test_examples_that_are_none_are_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text(content)
    with pytest.raises(ConfigError, match=r"e\.json"):
        read_examples(tmp_path / "e.json")


def test_the_blind_filter_can_be_left_out(tmp_path: Path) -> None:
    model = Model(answer=here, blind={"answer": "a red kettle", "confidence": 0.9})
    kept = made(tmp_path, model, count=1, filters=FilterConfig(blind=False)).records[0]
    assert kept.status == ACCEPTED and not any(role == "blind" for role, _ in model.texts)
    assert "not guessed" not in [check.name for check in kept.checks]
