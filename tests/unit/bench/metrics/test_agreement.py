"""Agreement against plain loops, marks from wherever they lie, and the sweep over a judge's settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from eqa_nodes import cli
from eqa_nodes.bench.judges.base import Judge, JudgeOptions
from eqa_nodes.bench.judges.cached import MARKS, CachedJudge
from eqa_nodes.bench.judges.marking import mark_run, open_judge
from eqa_nodes.bench.judges.model_judges import LlmMatch
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.metrics import agreement as agreements
from eqa_nodes.bench.metrics.agreement import (
    ROBUSTNESS,
    against_others,
    agreement,
    human_marks,
    marks_of,
    marks_on_pairs,
    read_pairs,
    spearman,
    sweep,
    variants,
)
from eqa_nodes.bench.metrics.scores import score_run
from eqa_nodes.core.errors import ConfigError, ModelError, StorageError
from eqa_nodes.core.model import Message
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.paths import DATA
from tests.fixtures.synthetic_run import make_run

PAIRS = DATA / "judge_pairs.csv"
MARK_LISTS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=30)


def plain_rho(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rho by loops: mean ranks of ties, then Pearson."""
    ranks = []
    for values in (x, y):
        ranks.append([sum(w < v for w in values) + (sum(w == v for w in values) + 1) / 2 for v in values])
    n = len(x)
    means = [sum(r) / n for r in ranks]
    top = sum((a - means[0]) * (b - means[1]) for a, b in zip(*ranks))
    below = math.sqrt(math.prod(sum((v - m) ** 2 for v in r) for r, m in zip(ranks, means)))
    return None if below == 0 else top / below


def named(marks: Sequence[float]) -> dict[str, float]:
    return {f"q{i:03d}": float(m) for i, m in enumerate(marks)}


@given(MARK_LISTS)
@settings(deadline=None)
def test_agreement_is_what_plain_loops_say(marks: list[tuple[int, int]]) -> None:
    x, y = zip(*marks, strict=True)
    same, rho = agreement(named(x), named(y), resamples=20), plain_rho(x, y)
    assert same.rho == (None if rho is None else pytest.approx(rho))
    assert same.n == len(marks)
    assert same.equal == sum(a == b for a, b in marks) / len(marks)
    assert same.confusion == tuple(tuple(marks.count((a, b)) for b in range(1, 6)) for a in range(1, 6))
    assert (same.mean_a, same.mean_b) == (pytest.approx(sum(x) / len(x)), pytest.approx(sum(y) / len(y)))


def test_rho_is_that_of_scipy() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(1, 6, (4, 50)), rng.integers(1, 6, (4, 50))
    assert spearman(x, y) == pytest.approx([spearmanr(a, b).statistic for a, b in zip(x, y)])


def test_the_interval_is_that_of_questions_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(1, 6, 40)
    y = np.clip(x + rng.integers(-1, 2, 40), 1, 5)
    same = agreement(named(x), named(y), seed=7, resamples=400)
    draws = np.random.default_rng(7)
    rhos = []
    for _ in range(400):
        drawn = draws.integers(0, 40, (1, 40))[0]
        rhos.append(plain_rho(list(x[drawn]), list(y[drawn])))
    assert (same.low, same.high) == tuple(pytest.approx(np.percentile(rhos, q)) for q in (2.5, 97.5))
    assert same.low < same.rho < same.high
    monkeypatch.setattr(agreements, "_BLOCK", 41)  # block by block: the same draws, the same interval
    assert agreement(named(x), named(y), seed=7, resamples=400) == same


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ConfigError, match="same run"):
        agreement({"a": 1.0}, {"b": 1.0})
    constant = agreement({"a": 3.0, "b": 3.0, "c": 1.0}, {"a": 1.0, "b": 5.0})
    assert (constant.rho, constant.low, constant.n, constant.left_out) == (None, None, 2, 1)


