"""The tables of the papers with rows for one's own runs: agents by source and category, next to the published rows.

Footnotes state the source of each row, and for runs also which published values are not comparable.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Group

from eqa_nodes.bench.metrics.compare import ScoredRun
from eqa_nodes.bench.metrics.intervals import resampled_means
from eqa_nodes.bench.metrics.scores import RESAMPLES
from eqa_nodes.bench.readers.explora import KINDS, SEEN, TRAIN
from eqa_nodes.bench.reference.beside import own_values, reasons
from eqa_nodes.bench.reference.published import PublishedValue, ambiguous_shares, published_values
from eqa_nodes.bench.report.text_tables import markdown_table, notes_below, terminal_table
from eqa_nodes.bench.running.manifest import answered_by, policy_of
from eqa_nodes.core.components import READERS
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.samples import ACTIVE, EM, TASKS

OWN_TABLES = ("openeqa", "express", "hm-eqa", "exploraqa", "embodied-eval")  # data sets with published tables
_GUESSES = "supplement, table 3"  # published values without guesses, next to those with guesses
_ABLATION = "table 3"
LEARNED = frozenset(("aqnav",))  # policies with trained weights


class PaperColumn(NamedTuple):
    """A column. metric: name in scores.json; source, category: of the questions, "" = any; forced: see rows.Table.

    digits: number of decimals; factor: for shares. whole: only runs with questions of every source have a value.
    subset: name of the questions of the published values, "" = those of any.
    """

    heading: str
    task: str
    metric: str
    source: str = ""
    category: str = ""
    forced: bool = True
    digits: int = 1
    factor: float = 100.0
    whole: bool = False
    subset: str = ""

    def holds(self, p: PublishedValue) -> bool:
        """Return whether a published value belongs to this column."""
        return ((p.table.task, p.metric, p.table.subset.source, p.category)
                == (self.task, self.metric, self.source, self.category)
                and self.subset in ("", p.table.subset.name)
                and (p.table.name == _GUESSES and not p.table.forced) != self.forced)


class PaperLayout(NamedTuple):
    """A table of a paper. number: its number for users; both: it has columns with and without blind guesses.

    only: name of the published table whose systems are rows, "" = all except those of an ablation. learned: it compares
    trained policies, so that only their runs have rows.
    """

    number: str
    title: str
    columns: tuple[PaperColumn, ...]
    only: str = ""
    both: bool = False
    learned: bool = False

    def lists(self, p: PublishedValue) -> bool:
        """Return whether the system of a published value gets a row."""
        named = p.table.name == self.only if self.only else p.table.name != _ABLATION
        return named and any(column.holds(p) for column in self.columns)

    def published(self, column: PaperColumn, system: str, beside: Iterable[PublishedValue]) -> PublishedValue | None:
        """Return a system's value of a column as printed in this table, else as printed in another one."""
        found = [p for p in beside if p.system == system and column.holds(p)]
        return next((p for p in found if p.table.name == self.only), found[0] if found else None)


def layouts_of(dataset: str, categories: Sequence[str], splits: Collection[str] = ()) -> tuple[PaperLayout, ...]:
    """Return the tables for a data set: EXPRESS-Bench's, HM-EQA's, ExploraQA's, EmbodiedEval's, else OpenEQA's.

    categories, splits: of the questions. Raises ConfigError for questions of several splits of ExploraQA.
    """
    if dataset in READERS and READERS.traits(dataset).task == TASKS:
        return _EMBODIED
    if dataset == "express":
        return _EXPRESS
    if dataset == "hm-eqa":
        return _HM_EQA
    if dataset == "exploraqa":
        return _exploraqa(splits)
    if dataset == "openeqa":
        printed = (p.category for p in published_values() if p.table.dataset == "openeqa" and p.category)
        return _openeqa(list(dict.fromkeys(printed)), True)
    return _openeqa(categories, False)


