"""The fit of probabilities, the risk of lines, and how both are reported."""

from __future__ import annotations

import multiprocessing.dummy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.bench.metrics.calibrate import (
    THRESHOLDS,
    Scored,
    calibrate,
    logistic,
    losses,
    realised,
    reliability,
    risk_curve,
)
from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.running import trials
from eqa_nodes.bench.running.trials import TRIALS, Arm, GradedAnswer, Trial, noise_of, read_trials, run_trials
from eqa_nodes.cli import main
from eqa_nodes.cli.bench.calibrate import reliability_table, risk_table
from eqa_nodes.core.agent.stopping import Calibration
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.types.questions import Limits, Support
from eqa_nodes.core.types.samples import Sample


def trial(*weighed: GradedAnswer, question: str = "q", house: str = "house:1", noise: str = "none", mark: float = 5.0,
          text: str = "yes", error: str = "") -> Trial:
    score = QuestionScore(question, "", "failed" if error else "answered", mark, None, "", None, 0.9, 10, 5.0, 0.0, 0,
                          0, None, None, None, None, False, (), error)
    return Trial(question, house, noise, noise, weighed, text, score)


def scored(*pairs: tuple[float, bool], noise: str = "none") -> Scored:
    return Scored(trial(*(GradedAnswer("a", Support(p, 1, 1.0, 1.0), right) for p, right in pairs), noise=noise),
                  tuple(p for p, _ in pairs))


def episodes(n: int, seed: int = 0, longest: int = 4) -> list[Trial]:
    """Return trials whose answers are right with the chance of a known logistic model of their support."""
    rng, truth = np.random.default_rng(seed), Calibration((-3.0, 0.5, 1.0, 3.0, -1.0))
    result = []
    for k in range(n):
        supports = [Support(float(rng.uniform(0.3, 0.98)), int(rng.integers(0, 5)), float(rng.uniform()),
                            float(rng.uniform(0, 6))) for _ in range(rng.integers(1, longest + 1))]
        judged = [GradedAnswer("a", s, bool(rng.uniform() < truth.probability(s))) for s in supports]
        result.append(trial(*judged, question=f"q{k}", house=f"house:{k // 4}"))
    return result


def test_the_fit_is_the_minimum_of_its_loss() -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    y, weights = (rng.uniform(size=60) < 0.6).astype(float), rng.uniform(0.1, 1, 60)

    def loss(w: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-x @ w))
        return float(-weights @ (y * np.log(p) + (1 - y) * np.log(1 - p)) + 0.25 * w @ w)

    best = logistic(x, y, weights, penalty=0.5)
    for step in rng.normal(scale=1e-3, size=(50, 3)):
        assert loss(best) < loss(best + step)
    assert (best == logistic(x, y, weights, penalty=0.5)).all()
    one, = logistic(np.ones((1, 1)), np.ones(1), np.ones(1))
    assert 2 * one == pytest.approx(1 / (1 + np.exp(one)))  # a penalty of 2: where the slopes meet


def test_the_fit_is_finite_where_every_answer_is_right_or_a_line_parts_them() -> None:
    x = np.column_stack([np.ones(20), np.linspace(-50, 50, 20)])
    for y in (np.ones(20), (x[:, 1] > 0).astype(float)):
        w = logistic(x, y, np.ones(20))
        assert np.isfinite(w).all() and ((1 / (1 + np.exp(-x @ w)) > 0.5) == (y > 0)).all()


def test_an_episode_with_many_answers_weighs_as_much_as_one_with_one() -> None:
    few = episodes(80, longest=1)
    many = [replace(t, weighed=t.weighed * (1 + 9 * (k % 2))) for k, t in enumerate(few)]
    assert calibrate(few, "").calibration.weights == pytest.approx(calibrate(many, "").calibration.weights, abs=1e-5)


