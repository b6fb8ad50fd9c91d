"""Marks of a model are kept: asked for once, by many threads, and again only where that is wanted."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes import cli
from eqa_nodes.bench.judges.base import Judge, JudgeOptions
from eqa_nodes.bench.judges.cached import MARKS, CachedJudge, read_marks
from eqa_nodes.bench.judges.marking import mark_run
from eqa_nodes.bench.judges.model_judges import EacJudge, LlmMatch
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import read_scores, score_run
from eqa_nodes.core.errors import BudgetSpent, ModelError, StorageError
from eqa_nodes.core.model import Message
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion
from tests.fixtures.synthetic_run import make_run

CUP = Sample("q", "Where is the cup?", "on the desk", ("in the study", "left of the lamp"))


class Marker:
    """A model that marks by what it is shown, as often as wanted; counts under threads."""

    model = "marker"

    def __init__(self, fails: str = "") -> None:
        self.inner = ScriptedBackend([self.reply] * 1000)
        self.fails, self.together, self.most = fails, 0, 0
        self.lock, self.usage = threading.Lock(), self.inner.usage
        self.meet: threading.Barrier | None = None

    def reply(self, messages: Sequence[Message]) -> str:
        text = str(messages[0].parts[0])
        if self.fails and self.fails in text:
            raise ModelError(f"busy: {self.fails}")
        return str(1 + len(text) % 5)

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0) -> object:
        if self.meet is not None:
            self.meet.wait(10)
        with self.lock:
            return self.inner.generate(messages, max_tokens, seed)

    def close(self) -> None:
        """Nothing to release."""

    @property
    def calls(self) -> int:
        return self.inner.usage.calls


def matching(marker: Marker) -> Judge:
    return LlmMatch(marker, JudgeOptions())  # type: ignore[arg-type]


def test_marks_are_kept_and_never_paid_twice(tmp_path: Path) -> None:
    out, marker = make_run(tmp_path), Marker()
    with CachedJudge(matching(marker), out / MARKS) as judge:
        first = mark_run(out, judge, threads=4)
        scores = score_run(out, judge)
    assert [q.sigma for q in scores.questions] == [q.sigma for q in first]
    assert marker.calls == 5  # two answers and three blind ones; no answer, and failures, cost nothing
    lines = (out / MARKS).read_bytes()
    assert sum(1 for _ in lines.splitlines()) == 7  # those of two abstentions too
    with CachedJudge(matching(marker), out / MARKS) as judge:
        assert score_run(out, judge) == scores
        assert judge.asked == 0
    assert marker.calls == 5
    assert (out / MARKS).read_bytes() == lines
    assert read_scores(out).judge.startswith("llm-match (marker")
    with CachedJudge(LlmMatch(marker, JudgeOptions(role="master")), out / MARKS) as judge:  # type: ignore[arg-type]
        mark_run(out, judge)
    assert marker.calls == 10


def test_calls_wait_together(tmp_path: Path) -> None:
    out, marker = make_run(tmp_path), Marker()
    marker.meet = threading.Barrier(2)  # each call waits for another one: alone it would fail
    with CachedJudge(matching(marker), out / MARKS) as judge:
        marked = mark_run(out, judge, threads=2, limit=2)
    assert [q.sigma is not None and q.blind_sigma is not None for q in marked] == [True, True]


def test_marking_goes_on_after_a_kill(tmp_path: Path) -> None:
    out, marker = make_run(tmp_path), Marker()
    with CachedJudge(matching(marker), out / MARKS) as judge:
        mark_run(out, judge, threads=1)
    whole = (out / MARKS).read_bytes()
    (out / MARKS).write_bytes(whole[:-30])
    with CachedJudge(matching(marker), out / MARKS) as judge:
        mark_run(out, judge, threads=1)
        assert judge.asked == 1
    assert (out / MARKS).read_bytes() == whole
    (out / MARKS).write_bytes(whole.replace(b'"sigma"', b'"simga"', 1))
    with pytest.raises(StorageError, match="line 1 is broken"):
        CachedJudge(matching(marker), out / MARKS)


def test_failures_are_asked_again_by_the_next_run_alone(tmp_path: Path) -> None:
    out, marker = make_run(tmp_path), Marker(fails="blue cup")
    with CachedJudge(matching(marker), out / MARKS) as judge:
        mark_run(out, judge)
        calls = marker.calls
        row = score_run(out, judge).rows[0]
    assert row.unscored == 1
    assert marker.calls == calls
    marker.fails = ""
    with CachedJudge(matching(marker), out / MARKS) as judge:
        assert score_run(out, judge).rows[0].unscored == 0
        assert judge.asked == 2  # the answer and the blind one


def test_what_came_out_unscored_is_asked_again_when_wanted(tmp_path: Path) -> None:
    path = tmp_path / MARKS
    backend = ScriptedBackend(["?", "?", "4"])
    for again, sigma in ((False, None), (False, None), (True, 4), (False, 4)):
        with CachedJudge(LlmMatch(backend, JudgeOptions()), path, again) as judge:
            assert judge.judge(CUP, "on a desk").sigma == sigma
    assert backend.usage.calls == 3
    assert [k.sigma for k in read_marks(path)] == [None, 4]


def test_a_spent_budget_ends_the_calls_and_more_budget_goes_on(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    short = ScriptedBackend(["5", "5"], budget_calls=2)
    with CachedJudge(LlmMatch(short, JudgeOptions()), out / MARKS) as judge:
        marked = mark_run(out, judge, threads=1)
    assert any(BudgetSpent.__name__ in q.note for q in marked)
    rest = ScriptedBackend(["4"] * 9)
    with CachedJudge(LlmMatch(rest, JudgeOptions()), out / MARKS) as judge:
        assert all(q.sigma for q in mark_run(out, judge) if q.status != "failed")
    assert rest.usage.calls == 3


def test_only_one_process_writes(tmp_path: Path) -> None:
    path = tmp_path / MARKS
    with CachedJudge(OfflineJudge(), path), pytest.raises(StorageError, match="another process"):
        CachedJudge(OfflineJudge(), path)


def test_score_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai", reason="needs the openai package: pip install 'eqa-nodes[vlm]'")
    out = make_run(tmp_path / "run")
    monkeypatch.setenv("EQA_VLM_API_KEY", "k")

    def reply(request: dict[str, Any]) -> ServerReply:
        return completion("good" if "blue cup" in str(request["messages"]) else "4")

    with VlmServer(reply) as server:
        line = ["bench", "score", str(out), "--judge", "llm-match", "--judge-model", "m",
                "--judge-base-url", server.url]
        for calls in (7, 7):  # the answer and the blind answer about the cup are asked twice; then all is known
            assert cli.main(line) == 0
            assert len(server.requests) == calls
        shown = capsys.readouterr().out
        assert cli.main([*line, "--retry-unscored"]) == 0
        assert len(server.requests) == 11
    assert "unscored: wrong form: m answered twice" in shown
    first, second = re.findall(r"(\d+) answers marked, blind guesses included(?:, (\d+) marked before)?: ", shown)
    assert first[0] != "0" and first[1] == "" and second == ("0", first[0])
    assert shown.count("--retry-unscored also asks again") == 2
    scores = read_scores(out)
    assert (scores.judge[:20], [q.sigma for q in scores.questions[:3]]) == ("llm-match (m, prompt", [None, 4, 1])


def test_a_judge_that_looks_gets_the_last_view_and_grounds_alone(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    backend = ScriptedBackend([lambda messages: '{"mark": 4, "grounding": 0.5}' if len(messages[0].parts) == 2 else "2"]
                              * 5)
    with CachedJudge(EacJudge(backend, JudgeOptions()), out / MARKS) as judge:
        marked = {q.id: q for q in mark_run(out, judge, threads=1)}
        row = score_run(out, judge).rows[0]
    assert (marked["q-1"].sigma, marked["q-1"].delta, marked["q-1"].blind_sigma) == (4, 0.5, 2)
    assert (marked["q-2"].sigma, marked["q-2"].delta) == (2, None)  # its trace has no view
    assert (marked["q-3"].sigma, marked["q-3"].delta) == (1, 0.0)  # an abstention
    assert row.metrics["express_c"].n == 2
    assert [bool(json.loads(line)["view"]) for line in (out / MARKS).read_text().splitlines()].count(True) == 1
