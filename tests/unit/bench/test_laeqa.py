"""LA-EQA: its questions, and what the answerer gets of the visits to a scene; the present is seen by driving."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.metrics.scores import read_scores
from eqa_nodes.bench.metrics.values import METRICS
from eqa_nodes.cli import main
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.samples import EM, Sample
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.recordings.history_views import ViewSelection
from eqa_nodes.runners import answerers
from eqa_nodes.runners.history import HistoryRunner
from eqa_nodes.runners.sources import benchmark_sources
from tests.fixtures.laeqa import EPISODES, HOME, WAREHOUSE, question, write_data, write_questions

REPLY = json.dumps({"answer": "on the sofa", "confidence": 0.9, "images": [1], "why": "", "abstain": False})


def read(root: Path, *records: dict[str, Any], names: object = EPISODES) -> list[Sample]:
    write_questions(root, *records, names=names)
    return open_dataset("laeqa", folder=root, task=EM)


def test_a_question_is_about_the_visits_of_its_scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(tmp_path, monkeypatch)
    past, present, near, warehouse = read(tmp_path, question(1), question(2, best_path=[3, 7]), question(
        3, best_path=[100]), question(4, WAREHOUSE))
    assert (past.answer, past.alternatives, past.category) == ("On the sofa", ("in the living room",), "past")
    assert past.metadata["visits"] == [[f"{HOME}_2", "2025-09-26T09:00:00"], [f"{HOME}_1", "2025-09-26T15:00:00"],
                                         [f"{HOME}_0", "2025-09-27T09:00:00"]]
    assert (past.reference_metres, present.reference_metres, near.reference_metres) == (0.0, 7.0, 5.0)
    assert past.metadata["present"] == pytest.approx([0.0, 0.0, 0.5])
    assert warehouse.reference_metres is None and warehouse.metadata["present"] is None


def test_weeks_are_counted_back_from_now(tmp_path: Path) -> None:
    names = {HOME: ["now (monday)", "monday", "tuesday night", "sunday evening"]}
    sample, = read(tmp_path, question(1), names=names)
    assert [begin for _, begin in sample.metadata["visits"]] == [  # type: ignore[attr-defined]
        "2025-09-07T19:00:00", "2025-09-09T22:00:00", "2025-09-15T12:00:00", "2025-09-22T12:00:00"]


@pytest.mark.parametrize(("record", "complaint"), [
    ({"scene_name": "castle"}, "question 'q1' of eqa-questions.json.*'scene_name' is 'castle'.*scene-episode-names"),
    ({"category": "future"}, "'category' must be one of past, present"), ({"answer": " "}, "'answer' must be a text"),
    ({"answer": " OR "}, "'answer' has no text beside OR"),
    ({"best_path": 3}, "'best_path' must be a list of the numbers of places, got 3"),
    ({"best_path": [True]}, "'best_path' must be"), ({"start_place": -1}, "'start_place' must be a whole number >= 0"),
    ({"start_place": None}, "'start_place' is missing"), ({"question": ""}, "'question' must be a text")])
def test_a_broken_question_is_named(record: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=complaint):
        read(tmp_path, question(1, **record))


@pytest.mark.parametrize(("names", "complaint"), [
    ([], "must hold an object with the episodes"), ({HOME: []}, "a list with the names of its episodes"),
    ({HOME: ["saturday"]}, "episode 0 is 'saturday': expected now"), ({HOME: ["now"]}, "episode 0 is 'now'"),
    ({HOME: ["now (friday)", "yesterday"]}, "episode 1 is 'yesterday': expected a weekday, such as monday afternoon"),
    ({HOME: ["now (friday)", "now (monday)"]}, "episode 1 is 'now"), ({HOME: ["now (friday)", 7]}, "episode 1 is 7")])
def test_a_broken_name_of_an_episode_is_named(names: object, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"scene-episode-names.json.*{complaint}"):
        read(tmp_path, question(1), names=names)


def test_a_state_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(tmp_path, monkeypatch)
    (tmp_path / "la_eqa_data" / "state" / "hm3d-v0" / f"{HOME}_0" / "00003.pkl").write_bytes(b"no pickle")
    with pytest.raises(ConfigError, match="the places of the scene '092.*00003.pkl cannot be read"):
        read(tmp_path, question(1))


def test_views_have_their_day_and_those_of_now_cost_a_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(tmp_path, monkeypatch)
    sample, unposed = read(tmp_path, question(1), question(2, WAREHOUSE))
    backend = ScriptedBackend([REPLY, REPLY])
    monkeypatch.setattr(answerers, "open_model", lambda config: backend)
    runner = HistoryRunner(benchmark_sources(RunConfig(answerer="vlm"), tmp_path), AnswererSettings(answerer="vlm"),
                           ViewSelection("uniform", 9), tmp_path / "cache")
    result, plain = runner.run(sample), runner.run(unposed)
    runner.close()
    told = [" ".join(part for message in request for part in message.parts if isinstance(part, str))
            for request in backend.requests]
    assert [told[0].count(f"{day} at {hour}") for day, hour in (
        ("yesterday", "09:00"), ("yesterday", "15:00"), ("today", "09:00"))] == [3, 3, 3]
    assert "yesterday at 12:00" in told[1] and "today at 12:00" in told[1]
    assert (result.recalled, result.answer.receipt.metres) == (6, pytest.approx(7.0))  # 0 to 3 to 7
    assert (plain.recalled, plain.answer.receipt.metres) == (1, 0.0)


def test_memory_recalls_the_views_of_the_time_that_is_asked_about(tmp_path: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(tmp_path, monkeypatch)
    sample, = read(tmp_path, question(1, question="What was on the sofa yesterday afternoon?"))
    monkeypatch.setattr(answerers, "open_model", lambda config: ScriptedBackend([REPLY]))
    runner = HistoryRunner(benchmark_sources(RunConfig(answerer="vlm"), tmp_path), AnswererSettings(answerer="vlm"),
                           ViewSelection("recalled", 9), tmp_path / "cache")
    result = runner.run(sample)
    runner.close()
    assert result.trace is not None and result.trace.keyframes and result.answer.receipt.metres == 0.0
    assert {"friday afternoon"} == {_name(k.stamp_ns) for k in result.trace.keyframes}
    assert result.recalled == len(result.trace.keyframes)


def _name(stamp_ns: int) -> str:
    from datetime import datetime

    then = datetime.fromtimestamp(stamp_ns // 10**9)
    return f"{then:%A} {'morning' if then.hour < 12 else 'afternoon'}".lower()


def test_a_run_reports_recalled_images_and_the_path_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    write_data(tmp_path, monkeypatch)
    write_questions(tmp_path, question(1), question(2, category="present", best_path=[3]), question(3, WAREHOUSE))
    (tmp_path / "replies.json").write_text(json.dumps([REPLY] * 9))
    words = ["--answerer", "vlm", "--backend", "scripted", "--model", "replies.json", "--cache", "cache", "-k", "9"]
    assert main(["bench", "run", "--dataset", "laeqa", "--data", ".", "--out", "run", *words]) == 0
    assert main(["bench", "score", "run"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "recalled images, all: 4.3; path ratio 21.4 %, n 2" in printed
    scores = read_scores(tmp_path / "run").questions
    assert [METRICS["npl"](q) for q in scores] == [0.0, pytest.approx(3 / 7), None]
    assert [METRICS["recalled"](q) for q in scores] == [6.0, 6.0, 1.0]
    assert main(["bench", "run", "--dataset", "laeqa", "--data", ".", "--task", "active", "--out", "other"]) == 2
    assert "is for the task 'em', not 'active': give --task em" in capsys.readouterr().err
