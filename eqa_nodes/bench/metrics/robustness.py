"""Measures how much LLM-Match depends on its settings (OpenEQA's supplement, tables 6, 8, 9 and 10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from eqa_nodes.bench.judges.base import Judge, JudgeOptions
from eqa_nodes.bench.judges.cached import MARKS, CachedJudge
from eqa_nodes.bench.judges.marking import mark_run, open_judge
from eqa_nodes.bench.judges.prompts import CRITERIA, ROLES
from eqa_nodes.bench.metrics.agreement import Marks, agreement, rho_of
from eqa_nodes.bench.metrics.formulas import openeqa_c
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.storage.codec import write_json

ROBUSTNESS = "robustness.json"
TEMPERATURES = (0.01, 0.1, 0.2, 0.3)  # table 10
SEEDS = (1, 2, 3)  # of the model's sampling, beside the base's; only a temperature above 0 draws
AXES = ("role", "criterion", "temperature", "seed", "model")


@dataclass(frozen=True)
class Variant:
    """One setting of the judge on the same answers. c: mean of (sigma - 1) / 4, None where nothing was marked.

    rho, low, high, equal: against the base judge; None where too little was marked, or every mark is the same.
    confusion: [mark of the base - 1][mark of this setting - 1] -> answers; () of the base itself. rhos: to each setting
    of the study in its order, the base first.
    """

    axis: str
    value: str
    judge: str
    version: str
    marked: int
    unscored: int
    c: float | None
    rho: float | None = None
    low: float | None = None
    high: float | None = None
    equal: float | None = None
    confusion: tuple[tuple[int, ...], ...] = ()
    rhos: tuple[float | None, ...] = ()


def variants(base: JudgeOptions, axes: Sequence[str],
             models: Sequence[str] = ()) -> list[tuple[str, str, JudgeOptions]]:
    """Return axis, value and options: the base first, then each axis with its other values, one changed at a time.

    models: of the axis model. Raises ConfigError for an unknown axis, or the axis model without models.
    """
    found = [("base", "", base)]
    for axis in axes:
        if axis == "role":
            found += [(axis, v, replace(base, role=v)) for v in ROLES]
        elif axis == "criterion":
            found += [(axis, v, replace(base, criterion=v)) for v in CRITERIA]
        elif axis == "temperature":
            found += [(axis, f"{t:g}", replace(base, model=replace(base.model, temperature=t))) for t in TEMPERATURES]
        elif axis == "seed":
            found += [(axis, f"{s}", replace(base, model=replace(base.model, seed=s))) for s in SEEDS]
        elif axis == "model":
            if not models:
                raise ConfigError("which models? Name them: --models gpt-4o,gpt-4o-mini")
            found += [(axis, m, replace(base, model=replace(base.model, model=m))) for m in models]
        else:
            raise ConfigError(unknown("axis", axis, AXES))
    return [v for v in found if v[0] == "base" or v[2] != base]


def sweep(run: Path, judge: str, base: JudgeOptions, axes: Sequence[str], *, models: Sequence[str] = (),
          threads: int = 8, limit: int = 0, seed: int = 0,
          progress: Callable[[str, int, int], None] = lambda variant, done, total: None,
          open_named: Callable[[str, JudgeOptions], Judge] = open_judge) -> list[Variant]:
    """Mark the first `limit` answers of a run (0 = all) under every variant, and write robustness.json.

    Marks are kept as those of `bench score` are: nothing is paid twice, and the sweep goes on after a kill. A budget is
    that of each variant. Raises ConfigError, StorageError.
    """
    rows: list[Variant] = []
    kept: list[Marks] = []
    for axis, value, options in variants(base, axes, models):
        what = f"{axis} {value}".strip()
        with CachedJudge(open_named(judge, options), run / MARKS) as cached:
            marked = mark_run(run, cached, threads, limit, partial(progress, what))
        scored = [q for q in marked if q.status != "failed"]
        marks = {q.id: q.sigma for q in scored if q.sigma is not None}
        c = sum(openeqa_c(sigma) for sigma in marks.values()) / len(marks) if marks else None
        row = Variant(axis, value, cached.name, cached.version, len(marks), len(scored) - len(marks), c)
        kept.append(marks)
        if rows and marks.keys() & kept[0].keys():
            same = agreement(kept[0], marks, seed)
            row = replace(row, rho=same.rho, low=same.low, high=same.high, equal=same.equal,
                          confusion=same.confusion)
        rows.append(row)
    rows = [replace(row, rhos=tuple(rho_of(own, other) for other in kept)) for row, own in zip(rows, kept, strict=True)]
    write_json(run / ROBUSTNESS, rows)
    return rows