def _openeqa(categories: Sequence[str], own: bool) -> tuple[PaperLayout, ...]:
    """Return OpenEQA's tables. own: for OpenEQA itself, where EM-EQA has two sources of scenes and A-EQA has one."""
    hm3d, c = "hm3d" if own else "", "openeqa_c"
    sources = (PaperColumn("EM-EQA ScanNet C", EM, c, "scannet"), PaperColumn("EM-EQA HM3D C", EM, c, "hm3d"))
    every = PaperColumn("EM-EQA all C", EM, c, whole=own)
    active = PaperColumn("A-EQA C", ACTIVE, c, hm3d)
    lengths = (PaperColumn("A-EQA E (steps)", ACTIVE, "openeqa_e_steps", hm3d),
               PaperColumn("A-EQA E (metres)", ACTIVE, "openeqa_e_metres", hm3d))

    def by_category(number: str, title: str, whole: PaperColumn) -> PaperLayout:
        parts = tuple(whole._replace(heading=name, category=name) for name in categories)
        return PaperLayout(number, title, (*parts, whole), f"supplement, table {number}")

    return (
        PaperLayout("2", "Correctness C and efficiency E", (*(sources if own else ()), every, active, *lengths)),
        PaperLayout("3", "Correctness C with and without forcing agents to guess", (
            every._replace(heading="EM-EQA all C, forced"),
            every._replace(heading="EM-EQA all C, not forced", forced=False),
            active._replace(heading="A-EQA C, forced"),
            active._replace(heading="A-EQA C, not forced", forced=False)), _GUESSES if own else "", True),
        by_category("4", "Correctness C by category, EM-EQA", every),
        by_category("5", "Correctness C by category, A-EQA", active))


def _exploraqa(splits: Collection[str]) -> tuple[PaperLayout, ...]:
    """Return ExploraQA's tables; the published rows are those of seen or of unseen scenes, as the questions are."""
    if len(splits) > 1:
        raise ConfigError(f"a table has one split of ExploraQA, and these runs have {', '.join(sorted(splits))}: make "
                          "a table of each")
    seen = bool({TRAIN, SEEN} & set(splits))
    subset = "test, seen scenes" if seen else "test, unseen scenes"

    def column(heading: str, metric: str, category: str = "", **form: Any) -> PaperColumn:
        return PaperColumn(heading, ACTIVE, metric, category=category, subset=subset, **form)

    def layout(number: str, title: str, columns: Iterable[PaperColumn], learned: bool = False) -> PaperLayout:
        return PaperLayout(number, f"ExploraQA, {title}, {'seen' if seen else 'unseen'} scenes", tuple(columns),
                           f"table {number}", learned=learned)

    c, e = "openeqa_c", "openeqa_e_metres"
    kinds = [column(f"{kind} {heading}", metric, kind, factor=1.0 if metric == "metres" else 100.0)
             for kind in KINDS for heading, metric in (("C", c), ("TL (m)", "metres"), ("E", e))]
    kinds += [column("all C", c), column("all E", e)]
    arrival = [column("NE (m)", "express_d_t", digits=2, factor=1.0), column("OSR", "osr"), column("SR", "sr"),
               column("SPL", "spl")]
    names = [name for kind in KINDS.values() for name in kind]
    return (layout("2", "C and E", kinds), layout("3", "ablation of the answer reward and TAKS", kinds, True),
            layout("5", "navigation", arrival), layout("6", "C by category", (column(name, c, name) for name in names)),
            layout("7", "E by category", (column(name, e, name) for name in names)),
            *(() if seen else (layout("8", "ablation of lambda", kinds, True),)))


def _exploring(metrics: Sequence[tuple[str, str]]) -> tuple[PaperColumn, ...]:
    return tuple(PaperColumn(heading, ACTIVE, metric, digits=2, factor=1.0 if metric == "express_d_t" else 100.0)
                 for heading, metric in metrics)


_FOUR = _exploring((("C", "express_c"), ("C*", "express_c_star"), ("E_path", "express_e_path"),
                    ("d_T (m)", "express_d_t")))
