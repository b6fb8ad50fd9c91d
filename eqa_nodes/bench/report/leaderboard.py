"""A page with one row per scored run, sortable by any column: agent, results and costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.bench.metrics.compare import ScoredRun
from eqa_nodes.bench.metrics.formulas import MeanInterval, shown
from eqa_nodes.bench.metrics.values import SHARES
from eqa_nodes.bench.report.page import REPORT, page_templates
from eqa_nodes.bench.running.manifest import agent_of, commit_of, differing_settings, policy_of
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.samples import TASKS

IN_COLUMNS = ("model", "explorer.policy")  # settings with their own column


class BoardCell(NamedTuple):
    """A mean and its interval as text, "" = none; order: sort key, "" = below all others."""

    mean: str
    interval: str
    order: float | str


class BoardColumn(NamedTuple):
    """A column of numbers. metric: name in scores.json; digits: number of decimals; down: larger is better."""

    heading: str
    metric: str
    digits: int
    down: bool = False


MEASURES = (
    BoardColumn("C %", "openeqa_c", 1, True), BoardColumn("E % (metres)", "openeqa_e_metres", 1, True),
    BoardColumn("SPL %", "spl", 1, True), BoardColumn("calls", "calls", 1), BoardColumn("tokens", "tokens", 0),
    BoardColumn("metres", "metres", 1), BoardColumn("seconds", "seconds", 1))
TASK_MEASURES = (BoardColumn("Succ. %", "succ", 2, True), BoardColumn("GcS %", "gcs", 2, True),
                 BoardColumn("SPL %", "task_spl", 2, True), BoardColumn("steps", "steps", 1), *MEASURES[3:])


class Standing(NamedTuple):
    """A row: one run. href: its report, relative to the page, "" = none yet; settings: names and values."""

    run: str
    href: str
    names: tuple[str, ...]
    cells: tuple[BoardCell, ...]
    settings: tuple[tuple[str, str], ...]


class Board(NamedTuple):
    """Comparable runs, best first: same questions, same judge. notes: remarks for the reader."""

    title: str
    rows: tuple[Standing, ...]
    notes: tuple[str, ...]
    measures: tuple[BoardColumn, ...] = MEASURES


NAMES: tuple[tuple[str, Callable[[ScoredRun], str]], ...] = (
    ("agent", lambda run: agent_of(run.manifest)), ("policy", lambda run: policy_of(run.manifest) or "–"),
    ("model", lambda run: run.manifest.asked or "–"), ("commit", lambda run: commit_of(run.manifest)))


def write_leaderboard(runs: Sequence[Path], page: Path) -> tuple[Board, ...]:
    """Write the page of scored runs and return its boards.

    Raises ConfigError for a run that is given twice, StorageError for one that is not scored.
    """
    if len({run.resolve() for run in runs}) < len(runs):
        raise ConfigError("a run is named twice: name each one once")
    boards = boards_of([ScoredRun(run) for run in runs], page.resolve().parent)
    write_bytes(page, page_templates().get_template("leaderboard.html.j2").render(
        boards=boards, names=[name for name, _ in NAMES], runs=len(runs)).encode())
    return boards


def boards_of(runs: Sequence[ScoredRun], folder: Path) -> tuple[Board, ...]:
    """Return a board for each set of questions and judge, in the order of the runs. folder: folder of the page."""
    groups: dict[tuple[str, ...], list[ScoredRun]] = {}
    for run in runs:
        key = (run.manifest.task, run.manifest.dataset_sha256, run.scores.judge, run.scores.judge_sha256,
               run.scores.failed)
        groups.setdefault(key, []).append(run)
    return tuple(_board(group, folder) for group in groups.values())


def _board(runs: Sequence[ScoredRun], folder: Path) -> Board:
    manifest, scores = runs[0].manifest, runs[0].scores
    differ = [row for row in differing_settings(*(run.manifest for run in runs)) if row[0] not in IN_COLUMNS]
    parts = [", ".join(run.scores.privileged) or "nothing" for run in runs]
    if len(set(parts)) > 1:
        differ.append(("privileged", *parts))
    measures = TASK_MEASURES if manifest.task == TASKS else MEASURES
    rows = [_standing(run, folder, tuple((name, values[at]) for name, *values in differ), measures)
            for at, run in enumerate(runs)]
    best = measures[0]
    rows.sort(key=lambda row: -float(row.cells[0].order) if row.cells[0].order != "" else 1.0)
    title = f"{manifest.dataset or 'questions'}, {manifest.share}"
    notes = [f"marked by the judge {scores.judge} ({scores.judge_sha256[:12]}); sorted by {best.heading}",
             "means with 95 % intervals: runs whose intervals overlap may be equally good; eqa bench compare pairs two "
             "of them by question and tests the difference"]
    privileged = sorted({name for run in runs for name in run.scores.privileged})
    if privileged:
        notes.append(f"privileged: {', '.join(privileged)} (knows what a robot in the world would not)")
    partly = [f"{run.out} has {run.scores.rows[0].metrics[best.metric].n} of {run.manifest.questions}" for run in runs
              if run.scores.rows[0].metrics[best.metric].n < run.manifest.questions]
    if partly:
        notes.append(f"not all questions are marked: {'; '.join(partly)}")
    return Board(title, tuple(rows), tuple(notes), measures)


def _standing(run: ScoredRun, folder: Path, settings: tuple[tuple[str, str], ...],
              measures: Sequence[BoardColumn]) -> Standing:
    report = run.out / REPORT
    href = Path(os.path.relpath(report.resolve(), folder)).as_posix() if report.exists() else ""
    everything = run.scores.rows[0].metrics
    cells = tuple(cell(everything[measure.metric], measure) for measure in measures)
    return Standing(str(run.out), href, tuple(of(run) for _, of in NAMES), cells, settings)


def cell(value: MeanInterval, measure: BoardColumn) -> BoardCell:
    """Return a mean with its interval; shares as percentages."""
    factor = 100 if measure.metric in SHARES else 1
    mean, _, interval = shown(value, factor, measure.digits).partition(" ")
    return BoardCell(mean, interval, "" if value.mean is None else factor * value.mean)
