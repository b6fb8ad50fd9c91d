"""What goes wrong ends in an answer or a named error, and what was acknowledged is still there."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bags.trace import trace_of
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.errors import EqaError, ErrorCode, NodeLost
from eqa_nodes.core.geometry import Pose2
from eqa_nodes.core.types import Limits, Question
from eqa_nodes.in_graph import GraphRunner
from tests.system.test_lockstep import SAMPLES, course, parameters
from tests.vlm_server import Reply, VlmServer, completion

PLANT = Sample("plant", "Where is the plant?", "", scene="toy:flat", seed=3)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("graph")
    with closing(GraphRunner(folder, parameters(folder), Limits(steps=40))) as shared:
        yield shared


@pytest.mark.parametrize(("text", "complaint"), [("", "empty"), (" \n?!", "empty"), ("why " * 2500, "10000 characters")])
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
    phases: list[str] = []
    cancel = threading.Event()

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
    assert answer.abstained and 2.0 <= answer.receipt.metres < 8.0  # checked before every leg


@pytest.mark.parametrize("victim", ["mapper", "memory", "explorer", "navigator", "answerer", "recorder"])
def test_a_node_that_is_killed_is_started_again(tmp_path: Path, victim: str) -> None:
    """The question under way ends with an answer or a named error; the next one is answered."""
    extra = {"agent": {"node.call_deadline_s": 20.0}}
    with closing(GraphRunner(tmp_path, parameters(tmp_path, extra), Limits(steps=60), isolate=True)) as runner:
        child = next(c for c in runner.graph.children if c.nodes == [victim])

        def kill(feedback: Any) -> None:
            if feedback.phase == "driving" and not child.restarts:
                os.kill(child.process.pid, signal.SIGKILL)

        runner.client.reset(PLANT.scene, PLANT.id, None, PLANT.seed)
        try:
            answer = runner.client.ask(PLANT.as_question(Limits(steps=60)), kill)
            assert answer.text or answer.abstained or answer.error
            assert not answer.error or answer.message
        except EqaError as error:
            assert str(error)
        assert runner.graph.restarts() == {victim: 1}
        stored = sqlite3.connect(tmp_path / "memory" / "plant.sqlite").execute("SELECT count(*) FROM keyframes").fetchone()[0]
        assert stored > 0
        _until_up(runner, victim)
        assert course(runner.run(SAMPLES[0])).poses
        recorded = [trace_of(bag) for bag in sorted((tmp_path / "bags").glob("plant*"))]
        assert sum(len(trace.poses) for trace in recorded) > 12


def _until_up(runner: GraphRunner, victim: str) -> None:
    child = next(c for c in runner.graph.children if c.nodes == [victim])
    assert child.ready.wait(60.0)


def test_an_agent_that_is_killed_is_a_lost_node(tmp_path: Path) -> None:
    with closing(GraphRunner(tmp_path, parameters(tmp_path), Limits(steps=60), isolate=True)) as runner:
        child = next(c for c in runner.graph.children if c.nodes == ["agent"])
        runner.client.reset(PLANT.scene, PLANT.id, None, PLANT.seed)
        threading.Timer(3.0, lambda: os.kill(child.process.pid, signal.SIGKILL)).start()
        before = time.monotonic()
        with pytest.raises(NodeLost, match="agent"):
            runner.client.ask(Question("Where is the unicorn?"))
        assert time.monotonic() - before < 60.0
        _until_up(runner, "agent")
        assert course(runner.run(SAMPLES[0])).poses


def test_memory_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file where the folder should be")
    with closing(GraphRunner(tmp_path, parameters(tmp_path), Limits(steps=20))) as runner:
        with pytest.raises(EqaError) as error:
            runner.run(PLANT)
    assert error.value.code == ErrorCode.STORAGE and str(tmp_path) in str(error.value)


def _ask_vlm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> Any:
    for name, value in {"BASE_URL": url, "MODEL": "scripted", "API_KEY": "none"}.items():
        monkeypatch.setenv(f"EQA_VLM_{name}", value)
    extra = {"answerer": {"answerer": "vlm"}, "memory": {"labels": False}}
    with closing(GraphRunner(tmp_path, parameters(tmp_path, extra), Limits(steps=20))) as runner:
        return runner.run(PLANT).answer


def test_a_model_that_is_cut_off_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = _ask_vlm(tmp_path, monkeypatch, "http://127.0.0.1:9/v1")
    assert answer.error == ErrorCode.MODEL and "127.0.0.1:9" in answer.message and answer.receipt.privileged == ()
    assert answer.receipt.calls > 0


def test_a_model_that_talks_rubbish_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with VlmServer([Reply(b"<html>busy</html>", content_type="text/html")]) as server:
        answer = _ask_vlm(tmp_path, monkeypatch, server.url)
    assert answer.error == ErrorCode.MODEL and answer.receipt.calls > 0


def test_a_model_answers_through_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model sees pictures and no labels; its answer comes back with evidence and what it cost."""
    with VlmServer([completion('{"answer": "in the corner", "confidence": 0.9, "images": [1], "abstain": false}')]) as server:
        answer = _answer_only(tmp_path, monkeypatch, server)
    assert answer.text == "in the corner" and answer.evidence and answer.receipt.tokens_in == 100
    parts = server.requests[0]["messages"][1]["content"]
    assert any(part["type"] == "image_url" for part in parts) and "sofa" not in str([p.get("text") for p in parts])


def _answer_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: VlmServer) -> Any:
    """Ask a robot that has one remembered view and may not move: one call."""
    for name, value in {"BASE_URL": server.url, "MODEL": "scripted", "API_KEY": "none"}.items():
        monkeypatch.setenv(f"EQA_VLM_{name}", value)
    extra = {"answerer": {"answerer": "vlm"}, "memory": {"labels": False}}
    with closing(GraphRunner(tmp_path, parameters(tmp_path, extra))) as runner:
        runner.client.reset(PLANT.scene, PLANT.id, None, 0)
        return runner.client.ask(Question("Where is the plant?", may_explore=False))


def test_graphs_side_by_side_do_not_hear_each_other(tmp_path: Path, runner: GraphRunner) -> None:
    """Two graphs run the same episode at the same time and both drive what one alone drives."""
    alone = course(runner.run(SAMPLES[0]))
    with closing(GraphRunner(tmp_path, parameters(tmp_path), Limits(steps=40))) as other:
        assert other.graph.domain != runner.graph.domain
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(course(other.run(SAMPLES[0]))))
        thread.start()
        again = course(runner.run(SAMPLES[0]))
        thread.join(120.0)
    assert found == [alone] and again == alone
