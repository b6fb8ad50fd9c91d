"""The score table of a run and the comparison of two: columns, cells and footnotes, for terminal and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Group

from eqa_nodes.bench.judges.base import CLIPPED
from eqa_nodes.bench.metrics.compare import LEVEL, Comparison, Difference
from eqa_nodes.bench.metrics.formulas import shown
from eqa_nodes.bench.metrics.scores import Row, Scores
from eqa_nodes.bench.metrics.values import BLIND, LEAVE_OUT, LOWEST, METRICS, SHARES
from eqa_nodes.bench.reference.beside import sentences
from eqa_nodes.bench.report.task_tables import NOTES, is_of_tasks, task_tables
from eqa_nodes.bench.report.text_tables import markdown_table, notes_below, terminal_table
from eqa_nodes.bench.running.manifest import RunManifest, answered_by


class ScoreColumn(NamedTuple):
    """A column: heading, and function of a row; None is shown as a dash."""

    heading: str
    cell: Callable[[Row], str]


def _percent(name: str, interval: bool = False, digits: int = 1) -> Callable[[Row], str]:
    def cell(row: Row) -> str:
        s = row.metrics[name]
        return shown(s if interval else s._replace(low=None, high=None), 100, digits)

    return cell


def _mean(name: str, digits: int) -> Callable[[Row], str]:
    return lambda row: "–" if row.metrics[name].mean is None else f"{row.metrics[name].mean:.{digits}f}"


def _scored(row: Row) -> str:
    return f"{row.metrics['openeqa_c'].n}/{row.questions}"


COLUMNS = (
    ScoreColumn("questions", lambda row: row.name),
    ScoreColumn("n", _scored),
    ScoreColumn("C % [95 %]", _percent("openeqa_c", interval=True)),
    ScoreColumn("blind C %", _percent("blind_c")),
    ScoreColumn("E % steps", _percent("openeqa_e_steps")),
    ScoreColumn("E % metres", _percent("openeqa_e_metres")),
    ScoreColumn("steps", _mean("steps", 1)),
    ScoreColumn("metres", _mean("metres", 1)),
    ScoreColumn("seconds", _mean("seconds", 1)),
    ScoreColumn("calls", _mean("calls", 1)),
    ScoreColumn("abstained", lambda row: str(row.abstained)),
    ScoreColumn("unscored", lambda row: str(row.unscored)),
    ScoreColumn("failed", lambda row: str(row.failed)),
)
HIGHEST = 5  # mark of a right answer
_COSTS = 6  # index of the first column of costs
_WIDE = 124  # terminal width that the whole table needs, characters


def score_table(scores: Scores, manifest: RunManifest, width: int) -> Group:
    """Return the table for a terminal of a width: in one piece if it fits, else marks above costs; then the footnotes.

    The footnotes include comparable published results.
    """
    title = headline(scores, manifest)
    if is_of_tasks(scores):
        return Group(*task_tables(scores, title), *notes_below(footnotes(scores) + sentences(scores, manifest)))
    parts = [(COLUMNS, title)] if width >= _WIDE else [(COLUMNS[:_COSTS], title), ((COLUMNS[0], *COLUMNS[_COSTS:]), "")]
    longest = max(len(word) for row in scores.rows for word in row.name.split())
    tables = [terminal_table([column.heading.replace(" ", "\n", 1) for column in columns],
                             [[column.cell(row) for column in columns] for row in scores.rows], title=above,
                             bold=[k for k, row in enumerate(scores.rows) if row.name == "all"], wrapped=(0,),
                             first_width=max(12, longest)) for columns, above in parts]
    return Group(*tables, *notes_below(footnotes(scores) + sentences(scores, manifest)))


def headline(scores: Scores, manifest: RunManifest) -> str:
    """Return the basis of a score: data set, questions, judge, agent, and privileged parts."""
    privileged = f"; privileged: {', '.join(scores.privileged)}" if scores.privileged else ""
    return (f"{scores.dataset or 'questions'}, {manifest.share}, judge {scores.judge}, {answered_by(manifest)}"
            f"{privileged}\n{', '.join((right(scores), *others(scores)))}")


def right(scores: Scores) -> str:
    """Return in plain words how many questions were answered right, i.e. with the highest mark."""
    count = sum(q.sigma == HIGHEST if q.judged else METRICS["succ"](q) == 1 for q in scores.questions)
    return f"right: {count} of {scores.rows[0].questions}"


def others(scores: Scores) -> list[str]:
    """Return the outcomes of the questions without a right answer, except wrong answers."""
    row, partly = scores.rows[0], sum(q.sigma is not None and 1 < q.sigma < HIGHEST for q in scores.questions)
    counts = ((partly, "partly right"), (row.abstained, "\"I don't know\""), (row.failed, "failed"),
              (row.unscored, "without a mark"), (row.missing, "not asked"))
    return [f"{count} {what}" for count, what in counts if count]


def footnotes(scores: Scores) -> list[str]:
    """Return the footnotes of the table: judge, missing values, privileged parts."""
    row = scores.rows[0]
    without = f"C is the mean over {row.metrics['openeqa_c'].n} of {row.questions} questions: "
    notes = [without + _said(row.unscored, "answer has no mark", "answers have no mark")] if row.unscored else []
    notes += NOTES if is_of_tasks(scores) else [f"judge: {scores.judge} (sha256 {scores.judge_sha256[:12]}); n: "
                                                "questions in the mean of C / asked"]
    gain = row.metrics["gain_over_blind"]
    if gain.mean is not None:
        notes.append(f"C above blind: {shown(gain, 100, 1, '+')}, the same "
                     f"{_said(gain.n, 'question', 'questions')} for both")
    if calls := sum(q.blind_calls for q in scores.questions):
        money = sum(q.blind_money for q in scores.questions)
        notes.append(f"blind answers took {_said(calls, 'call', 'calls')} and "
                     f"{sum(q.blind_tokens for q in scores.questions)} tokens more"
                     + (f", {money:.4g} by their prices" if money else ""))
    if row.failed and scores.failed != LEAVE_OUT:
        notes.append(f"{_said(row.failed, 'failed question counts', 'failed questions count')} in C and E with "
                     f"{'mark 1' if scores.failed == LOWEST else 'the blind mark and an infinite path'}")
    elif row.failed and is_of_tasks(scores):
        notes.append(f"{_said(row.failed, 'failed task is', 'failed tasks are')} in no mean")
    elif row.failed:
        notes.append(f"{_said(row.failed, 'failed question is', 'failed questions are')} in no mean; with mark 1 for "
                     f"each, C is {_percent('openeqa_c_failed_lowest')(row)} %")
    if row.abstained and scores.failed == BLIND:
        notes.append(f"so do {row.abstained} abstentions" if row.failed else
                     f"{row.abstained} abstentions count in C and E with the blind mark and an infinite path")
    if scores.failed == BLIND and (unknown := sum(q.blind_sigma is None and q.status in ("failed", "abstained")
                                                  for q in scores.questions)):
        notes.append(f"{_said(unknown, 'of them has no blind mark and is', 'of them have no blind mark and are')} in "
                     "no mean: --blind-marks FILE gives the marks of blind answers")
    if clipped := sum(q.note.startswith(CLIPPED) for q in scores.questions):
        notes.append(f"{_said(clipped, 'mark off the scale of 1 to 5 was', 'marks off the scale of 1 to 5 were')} "
                     "clipped, as OpenEQA's scorer does")
    limits = dict.fromkeys(q.limit for q in scores.questions if q.limit and not q.limit.endswith(" poses"))
    if limits:
        ended = sum(q.limit in limits for q in scores.questions)
        notes.append(f"{_said(ended, 'search was', 'searches were')} ended by a limit: {', '.join(limits)}")
    if scores.confidence:
        notes.append(f"NPL {_percent('npl')(row)} %, ACE {_percent('ace')(row)} %, WCE {_percent('wce')(row)} %: "
                     f"{scores.confidence} in the final view, n {row.metrics['ace'].n}")
    notes += [f"recalled images, {each.name}: {_mean('recalled', 1)(each)}; path ratio {_percent('npl')(each)} %, n "
              f"{each.metrics['npl'].n}" for each in scores.rows if each.metrics["recalled"].n]
    if row.metrics["hm_eqa_normalised_steps"].n:
        over = sum(q.poses > q.allowed_steps for q in scores.questions if q.poses and q.allowed_steps)
        notes.append(f"normalised steps {_percent('hm_eqa_normalised_steps')(row)} %: poses up to 3 m apart as a share "
                     f"of int(3 sqrt(A)), which ended {sum(q.limit.endswith(' poses') for q in scores.questions)} "
                     "episodes" + (f"; {over} took more, and count as 1" if over else ""))
    if endless := sum(q.endless for q in scores.questions):
        notes.append(f"{_said(endless, 'answer has', 'answers have')} no path length beside those published: an "
                     "infinite path, so 0 in E, and in no mean of metres")
    if nowhere := sum(q.reference_metres == 0 == q.metres and q.status != "failed" and not q.endless
                      and q.recalled is None for q in scores.questions):
        still = _said(nowhere, "question with a path of 0 m counts", "questions with a path of 0 m count")
        notes.append(f"{still} in E with l / max(p, l) = 1, since the reference path is 0 m, too; published scorers "
                     "divide 0 by 0 there")
    if row.unreachable:
        notes.append(f"unreachable: {row.unreachable} questions, of which {row.unreachable_abstained} ended with "
                     "\"I don't know\"; they count in C and E_path of EXPRESS-Bench, and in nothing else that "
                     "needs the length of a path")
    if row.missing:
        notes.append(f"{_said(row.missing, 'question has', 'questions have')} not been asked yet")
    if scores.privileged:
        notes.append(f"privileged: {', '.join(scores.privileged)} (knows what a robot in the world would not)")
    return notes


def _said(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


HEADINGS = ("metric", "A", "B", "A - B [95 %]", "n", "p", "p, Holm")  # of a comparison
_NAMED = 5  # maximum number of questions named in a line


def comparison_tables(found: Comparison) -> Group:
    """Return the tables of a comparison for the terminal, all questions and categories, then the footnotes."""
    blocks = [block for block in (found.differences, found.categories) if block]
    tables = [terminal_table(HEADINGS, map(_difference_cells, block), wrapped=(0,),
                             bold=[k for k, row in enumerate(block) if row.differs]) for block in blocks]
    return Group(*tables, *notes_below(comparison_notes(found)))


def comparison_markdown(found: Comparison) -> str:
    """Return the same as Markdown."""
    blocks = [found.differences, *([found.categories] if found.categories else [])]
    return "\n".join([*(markdown_table(HEADINGS, map(_difference_cells, block)) for block in blocks),
                      "".join(f"- {note}\n" for note in comparison_notes(found))])


def _difference_cells(row: Difference) -> tuple[str, ...]:
    """Return the cells of a row of the table. Shares are percentages, their differences percentage points."""
    factor, digits = (100, 1) if row.metric in SHARES else (1, 2)
    name = f"{row.metric}, {row.category}" if row.category else row.metric
    return (name + (" %" if factor == 100 else ""), f"{factor * row.a:.{digits}f}", f"{factor * row.b:.{digits}f}",
            shown(row.difference, factor, digits, "+"), str(row.difference.n), _p(row.p),
            _p(row.adjusted) + (" *" if row.differs else ""))


def comparison_notes(found: Comparison) -> Iterator[str]:
    """Yield notes for the reader: runs, questions, failures, and how p was computed."""
    for letter, side in (("A", found.a), ("B", found.b)):
        privileged = f"; privileged: {', '.join(side.privileged)}" if side.privileged else ""
        yield f"{letter}: {side.run}, {side.dataset or 'questions'}, {side.answerer}, judge {side.judge}{privileged}"
    yield f"{found.common} questions in both"
    yield from found.notes
    for state, both in found.both.items():
        only = [f"{len(side.without[state])} only in {letter}{_some(side.without[state])}"
                for letter, side in (("A", found.a), ("B", found.b)) if side.without[state]]
        if both or only:
            yield f"{state}: " + ", ".join([f"{both} in both", *only])
    yield ("intervals: paired bootstrap, or Newcombe's where all values are 0 or 1; p: sign-flip test of the paired "
           f"differences; * below {LEVEL:g} after Holm's correction for the rows of its table; metrics equal "
           "everywhere are left out")


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _some(ids: Sequence[str]) -> str:
    named = ", ".join(ids[:_NAMED])
    return f" ({named}{', ..' if len(ids) > _NAMED else ''})"