_EXPRESS = (
    PaperLayout("2", "EXPRESS-Bench", (PaperColumn("C* without exploring", EM, "express_c_star", digits=2), *_FOUR)),
    PaperLayout("3", "EXPRESS-Bench, ablations", _FOUR, _ABLATION),
    PaperLayout("4", "EXPRESS-Bench, path and confidence at the end", tuple(
        column._replace(factor=1.0) for column in _exploring((("NPL", "npl"), ("ACE", "ace"), ("WCE", "wce")))),
        "table 4"),
)
_HM_EQA = (PaperLayout("1", "HM-EQA", (PaperColumn("accuracy", ACTIVE, "hm_eqa_accuracy"),
                                  PaperColumn("normalised steps", ACTIVE, "hm_eqa_normalised_steps"))),)


def _of_tasks(family: str, *metrics: tuple[str, str]) -> tuple[PaperColumn, ...]:
    short = {"": "all", "SpatialQA": "Spatial", "Navigation": "Navig.", "ObjectInteraction": "Object",
             "SocialInteraction": "Social"}.get(family, family)
    return tuple(PaperColumn(f"{short} {heading}", TASKS, metric, category=family, digits=2)
                 for heading, metric in metrics)


_SUCC, _GCS, _TASK_SPL = ("Succ.", "succ"), ("GcS", "gcs"), ("SPL", "task_spl")
_EMBODIED = (PaperLayout("2", "EmbodiedEval", (
    *_of_tasks("AttrQA", _SUCC), *_of_tasks("SpatialQA", _SUCC), *_of_tasks("Navigation", _SUCC, _GCS, _TASK_SPL),
    *_of_tasks("ObjectInteraction", _SUCC, _GCS, _TASK_SPL), *_of_tasks("SocialInteraction", _SUCC, _GCS, _TASK_SPL),
    *_of_tasks("", _SUCC, _GCS)), "table 2"),)


FORCED_ROW = "forced to guess"  # end of the name of the row with blind guesses instead of abstentions
_OF_MOVING = ("steps", "metres", "area", "poses")  # limits


class PaperCell(NamedTuple):
    """A printed value, its standard error (bootstrap over questions) and its number of questions."""

    text: str = "–"
    value: float | None = None
    error: float | None = None
    n: int = 0


class PaperRow(NamedTuple):
    """A row. notes: numbers of its footnotes, from 1; about: the basis of its values, by columns of the CSV."""

    name: str
    cells: tuple[PaperCell, ...]
    notes: tuple[int, ...]
    own: bool
    about: Mapping[str, str] = {}


class PaperTable(NamedTuple):
    """A table of a paper: published rows first, then the runs. title: includes the basis of the runs' rows."""

    number: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[PaperRow, ...]
    notes: tuple[str, ...]


def read_runs(given: Iterable[str]) -> dict[str, list[ScoredRun]]:
    """Open scored runs, each "RUN" or "NAME=RUN", by the name of their row; runs of one name have different tasks.

    Raises ConfigError for two runs of one name and task, StorageError for a run that is not scored.
    """
    found: dict[str, list[ScoredRun]] = {}
    for text in given:
        name, sign, path = text.partition("=")
        named = bool(sign) and "/" not in name and not Path(text).exists()
        run = ScoredRun(Path(path if named else text))
        label = name if named else run.out.name
        others = found.setdefault(label, [])
        if any(other.manifest.task == run.manifest.task for other in others):
            raise ConfigError(f"two runs of the task {run.manifest.task} are called {label!r}: name them, as in "
                              f"{label}-2={run.out}")
        others.append(run)
    return found


