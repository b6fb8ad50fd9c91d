"""What goes wrong ends in an answer or a named error, and what was acknowledged is still there."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from typing import Any

import pytest

from eqa_nodes.core.errors import EqaError, ErrorCode, NodeLost
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, Limits, Question
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.ros.runner import Child
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from eqa_nodes.testing.waiting import holds
from tests.fixtures.courses import SAMPLES, course, parameters

Requests = list[dict[str, Any]]  # the JSON bodies that came to a model
Ask = Callable[[ServerReply | None, bool], tuple[Answer, Requests]]
PLANT, STEPS, WAIT_S = SAMPLES[0], Limits(steps=40), 300.0


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("graph")
    with closing(GraphRunner(folder, parameters(folder), STEPS)) as shared:
        yield shared


@pytest.mark.parametrize(("text", "complaint"), [
    (" \n?!", "I see no words"), ("why " * 2500, "at most 1000")])
def test_questions_that_cannot_be_asked(runner: GraphRunner, text: str, complaint: str) -> None:
    runner.client.reset("toy:flat", "bad-question", None, 0)
    answer = runner.client.ask(Question(text))
    assert answer.error == ErrorCode.BAD_QUESTION and complaint in answer.message and answer.receipt.steps == 0


@pytest.mark.parametrize(("scene", "start", "code"), [
    ("house:99999", None, ErrorCode.UNKNOWN_SCENE), ("castle", None, ErrorCode.UNKNOWN_SCENE),
    ("toy:flat", Pose2(0.0, 0.0, 0.0), ErrorCode.BAD_POSE), ("house:1001", Pose2(-50.0, 0.0, 0.0), ErrorCode.BAD_POSE)])
def test_episodes_that_cannot_begin(runner: GraphRunner, scene: str, start: Pose2 | None, code: ErrorCode) -> None:
    with pytest.raises(EqaError) as error:
        runner.client.reset(scene, "bad-episode", start, 0)
    assert error.value.code == code and str(error.value)


def test_a_canceled_question_says_so_and_the_next_one_is_answered(runner: GraphRunner) -> None:
    runner.client.reset("toy:flat", "cancel", None, 0)
    phases, cancel = list[str](), threading.Event()

    def listen(feedback: Any) -> None:
        phases.append(feedback.phase)
        if feedback.phase == "driving":
            cancel.set()

    answer = runner.client.ask(Question("Where is the unicorn?"), listen, cancel=cancel)
    assert answer.error == ErrorCode.CANCELED and "driving" in phases
    assert runner.run(PLANT).answer.error == ErrorCode.NONE


def test_asked_not_to_explore_it_does_not_move(runner: GraphRunner) -> None:
    runner.client.reset("toy:flat", "still", None, 0)
    answer = runner.client.ask(Question("Where is the plant?", may_explore=False))
    assert answer.error == ErrorCode.NONE and answer.receipt.steps == 0 and answer.receipt.metres == 0.0


def test_limits_hold(runner: GraphRunner) -> None:
    runner.client.reset("toy:flat", "limits", None, 0)
    answer = runner.client.ask(Question("Where is the unicorn?", limits=Limits(metres=2.0)))
    assert answer.abstained and 1.75 < answer.receipt.metres < 2.001 and answer.receipt.limit == "2 metres"


def test_memory_that_cannot_be_written_is_a_storage_error(runner: GraphRunner) -> None:
    (runner.folder / "memory" / "blocked.sqlite").mkdir(parents=True)  # where the file should be
    with pytest.raises(EqaError) as error:
        runner.client.reset(PLANT.scene, "blocked", None, PLANT.seed)
    assert error.value.code == ErrorCode.STORAGE and "blocked.sqlite" in str(error.value)


@pytest.fixture(scope="module")
def isolated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("isolated")
    with closing(GraphRunner(folder, parameters(folder), STEPS, isolate=True)) as shared:
        yield shared


def test_graphs_side_by_side_do_not_hear_each_other(isolated: GraphRunner, runner: GraphRunner) -> None:
    """Two graphs run the same episode at the same time and both drive what one alone drives."""
    assert isolated.graph.domain != runner.graph.domain
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(lambda: course(isolated.run(SAMPLES[0])))
        beside = course(runner.run(SAMPLES[0]))
        assert other.result(WAIT_S) == beside == course(runner.run(SAMPLES[0]))


@pytest.mark.parametrize("victims", [
    ("memory", "recorder"), ("bridge",),  # with files or a simulator of their own; the others hold what comes again
    *(pytest.param((name,), marks=pytest.mark.thorough) for name in ("mapper", "explorer", "navigator", "answerer"))],
    ids="+".join)
def test_nodes_that_are_killed_are_started_again(isolated: GraphRunner, victims: tuple[str, ...]) -> None:
    """The question ends with an answer or a named error, what was stored is there, the next one is answered."""
    children, episode = [_child(isolated, name) for name in victims], f"killed-{victims[0]}"
    isolated.client.reset(PLANT.scene, episode, None, PLANT.seed)
    answer = isolated.client.ask(PLANT.as_question(STEPS), kill := Killing(children))
    assert kill.done and (answer.text or answer.abstained)
    assert not answer.error or answer.message
    with closing(sqlite3.connect(isolated.folder / "memory" / f"{episode}.sqlite")) as stored:
        assert stored.execute("SELECT count(*) FROM keyframes").fetchone()[0] > 0
    assert all(map(_started_again, children))
    assert course(isolated.run(PLANT)).poses
    bags = sorted((isolated.folder / "bags").glob(f"{episode}*"))
    for bag in bags:
        if not (bag / "metadata.yaml").exists():  # its recorder was killed
            recover(bag)
    recorded = [trace_of(bag) for bag in bags]
    assert sum(len(trace.poses) for trace in recorded) > 12


def test_an_agent_that_is_killed_is_a_lost_node(isolated: GraphRunner) -> None:
    child = _child(isolated, "agent")
    isolated.client.reset(PLANT.scene, "killed-agent", None, PLANT.seed)
    with pytest.raises(NodeLost, match="agent died while it worked on ask|agent lost the question"):
        isolated.client.ask(Question("Where is the unicorn?"), kill := Killing([child]))
    assert kill.done and _started_again(child)
    assert course(isolated.run(PLANT)).poses


class Killing:
    """A listener that kills processes once, when the robot drives."""

    def __init__(self, children: list[Child]) -> None:
        self._children, self.done = children, False

    def __call__(self, feedback: Any) -> None:
        if feedback.phase == "driving" and not self.done:
            self.done = True
            for child in self._children:
                os.kill(child.process.pid, signal.SIGKILL)


def _child(runner: GraphRunner, name: str) -> Child:
    return next(child for child in runner.graph.children if child.nodes == [name])


def _started_again(child: Child) -> bool:
    return holds(lambda: child.restarts == 1 and child.ready.is_set())


RUBBISH = ServerReply(b"<html>busy</html>", content_type="text/html")
GOOD = completion('{"answer": "in the corner", "confidence": 0.9, "images": [1], "abstain": false}')


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask one graph about the plant, each time of a model that says something else, or (None) has gone away."""
    folder = tmp_path_factory.mktemp("model")
    with VlmServer([GOOD]) as free:
        port = int(free.url.rsplit(":", 1)[1].partition("/")[0])
    extra = {"answerer": {"answerer": "vlm"}, "memory": {"labels": False}}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"BASE_URL": free.url, "MODEL": "scripted", "API_KEY": "none"}.items():
            patch.setenv(f"EQA_VLM_{name}", value)
        with closing(GraphRunner(folder, parameters(folder, extra), Limits(steps=20))) as graph:
            def ask(reply: ServerReply | None, explore: bool) -> tuple[Answer, Requests]:
                with VlmServer([reply], port) if reply else nullcontext() as server:
                    graph.client.reset(PLANT.scene, f"plant-{reply is None}-{explore}", None, 0)
                    answer = graph.client.ask(Question(PLANT.question, may_explore=explore, limits=Limits(steps=20)))
                    return answer, server.requests if server else []

            yield ask


@pytest.mark.parametrize("reply", [None, RUBBISH])
def test_a_model_that_is_cut_off_or_talks_rubbish_is_a_model_error(model: Ask, reply: ServerReply | None) -> None:
    answer, _ = model(reply, True)
    assert answer.error == ErrorCode.MODEL and answer.receipt.calls > 0 and answer.receipt.privileged == ()
    assert reply or "127.0.0.1:" in answer.message


def test_a_model_answers_through_the_graph(model: Ask) -> None:
    """It sees the one remembered view of a robot that may not move, and no labels; the answer says what it cost."""
    answer, requests = model(GOOD, False)
    assert answer.text == "in the corner" and answer.evidence and answer.receipt.tokens_in == 100
    parts = requests[0]["messages"][1]["content"]
    assert any(part["type"] == "image_url" for part in parts) and "sofa" not in str([p.get("text") for p in parts])
