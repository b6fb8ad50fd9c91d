"""The line of questions: in order, one by one, bounded; every end is told, whatever happens."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import math
from pathlib import Path

import pytest

from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.predictions import read_predictions
from eqa_nodes.bench.running.runner import SAMPLES, KeptRun
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.console.live import DECISIONS, POSES, Live, Rendered, thinned
from eqa_nodes.console.past import _moments
from eqa_nodes.console.questions import KEPT, MAX_WAITING
from eqa_nodes.console.values import RequestRefused, shown_decisions, shown_entry
from eqa_nodes.core.errors import ErrorCode, NodeLost, StorageError
from eqa_nodes.core.language.bad_input import unreadable
from eqa_nodes.core.language.query import Exchange
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.bad_questions import UNREADABLE
from tests.fixtures.console_server import ANSWER, STORY, ended, serving
from tests.fixtures.follow_up import FIRST, FOLLOW_UP, IN_FULL, parse_follow_ups


def test_questions_are_asked_in_order_and_their_proof_is_kept(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, console, robot):
        for text in ("Where is the desk?", "Is it green?"):
            console.questions.put(text)
        robot.go.set()
        ended(console, 2)
        entry = console.questions.entry(1)
    assert robot.asked == ["Where is the desk?", "Is it green?"]
    assert entry.answer == ANSWER and entry.proofs[0].where == "study" and entry.proofs[0].jpeg[:2] == b"\xff\xd8"
    assert [o.name for o in entry.proofs[0].outlines] == ["desk"] and entry.replay in ("own/0", "own/1")
    first, second = read_predictions(tmp_path / "own").predictions.values()
    kept = load_trace(tmp_path / "own" / first.trace)
    assert first.answer == ANSWER and second.final_pose == STORY.poses[11][1]
    assert read_samples(tmp_path / "own" / SAMPLES)[0].scene == "toy:fake"
    assert len(kept.decisions) == 1 and kept.grid is not None and [v.region for v in kept.keyframes] == ["study"]


def test_a_question_may_refer_to_the_last_one_of_the_same_page(tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    referred = parse_follow_ups(monkeypatch)
    with serving(tmp_path) as (_, console, robot):
        robot.go.set()
        console.questions.put(FIRST, chat="page 1")
        ended(console, 1)
        console.questions.put(FOLLOW_UP, chat="page 1")
        console.questions.put(FOLLOW_UP, chat="page 2")
        ended(console, 3)
        shown = [shown_entry(console.questions.entry(number)) for number in (1, 2, 3)]
    assert referred == [Exchange(FIRST, "in the study")] and robot.asked == [FIRST, IN_FULL, FOLLOW_UP]
    assert [(entry["question"], entry["words"]) for entry in shown] == [
        (FIRST, ""), (IN_FULL, FOLLOW_UP), (FOLLOW_UP, "")]
    assert shown[0]["understood"] == "where the desk is" and shown[0]["spoken"] == "in the study"


def test_one_that_waits_is_taken_back_and_one_that_runs_is_called_off(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, console, robot):
        for text in ("Where is the unicorn?", "Who has it?", "Where is the desk?"):
            console.questions.put(text)
        assert robot.driving.wait(WAIT_S)
        console.questions.cancel(2)
        console.questions.cancel(1)
        ended(console, 1)
        ended(console, 2)
        robot.go.set()
        ended(console, 3)
        first, second, third = (console.questions.entry(n).answer for n in (1, 2, 3))
        console.questions.cancel(3)  # too late: it stays as it is
        assert console.questions.entry(3).answer == third == ANSWER
    assert first is not None and first.error is ErrorCode.CANCELED
    assert second is not None and second.error is ErrorCode.CANCELED  # whether the robot had it already or not
    assert robot.asked == ["Where is the unicorn?", "Where is the desk?"]


def test_all_that_wait_are_with_the_robot_at_their_places_and_stop_ends_them(tmp_path: Path) -> None:
    """What others ask, which the page cannot cancel, is stopped too."""
    with serving(tmp_path) as (_, console, robot):
        for text in ("Where is the unicorn?", "Who has it?", "Where is the desk?"):
            console.questions.put(text)
        third = console.questions.entry(3)
        until(lambda: third.progress is not None)
        assert [shown_entry(e)["state"] for e in console.questions.entries()] == ["waiting", "waiting", "asking"]
        assert shown_entry(third)["progress"]["place"] == 3
        console.questions.stop(robot)
        for number in (1, 2, 3):
            ended(console, number)
            answer = console.questions.entry(number).answer
            assert answer is not None and answer.error is ErrorCode.CANCELED
    assert robot.stopped.is_set()


def test_a_wish_to_be_shown_goes_with_the_question(tmp_path: Path) -> None:
    with serving(tmp_path, begin=False) as (_, console, _robot):
        assert console.questions.put("Where?", show=True).question.show
        console.questions.cancel(1)  # the robot has not heard of it
        taken = console.questions.entry(1).answer
        assert taken is not None and "before it began" in taken.message


def test_errors_end_a_question_by_name_and_the_next_one_is_asked(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, console, robot):
        robot.go.set()
        for error, code in ((NodeLost("agent did not answer: does it run?"), "NODE_LOST"),
                            (ZeroDivisionError("oops"), "INTERNAL")):
            robot.answer = error
            number = console.questions.put("Where?").id
            ended(console, number)
            assert not robot.live.running
            shown = shown_entry(console.questions.entry(number))
            assert shown["error"] == code and str(error) in shown["message"]
        robot.answer, robot.lost_views = ANSWER, True
        ended(console, console.questions.put("Where?").id)
        (proof,) = shown_entry(console.questions.entry(3))["proofs"]
        assert not proof["picture"] and "no view" in proof["trouble"]


def test_line_and_history_are_bounded(tmp_path: Path) -> None:
    with serving(tmp_path, begin=False) as (_, console, _robot):
        for _ in range(MAX_WAITING):
            console.questions.put("Where?")
        with pytest.raises(RequestRefused, match="wait already"):
            console.questions.put("Where?")
        for number in range(1, KEPT + 30):
            console.questions.cancel(number)
            console.questions.put("Where?")
        assert len(console.questions.entries()) <= KEPT + MAX_WAITING
        with pytest.raises(RequestRefused, match="no question 1 "):
            console.questions.entry(1)
        for text, complaint in ((" \n?", "no words"), ("why " * 600, "2399 characters")):
            with pytest.raises(RequestRefused, match=complaint):
                console.questions.put(text)


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_bad_input_is_refused_in_one_sentence_and_does_not_get_to_the_robot(text: str, tmp_path: Path) -> None:
    with serving(tmp_path) as (_, console, robot), pytest.raises(RequestRefused) as refused:
        console.questions.put(text)
    assert str(refused.value) == unreadable(text.strip()) and refused.value.status == 400 and not robot.asked


def test_a_second_console_does_not_write_into_the_same_run(tmp_path: Path) -> None:
    with serving(tmp_path), pytest.raises(StorageError):
        KeptRun(tmp_path / "own")


def test_what_is_heard_is_bounded_however_long_it_takes() -> None:
    live = Live(lambda: None)
    live.began("Where?")
    for k in range(3 * POSES):
        live.moved(k, Pose2(0.1 * k, 0.0, 0.0))
    for _ in range(3 * DECISIONS):
        live.decided(STORY.decisions[0])
    trace = live.trace()
    assert len(trace.poses) <= POSES and len(trace.decisions) <= DECISIONS
    assert trace.poses[0][0] == 0 and trace.poses[-1][0] == 3 * POSES - 1
    items: list[int] = []
    for k in range(9):
        thinned(items, k, 4)
    assert items[0] == 0 and items[-1] == 8 and items == sorted(set(items))


def test_a_pose_is_kept_from_4_cm_or_8_degrees_on() -> None:
    live = Live(lambda: None)
    turned = math.radians(8)
    poses = [Pose2(0.0, 0.0, 0.0), Pose2(0.039, 0.0, 0.0), Pose2(0.041, 0.0, 0.0), Pose2(0.041, 0.0, 0.99 * turned),
             Pose2(0.041, 0.0, 1.01 * turned), Pose2(0.041, 0.041, 1.01 * turned)]
    for stamp, pose in enumerate(poses):
        live.moved(stamp, pose)
    assert [stamp for stamp, _ in live.trace().poses] == [0, 2, 4, 5]


def test_the_newest_40_goals_keep_their_numbers() -> None:
    shown = shown_decisions([STORY.decisions[0]] * 41)
    assert [goal["n"] for goal in shown] == list(range(2, 42))
    assert [goal["n"] for goal in shown_decisions([STORY.decisions[0]] * 2)] == [1, 2]


@pytest.mark.parametrize(("poses", "moments"), [(240, 240), (241, 240), (479, 240)])
def test_the_slider_of_an_episode_has_up_to_240_moments_with_the_metres_until_then(poses: int, moments: int) -> None:
    way = _moments(EpisodeTrace(poses=[(i, Pose2(0.5 * i, 0.0, 0.0)) for i in range(poses)]))
    assert len(way) == moments and way[0] == (0, 0.0) and way[-1] == (poses - 1, 0.5 * (poses - 1))
    assert all(metres == 0.5 * stamp for stamp, metres in way)


def test_live_begins_anew_with_each_question_where_the_robot_stands() -> None:
    rung: list[int] = []
    live = Live(lambda: rung.append(1))
    live.moved(1, Pose2(1.0, 2.0, 0.0))
    live.moved(2, Pose2(1.0, 2.0, 0.01))  # no move
    assert len(rung) == 1 and live.trace().poses == [(1, Pose2(1.0, 2.0, 0.0))]
    live.decided(STORY.decisions[0])
    live.began("Where?")
    assert live.running and live.trace().decisions == [] and live.trace().poses == [(1, Pose2(1.0, 2.0, 0.0))]
    live.answered(Answer("there"))
    assert not live.running
    live.refused("decision: StorageError")
    live.refused("decision: StorageError")
    assert live.trace().refused == {"decision: StorageError": 2}


def test_a_picture_is_made_once_for_all_and_not_without_news() -> None:
    version, made = [0], []

    def make() -> int:
        made.append(version[0])
        return version[0]

    rendered = Rendered(lambda: version[0], make, 0.0)
    assert [rendered.get(), rendered.get()] == [0, 0] and made == [0]
    version[0] = 1
    assert rendered.get() == 1
    pauses: list[float] = []
    rare = Rendered(lambda: version[0], make, 3600.0, pauses.append)
    assert rare.get() == rare.get() == 1 and not pauses
    version[0] = 2
    assert rare.get() == 2 and 3000 < pauses[0] <= 3600  # too soon: it waited, and then had the newest