def test_a_fit_finds_the_model_that_made_the_data_and_says_so_on_other_houses() -> None:
    fitted = calibrate(episodes(1200), "simulated")
    assert fitted.calibration.weights == pytest.approx((-3.0, 0.5, 1.0, 3.0, -1.0), abs=0.6)
    assert fitted.reliability.ece < 0.04
    assert fitted.reliability.brier < fitted.reliability.base_brier
    assert fitted.calibration.source == "simulated" and fitted.calibration.episodes == 1200


def test_what_speaks_for_an_answer_never_makes_it_less_likely() -> None:
    misleading = [replace(t, weighed=tuple(w._replace(support=w.support._replace(nearest_m=5.0 * w.right))
                                           for w in t.weighed)) for t in episodes(400)]
    weights = calibrate(misleading, "").calibration.weights
    assert weights[4] == 0.0 and all(w > 0 for w in weights[1:4])


def test_a_fit_needs_houses_and_answers() -> None:
    with pytest.raises(ConfigError, match="at least 5 houses, got 4"):
        calibrate(episodes(16), "")
    assert calibrate(episodes(20), "").calibration.episodes == 20
    with pytest.raises(ConfigError, match="nothing to fit"):
        calibrate([replace(t, weighed=()) for t in episodes(40)], "")


def test_a_run_that_stops_at_its_first_wrong_answer_loses_and_a_looser_line_never_loses_less() -> None:
    s = scored((0.6, True), (0.8, False), (0.9, True))
    assert losses(s, (0.5, 0.7, 0.85, 0.95)) == [True, True, False, False]  # 0.5 itself would have been right
    assert losses(scored(), THRESHOLDS) == [False] * len(THRESHOLDS)


@given(st.lists(st.tuples(st.floats(0.001, 0.999), st.booleans()), max_size=8))
def test_losses_never_rise_with_the_line(pairs: list[tuple[float, bool]]) -> None:
    found = losses(scored(*pairs), THRESHOLDS)
    assert found == sorted(found, reverse=True)
    own = [next((not right for p, right in pairs if p >= line), False) for line in THRESHOLDS]
    assert all(a >= b for a, b in zip(found, own, strict=True))


def test_the_risk_is_that_of_the_worst_noise() -> None:
    rows = [scored((0.9, False)), scored((0.9, True)), scored((0.3, False), noise="heavy"),
            scored((0.3, False), noise="heavy")]
    assert risk_curve(rows, (0.2, 0.5)) == ((2, 1), 2)
    with pytest.raises(ConfigError, match="same questions"):
        risk_curve(rows[:3], (0.2, 0.5))


def test_the_realised_risk_keeps_the_accepted_one() -> None:
    """Over 200 splits into 100 questions to calibrate on and 400 to ask."""
    truth = Calibration((-3.0, 0.5, 1.0, 3.0, -1.0))
    rows = [Scored(t, tuple(truth.probability(w.support) for w in t.weighed)) for t in episodes(1500, seed=2)]
    lost = np.array([losses(s, THRESHOLDS) for s in rows])
    own = np.array([[next((not w.right for p, w in zip(s.probabilities, s.trial.weighed, strict=True) if p >= line),
                          False) for line in THRESHOLDS] for s in rows])  # what a run at the line really loses
    for risk in (0.05, 0.2):
        rng, rates, bounds = np.random.default_rng(3), [], []
        for _ in range(200):
            drawn = rng.permutation(len(rows))[:500]
            wrong = tuple(int(c) for c in lost[drawn[:100]].sum(axis=0))
            at = THRESHOLDS.index(Calibration(truth.weights, THRESHOLDS, wrong, 100).threshold_for(risk))
            rates.append(own[drawn[100:], at].mean())
            bounds.append(lost[drawn[100:], at].mean())
        margin = 2 * float(np.std(bounds)) / 200 ** 0.5
        assert float(np.mean(rates)) <= float(np.mean(bounds)) <= risk + margin
        assert float(np.mean(bounds)) >= risk - 2 / 101 - margin - 0.01  # not by answering nothing: theory and the grid


