"""Published numbers: their sums, and a reason for each that a run may not be compared with."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from eqa_nodes.bench.judges.official import EAC, LLM_MATCH, OfficialMatch, OfficialScorer
from eqa_nodes.bench.metrics.formulas import MeanInterval
from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.metrics.scores import Row, Scores
from eqa_nodes.bench.metrics.values import BLIND, METRICS
from eqa_nodes.bench.readers.openeqa import read_openeqa
from eqa_nodes.bench.reference.beside import Beside, beside, ids_hash, reasons, sentences
from eqa_nodes.bench.reference.published import PublishedValue, published_page, published_values, values_of
from eqa_nodes.bench.running.manifest import RunManifest
from eqa_nodes.bench.samples import source_of
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.data import shared_data

OFFICIAL = "llm-match official (gpt-4-1106-preview, prompt 9fcb8bd1)"
COUNTS = {  # questions of each category, in the order of CATEGORIES
    "all of EM-EQA": (231, 263, 240, 220, 252, 217, 213), "all of A-EQA": (75, 103, 77, 69, 90, 71, 72),
    "184 questions of A-EQA": (25, 35, 33, 19, 27, 17, 28)}
IDS = [f"q{n}" for n in range(557)]
PUBLISHED = published_values()
OPENEQA, EXPRESS = ([p for p in PUBLISHED if p.table.paper == paper]
                    for paper in ("Majumdar et al. 2024, OpenEQA", "Jiang et al. 2025, EXPRESS-Bench"))
CATEGORIES = tuple(dict.fromkeys(p.category for p in OPENEQA if p.category))
SUBSETS = {p.table.subset.name: p.table.subset for p in OPENEQA}
SCANNET, HM3D = "EM-EQA in ScanNet", "EM-EQA in HM3D"


def question(name: str, **changed: object) -> QuestionScore:
    plain = QuestionScore(name, "", "answered", 3.0, None, "", None, None, 20, 5.0, 1.0, 0, 0, 30, 8.0, None, None,
                          False, (), source="hm3d")
    return replace(plain, **changed)  # type: ignore[arg-type]


def scores(dataset: str, judge: str, asked: list[QuestionScore], failed: str = "leave-out",
           privileged: tuple[str, ...] = (), **means: float) -> Scores:
    metrics = {name: MeanInterval(means.get(name), means.get(name), means.get(name), 1, 0) for name in METRICS}
    return Scores(dataset, judge, "ab" * 32, 0, privileged, (Row("all", len(asked), 0, 0, 0, 0, 0, metrics),),
                  tuple(asked), failed)


def manifest(dataset: str, task: str, n: int, **config: object) -> RunManifest:
    return RunManifest(dataset, "", n, 0, "vlm", config, task=task)


def of(found: list[Beside], system: str, metric: str = "openeqa_c") -> Beside:
    return next(b for b in found if b.published[0].metric == metric and system in [p.system for p in b.published])


def test_every_number_names_a_metric_that_runs_have() -> None:
    assert {p.metric for p in PUBLISHED} <= METRICS.keys()
    assert len({(p.table, p.metric, p.system, p.category) for p in PUBLISHED}) == len(PUBLISHED)
    for p in PUBLISHED:
        assert 0 <= p.value <= 100, p
        assert p.text.startswith(f"{p.value:g}"[:2]) or p.metric in ("npl", "ace", "wce"), p


def test_a_row_with_another_number_of_values_is_named() -> None:
    table = {"paper": "P", "name": "table 1", "dataset": "d", "task": "em", "judge": "j", "subset": "s",
             "columns": ["a", {"metric": "b / kitchen", "subset": "t"}], "rows": "X | 1.5±0.2 -\nY | 0.5 7\n"}
    content = {"judges": {"j": {"name": "J"}}, "subsets": {"s": {"name": "S", "questions": 3},
                                                           "t": {"name": "T", "questions": 2}}, "tables": [table]}
    read = [(v.system, v.metric, v.category, v.table.subset.name, v.value, v.text, v.error) for v in values_of(content)]
    assert read == [("X", "a", "", "S", 1.5, "1.5±0.2", 0.2), ("Y", "a", "", "S", 0.5, "0.5", None),
                    ("Y", "b", "kitchen", "T", 7.0, "7", None)]
    table["rows"] = "X | 1.5"
    with pytest.raises(ValueError, match="P, table 1: the row 'X' has 1 values, but the table has 2 columns"):
        list(values_of(content))


def values(table: str, metric: str = "openeqa_c") -> dict[str, dict[str, PublishedValue]]:
    """Return {system: {category, or name of the subset where it is over all: value}} of a table of OpenEQA."""
    found: dict[str, dict[str, PublishedValue]] = defaultdict(dict)
    for p in OPENEQA:
        if p.table.name == table and p.metric == metric:
            found[p.system][p.category or p.table.subset.name] = p
    return found


@pytest.mark.parametrize(("table", "whole", "systems"), [
    ("supplement, table 4", "all of EM-EQA", 9), ("supplement, table 5", "all of A-EQA", 9),
    ("supplement, table 5", "184 questions of A-EQA", 1)])
def test_categories_add_up_to_the_value_over_all(table: str, whole: str, systems: int) -> None:
    """Each is rounded to 0.1, and so is their mean by the number of questions."""
    n = dict(zip(CATEGORIES, COUNTS[whole], strict=True))
    checked = 0
    for system, parts in values(table).items():
        if {p.table.subset.name for p in parts.values()} == {whole}:
            mean = sum(count * parts[name].value for name, count in n.items()) / sum(n.values())
            assert mean == pytest.approx(parts[whole].value, abs=0.101), system
            assert parts[whole].value == values("table 2")[system][whole].value, system
            checked += 1
    assert checked == systems


def test_both_sources_add_up_to_all_of_em_eqa() -> None:
    for system, parts in values("table 2").items():
        if SCANNET in parts:
            mean = (1079 * parts[SCANNET].value + 557 * parts[HM3D].value) / 1636
            assert mean == pytest.approx(parts["all of EM-EQA"].value, abs=0.101), system


def test_subsets_have_the_questions_that_they_name() -> None:
    for name, split in (("all of EM-EQA", "all"), (SCANNET, "scannet"), ("all of A-EQA", "aeqa-557"),
                        ("184 questions of A-EQA", "aeqa-184")):
        subset = SUBSETS[name]
        samples = read_openeqa(shared_data("."), split, starts=False)
        if subset.name in COUNTS:
            assert tuple(sum(s.category == c for s in samples) for c in CATEGORIES) == COUNTS[subset.name]
        assert (len(samples), ids_hash(s.id for s in samples)) == (subset.questions, subset.ids_sha256), split
        assert not subset.source or {source_of(s) for s in samples} == {subset.source}


def test_what_must_hold_between_metrics_holds() -> None:
    rows: dict[tuple[object, ...], dict[str, float]] = defaultdict(dict)
    for p in PUBLISHED:
        rows[p.table, p.system, p.category][p.metric] = p.value
    for row in rows.values():
        for smaller, larger in (("openeqa_e_steps", "openeqa_c"), ("openeqa_e_metres", "openeqa_c"),
                                ("express_c", "express_c_star"), ("express_e_path", "express_c"), ("wce", "ace"),
                                ("wce", "npl"), ("spl", "sr"), ("sr", "osr"), ("succ", "gcs"), ("task_spl", "succ")):
            if smaller in row and larger in row:
                assert row[smaller] <= row[larger]


def test_a_value_with_blind_guesses_stands_beside_that_without() -> None:
    asked = [question("q1"), question("q2", status="abstained", sigma=1.0, blind_sigma=5.0)]
    found = sentences(scores("openeqa", OFFICIAL, asked, openeqa_c=0.25), manifest("openeqa", "active", 2))
    guesses = 'openeqa_c 25.0 here, 75.0 with a blind guess for each "I don\'t know"; '
    both = [line.startswith(guesses) for line in found]
    assert any(both) and all(line.startswith("openeqa_c 25.0 here; ") for line, of in zip(found, both) if not of)


def test_the_judge_s_name_is_read_as_official_judges_write_it() -> None:
    judge = OfficialMatch(ScriptedBackend([], model="gpt-4-1106-preview"), OfficialScorer(LLM_MATCH, ("a", "b"), {}, 9))
    found = of(beside(scores("openeqa", judge.name, [question(i) for i in IDS], openeqa_c=0.5),
                      manifest("openeqa", "active", 557)), "human")
    assert f"official judging has prompt {OPENEQA[0].table.judging.prompt_sha256[:8]}" in found.reasons[0]
    assert not any("model" in reason for reason in found.reasons) and EAC in EXPRESS[0].table.judging.words


@pytest.mark.parametrize(("changed", "why"), [
    ({"judge": "offline"}, "another judge (offline)"),
    ({"judge": "llm-match (gpt-4-1106-preview, prompt 9fcb8bd1)"}, "other prompts or settings"),
    ({"judge": "llm-match official (gpt-4o, prompt 9fcb8bd1)"}, "gpt-4o here, gpt-4-1106-preview there"),
    ({"n": 184}, "other questions (184 here, 557 there)"), ({"n": 557}, "557 in both, not the same"),
    ({"status": "failed"}, "557 failed and 0 unscored"), ({"sigma": None}, "0 failed and 557 unscored"),
    ({"status": "abstained"}, "557 abstentions count with mark 1 here"),
    ({"limit": "30 steps"}, "limits ended 557 searches here (30 steps)"),
    ({"multi_floor": True}, "557 questions were asked of a robot without stairs"),
    ({"privileged": ("labels",)}, "privileged parts (labels)")])
def test_each_reason_is_said(changed: dict[str, object], why: str) -> None:
    own = dict(changed)
    n = int(str(own.pop("n", 557)))
    judge, privileged = str(own.pop("judge", OFFICIAL)), own.pop("privileged", ())
    asked = [question(i, **own) for i in IDS[:n]]
    found = of(beside(scores("openeqa", judge, asked, privileged=privileged, openeqa_c=0.5),  # type: ignore[arg-type]
                      manifest("openeqa", "active", n)), "human")
    assert any(why in reason for reason in found.reasons), found.reasons
    assert "not comparable: " in found.sentence and "85.1±1.1 human" in found.sentence


def test_what_a_paper_prints_twice_is_told_once() -> None:
    """OpenEQA's tables 2 to 5 and EXPRESS-Bench's 2 and 3 repeat values; 28.3 and 27.7 are both printed."""
    blind = [p.text for p in OPENEQA if p.system == "LLaMA-2 blind" and p.table.subset == SUBSETS["all of EM-EQA"]
             and not p.category]
    assert blind == ["28.3±1.0", "27.7", "28.3±1.0"]
    for dataset, task, n, metric in (("openeqa", "em", 1636, "openeqa_c"), ("express", "active", 2044, "express_c")):
        found = beside(scores(dataset, "offline", [question("q")], **{metric: 0.5}), manifest(dataset, task, n))
        own = [(p.system, p.table.forced, p.table.subset.name) for b in found for p in b.published
               if p in OPENEQA or p in EXPRESS]
        assert len(own) == len(set(own)) > 5


def test_a_spread_over_runs_is_no_standard_error() -> None:
    """NavMCP prints the standard deviation of three runs, not the error of a mean over questions."""
    ours = [p for p in PUBLISHED if p.system.startswith("NavMCP")]
    assert {p.text for p in ours} >= {"76.7±0.1", "79.27±0.44"} and all(p.error is None for p in ours)
    page = published_page()
    assert "±: standard deviation over three runs" in page and all(f"## {p.table.paper}, {p.table.name}" in page
                                                                   for p in PUBLISHED)
    assert "| GPT-4 blind | 32.5±1.2 | 35.5±1.7 | 33.5±1.0 | 35.5±1.7 | – |" in page


def test_a_mean_over_right_answers_is_said_to_be_one() -> None:
    asked = [question(str(n), poses=3, allowed_steps=9, sigma=5.0, multiple_choice=True) for n in range(500)]
    found = beside(scores("hm-eqa", "offline", asked, hm_eqa_accuracy=1.0, hm_eqa_normalised_steps=0.3),
                   manifest("hm-eqa", "active", 500))
    assert of(found, "FAST-EQA", "hm_eqa_accuracy").reasons == ()
    assert any("rightly answered" in why for why in of(found, "FAST-EQA", "hm_eqa_normalised_steps").reasons)


def test_what_is_alike_is_comparable() -> None:
    samples = read_openeqa(shared_data("."), "aeqa-557", starts=False)
    asked = [question(s.id) for s in samples]
    found = of(beside(scores("openeqa", OFFICIAL, asked, openeqa_c=0.5), manifest("openeqa", "active", 557)), "human")
    assert found.reasons == () and found.ours == 50 and found.sentence.endswith("; comparable")
    choice = beside(scores("hm-eqa", "offline", [question(str(n), poses=3, allowed_steps=9, sigma=5.0,
                                                          multiple_choice=True) for n in range(500)],
                           hm_eqa_accuracy=1.0), manifest("hm-eqa", "active", 500))
    assert len(choice) == 3 and all(b.reasons == () and b.ours == 100 for b in choice)


def test_an_abstention_may_count_as_a_blind_guess() -> None:
    guessed = [question(i, status="abstained", sigma=1.0, blind_sigma=5.0) for i in IDS]
    found = beside(scores("openeqa", OFFICIAL, guessed, openeqa_c=0.0), manifest("openeqa", "active", 557))
    assert of(found, "human").ours == 100 and not any("abstentions" in r for r in of(found, "human").reasons)
    later = of(found, "3D-Mem (GPT-4o)")
    assert any("do not count with the blind mark" in reason for reason in later.reasons)
    blind = of(beside(scores("openeqa", OFFICIAL, guessed, BLIND, openeqa_c=0.0),
                      manifest("openeqa", "active", 557)), "3D-Mem (GPT-4o)")
    assert blind.ours == 100 and not any("blind mark" in reason for reason in blind.reasons)
    assert "episodes there end after 50 steps of at most 1 m" in blind.reasons


def test_shares_stand_beside_shares_and_per_cent_beside_per_cent() -> None:
    """EXPRESS-Bench prints table 4 as shares of 1 and table 2 in per cent: 57.5 beside 0.34 compares nothing."""
    asked = [question("q", confidence=0.25, reference_metres=5.0, metres=8.0)]
    lines = sentences(scores("express", "offline", asked, npl=0.625, ace=0.25, wce=0.15625, express_c_star=0.6),
                      manifest("express", "active", 1))
    for begin in ("npl 0.62 here; 0.34 Fine-EQA", "ace 0.25 here; 0.59 Fine-EQA", "wce 0.16 here; 0.22 Fine-EQA",
                  "express_c_star 60.0 here; 63.95 Fine-EQA"):
        assert any(line.startswith(begin) for line in lines), (begin, lines)


def test_answers_of_several_runs_stand_beside_nothing() -> None:
    """`eqa bench mix` makes a study of judges, whose mean is nobody's score."""
    asked, mixed = [question(i) for i in IDS], manifest("openeqa", "active", 557, mixed={"a": "a", "b": "b"})
    table = scores("openeqa", OFFICIAL, asked, openeqa_c=0.5)
    assert sentences(table, mixed) == ["no published number stands beside answers of several runs"]
    assert "answers of several runs are mixed here" in reasons(PUBLISHED[0].table, "openeqa_c", table, mixed)


def test_the_built_in_house_stands_beside_nothing() -> None:
    one = [question("q")]
    assert sentences(scores("house", "offline", one, openeqa_c=0.9), manifest("house", "active", 20))[0].startswith(
        "no published")
    assert sentences(scores("mine", "offline", one, openeqa_c=0.9), manifest("mine", "active", 20)) == []
    lines = sentences(scores("embodied-eval", "offline", one, succ=0.2), manifest("embodied-eval", "tasks", 1))
    assert "97.26 human, 25.00 GPT-4o" in lines[0] and "and 17 more in docs/published.md" in lines[0]
    lenient = manifest("embodied-eval", "tasks", 328, rules="lenient")
    table = next(p.table for p in PUBLISHED if p.table.dataset == "embodied-eval")
    asked = scores("embodied-eval", "offline", [question(f"{n:04d}") for n in range(328)], succ=0.2)
    assert list(reasons(table, "succ", asked, lenient)) == [
        "a reply without a valid option ends a task there (--rules strict)"]
    assert not list(reasons(table, "succ", asked, manifest("embodied-eval", "tasks", 328, rules="strict")))