def paper_tables(runs: dict[str, list[ScoredRun]], numbers: Sequence[str] = ()) -> list[PaperTable]:
    """Return the tables of the runs' data set. numbers: of the tables (default: all). Raises ConfigError."""
    datasets = {run.manifest.dataset for own in runs.values() for run in own}
    if len(datasets) != 1:
        raise ConfigError(f"a table has one data set, and these runs have {', '.join(sorted(datasets)) or 'none'}: "
                          "make a table of each")
    dataset = datasets.pop()
    categories = sorted({q.category for own in runs.values() for run in own for q in run.scores.questions
                         if q.category})
    splits = {str(split) for own in runs.values() for run in own for s in run.samples.values()
              if (split := s.metadata.get("split"))}
    layouts = layouts_of(dataset, categories, splits)
    for number in numbers:
        if number not in [layout.number for layout in layouts]:
            raise ConfigError(unknown("table", number, [layout.number for layout in layouts]))
    policies = sorted({policy_of(run.manifest) for own in runs.values() for run in own})
    if not LEARNED.intersection(policies):
        if wanted := [layout.number for layout in layouts if layout.learned and layout.number in numbers]:
            raise ConfigError(f"table {', '.join(wanted)} of ExploraQA compares trained policies "
                              f"({', '.join(sorted(LEARNED))}), and the policies of these runs are "
                              f"{', '.join(filter(None, policies)) or 'not known'}: leave --tables out, or add runs of "
                              "such a policy")
        layouts = tuple(layout for layout in layouts if not layout.learned)
    beside = [p for p in published_values() if dataset in OWN_TABLES and p.table.dataset == dataset]
    shares = tuple(_ambiguous(runs))
    return [_table(layout, runs, beside, shares) for layout in layouts if not numbers or layout.number in numbers]


def _table(layout: PaperLayout, runs: dict[str, list[ScoredRun]], beside: Sequence[PublishedValue],
           shares: Sequence[str]) -> PaperTable:
    """Return one table. shares: notes about the questions, printed last."""
    notes: list[str] = []

    def numbered(said: Iterable[str]) -> tuple[int, ...]:
        given = list(dict.fromkeys(said))
        notes.extend(note for note in given if note not in notes)
        return tuple(notes.index(note) + 1 for note in given)

    rows, printed = [], list[PublishedValue]()
    for system in dict.fromkeys(p.system for p in beside if layout.lists(p)):
        found = [layout.published(column, system, beside) for column in layout.columns]
        printed += [p for p in found if p is not None]
        by = "; ".join(dict.fromkeys(p.table.judging.name for p in found if p is not None))
        cells = tuple(PaperCell() if p is None else
                      PaperCell(p.text, column.factor / 100 * p.value, p.error, p.table.subset.questions)
                      for p, column in zip(found, layout.columns, strict=True))
        sources = numbered(_sources(p for p in found if p is not None))
        rows.append(PaperRow(system, cells, sources, False, {"judge": by}))
    first = {run.manifest.task: run for own in reversed(runs.values()) for run in own}
    said: dict[str, list[str]] = {}
    for name, own in runs.items():
        shown = [run for run in own if any(column.task == run.manifest.task for column in layout.columns)]
        compared = [note for run in shown for note in _compared(run, printed)]
        about = _about(shown)
        said.setdefault(_caption(about), []).append(name)
        notes_of = [note for run in shown for note in _of_run(run, first[run.manifest.task])]
        plain, forced = _cells(layout, own, False), _cells(layout, own, True)
        if plain == forced or layout.both:
            rows.append(PaperRow(name, forced, numbered([*notes_of, *compared]), True, about))
            continue
        rows.append(PaperRow(name, plain, numbered(notes_of), True, about))
        guesses = [f"{run.out}: {count} of its answers {'is' if count == 1 else 'are'} \"I don't know\": here with the "
                   "mark of a blind guess, as in the paper, and in the row above as eqa bench score counts it"
                   for run in shown if (count := run.scores.rows[0].abstained)]
        rows.append(PaperRow(f"{name}, {FORCED_ROW}", forced, numbered([*guesses, *compared]), True, about))
    title = ". ".join([layout.title, *(f"{', '.join(names)}: {caption}" for caption, names in said.items() if caption)])
    return PaperTable(layout.number, title, tuple(c.heading for c in layout.columns), tuple(rows), (*notes, *shares))


def _cells(layout: PaperLayout, own: Sequence[ScoredRun], forced: bool) -> tuple[PaperCell, ...]:
    """Return the cells of runs of one name. forced: with blind guesses if the paper's column has them."""
    columns = [column._replace(forced=column.forced and forced) for column in layout.columns]
    return tuple(next((cell for run in own if (cell := _own(column, run)).n), PaperCell()) for column in columns)