def test_marks_off_the_scale_count_as_its_ends_and_full_agreement_has_no_interval() -> None:
    same = agreement({"a": 7.0, "b": 0.4, "c": 2.6}, {"a": 5.0, "b": 1.0, "c": 3.0}, resamples=200)
    assert (same.rho, same.low, same.high, same.equal) == (1.0, None, None, 1.0)
    assert [same.confusion[k][k] for k in range(5)] == [1, 0, 1, 0, 1] and same.mean_a == pytest.approx(10 / 3)


def test_offline_judge_on_pairs_that_it_has_not_seen() -> None:
    """Measured, not tuned: rho 0.85, equal 78 %."""
    pairs = read_pairs(PAIRS)
    assert len(pairs) >= 60
    same = agreement({p.sample.id: p.mark for p in pairs}, marks_on_pairs(OfflineJudge(), pairs), resamples=200)
    assert same.rho is not None
    assert (same.rho > 0.8, same.equal > 0.7) == (True, True)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    out = make_run(tmp_path / "run")
    backend = ScriptedBackend(["4", "2", "3", "3", "3"])
    with CachedJudge(LlmMatch(backend, JudgeOptions()), out / MARKS) as judge:
        mark_run(out, judge, threads=1)
    return out


def test_marks_come_from_rules_from_what_was_kept_and_from_files(run: Path) -> None:
    scores = score_run(run, OfflineJudge())
    offline = {q.id: q.sigma for q in scores.questions if q.sigma is not None}
    assert marks_of("offline", run) == offline == {"q-1": 3, "q-2": 5, "q-3": 1}
    assert marks_of(str(run / "scores.json"), run) == marks_of(str(run / "openeqa_scores.json"), run) == offline
    assert marks_of("llm-match", run) == {"q-1": 4, "q-2": 3, "q-3": 1}
    with pytest.raises(ConfigError, match=r"no judge begins with 'eac'.*llm-match \(scripted"):
        marks_of("eac", run)
    with CachedJudge(LlmMatch(ScriptedBackend(["1"] * 9), JudgeOptions(role="master")), run / MARKS) as judge:
        mark_run(run, judge)
    with pytest.raises(ConfigError, match="several judges begin"):
        marks_of("llm-match", run)
    assert marks_of(judge.version[:12], run) == {"q-1": 1, "q-2": 1, "q-3": 1}


