"""Who gets which question, and what happens when workers die: the pool of processes is played by a script."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from eqa_nodes.bench.running import workers
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.runner import AskSettings, QuestionTask
from eqa_nodes.bench.running.workers import TRIES, Lost, ProcessEngine, WorkerRefused
from eqa_nodes.core.errors import ConfigError, EqaError, ErrorCode, NodeLost
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import Sample

Reply = Callable[[int, str], "Prediction | Lost | WorkerRefused"]  # worker, question -> what comes through the pipe


class PlayedPool:
    """Replies in the order in which questions are given. Shared by the tests through `calls`."""

    calls: ClassVar[list[str]] = []
    reply: Reply

    def __init__(self, opening: object, asking: object) -> None:
        self._given: deque[tuple[int, QuestionTask]] = deque()

    def start(self, number: int) -> None:
        self.calls.append(f"start {number}")

    def give(self, number: int, task: QuestionTask) -> None:
        self._given.append((number, task))

    def next(self) -> tuple[int, Prediction | Lost | WorkerRefused]:
        number, task = self._given.popleft()
        self.calls.append(f"{number} {task.sample.id}")
        return number, type(self).reply(number, task.sample.id)

    def close(self) -> None:
        self.calls.append("close")


def asked(monkeypatch: pytest.MonkeyPatch, count: int, reply: Reply, number: int = 1, scenes: str = "xxxxxxxxx"
          ) -> list[Prediction]:
    """Return the predictions for `count` questions by `number` workers. scenes: a letter for each question."""
    monkeypatch.setattr(PlayedPool, "calls", [])
    monkeypatch.setattr(PlayedPool, "reply", staticmethod(reply), raising=False)
    monkeypatch.setattr(workers, "WorkerPool", PlayedPool)
    tasks = [QuestionTask(place, Sample(f"q{place}", "What?", "x", scene=scenes[place])) for place in range(count)]
    return list(ProcessEngine(lambda number: None, number).ask_all(tasks, AskSettings(Path())))  # type: ignore[arg-type,return-value]


def answer(name: str, error: ErrorCode = ErrorCode.NONE) -> Prediction:
    return Prediction(name, Answer("a cup", error=error))


def test_a_worker_is_started_for_each_question_at_most_and_gets_the_next_one_when_it_has_answered(
        monkeypatch: pytest.MonkeyPatch) -> None:
    assert [p.id for p in asked(monkeypatch, 3, lambda number, name: answer(name), 2)] == ["q0", "q1", "q2"]
    assert PlayedPool.calls == ["start 0", "start 1", "0 q0", "1 q1", "0 q2", "close"]
    asked(monkeypatch, 1, lambda number, name: answer(name), 4)
    assert PlayedPool.calls == ["start 0", "0 q0", "close"]
    with pytest.raises(ConfigError, match="at least one worker, got 0"):
        ProcessEngine(lambda number: None, 0)  # type: ignore[arg-type,return-value]


def test_a_worker_keeps_to_its_scene_and_then_takes_one_that_no_other_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, 8, lambda number, name: answer(name), 2, "aaabbbbc")
    assert PlayedPool.calls == ["start 0", "start 1", "0 q0", "1 q3", "0 q1", "1 q4", "0 q2", "1 q5", "0 q7", "1 q6",
                                "close"]
    assert sorted(p.id for p in found) == [f"q{k}" for k in range(8)]
    asked(monkeypatch, 4, lambda number, name: answer(name), 2, "aabb")
    assert PlayedPool.calls[2:] == ["0 q0", "1 q2", "0 q1", "1 q3", "close"]
    asked(monkeypatch, 4, lambda number, name: Lost("code -9") if name == "q2" else answer(name), 2, "aaab")
    assert PlayedPool.calls[2:] == ["0 q0", "1 q3", "0 q1", "1 q2", "start 1", "1 q2", "close"]


def test_a_question_is_asked_twice_and_then_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, 2, lambda number, name: Lost("code -9") if name == "q0" else answer(name))
    assert TRIES == 2 and PlayedPool.calls == ["start 0", "0 q0", "start 0", "0 q0", "start 0", "0 q1", "close"]
    assert [(p.id, p.answer.error) for p in found] == [("q0", ErrorCode.NODE_LOST), ("q1", ErrorCode.NONE)]
    assert found[0].answer.message.endswith("2 workers ended while they asked this question: code -9")


@pytest.mark.parametrize(("number", "deaths"), [(1, 3), (2, 5)])
def test_more_deaths_in_a_row_than_two_a_worker_end_the_run(monkeypatch: pytest.MonkeyPatch, number: int,
                                                            deaths: int) -> None:
    with pytest.raises(NodeLost, match=f"{deaths} workers in a row ended without an answer; the last one: code 7"):
        asked(monkeypatch, 9, lambda number, name: Lost("code 7"), number)
    assert PlayedPool.calls[-1] == "close" and sum(call.startswith("start") for call in PlayedPool.calls) == (
        number + deaths - 1)
    died = Counter[str]()

    def every_other(number: int, name: str) -> Prediction | Lost:
        died[name] += 1
        return Lost("code 7") if died[name] == 1 else answer(name)

    assert len(asked(monkeypatch, 9, every_other, number)) == 9  # an answer in between starts the count again


def test_a_worker_that_cannot_start_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EqaError, match="worker 2 cannot begin: ConfigError: no model is named"):
        asked(monkeypatch, 3, lambda number, name: WorkerRefused("ConfigError: no model is named") if number else
              answer(name), 2)


def test_a_worker_with_a_spent_budget_gets_no_more_and_its_question_goes_to_another(
        monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, 4, lambda number, name: answer(name) if number else answer(name, ErrorCode.BUDGET), 2)
    assert PlayedPool.calls[2:-1] == ["0 q0", "1 q1", "1 q0", "1 q2", "1 q3"]
    assert [(p.id, p.answer.error) for p in found] == [(name, ErrorCode.NONE) for name in ("q1", "q0", "q2", "q3")]
    found = asked(monkeypatch, 3, lambda number, name: answer(name, ErrorCode.BUDGET))
    assert [p.answer.error for p in found] == [ErrorCode.BUDGET]  # the last prediction says that the budget is spent