def _about(runs: Sequence[ScoredRun]) -> dict[str, str]:
    """Return the basis of a row's values by columns of the CSV; empty without a run for this table."""
    said = [{"questions": run.manifest.share, "judge": run.scores.judge, "answerer": answered_by(run.manifest),
             "privileged": ", ".join(run.scores.privileged) or "nothing"} for run in runs]
    return {name: "; ".join(dict.fromkeys(one[name] for one in said)) for name in said[0]} if said else {}


def _caption(about: Mapping[str, str]) -> str:
    return "{questions}, judge {judge}, {answerer}, privileged: {privileged}".format(**about) if about else ""


def _sources(found: Iterable[PublishedValue]) -> Iterator[str]:
    """Yield a footnote for each source table of a row's values, with all its questions."""
    asked: dict[tuple[str, str], list[str]] = {}
    for table in dict.fromkeys(p.table for p in found):
        by = table.judging.name + (f"; at most {table.limit.text}" if table.limit.text else "")
        by += f"; ±: {table.spread}" if table.spread else ""
        asked.setdefault((table.origin, by), []).append(
            f"{table.subset.name}, n {table.subset.questions or 'not stated'}")
    yield from (f"{origin}: {'; '.join(dict.fromkeys(subsets))}; {by}" for (origin, by), subsets in asked.items())


def _own(column: PaperColumn, run: ScoredRun) -> PaperCell:
    sources = {q.source for q in run.scores.questions}
    if column.task != run.manifest.task or (column.whole and len(sources) < 2):
        return PaperCell()
    values = np.array(own_values(run.scores, column.metric, column.source, column.category, column.forced), np.float64)
    if not values.size:
        return PaperCell()
    mean = round(float(values.mean()) * column.factor, 9)
    if values.size == 1:  # one question has no standard error
        return PaperCell(f"{mean:.{column.digits}f}", mean, None, 1)
    error = float(resampled_means(values, run.scores.seed, RESAMPLES).std()) * column.factor
    return PaperCell(f"{mean:.{column.digits}f}±{error:.{column.digits}f}", mean, error, values.size)


def _of_run(run: ScoredRun, first: ScoredRun) -> Iterator[str]:
    """Yield the source of a row, and its differences from the first run of its task."""
    scores, manifest, row = run.scores, run.manifest, run.scores.rows[0]
    gaps = [f"{count} {what}" for count, what in ((row.abstained, "abstained"), (row.failed, "failed"),
                                                  (row.missing, "not asked"), (row.unscored, "unscored")) if count]
    yield (f"{run.out}: {manifest.share} of {manifest.dataset}, task {manifest.task}, "
           f"{answered_by(manifest)}, judge {scores.judge}"
           + "".join(f", {gap}" for gap in gaps))
    if differs := list(_differences(run, first)):
        yield f"{run.out} and {first.out} differ in {', '.join(differs)}"


def _compared(run: ScoredRun, printed: Iterable[PublishedValue]) -> Iterator[str]:
    """Yield the published values of this table that a run is comparable with, or the reasons why not."""
    scores, manifest, row = run.scores, run.manifest, run.scores.rows[0]
    origins: dict[tuple[str, ...], list[str]] = {}
    for table, metric in dict.fromkeys((p.table, p.metric) for p in printed
                                       if p.table.task == manifest.task and row.metrics[p.metric].n):
        why = tuple(reasons(table, metric, scores, manifest))
        origins.setdefault(why, []).append(f"{metric} of {table.origin} ({table.subset.name})")
    for why, others in origins.items():
        verdict = f"not comparable with {'; '.join(dict.fromkeys(others))}: {'; '.join(why)}"
        yield f"{run.out}: {verdict if why else verdict.replace('not comparable', 'comparable').rstrip(': ')}"


