"""What a run will cost, and what it lacks, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.preflight import (
    RunEstimator,
    check_unattended,
    estimate_documented,
    estimate_like,
    history_problems,
    in_short,
    in_words,
    refuse_if_hopeless,
    scene_problems,
    setting_problems,
)
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.cli.bench.asking import outlook_text
from eqa_nodes.config.run import RunConfig, share_of
from eqa_nodes.core.components import POLICIES
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import ACTIVE, EM, EpisodeResult, Sample
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.testing.model_server import VlmServer
from tests.fixtures.scripted_runner import ScriptedRunner


def asked(name: str, category: str = "") -> Sample:
    return Sample(name, "What is it?", "a cup", category=category)


def prediction(calls: int, tokens: int, blind_calls: int = 0) -> Prediction:
    return Prediction("q", Answer("a cup", receipt=Receipt(calls=calls, tokens_in=tokens, tokens_out=10, seconds=2.0)),
                      blind=Answer("a mug", receipt=Receipt(calls=blind_calls)))


def test_another_run_says_what_a_category_costs(tmp_path: Path) -> None:
    samples = [asked("a", "x"), asked("b", "x"), asked("c", "y")]
    spent = {"a": Receipt(calls=2, tokens_in=100, seconds=1), "b": Receipt(calls=4, tokens_in=300, seconds=3),
             "c": Receipt(calls=12, tokens_in=800, seconds=8)}
    results = {name: EpisodeResult(name, Answer("a cup", receipt=r)) for name, r in spent.items()}
    blind = {name: Answer("a mug", receipt=Receipt(calls=1)) for name in spent}
    run_benchmark(samples, ScriptedRunner(results, blind), tmp_path)
    wanted = [asked(str(n), category) for n, category in enumerate(["x", "x", "y", "new"])]
    estimate = estimate_like(tmp_path, wanted, workers=2)
    assert estimate.cost.calls == pytest.approx(4 + 4 + 13 + 7)
    assert estimate.cost.tokens == pytest.approx(200 + 200 + 800 + 400)
    assert estimate.cost.seconds == pytest.approx((2 + 2 + 8 + 4) / 2)
    assert "3 questions" in estimate.basis
    (tmp_path / "predictions.jsonl").write_text("")
    with pytest.raises(StorageError, match="nothing to estimate from"):
        estimate_like(tmp_path, wanted)


def test_documented_means_by_policy_and_task() -> None:
    assert all(POLICIES.traits(name).calls > 1 for name in POLICIES)
    questions = [asked(str(n)) for n in range(10)]
    free = estimate_documented(questions, "label", "best", ACTIVE)
    assert (free.cost.calls, free.cost.tokens) == (0, 0) and free.cost.seconds > 0
    driven = estimate_documented(questions, "vlm", "snapshot", ACTIVE, call_s=2.0)
    assert driven.cost.calls == pytest.approx(10 * (28.1 + 1))
    assert driven.cost.seconds == pytest.approx(10 * (189 * 0.12 + 29.1 * 2))
    em = estimate_documented(questions, "vlm", "best", EM, views=50)
    assert em.cost.calls == 20 and 500_000 < em.cost.tokens < 550_000
    halved = estimate_documented(questions, "vlm", "best", EM, views=50, workers=2)
    assert halved.cost.seconds == pytest.approx(em.cost.seconds / 2) and halved.cost.calls == em.cost.calls


def test_the_outlook_counts_earlier_sittings_for_cost_and_not_for_pace() -> None:
    clock = iter([0.0, 30.0, 60.0])
    meter = RunEstimator(10, lambda: next(clock))
    assert meter.outlook().remaining_s is None
    meter.before([prediction(3, 100), prediction(5, 100)])
    meter.add(prediction(4, 100, blind_calls=1))
    meter.add(prediction(6, 100, blind_calls=1))
    outlook = meter.outlook()
    assert outlook.spent.calls == 20 and outlook.total.calls == pytest.approx(50)
    assert outlook.remaining_s == pytest.approx(15 * 6)
    assert outlook_text(outlook) == "2 min left, 20 of about 50 calls, 440 of about 1.1 k tokens, "


@pytest.mark.parametrize(("seconds", "words"), [(0, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"),
                                                (5400, "1.5 h"), (172800, "2.0 days")])
def test_durations(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize(("count", "words"), [(0, "0"), (999, "999"), (999.7, "1 k"), (12345, "12.3 k"),
                                              (4_050_000, "4.05 M")])
def test_counts(count: float, words: str) -> None:
    assert in_short(count) == words


def test_each_kind_of_problem_is_counted_once() -> None:
    far = [Sample(str(n), "?", "a", scene=f"attic:s{n // 2}",
                  metadata={"episode_history": f"{'hm3d' if n < 4 else 'scannet'}-v0/{n // 2}"}) for n in range(6)]
    problem, = scene_problems([*far, Sample("h", "?", "a", scene="house:1")], ACTIVE)
    assert problem.questions == 6 and "3 scenes" in problem.line and "--task em" in problem.remedy
    assert scene_problems(far, EM) == []

    def missing(sample: Sample) -> None:
        if sample.id != "0":
            raise StorageError(f"no history of {sample.id}")

    hm3d, scannet = history_problems(far, missing)
    assert (hm3d.questions, scannet.questions) == (3, 2)
    assert "2 histories, the first: no history of 1" in hm3d.line and "scannet-v0" in scannet.kind
    refuse_if_hopeless([hm3d, scannet], 6)
    with pytest.raises(ConfigError, match="none of the 5 questions can be asked.*hm3d.*scannet"):
        refuse_if_hopeless([hm3d, scannet], 5)


def test_settings_are_tried_before_the_first_episode() -> None:
    def wrong() -> None:
        raise ConfigError("no model is named")

    problem, = setting_problems([("answerer", wrong), ("graph", lambda: None)], 7)
    assert problem.line == "answerer: 7 questions; no model is named"


def test_a_dry_run_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["bench", "run", "--questions", "3", "--split", "train", "--through", "process", "--dry-run", "--out",
             str(tmp_path / "run")]
    assert main(words) == 0
    assert "3 questions, about 0 model calls, 0 tokens" in capsys.readouterr().out
    monkeypatch.setenv("EQA_VLM_MODEL", "scripted")
    monkeypatch.setenv("EQA_VLM_API_KEY", "k")
    with VlmServer([]) as server:
        monkeypatch.setenv("EQA_VLM_BASE_URL", server.url)
        assert main([*words, "--answerer", "vlm", "--workers", "2"]) == 0
    assert "about 37 model calls" in capsys.readouterr().out and not server.requests
    assert main([*words, "--answerer", "vlm", "--workers", "2"]) == 1
    said = capsys.readouterr().out
    assert "cannot be reached" in said and "about 37 model calls" in said
    monkeypatch.delenv("EQA_VLM_MODEL")
    assert main([*words, "--answerer", "vlm"]) == 1
    said = capsys.readouterr().out
    assert "answerer: 3 questions; " in said and "about 37 model calls" in said
    assert main([*[w for w in words if w != "--dry-run"], "--answerer", "vlm"]) == 2
    assert "none of the 3 questions can be asked" in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_budgets_are_shared_out_among_workers() -> None:
    model = ModelConfig(budget_calls=11, budget_money=3.0, price_in=1.0)
    shares = [share_of(RunConfig(model=model), n, 3).settings.answerer.model for n in range(3)]
    assert [s.budget_calls for s in shares] == [4, 4, 3] and {s.budget_tokens for s in shares} == {0}
    assert [s.budget_money for s in shares] == [1.0, 1.0, 1.0]
    with pytest.raises(ConfigError, match="--budget-calls 2"):
        share_of(RunConfig(model=ModelConfig(budget_calls=2)), 0, 3)


@pytest.mark.parametrize("overrides", [{"/**": {"node.drive": "confirm"}}, {"agent": {"agent.ask_back": True}}])
def test_a_benchmark_asks_nobody(overrides: dict[str, dict[str, object]]) -> None:
    check_unattended(RunConfig())
    with pytest.raises(ConfigError, match="no person can reply"):
        check_unattended(RunConfig(overrides=overrides))
