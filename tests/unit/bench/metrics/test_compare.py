"""Two runs side by side: pairs, intervals, chance, and what may not be compared."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from eqa_nodes.bench.judges.base import JudgeMark
from eqa_nodes.bench.metrics.compare import _truth, compare
from eqa_nodes.bench.metrics.intervals import holm, sign_flip_p
from eqa_nodes.bench.metrics.scores import SCORES, score_run
from eqa_nodes.bench.report.tables import comparison_markdown, comparison_notes, comparison_tables
from eqa_nodes.bench.running.manifest import MANIFEST, read_manifest
from eqa_nodes.bench.running.runner import run_benchmark
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, ModelError, StorageError
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.types.questions import Answer, Receipt
from eqa_nodes.core.types.samples import ALLOWED_POSES, EpisodeResult, Sample
from tests.fixtures.scripted_runner import ScriptedRunner


class MarkJudge:
    """Gives the mark that the answer says; "?" cannot be marked."""

    sees = False

    def __init__(self, name: str = "by number") -> None:
        self.name, self.version = name, "1" * 64

    def judge(self, sample: Sample, answer_text: str, view: bytes | None = None) -> JudgeMark:
        return JudgeMark(None) if answer_text == "?" else JudgeMark(float(answer_text or 1))


def played(out: Path, marks: Sequence[str], judge: str = "by number", first: int = 0, steps: int = 10) -> Path:
    """Score a run whose answers name their marks: "" abstains, "!" fails, "?" is unscored."""
    samples = [Sample(f"q{n}", f"What is {n}?", "a cup", category="even" if n % 2 == 0 else "odd", reference_steps=5,
                      reference_metres=2.0) for n in range(first, first + len(marks))]
    receipt = Receipt(steps=steps, metres=4.0)
    results = {s.id: ModelError("no reply") if m == "!" else EpisodeResult(s.id, Answer(m, abstained=not m,
                                                                                       receipt=receipt))
               for s, m in zip(samples, marks, strict=True)}
    run_benchmark(samples, ScriptedRunner(results), out, dataset="house", model=out.name)
    score_run(out, MarkJudge(judge))
    return out


def test_a_difference_is_called_one_below_a_level_of_five_percent(tmp_path: Path) -> None:
    """All n differences have the same sign: 2 of 2^n sign patterns give a sum as far from 0."""
    for n, p, differs in ((5, 2 / 32, False), (6, 2 / 64, True)):
        a, b = played(tmp_path / f"a{n}", ["5"] * n), played(tmp_path / f"b{n}", ["4"] * n)
        row, = compare(a, b, metrics=["openeqa_c"]).differences
        assert (row.adjusted, row.differs) == (pytest.approx(p), differs)
    assert replace(row, adjusted=0.0499).differs and not replace(row, adjusted=0.05).differs


def test_means_differences_and_chance_by_hand(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", "5555554!"), played(tmp_path / "b", "3353355" "5")
    found = compare(a, b)
    row = next(d for d in found.differences if d.metric == "openeqa_c")
    pairs = [(1.0, 0.5), (1.0, 0.5), (1.0, 1.0), (1.0, 0.5), (1.0, 0.5), (1.0, 1.0), (0.75, 1.0)]
    assert row.a == pytest.approx(sum(x for x, _ in pairs) / 7) and row.b == pytest.approx(sum(y for _, y in pairs) / 7)
    assert row.difference.n == 7 and row.difference.mean == pytest.approx(1.75 / 7)
    sizes = [0.5] * 4 + [0.25]
    sums = [abs(sum(s * d for s, d in zip(signs, sizes, strict=True)))
            for signs in itertools.product((1, -1), repeat=5)]
    assert row.p == pytest.approx(sum(s >= 1.75 for s in sums) / len(sums))
    assert row.adjusted >= row.p and found.common == 8
    assert found.a.without["failed"] == ("q7",) and found.b.without["failed"] == () and found.both["failed"] == 0
    assert "steps" not in {d.metric for d in found.differences}  # equal everywhere
    assert {d.category for d in found.categories} == {"even", "odd"}


def test_who_failed_abstained_or_was_unscored_where(tmp_path: Path) -> None:
    found = compare(played(tmp_path / "a", ["5", "!", "", "?", "!"]), played(tmp_path / "b", ["!", "!", "5", "5", ""]))
    assert found.a.without == {"failed": ("q4",), "abstained": ("q2",), "unscored": ("q3",)}
    assert found.b.without == {"failed": ("q0",), "abstained": ("q4",), "unscored": ()}
    assert found.both == {"failed": 1, "abstained": 0, "unscored": 0}


def test_notes_say_who_answered_and_what_was_privileged(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", "55"), played(tmp_path / "b", "35")
    scores = json.loads((b / SCORES).read_text())
    (b / SCORES).write_text(json.dumps({**scores, "privileged": ["LabelReader"]}))
    write_json(b / MANIFEST, replace(read_manifest(b), model="vlm", asked="gpt-4o"))
    first, second = list(comparison_notes(compare(a, b)))[:2]
    assert second == f"B: {b}, house, answerer vlm, model gpt-4o, judge by number; privileged: LabelReader"
    assert "privileged" not in first


def test_different_judges_are_refused_unless_asked_for(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", "55"), played(tmp_path / "b", "35", judge="another")
    with pytest.raises(ConfigError, match=r"different judges, by number .* and another .*--any-judge"):
        compare(a, b)
    assert "different judges" in compare(a, b, any_judge=True).notes[0]


def test_settings_and_commits_that_differ_are_named(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", "55"), played(tmp_path / "b", "35")
    for run, policy, commit in ((a, "best", "1" * 40), (b, "frontier", "2" * 40)):
        config = {"nodes": {"/**": {"robot.radius_m": 0.2}, "explorer": {"policy": policy}}, "force_guess": False}
        write_json(run / MANIFEST, replace(read_manifest(run), config=config, commit=commit, dirty=run == b))
    found = compare(a, b)
    assert "explorer.policy: best in A, frontier in B" in found.notes
    assert "commit: 1111111111 in A, 2222222222 with changes in B" in found.notes
    assert not any("radius" in note or "force" in note for note in found.notes)


def test_other_selections_are_compared_on_what_both_asked(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", "5555"), played(tmp_path / "b", "3333", first=2)
    found = compare(a, b)
    assert found.common == 2 and "the 2 that both asked" in found.notes[0]
    with pytest.raises(ConfigError, match="no scored question in common"):
        compare(a, played(tmp_path / "c", "33", first=9))
    other = [replace(Sample("q0", "What is it?", "a mug"))]
    run_benchmark(other, ScriptedRunner({"q0": EpisodeResult("q0", Answer("5"))}), tmp_path / "d", dataset="house")
    score_run(tmp_path / "d", MarkJudge())
    with pytest.raises(ConfigError, match="no scored question in common"):  # the same id is not the same question
        compare(a, tmp_path / "d")


def test_metrics_that_say_the_same_are_corrected_for_once(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", "55545"), played(tmp_path / "b", "11111")
    rows = {d.metric: d for d in compare(a, b, metrics=["openeqa_c", "express_c_star", "openeqa_c_forced"]).differences}
    assert len(rows) == 3 and {(d.p, d.adjusted) for d in rows.values()} == {(2 / 32, 2 / 32)}
    assert rows["express_c_star"].difference.mean == pytest.approx(0.8 * (rows["openeqa_c"].difference.mean or 0))


def test_metrics_by_name_and_what_is_not_scored(tmp_path: Path) -> None:
    a, b = played(tmp_path / "a", "55"), played(tmp_path / "b", "55", steps=20)
    assert [d.metric for d in compare(a, b, metrics=["openeqa_c"]).differences] == ["openeqa_c"]
    assert {d.metric for d in compare(a, b).differences} == {
        "openeqa_e_steps", "openeqa_e_steps_forced", "steps"}
    assert compare(a, a).differences == ()
    with pytest.raises(ConfigError, match="unknown metric 'accuracy'"):
        compare(a, b, metrics=["accuracy"])
    (b / "scores.json").unlink()
    with pytest.raises(StorageError, match="eqa bench score"):
        compare(a, b)


def test_table_markdown_and_json_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = played(tmp_path / "a", "5" * 24), played(tmp_path / "b", "1" * 23 + "5")
    found = compare(a, b)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(comparison_tables(found))
    shown, written = console.export_text(), comparison_markdown(found)
    for text in ("openeqa_c %", "100.0", "4.2", "+95.8 [+74.6, +99.3]", "< 0.001 *", "24 questions in both"):
        assert text in shown and text in written, text
    assert main(["bench", "compare", str(a), str(b), "--json", str(tmp_path / "c.json"), "--markdown",
                 str(tmp_path / "c.md")]) == 0
    assert "openeqa_c" in capsys.readouterr().out and (tmp_path / "c.md").read_text() == written
    assert json.loads((tmp_path / "c.json").read_text())["common"] == 24


@pytest.mark.parametrize(("differences", "p"), [
    ([.2, .4, -.2, -.2, -.3, -.2, .3], 1.0), ([.1, .2, -.3], 1.0), ([.3, -.1, -.2, 0.0], 1.0), ([.1, .1, .1], 0.25),
    ([.7 - .4, -.3], 1.0), ([1e6 + .1 - 1e6, -.1], 1.0), ([.1] * 3 + [-.3], 1.0), ([1e-5, 2e-5, -3e-5], 1.0),
    ([.1] * 30 + [-.3] * 10, 1.0), ([.1] * 12 + [-.2] * 6 + [0.0] * 5, 1.0)])
def test_sums_that_are_equal_but_for_rounding_are_equal(differences: list[float], p: float) -> None:
    assert sign_flip_p(np.array(differences)) == pytest.approx(p)
    assert sign_flip_p(np.array(differences[::-1])) == pytest.approx(p)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=12), st.sampled_from([1, 3, 7, 10, 1000]))
def test_p_is_that_of_exact_fractions(tenths: list[int], unit: int) -> None:
    """Values as they come out of divisions, against sums of whole numbers, which are exact."""
    seen = abs(sum(tenths))
    sums = [abs(sum(s * t for s, t in zip(signs, tenths, strict=True)))
            for signs in itertools.product((1, -1), repeat=len(tenths))]
    assert sign_flip_p(np.array(tenths) / unit) == pytest.approx(sum(total >= seen for total in sums) / len(sums))


@pytest.mark.parametrize("values", [[0.5] * 20 + [-0.5] * 8, [0.31 * k - 2.0 for k in range(24)]])
def test_drawn_p_is_near_the_exact_one(values: list[float]) -> None:
    """Few distinct sizes and many: drawn signs against all of them, by dynamic programming over sums."""
    sums = {0: 1.0}
    for value in values:
        step, following = round(abs(value) * 100), dict[int, float]()
        for total, weight in sums.items():
            for new in (total + step, total - step):
                following[new] = following.get(new, 0.0) + weight / 2
        sums = following
    seen = round(abs(sum(values)) * 100)
    exact = sum(weight for total, weight in sums.items() if abs(total) >= seen)
    drawn = sign_flip_p(np.array(values), seed=1)
    assert drawn == pytest.approx(exact, abs=0.02) and drawn == sign_flip_p(np.array(values), seed=1)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.7]) == [1.0, 1.0] and holm([]) == []


def test_all_signs_of_up_to_fourteen_differences_are_counted() -> None:
    assert sign_flip_p(np.ones(14)) == 2 / 2 ** 14
    assert sign_flip_p(np.ones(15)) in [(1 + k) / 10_001 for k in range(5)]  # drawn: 1 of 10,000 at least
    assert sign_flip_p(np.zeros(3)) == 1.0


def test_a_question_stays_the_same_with_other_allowed_poses_but_not_with_other_metadata() -> None:
    one = Sample("1", "Where is the mug?", "kitchen", metadata={ALLOWED_POSES: 10, "floor": 1})
    assert _truth(replace(one, metadata={ALLOWED_POSES: 20, "floor": 1})) == _truth(one)
    assert _truth(replace(one, metadata={ALLOWED_POSES: 10, "floor": 2})) != _truth(one)