def _differences(run: ScoredRun, first: ScoredRun) -> Iterator[str]:
    if (run.scores.judge, run.scores.judge_sha256) != (first.scores.judge, first.scores.judge_sha256):
        yield "the judge"
    if run.manifest.dataset_sha256 != first.manifest.dataset_sha256:
        yield "their questions"
    if _limits(run) != _limits(first):
        yield "their limits"
    if run.scores.failed != first.scores.failed:
        yield "how failed questions count"


def _limits(run: ScoredRun) -> dict[str, Any]:
    """Return the limits that can end a question of the run; for recordings without those of movement."""
    limits = run.manifest.config.get("limits")
    return {name: value for name, value in limits.items() if run.manifest.task == ACTIVE or name not in _OF_MOVING
            } if isinstance(limits, Mapping) else {}


def _ambiguous(runs: dict[str, list[ScoredRun]]) -> Iterator[str]:
    """Yield the share of questions with several right answers: published, and marked."""
    every = [run for own in runs.values() for run in own]
    dataset, samples = every[0].manifest.dataset, {name: s for run in every for name, s in run.samples.items()}
    if (share := ambiguous_shares().get(dataset)) is not None:
        yield f"{share} % of the questions of {dataset} are ambiguous (EXPRESS-Bench, section 5.2)"
    marked = [mark for sample in samples.values() if isinstance(mark := sample.metadata.get("ambiguous"), bool)]
    if marked:
        yield f"{100 * sum(marked) / len(marked):.1f} % of {len(marked)} questions are marked as ambiguous"


_WIDE = 10  # more columns do not fit with standard errors
ABOUT = ("questions", "judge", "answerer", "privileged")  # columns of a CSV


def paper_markdown(table: PaperTable) -> str:
    """Return the table with its footnotes."""
    rows = [(_named(row, f"**{row.name}**" if row.own else row.name), *(cell.text for cell in row.cells))
            for row in table.rows]
    return (f"Table {table.number}. {table.title}\n\n{markdown_table(('', *table.headings), rows)}\n"
            + "".join(f"{number}. {note}\n" for number, note in enumerate(table.notes, 1)))


def paper_terminal(table: PaperTable) -> Group:
    """Return the table for the terminal: own rows in bold, then the footnotes. A wide one shows no standard errors."""
    wide = len(table.headings) > _WIDE
    rows = [(_named(row, row.name), *(cell.text.partition("±")[0] if wide else cell.text for cell in row.cells))
            for row in table.rows]
    printed = terminal_table(("", *table.headings), rows, title=f"Table {table.number}. {table.title}",
                             bold=[k for k, row in enumerate(table.rows) if row.own],
                             wrapped=range(1, len(table.headings) + 1))
    return Group(printed, *notes_below(f"[{number}] {note}" for number, note in enumerate(table.notes, 1)))


def _named(row: PaperRow, name: str) -> str:
    return name + (f" [{','.join(map(str, row.notes))}]" if row.notes else "")


def comma_separated(table: PaperTable) -> str:
    """Return the unrounded values as CSV: for each column value, standard error and n; then the footnotes."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["row", "own", *ABOUT, *(f"{heading}{part}" for heading in table.headings
                                     for part in ("", " standard error", " n")), "footnotes"])
    for row in table.rows:
        cells = [value for cell in row.cells
                 for value in ("" if cell.value is None else f"{cell.value:.9g}",
                               "" if cell.error is None else f"{cell.error:.6g}", cell.n or "")]
        about = [row.about.get(name, "") for name in ABOUT]
        notes = " | ".join(table.notes[number - 1] for number in row.notes)
        writer.writerow([row.name, int(row.own), *about, *cells, notes])
    return file.getvalue()


def write_tables(tables: Sequence[PaperTable], folder: Path) -> list[Path]:
    """Write each table as Markdown and as CSV (table-2.md etc.), and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    forms = {".md": paper_markdown, ".csv": comma_separated}
    files = {folder / f"table-{table.number}{ending}": form(table)
             for table in tables for ending, form in forms.items()}
    for file, text in files.items():
        write_bytes(file, text.encode())
    return list(files)
