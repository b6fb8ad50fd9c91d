"""A run's values beside the published ones, and the reasons why they are not comparable.

Criteria: the judge's prompts (their hash) and its exact model, the questions (their ids), limits and floors, values
excluded from means, and privileged parts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.metrics.scores import Scores
from eqa_nodes.bench.metrics.values import BLIND, FORCED, LEAVE_OUT, value_of
from eqa_nodes.bench.readers.explora import KINDS
from eqa_nodes.bench.reference.published import Limit, PublishedJudge, PublishedValue, Subset, Table, published_values
from eqa_nodes.bench.running.manifest import MIXED, RunManifest
from eqa_nodes.core.types.samples import ACTIVE, TASKS

# Metrics that do not depend on a judge of wording.
NO_WORDING = ("hm_eqa_accuracy", "hm_eqa_normalised_steps", "succ", "gcs", "task_spl", "express_d_t", "npl", "ace",
              "wce", "metres", "sr", "osr", "spl")
_IN_METRES = ("express_d_t", "metres")
_SHARES = ("npl", "ace", "wce")  # their paper prints them as shares of 1
_MOST = 5  # maximum number of published values in a sentence
_JUDGE = re.compile(r"\((?P<model>.+), prompt (?P<prompt>[0-9a-f]{8})\)$")  # end of the names of judges that are models


class Beside(NamedTuple):
    """Published values of one metric over the same questions, and the run's own. reasons: () = comparable.

    ours: per cent, or metres. plain: the same without blind guesses, None if there are none.
    """

    published: tuple[PublishedValue, ...]
    ours: float | None
    reasons: tuple[str, ...]
    plain: float | None = None

    @property
    def sentence(self) -> str:
        """Return one sentence for tables and reports."""
        first, metres = self.published[0], self.published[0].metric in _IN_METRES
        own = "-" if self.ours is None else f"{self.ours:.2f} m" if metres else (
            f"{self.ours / 100:.2f}" if first.metric in _SHARES else f"{self.ours:.1f}")
        here = f"{own} here" if self.plain is None else (
            f"{self.plain:.1f} here, {own} with a blind guess for each \"I don't know\"")
        best = sorted(self.published, key=lambda p: p.value, reverse=not metres)
        named = ", ".join(f"{p.text} {p.system}" for p in best[:_MOST])
        more = f" and {len(best) - _MOST} more in docs/published.md" if len(best) > _MOST else ""
        verdict = "not comparable: " + "; ".join(self.reasons) if self.reasons else "comparable"
        return (f"{first.metric} {here}; {named}{more} ({first.table.origin}; {first.table.subset.name}; "
                f"{first.table.judging.name}); {verdict}")


def beside(scores: Scores, manifest: RunManifest) -> list[Beside]:
    """Return the published values over all categories of the run's data set and task, for the run's metrics.

    A value that a paper prints in several tables is used once, from the first of them. There are none for a run of
    mixed answers.
    """
    if MIXED in manifest.config:
        return []
    metrics = scores.rows[0].metrics
    groups: dict[tuple[Table, str], list[PublishedValue]] = {}
    first: dict[tuple[Table, str, str], PublishedValue] = {}
    for p in published_values():
        if (p.table.dataset, p.table.task) == (manifest.dataset, manifest.task) and not p.category \
                and metrics[p.metric].mean is not None \
                and first.setdefault((p.table._replace(name=""), p.metric, p.system), p) is p:
            groups.setdefault((p.table, p.metric), []).append(p)
    found = []
    for (table, metric), rows in groups.items():
        ours, plain = (own_mean(scores, table._replace(forced=forced), metric) for forced in (table.forced, False))
        found.append(Beside(tuple(rows), ours, tuple(reasons(table, metric, scores, manifest)),
                            None if plain == ours else plain))
    return found


def sentences(scores: Scores, manifest: RunManifest) -> list[str]:
    """Return a line for each group of published values, or one line with the reason why there is none."""
    found = beside(scores, manifest)
    if found:
        return [row.sentence for row in found]
    if MIXED in manifest.config:
        return ["no published number stands beside answers of several runs"]
    if manifest.dataset == "house":
        return ["no published number stands beside a run in the built-in houses: other questions, drawn rooms instead "
                "of scans of homes, another judge"]
    return []


def chosen(scores: Scores, source: str = "", category: str = "") -> list[QuestionScore]:
    """Return the scored questions of a source and a category, "" = any; a kind of category of ExploraQA has several."""
    wanted = KINDS.get(category, (category,))
    return [q for q in scores.questions if source in ("", q.source) and ("" in wanted or q.category in wanted)]


def own_values(scores: Scores, metric: str, source: str = "", category: str = "",
               forced: bool = False) -> list[float]:
    """Return the run's values of a metric as shares, metres or counts; questions without one are left out.

    forced: C and E with a blind guess instead of each abstention, if all abstentions have one.
    """
    questions = chosen(scores, source, category)
    name = forced_metric(questions, metric) if forced else metric
    return [v for q in questions if (v := value_of(q, name, scores.failed)) is not None]


def forced_metric(questions: Iterable[QuestionScore], metric: str) -> str:
    """Return the metric with a blind guess instead of an abstention; without such guesses the metric itself."""
    guessed = all(q.blind_sigma is not None for q in questions if q.status == "abstained")
    return FORCED.get(metric, metric) if guessed else metric


def own_mean(scores: Scores, table: Table, metric: str) -> float | None:
    """Return the run's mean over the questions of a published table: per cent, or metres; None without a value."""
    found = own_values(scores, metric, table.subset.source, forced=table.forced)
    return (1 if metric in _IN_METRES else 100) * sum(found) / len(found) if found else None


