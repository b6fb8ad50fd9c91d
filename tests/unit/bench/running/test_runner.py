"""Pass 1 asks once and loses nothing."""

from __future__ import annotations

import json
import math
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.bench.running import manifest
from eqa_nodes.bench.running.manifest import read_manifest
from eqa_nodes.bench.running.predictions import (
    HOPELESS,
    PREDICTIONS,
    PredictionWriter,
    RunProgress,
    read_predictions,
)
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.core.errors import BadQuestion, ConfigError, ErrorCode, ModelError, StorageError
from eqa_nodes.core.ledger import paying
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.core.types.questions import Answer, Question, Receipt
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from tests.fixtures.scripted_runner import ScriptedRunner
from tests.fixtures.synthetic_run import make_run, overall, plain, samples, scripted


def test_one_line_a_question_and_never_twice(tmp_path: Path) -> None:
    asked, runner = plain(4)
    first = run_benchmark(asked, runner, tmp_path)
    again = run_benchmark(asked, runner, tmp_path)
    assert runner.asked == ["q0", "q1", "q2", "q3"]
    assert (first.asked, first.resumed, again.asked, again.resumed) == (4, 0, 0, 4)
    lines = (tmp_path / PREDICTIONS).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == runner.asked
    assert read_manifest(tmp_path).sessions == 2
    assert read_manifest(tmp_path).finished


def test_half_written_last_line_is_dropped_said_and_asked_again(tmp_path: Path) -> None:
    asked, runner = plain(3)
    run_benchmark(asked, runner, tmp_path)
    whole = (tmp_path / PREDICTIONS).read_bytes()
    cut = whole[:-20]
    (tmp_path / PREDICTIONS).write_bytes(cut)
    notes: list[RunProgress] = []
    summary = run_benchmark(asked, runner, tmp_path, notes.append)
    assert runner.asked == ["q0", "q1", "q2", "q2"]
    assert summary.dropped
    assert summary.resumed == 2
    assert "half-written" in notes[0].note
    assert (tmp_path / PREDICTIONS).read_bytes() == whole


def test_errors_fail_their_question_and_the_run_goes_on(tmp_path: Path) -> None:
    out = make_run(tmp_path)
    predictions = read_predictions(out).predictions
    assert list(predictions) == ["q-1", "q-2", "q-3", "q-4", "q-5"]
    named, fault = predictions["q-4"], predictions["q-5"]
    assert named.answer.error is ErrorCode.NAVIGATION
    assert not named.traceback
    assert "5 drives in a row" in named.answer.message
    assert fault.answer.error is ErrorCode.INTERNAL
    assert "ZeroDivisionError" in fault.traceback
    summary = run_benchmark(samples(), scripted(), out, dataset="house", config={"policy": "frontier"})
    assert (summary.failed, summary.unexpected, summary.exit_code) == (2, 1, 1)


def cups(n: int) -> dict[str, EpisodeResult | Exception]:
    """Return an answer to each of the questions of `plain`."""
    return {f"q{i}": EpisodeResult(f"q{i}", Answer("a cup", 0.9)) for i in range(n)}


def test_a_named_error_leaves_the_exit_code_at_0_while_something_was_answered(tmp_path: Path) -> None:
    asked, good = plain(2)[0], cups(2)
    summary = run_benchmark(asked, ScriptedRunner({**good, "q0": ModelError("429")}), tmp_path)
    assert (summary.failed, summary.exit_code, summary.complaint) == (1, 0, "")


def test_a_run_without_an_answer_is_no_success(tmp_path: Path) -> None:
    asked, _ = plain(2)
    script = ScriptedRunner({"q0": ModelError("429"), "q1": ModelError("500")})
    for _ in range(2):  # a resumed run has none either
        summary = run_benchmark(asked, script, tmp_path)
        assert summary.exit_code == 1 and "500" in summary.complaint and "--retry-failed" in summary.complaint


def test_a_run_ends_when_its_first_questions_all_fail_and_the_same_line_goes_on(tmp_path: Path) -> None:
    asked, good = plain(8)[0], cups(8)
    dead = {f"q{i}": ModelError("no connection") for i in range(8)}
    summary = run_benchmark(asked, ScriptedRunner(dead), tmp_path)
    assert (summary.asked, summary.failed, summary.exit_code) == (HOPELESS, HOPELESS, 1)
    assert "no connection" in summary.complaint and "5 questions are left" in summary.complaint
    summary = run_benchmark(asked, ScriptedRunner(good), tmp_path)
    assert (summary.asked, summary.resumed, summary.exit_code, summary.complaint) == (5, HOPELESS, 0, "")


def test_faults_of_single_questions_do_not_end_a_run(tmp_path: Path) -> None:
    asked, good = plain(8)[0], cups(8)
    odd = {f"q{i}": BadQuestion("no rule understands it") for i in range(4)}
    assert run_benchmark(asked, ScriptedRunner({**good, **odd}), tmp_path / "odd").asked == 8
    late = {f"q{i}": ModelError("no connection") for i in range(1, 8)}
    assert run_benchmark(asked, ScriptedRunner({**good, **late}), tmp_path / "late").asked == 8