def test_marks_of_people(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "ann.csv"
    file.write_text('\ufeffid,mark,answer\r\n"q-1","4","on the desk"\r\n"q-2","","There are 4 chairs"\r\n'
                    '"q-3","2","an answer from before"\r\n', encoding="utf-8")
    assert human_marks(file, run) == {"q-1": 4}  # no mark, and an answer that the run does not have
    assert human_marks(file) == {"q-1": 4, "q-3": 2}
    file.write_text("id,mark\nq-1,9\n")
    with pytest.raises(StorageError, match=r"line 2: the mark '9'"):
        human_marks(file)
    file.write_text("id;mark\nq-1;4\n")
    with pytest.raises(StorageError, match="no column 'id'"):
        human_marks(file)


def test_agree_on_the_command_line(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ann.csv").write_text("id,mark\nq-1,4\nq-2,5\nq-3,1\n")
    assert cli.main(["bench", "agree", str(run), "--judges", "offline,llm-match", "--marks",
                     str(tmp_path / "ann.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum("llm-match" in line and "0.500" in line for line in lines) == 2  # beside offline, beside Ann
    assert cli.main(["bench", "agree", "--marks", str(PAIRS), "--judges", "offline"]) == 0
    assert " 85 " in capsys.readouterr().out
    assert cli.main(["bench", "agree", str(run), "--judges", "offline"]) == 2
    assert "between two" in capsys.readouterr().err


def test_each_person_is_compared_with_the_others_pooled() -> None:
    people = {"ann": {"1": 1.0, "2": 3.0, "3": 5.0, "4": 2.0}, "bob": {"1": 1.0, "2": 4.0, "3": 5.0},
              "cid": {"1": 3.0, "2": 2.0, "3": 4.0, "4": 1.0, "5": 5.0}}
    found = against_others(people, resamples=50)
    assert found["ann"].n == 4 and found["ann"].rho == pytest.approx(plain_rho([1, 3, 5, 2], [2, 3, 4.5, 1]))
    assert found["bob"].n == 3 and found["bob"].mean_b == pytest.approx((2 + 2.5 + 4.5) / 3)
    assert found["cid"].n == 4 and found["cid"].left_out == 1
    with pytest.raises(ConfigError, match="no question has both marks"):
        against_others({"ann": {"1": 1.0}, "bob": {"2": 1.0}, "cid": {"2": 2.0}})


def by_options(name: str, options: JudgeOptions) -> Judge:
    """A judge whose model marks by role and temperature, and fails as a "professional"."""
    def reply(messages: Sequence[Message]) -> str:
        if options.role == "professional":
            raise ModelError("busy")
        text = str(messages[0].parts[0])
        right = 5 if "chairs" in text.split("<question>")[1] else 3
        return str(right - (options.model.temperature == 0.3) - (options.role == "master") * (right == 5) * 4)

    return open_judge(name, options, lambda config: ScriptedBackend([reply] * 99, config.model or "base"))


def test_sweep(run: Path) -> None:
    calls: list[tuple[str, int, int]] = []
    axes = ("role", "temperature", "model")
    rows = sweep(run, "llm-match", JudgeOptions(), axes, models=("other",), threads=2, open_named=by_options,
                 progress=lambda *said: calls.append(said))
    table = {(r.axis, r.value): r for r in rows}
    assert list(table) == [("base", ""), ("role", "master"), ("role", "professional"),
                           *(("temperature", t) for t in ("0.01", "0.1", "0.2", "0.3")), ("model", "other")]
    base = table["base", ""]
    assert (base.marked, base.unscored, base.c, base.rho) == (3, 0, (2 + 4 + 0) / 12, None)
    assert table["temperature", "0.3"].c == pytest.approx((1 + 3 + 0) / 12)
    assert table["temperature", "0.3"].rho == pytest.approx(1)
    assert table["role", "master"].rho == pytest.approx(plain_rho([3, 5, 1], [3, 1, 1]))
    lost = table["role", "professional"]
    assert (lost.marked, lost.unscored) == (1, 2)
    assert lost.rho is None
    assert len({r.version for r in rows}) == len(rows)
    places = {(r.axis, r.value): k for k, r in enumerate(rows)}
    for row in rows:  # the matrices of the supplement's tables: each setting with each other one
        assert len(row.rhos) == len(rows) and row.rhos[0] == pytest.approx(1 if row.axis == "base" else row.rho)
        assert [other.rhos[places[row.axis, row.value]] for other in rows] == list(row.rhos)
    assert table["role", "master"].rhos[places["temperature", "0.3"]] == pytest.approx(plain_rho([3, 1, 1], [2, 4, 1]))
    assert read_json(run / ROBUSTNESS)[0]["axis"] == "base"
    assert ("temperature 0.3", 5, 5) in calls
    before = (run / MARKS).read_bytes()
    again = sweep(run, "llm-match", JudgeOptions(), axes, models=("other",), open_named=by_options)
    assert again == rows
    assert (run / MARKS).read_bytes() == before  # nothing was paid twice


def test_variants_change_one_thing_at_a_time() -> None:
    base = JudgeOptions(model=ModelConfig(model="m"))
    found = variants(base, ("role", "criterion", "temperature", "model"), ("m", "n"))
    assert [axis for axis, _, _ in found].count("base") == 1
    assert [value for axis, value, _ in found if axis == "model"] == ["n"]  # that of the base is there already
    assert len(found) == 1 + 2 + 3 + 4 + 1
    seeds = variants(base, ("seed",))[1:]
    assert [(value, options.model.seed) for _, value, options in seeds] == [("1", 1), ("2", 2), ("3", 3)]
    versions = {by_options("llm-match", options).version for _, _, options in variants(base, ("seed",))}
    assert len(versions) == 4  # each is a judge of its own, whose marks are kept apart
    with pytest.raises(ConfigError, match="known are criterion, model, role, seed, temperature"):
        variants(base, ("colour",))
    with pytest.raises(ConfigError, match="--models"):
        variants(base, ("model",))
