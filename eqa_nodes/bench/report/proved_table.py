"""The table of a run whose questions have rules of a right answer: right, wrong and declined by kind, and calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Group

from eqa_nodes.bench.house.weeks_truth import DECLINED, RIGHT, WRONG, rule_of, verdict
from eqa_nodes.bench.report.text_tables import notes_below, terminal_table
from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.predictions import Prediction, read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.samples import Sample

SURE = 0.9  # confidence from which a wrong answer is counted apart
_BINS = 10
HEADINGS = ("questions", "n", "right", "wrong", "declined", "wrong, sure", "right %", "pictures", "evidence %")


class ProvedAnswer(NamedTuple):
    """An answer and its verdict. pictures: number of recalled pictures. found: share of the patrols that the question
    needs of which there is a picture, None if it needs none.
    """

    sample: Sample
    verdict: str
    confidence: float
    pictures: int
    found: float | None


def proved_answers(out: Path) -> list[ProvedAnswer]:
    """Return the answers of a run to questions that have a rule. Raises StorageError."""
    predictions = read_predictions(out).predictions
    return [_proved(out, s, predictions[s.id]) for s in read_samples(out / SAMPLES)
            if "rule" in s.metadata and s.id in predictions]


def _proved(out: Path, sample: Sample, prediction: Prediction) -> ProvedAnswer:
    answer, rule = prediction.answer, rule_of(sample.metadata["rule"])
    said = "" if answer.abstained else answer.text
    judged = verdict(rule, said, datetime.fromisoformat(str(sample.metadata["time"])))
    shown = load_trace(inside(out, prediction.trace)).keyframes if prediction.trace else []
    spans: list[tuple[str, float, float]] = sample.metadata.get("episodes", [])  # type: ignore[assignment]
    seen = [any(first <= k.stamp_ns / 1e9 <= last + 1 for k in shown) for _, first, last in spans]
    return ProvedAnswer(sample, judged, answer.confidence if said else 0.0, len(shown),
                        float(np.mean(seen)) if seen else None)


def calibration_error(answers: Sequence[ProvedAnswer]) -> float:
    """Return the expected calibration error over ten bins of the confidence of the answers that were given."""
    given = [a for a in answers if a.verdict != DECLINED and a.confidence > 0]
    if not given:
        return 0.0
    sure = np.array([a.confidence for a in given])
    right = np.array([a.verdict == RIGHT for a in given], float)
    place = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    return float(sum(abs(sure[place == k].mean() - right[place == k].mean()) * (place == k).mean()
                     for k in range(_BINS) if (place == k).any()))


def proved_rows(answers: Sequence[ProvedAnswer]) -> list[list[str]]:
    """Return the rows of the table: all, both halves of the houses, and each kind."""
    halves = dict.fromkeys(str(a.sample.metadata.get("half", "")) for a in answers)
    kinds = sorted({a.sample.category for a in answers})
    groups = [("all", list(answers))]
    groups += [(f"houses {half}", [a for a in answers if a.sample.metadata.get("half") == half])
               for half in halves if half]
    groups += [(kind, [a for a in answers if a.sample.category == kind]) for kind in kinds]
    return [_row(name, group) for name, group in groups]


def _row(name: str, group: Sequence[ProvedAnswer]) -> list[str]:
    counts = [sum(a.verdict == v for a in group) for v in (RIGHT, WRONG, DECLINED)]
    sure = sum(a.verdict == WRONG and a.confidence >= SURE for a in group)
    found = [a.found for a in group if a.found is not None]
    return [name, str(len(group)), *map(str, counts), str(sure), f"{100 * counts[0] / max(len(group), 1):.0f}",
            f"{np.mean([a.pictures for a in group]):.1f}", f"{100 * np.mean(found):.0f}" if found else "–"]


def proved_table(answers: Sequence[ProvedAnswer]) -> Group:
    """Return the table for a terminal."""
    rows = proved_rows(answers)
    notes = [f"wrong, sure: confidence of {SURE} or more; expected calibration error "
             f"{calibration_error(answers):.2f}; pictures: recalled for an answer; evidence: share of the patrols that "
             "an answer needs of which a picture was recalled"]
    return Group(terminal_table(HEADINGS, rows, bold=(0,)), *notes_below(notes))