def test_what_the_preflight_refuses_does_not_end_a_run(tmp_path: Path) -> None:
    asked, good = plain(6)[0], cups(6)

    def preflight(sample: Sample) -> None:
        if sample.id in ("q0", "q1", "q2", "q3"):
            raise StorageError("no history")

    summary = run_benchmark(asked, ScriptedRunner(good), tmp_path, preflight=preflight)
    assert (summary.asked, summary.failed, summary.exit_code) == (6, 4, 0)


def test_failed_questions_are_asked_again_only_on_request(tmp_path: Path) -> None:
    asked, good = plain(2)
    bad = ScriptedRunner({"q0": ModelError("endpoint refuses"), "q1": EpisodeResult("q1", Answer("a cup"))})
    run_benchmark(asked, bad, tmp_path)
    assert run_benchmark(asked, good, tmp_path).asked == 0
    assert run_benchmark(asked, good, tmp_path, retry_failed=True).failed == 0
    assert good.asked == ["q0"]
    assert not read_predictions(tmp_path).predictions["q0"].failed
    assert [json.loads(line)["id"] for line in (tmp_path / PREDICTIONS).read_text().splitlines()] == ["q0", "q1"]


def test_what_json_cannot_hold_fails_as_internal(tmp_path: Path) -> None:
    asked, _ = plain(2)
    runner = ScriptedRunner({"q0": EpisodeResult("q0", Answer("cup", math.nan)),
                             "q1": EpisodeResult("qX", Answer("cup"))})
    assert run_benchmark(asked, runner, tmp_path).unexpected == 2
    assert "qX" in read_predictions(tmp_path).predictions["q1"].answer.message


def test_a_failing_blind_answer_is_its_own(tmp_path: Path) -> None:
    asked, _ = plain(1)
    runner = ScriptedRunner({"q0": EpisodeResult("q0", Answer("a cup"))}, {"q0": ModelError("no blind model")})
    run_benchmark(asked, runner, tmp_path)
    prediction = read_predictions(tmp_path).predictions["q0"]
    assert not prediction.failed
    assert prediction.blind is not None
    assert prediction.blind.error is ErrorCode.MODEL
    score_run(tmp_path, OfflineJudge())
    assert overall(tmp_path).metrics["blind_c"][3:] == (0, 1)
    assert overall(tmp_path).metrics["openeqa_c"].mean == 1


@pytest.mark.parametrize("fails", ["run", "blind"])
def test_what_fails_keeps_what_its_calls_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    def pays(self: ScriptedRunner, sample: Sample) -> EpisodeResult:
        with paying(Question("What is it?")) as question:
            assert question.account is not None
            question.account.charge(Usage(1, 100, 20, 0.5))
            question.account.charge(Usage(1, 150, 20, 0.25))
            raise ModelError("wrong form")

    asked, _ = plain(1)
    monkeypatch.setattr(ScriptedRunner, fails, pays)
    run_benchmark(asked, ScriptedRunner({"q0": EpisodeResult("q0", Answer("a cup"))}), tmp_path)
    prediction = read_predictions(tmp_path).predictions["q0"]
    failed, other = (prediction.answer, prediction.blind)[::1 if fails == "run" else -1]
    assert failed is not None and failed.error is ErrorCode.MODEL and other is not None and not other.receipt.calls
    assert failed.receipt == Receipt(calls=2, tokens_in=250, tokens_out=40, money=0.75)


def test_another_run_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    asked, runner = plain(2)
    run_benchmark(asked, runner, tmp_path, seed=1)
    for changed in ({"seed": 2}, {"seed": 1, "model": "other"}, {"seed": 1, "config": {"policy": "random"}}):
        with pytest.raises(ConfigError, match="another"):
            run_benchmark(asked, runner, tmp_path, **changed)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="dataset_sha256"):
        run_benchmark([replace(asked[0], answer="a mug"), asked[1]], runner, tmp_path, seed=1)


def test_a_run_resumed_from_another_commit_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, runner = plain(1)
    for commit in ("aaa", "aaa", "bbb"):
        monkeypatch.setattr(manifest, "git_state", lambda commit=commit: (commit, False))
        run_benchmark(asked, runner, tmp_path)
    last = read_manifest(tmp_path)
    assert (last.commit, last.earlier_commits, last.sessions) == ("bbb", ["aaa"], 3)


def test_what_is_answered_is_written_and_not_kept(tmp_path: Path) -> None:
    """200 answers of 20 kB are 4 MB on the disk, and nothing of that in memory."""
    asked, _ = plain(200)

    class Wordy(ScriptedRunner):
        def run(self, sample: Sample) -> EpisodeResult:
            return EpisodeResult(sample.id, Answer(f"{sample.id} " + 20_000 * "x"))

    kept: list[int] = []
    tracemalloc.start()
    try:
        run_benchmark(asked, Wordy({}), tmp_path, lambda now: kept.append(tracemalloc.get_traced_memory()[0]))
    finally:
        tracemalloc.stop()
    assert (tmp_path / PREDICTIONS).stat().st_size > 4_000_000
    assert kept[-1] - kept[20] < 500_000


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    asked, runner = plain(1)
    with PredictionWriter(tmp_path), pytest.raises(StorageError, match="another run"):
        run_benchmark(asked, runner, tmp_path)


def test_scenes_that_nothing_opens_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    asked, runner = plain(1)
    with pytest.raises(ConfigError, match="no simulator opens: there are .*house, .*toy") as caught:
        run_benchmark([replace(asked[0], scene="attic:7")], runner, tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert runner.asked == []
    assert not (tmp_path / "run").exists()
