"""Published numbers as data, and the reasons why a run's own are comparable with them or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eqa_nodes.bench.metrics.scores import Scores
from eqa_nodes.bench.metrics.values import LEAVE_OUT
from eqa_nodes.bench.running.manifest import RunManifest
from eqa_nodes.bench.samples import ACTIVE, EM

OPENEQA, OPENEQA_JUDGE = "Majumdar et al. 2024, OpenEQA", "LLM-Match by GPT-4"
EXPRESS, EXPRESS_JUDGE = "Jiang et al. 2025, EXPRESS-Bench", "EAC by a vision-language model"
EXPLORA, EXPLORA_JUDGE = "AQ-Nav, ExploraQA", "VLM-Match"
# What the name of a judge must hold to be of the same kind.
_KINDS = {OPENEQA_JUDGE: ("llm", "match", "gpt-4"), EXPRESS_JUDGE: ("eac",), EXPLORA_JUDGE: ("vlm", "match")}
_NO_WORDING = ("hm_eqa_accuracy", "succ", "express_d_t")  # metrics that no judge of wording decides
LATER = "best published so far"
UNSTATED = "not stated here"


class Published(NamedTuple):
    """One number of a paper. metric: its name in scores.json; value: per cent, or metres for d_T.

    dataset, task: of a run that may stand beside it; questions: how many it is a mean over, 0 = not stated here.
    seen: what the agent was given.
    """

    dataset: str
    task: str
    metric: str
    system: str
    value: float
    judge: str
    paper: str
    subset: str
    questions: int = 0
    seen: str = "images of scans"


def _rows(dataset: str, task: str, judge: str, paper: str, subset: str, questions: int, metrics: tuple[str, ...],
          systems: dict[str, tuple[float | None, ...]], seen: str = "images of scans") -> Iterator[Published]:
    for system, values in systems.items():
        for metric, value in zip(metrics, values, strict=True):
            if value is not None:
                yield Published(dataset, task, metric, system, value, judge, paper, subset, questions, seen)


_C, _E, _SPL = "openeqa_c", "openeqa_e_steps", "openeqa_e_metres"
_EAC = ("express_c", "express_c_star", "express_e_path", "express_d_t")
PUBLISHED: tuple[Published, ...] = (
    *_rows("openeqa", EM, OPENEQA_JUDGE, OPENEQA, "all of EM-EQA", 1636, (_C,),
           {"GPT-4 blind": (33.5,), "GPT-4 with LLaVA-1.5 captions": (43.6,), "GPT-4 with ConceptGraphs": (36.5,),
            "GPT-4 with sparse voxel map": (38.9,), "human": (86.8,)}),
    *_rows("openeqa", EM, OPENEQA_JUDGE, OPENEQA, "500 questions", 500, (_C,), {"GPT-4V": (49.6,)}),
    *_rows("openeqa", ACTIVE, OPENEQA_JUDGE, OPENEQA, "all of A-EQA", 557, (_C, _E),
           {"GPT-4 blind": (35.5, None), "GPT-4 with LLaVA-1.5 captions": (38.1, 7.0), "human": (85.1, None)}),
    *_rows("openeqa", ACTIVE, OPENEQA_JUDGE, OPENEQA, "a part of A-EQA", 0, (_C, _E),
           {"GPT-4V with frontiers": (41.8, 7.5)}),
    *_rows("openeqa", ACTIVE, UNSTATED, LATER, "A-EQA, subset not stated here", 0, (_C, _SPL),
           {"Pred-EQA (Qwen3-VL-32B)": (56.3, 53.9), "3D-Mem (GPT-4o)": (52.6, 42.0)}),
    *_rows("express", ACTIVE, EXPRESS_JUDGE, EXPRESS, "all", 2044, _EAC,
           {"random": (36.95, 62.75, 12.06, 7.26), "frontiers": (38.60, None, 14.55, 6.64),
            "goal-oriented": (38.54, 63.34, 12.74, 6.46), "Fine-EQA": (40.55, 63.95, 16.22, 6.43)}),
    *_rows("express", ACTIVE, UNSTATED, LATER, "subset not stated here", 0, ("express_c", "express_e_path"),
           {"best of each": (52.58, 47.66)}),
    *_rows("hm-eqa", ACTIVE, "the right option", LATER, "all", 500, ("hm_eqa_accuracy",), {"best": (76.7,)}),
    *_rows("exploraqa", ACTIVE, EXPLORA_JUDGE, EXPLORA, "test, unseen scenes", 0, (_C, _SPL),
           {"AQ-Nav": (45.4, 37.9), "ETPNav": (41.2, 32.5)}),
    *_rows("embodiedeval", ACTIVE, "predicates", "Cheng et al. 2025, EmbodiedEval", "all", 0, ("succ",),
           {"GPT-4o": (25.0,)}),
)


class Beside(NamedTuple):
    """A published number and the run's own. reasons: why they are not comparable; none = they are, on a condition."""

    published: Published
    ours: float | None
    reasons: tuple[str, ...]
    condition: str = ""

    @property
    def sentence(self) -> str:
        """Return one sentence for table and report."""
        p, metres = self.published, self.published.metric == "express_d_t"
        own = "-" if self.ours is None else f"{self.ours:.2f} m" if metres else f"{self.ours:.1f}"
        verdict = f"comparable{self.condition}" if not self.reasons else "not comparable: " + "; ".join(self.reasons)
        return f"{p.metric} {own} here, {p.value:g} for {p.system} ({p.paper}; {p.subset}; {p.judge}); {verdict}"


