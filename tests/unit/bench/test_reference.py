"""Published numbers: one place, and a reason for each that a run may not be compared with."""

from __future__ import annotations

import pytest

from eqa_nodes.bench.metrics.formulas import MeanInterval
from eqa_nodes.bench.metrics.scores import Row, Scores
from eqa_nodes.bench.metrics.values import METRICS
from eqa_nodes.bench.reference import PUBLISHED, beside, published_table, sentences
from eqa_nodes.bench.running.manifest import RunManifest
from tests.fixtures.paths import ROOT

DOCUMENT = ROOT / "docs" / "benchmarks.md"


def scores(dataset: str, judge: str = "offline", n: int = 1636, failed: int = 0, privileged: tuple[str, ...] = (),
           **means: float) -> Scores:
    metrics = {name: MeanInterval(means.get(name), means.get(name), means.get(name), n if name in means else 0, 0)
               for name in METRICS}
    row = Row("all", n, n - failed, 0, failed, 0, 0, metrics)
    return Scores(dataset, judge, "ab" * 32, 0, privileged, (row,), ())


def manifest(dataset: str, task: str, n: int) -> RunManifest:
    return RunManifest(dataset, "", n, 0, "vlm", {}, task=task)


def test_every_number_names_a_metric_that_runs_have() -> None:
    assert {p.metric for p in PUBLISHED} <= METRICS.keys()
    assert len({(p.dataset, p.task, p.metric, p.system) for p in PUBLISHED}) == len(PUBLISHED)
    values = {(p.dataset, p.task, p.system, p.metric): p.value for p in PUBLISHED}
    assert values["openeqa", "em", "GPT-4V", "openeqa_c"] == 49.6
    assert values["openeqa", "active", "GPT-4V with frontiers", "openeqa_e_steps"] == 7.5
    assert values["express", "active", "Fine-EQA", "express_d_t"] == 6.43
    assert values["hm-eqa", "active", "best", "hm_eqa_accuracy"] == 76.7


def test_the_document_shows_these_numbers() -> None:
    assert published_table() in DOCUMENT.read_text(), \
        "docs/benchmarks.md: put `python -m eqa_nodes.bench.reference` under 'Published numbers'"


@pytest.mark.parametrize(("changed", "why"), [
    ({"judge": "offline"}, "another judge (offline)"), ({"n": 184}, "other questions (184 here, 1636 there)"),
    ({"failed": 3}, "3 failed and 0 unscored"), ({"privileged": ("labels",)}, "privileged parts (labels)")])
def test_each_reason_is_said(changed: dict[str, object], why: str) -> None:
    same = {"judge": "llm-match gpt-4", "n": 1636}
    options = {**same, **changed}
    found = beside(scores("openeqa", openeqa_c=0.5, **options),
                   manifest("openeqa", "em", int(str(options["n"]))))  # type: ignore[arg-type]
    human = next(b for b in found if b.published.system == "human")
    assert human.reasons == (next(r for r in human.reasons if why in r),) and human.ours == 50
    assert "not comparable: " in human.sentence and "86.8" in human.sentence and "50.0 here" in human.sentence


def test_what_is_alike_is_comparable_under_its_condition() -> None:
    found = beside(scores("openeqa", "llm-match gpt-4", openeqa_c=0.5), manifest("openeqa", "em", 1636))
    human = next(b for b in found if b.published.system == "human")
    assert not human.reasons and "comparable if the judge's prompt (sha256 abababababab) is theirs" in human.sentence
    choice = beside(scores("hm-eqa", n=500, hm_eqa_accuracy=0.8), manifest("hm-eqa", "active", 500))
    assert choice[0].sentence.endswith("; comparable")


def test_the_built_in_house_stands_beside_nothing() -> None:
    assert sentences(scores("house", openeqa_c=0.9), manifest("house", "active", 20))[0].startswith("no published")
    assert beside(scores("openeqa", openeqa_c=0.5), manifest("openeqa", "active", 184))[0].published.task == "active"
    assert sentences(scores("mine", openeqa_c=0.9), manifest("mine", "active", 20)) == []