def test_reliability_by_hand() -> None:
    found = reliability([scored((0.95, True), (0.85, True)), scored((0.95, False)), scored()])
    assert [(b.low, b.answers, b.questions) for b in found.bins] == [(0.8, 1, 1), (0.9, 2, 2)]
    assert found.bins[1].right == pytest.approx(0.5 / 1.5)
    assert found.ece == pytest.approx((0.5 * 0.15 + 1.5 * (0.95 - 0.5 / 1.5)) / 2)
    assert found.brier == pytest.approx((0.5 * 0.05 ** 2 + 0.5 * 0.15 ** 2 + 0.95 ** 2) / 2)
    assert (found.base_brier, found.answers, found.questions) == (pytest.approx(0.25), 3, 2)
    assert "| 0.8–0.9 | 1 | 1 | 0.850 | 1.000 [0.207, 1.000] |" in reliability_table(found)


def test_a_certain_answer_lies_in_the_last_bin_and_nothing_weighed_is_an_error() -> None:
    assert reliability([scored((1.0, True))]).bins[0].low == 0.9
    with pytest.raises(ConfigError, match="nothing to compare"):
        reliability([scored()])


def test_realised_counts_wrong_answers_but_neither_abstentions_nor_failures() -> None:
    rows = [trial(), trial(mark=2.0), trial(mark=1.0, text=""), trial(error="NAVIGATION")]
    found = realised(0.1, 0.8, rows)
    assert (found.wrong, found.answered, found.correctness, found.failed) == (0.25, 0.5, pytest.approx(2.25 / 4), 1)
    assert "| 0.1 | 0.8 | 25.0 [4.6, 69.9] | 50.0 | 56.2 | 10.0 | 1 | 4 |" in risk_table([found])


def test_trials_survive_a_kill_in_the_middle_of_a_line(tmp_path: Path) -> None:
    first = trial(GradedAnswer("a", Support(0.5, 1, 1.0, 2.0), True))
    (tmp_path / TRIALS).write_text(dumps(first) + "\n" + dumps(first)[:40])
    assert read_trials(tmp_path) == [first]
    (tmp_path / TRIALS).write_text("{}\n")
    with pytest.raises(StorageError, match="Remove it"):
        read_trials(tmp_path)


def test_a_kill_loses_no_trial_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where several questions are about one house: each trial is on the disk before the next one begins."""
    def carry_out(task: Any) -> Trial:
        if task.sample.id == dies:
            raise StorageError("the disk is full")
        asked.append(task.sample.id)
        return trial(question=task.sample.id, noise=task.arm.name)

    monkeypatch.setattr(trials, "_carry_out", carry_out)
    monkeypatch.setattr(trials, "get_context", lambda method: multiprocessing.dummy)
    samples, arms = [Sample(name, "?", "yes", scene="house:1") for name in "abc"], [Arm("none", "none", {})]
    for dies, kept in (("c", ["a", "b"]), ("", ["a", "b", "c"])):
        asked, told = list[str](), list[int]()
        try:
            run_trials(samples, arms, tmp_path, Limits(), 1, told.append)
        except StorageError:
            assert dies == "c"
        assert [t.question for t in read_trials(tmp_path)] == kept
        assert (asked, told) == ((["a", "b"], [0, 1, 2]) if dies else (["c"], [2, 3]))


def test_unknown_noise_and_no_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="known are heavy, moderate, none, severe"):
        noise_of("loud")
    with pytest.raises(ConfigError, match="at least one worker"):
        run_trials([], [], tmp_path, Limits(), workers=0)


def test_risks_are_shares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["bench", "calibrate", "--check", "label", "--questions", "1", "--out", str(tmp_path), "--risk"]
    for risks in ("0", "1.5", "0.1,0.1"):
        assert main([*line, risks]) == 2
        assert "different shares between 0 and 1" in capsys.readouterr().err
