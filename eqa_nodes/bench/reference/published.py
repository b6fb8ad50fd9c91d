"""All published results, and the page that shows them as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from eqa_nodes.bench.reference import embodied_eval, exploraqa, express, later, openeqa
from eqa_nodes.bench.reference.express import AMBIGUOUS
from eqa_nodes.bench.reference.rows import PublishedColumn, PublishedValue, Table

PUBLISHED: tuple[PublishedValue, ...] = (*openeqa.NUMBERS, *express.NUMBERS, *exploraqa.NUMBERS, *embodied_eval.NUMBERS,
                                    *later.NUMBERS)
_HEAD = """# Published numbers

`python -m eqa_nodes.bench.reference` prints this page. The numbers stand in `eqa_nodes/bench/reference/`, a module for
each paper. `eqa bench score`, `eqa bench table` and the report show those of
a run's data set beside the run's own ([benchmarks.md](benchmarks.md#published-numbers)).

Values are as printed: per cent, `npl`, `ace` and `wce` shares of 1, `express_d_t` and `metres` metres, with the
standard error where it is published; "±:" names another spread. Metrics have the names of `scores.json`. "n" is the
number of questions; "–" means that it is not stated. "Forced" says that a blind guess replaces an abstention. "As
quoted in" names where the values were read, where the systems' own papers were not at hand: a later paper, a README, or
notes that several readers of the paper published and that agree.
"""


def published_page() -> str:
    """Return all published results as a page of Markdown: one table per table of a paper."""
    parts = [_HEAD, f"EXPRESS-Bench, section 5.2, gives the share of questions with several right answers: "
             f"{', '.join(f'{share} % of {name}' for name, share in AMBIGUOUS.items())}.\n"]
    for title, rows in _grouped(PUBLISHED):
        parts += [f"## {title}\n", *_tables(rows)]
    return "\n".join(parts)


def _grouped(rows: Iterable[PublishedValue]) -> Iterator[tuple[str, list[PublishedValue]]]:
    found: dict[str, list[PublishedValue]] = {}
    for row in rows:
        found.setdefault(row.table.origin, []).append(row)
    yield from found.items()


def _tables(rows: Sequence[PublishedValue]) -> Iterator[str]:
    """Yield the notes on the values and the lines of tables; systems that share a column are in one table."""
    parts: list[tuple[dict[PublishedColumn, None], dict[str, dict[PublishedColumn, str]]]] = []
    for system in dict.fromkeys(row.system for row in rows):
        cells = {PublishedColumn(r.table, r.metric, r.category): r.text for r in rows if r.system == system}
        part = next((p for p in parts if p[0].keys() & cells.keys()), None)
        if part is None:
            parts.append(part := ({}, {}))
        part[0].update(dict.fromkeys(cells))
        part[1][system] = cells
    for shape, systems in parts:
        yield from (f"- {_said(of)}" for of in dict.fromkeys(column.of for column in shape))
        heads = ["system", *(_heading(column, shape) for column in shape)]
        lines = [heads, ["---", *["---:"] * len(shape)],
                 *([system, *(cells.get(column, "–") for column in shape)] for system, cells in systems.items())]
        yield "\n" + "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _said(of: Table) -> str:
    subset = of.subset
    parts = [f"{of.dataset}, task {of.task}: {subset.name}, n {subset.questions or '–'}", f"judge: {of.judging.name}"]
    parts += [f"{of.judging.model} is the default of its scorer"] if of.judging.model else []
    parts += ["forced"] if of.forced else []
    parts += [f"failed questions: {of.failed}"] if of.failed else []
    parts += [f"limit: {of.limit.text}"] if of.limit.text else []
    parts += [f"±: {of.spread}"] if of.spread else []
    return "; ".join([*parts, subset.unknown] if subset.unknown else parts)


def _heading(column: PublishedColumn, shape: Iterable[PublishedColumn]) -> str:
    name = f"{column.metric}, {column.category}" if column.category else column.metric
    tables = {other.of for other in shape}
    if len(tables) == 1:
        return name
    forced = ", forced" if column.of.forced and column.of._replace(forced=False) in tables else ""
    return f"{name}: {column.of.subset.name}{forced}"