def beside(scores: Scores, manifest: RunManifest) -> list[Beside]:
    """Return the published numbers of the run's data set and task, each with the run's own where it has that metric."""
    metrics = scores.rows[0].metrics
    prompt = f" if the judge's prompt (sha256 {scores.judge_sha256[:12]}) is theirs"
    return [Beside(p, _ours(scores, p), tuple(_reasons(p, scores, manifest)),
                   "" if p.metric in _NO_WORDING else prompt) for p in PUBLISHED
            if (p.dataset, p.task) == (manifest.dataset, manifest.task) and metrics[p.metric].mean is not None]


def sentences(scores: Scores, manifest: RunManifest) -> list[str]:
    """Return a line for each published number, or one with the reason why there is none."""
    found = beside(scores, manifest)
    if found:
        return [row.sentence for row in found]
    if manifest.dataset == "house":
        return ["no published number stands beside a run in the built-in houses: other questions, drawn rooms instead "
                "of scans of homes, another judge"]
    return []


def _ours(scores: Scores, p: Published) -> float | None:
    mean = scores.rows[0].metrics[p.metric].mean
    return mean if mean is None or p.metric == "express_d_t" else 100 * mean


def _reasons(p: Published, scores: Scores, manifest: RunManifest) -> Iterator[str]:
    row = scores.rows[0]
    if p.metric not in _NO_WORDING:
        if p.judge == UNSTATED:
            yield "its judge is not stated here"
        elif not all(word in scores.judge.lower() for word in _KINDS[p.judge]):
            yield f"another judge ({scores.judge})"
    if p.questions != manifest.questions:
        yield (f"other questions ({manifest.questions} here, {p.questions or 'an unstated number'} there)")
    if row.missing:
        yield f"{row.missing} questions are not asked yet"
    left_out = row.failed if scores.failed == LEAVE_OUT else 0
    if left_out or row.unscored:
        yield f"{left_out} failed and {row.unscored} unscored questions are in no mean here"
    if scores.privileged:
        yield f"privileged parts ({', '.join(scores.privileged)})"
    if p.metric == _E:
        yield "l in frames of the recorded history here, in timesteps there"


def published_table() -> str:
    """Return all published numbers as Markdown, as docs/benchmarks.md shows them."""
    heads = ("data set, task", "metric", "system", "value", "judge", "subset", "from")
    lines = [(f"{p.dataset}, {p.task}", p.metric, p.system, f"{p.value:g}", p.judge, p.subset, p.paper)
             for p in PUBLISHED]
    return "".join("| " + " | ".join(line) + " |\n" for line in (heads, ("---",) * len(heads), *lines))


if __name__ == "__main__":
    print(published_table(), end="")