def reasons(table: Table, metric: str, scores: Scores, manifest: RunManifest) -> Iterator[str]:
    """Yield why the run's values of a metric are not comparable with those of a published table."""
    row, questions = scores.rows[0], chosen(scores, table.subset.source)
    if MIXED in manifest.config:
        yield "answers of several runs are mixed here"
    if metric not in NO_WORDING:
        yield from _of_judge(table.judging, scores.judge)
    elif metric in ("ace", "wce") and table.judging.model not in scores.confidence.lower():
        yield f"another confidence ({scores.confidence or 'the agent' + chr(39) + 's own'})"
    yield from _of_questions(table.subset, questions, manifest)
    if row.missing:
        yield f"{row.missing} questions are not asked yet"
    yield from _of_gaps(table, metric, questions, scores, manifest)
    if scores.privileged:
        yield f"privileged parts ({', '.join(scores.privileged)})"
    if table.task == TASKS and manifest.config.get("rules") == "lenient":
        yield "a reply without a valid option ends a task there (--rules strict)"
    if metric == "openeqa_e_steps":
        yield "l in frames of the recorded history here, in timesteps there"
    if table.task == ACTIVE or table.limit.text:
        yield from _of_limits(table.limit, questions)
    unknown = "published" in manifest.config  # the robot that was used is unknown
    if table.task == ACTIVE and not unknown and (floors := sum(q.multi_floor for q in questions)):
        yield f"{floors} questions were asked of a robot without stairs although their recorded path changes floor"


def _of_judge(judging: PublishedJudge, name: str) -> Iterator[str]:
    """Compare the judge by its kind, its prompts and its exact model."""
    said = _JUDGE.search(name)
    if not all(word in name.lower() for word in judging.words) or said is None:
        yield f"another judge ({name})"
        return
    if not judging.prompt_sha256:
        yield "the judge's prompts there are not known"
    elif said["prompt"] != judging.prompt_sha256[:8] or " official " not in name:
        yield f"the judge has other prompts or settings (official judging has prompt {judging.prompt_sha256[:8]})"
    if not judging.model:
        yield "the judge's model there is not named"
    elif said["model"] != judging.model:
        yield f"another model of the judge ({said['model']} here, {judging.model} there)"


def _of_questions(subset: Subset, questions: Sequence[QuestionScore], manifest: RunManifest) -> Iterator[str]:
    asked = len(questions) if subset.ids_sha256 or subset.source else manifest.questions
    if subset.unknown:
        yield f"other questions ({subset.unknown})"
    elif subset.questions != asked:
        yield f"other questions ({asked} here, {subset.questions} there)"
    elif subset.ids_sha256 and ids_hash(q.id for q in questions) != subset.ids_sha256:
        yield f"other questions ({asked} in both, not the same)"


def ids_hash(ids: Iterable[str]) -> str:
    """Return the sha256 that `Subset.ids_sha256` states."""
    return hashlib.sha256("\n".join(sorted(ids)).encode()).hexdigest()


def _of_gaps(table: Table, metric: str, questions: Sequence[QuestionScore], scores: Scores,
             manifest: RunManifest) -> Iterator[str]:
    """Compare the treatment of failures, abstentions and questions without a mark."""
    count = Counter(q.status for q in questions)
    unscored = sum(q.unscored for q in questions) if metric not in NO_WORDING else 0
    if table.failed == BLIND != scores.failed and count["failed"] + count["abstained"]:
        yield (f"{count['failed']} failed questions and {count['abstained']} abstentions do not count with the blind "
               "mark (--failed blind does)")
    elif (left_out := count["failed"] if scores.failed == LEAVE_OUT else 0) or unscored:
        yield f"{left_out} failed and {unscored} unscored questions are in no mean here"
    if table.forced and count["abstained"] and forced_metric(questions, metric) == metric:
        yield (f"{count['abstained']} abstentions count with mark 1 here, with that of a blind guess there "
               "(--force-guess)")
    if table.dataset == "openeqa" and not table.failed and not table.forced and manifest.config.get("force_guess"):
        yield "abstentions were replaced by blind guesses here (--force-guess)"


def _of_limits(limit: Limit, questions: Sequence[QuestionScore]) -> Iterator[str]:
    """Compare the limits that end episodes: a limit only of the run, or a published one that the run lacks."""
    if limit.steps:
        kept = all(q.steps <= limit.steps for q in questions)
    elif limit.poses:
        kept = all(q.allowed_steps and q.poses is not None and q.poses <= q.allowed_steps for q in questions)
    else:
        kept = not limit.text
    if not kept:
        yield f"episodes there end after {limit.text}"
    same = f"{limit.steps} steps" if limit.steps else " poses" if limit.poses else limit.text
    own = Counter(q.limit for q in questions if q.limit and not (kept and same and q.limit.endswith(same)))
    if own:
        yield f"limits ended {sum(own.values())} searches here ({', '.join(own)})"
