"""Published results of the field: read from published.yaml, and the page that shows them as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import yaml


class Subset(NamedTuple):
    """The questions over which a value is a mean. questions: their number, 0 = the paper does not say.

    ids_sha256: SHA-256 of their sorted ids, joined by line feeds; "" = any run with this number of questions of the
    data set has the same ones, or they are unknown. source: "scannet" or "hm3d" if the data set has both, else "".
    unknown: why the questions are unknown, "" = they are known.
    """

    name: str
    questions: int
    ids_sha256: str = ""
    source: str = ""
    unknown: str = ""


class PublishedJudge(NamedTuple):
    """The judge of a value. words: all occur in the name of a judge of the same kind; () = no judge of wording.

    prompt_sha256: hash of the published prompts, as official judges state it, "" = not public. model: exact name of the
    published scorer's model, "" = not named.
    """

    name: str
    words: tuple[str, ...] = ()
    prompt_sha256: str = ""
    model: str = ""


class Limit(NamedTuple):
    """The limit that ended an episode, in words; text "" = none, or none that the paper states.

    steps: number of atomic actions; poses: the poses HM-EQA allows.
    """

    text: str = ""
    steps: int = 0
    poses: bool = False




class Table(NamedTuple):
    """Part of a table of a paper: values of one task over the same questions by one judge.

    task: task of comparable runs. forced: a blind guess replaces an abstention. failed: how failed questions count
    (metrics/values.py), "" = not stated. quoted: the source of the values, "" = the paper itself.
    spread: meaning of a value's ±, "" = its standard error.
    """

    paper: str
    name: str
    dataset: str
    task: str
    judging: PublishedJudge
    subset: Subset
    forced: bool = False
    failed: str = ""
    limit: Limit = Limit()
    quoted: str = ""
    spread: str = ""

    @property
    def origin(self) -> str:
        """Return paper and table as text."""
        return f"{self.paper}, {self.name}" + (f", as quoted in {self.quoted}" if self.quoted else "")


class PublishedColumn(NamedTuple):
    """A column: the metric's name in scores.json, and the category, "" = all."""

    of: Table
    metric: str
    category: str = ""


class PublishedValue(NamedTuple):
    """One value: per cent, or metres for d_T and path lengths. text: the value as published.

    error: its published standard error, None = none, also if ± means something else (`Table.spread`).
    """

    table: Table
    metric: str
    system: str
    value: float
    text: str
    error: float | None = None
    category: str = ""


@cache
def published_values() -> tuple[PublishedValue, ...]:
    """Return all published results."""
    return tuple(values_of(_content()))


def ambiguous_shares() -> Mapping[str, float]:
    """Return which per cent of a data set's questions have several right answers (EXPRESS-Bench, section 5.2)."""
    shares: Mapping[str, float] = _content()["ambiguous"]
    return shares


@cache
def _content() -> dict[str, Any]:
    text = resources.files("eqa_nodes.bench.reference").joinpath("published.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, where it is built in, takes a tenth of the time
    content: dict[str, Any] = loader(text).get_single_data()
    return content


def values_of(content: Mapping[str, Any]) -> Iterator[PublishedValue]:
    """Yield the values of a file of published results. Raises ValueError for a row with another number of values."""
    for table in content["tables"]:
        columns = [_column(column, table, content) for column in table["columns"]]
        for row in table["rows"].splitlines():
            system, _, text = row.partition("|")
            cells = text.split()
            if len(cells) != len(columns):
                raise ValueError(f"{columns[0].of.origin}: the row {system.strip()!r} has {len(cells)} values, but the "
                                 f"table has {len(columns)} columns")
            for column, cell in zip(columns, cells, strict=True):
                if cell != "-":
                    yield _value(column, system.strip(), cell, table.get("factor", 1))


def _column(column: str | Mapping[str, Any], table: Mapping[str, Any], content: Mapping[str, Any]) -> PublishedColumn:
    """Return a column, "metric", "metric / category" or {"metric": ..., fields that differ from the table's}."""
    given = {**table, **({"metric": column} if isinstance(column, str) else column)}
    metric, _, category = given["metric"].partition(" / ")
    judge, limit = content["judges"][given["judge"]], given.get("limit")
    of = Table(given["paper"], given["name"], given["dataset"], given["task"],
               PublishedJudge(**{**judge, "words": tuple(judge.get("words", ()))}),
               Subset(**content["subsets"][given["subset"]]), given.get("forced", False), given.get("failed", ""),
               Limit(**content["limits"][limit]) if limit else Limit(), given.get("quoted", ""),
               given.get("spread", ""))
    return PublishedColumn(of, metric, category)


def _value(column: PublishedColumn, system: str, cell: str, factor: float) -> PublishedValue:
    value, _, error = cell.partition("±")
    return PublishedValue(column.of, column.metric, system, round(factor * float(value), 6), cell,
                          float(error) if error and not column.of.spread else None, column.category)


_HEAD = """# Published numbers

`python -m eqa_nodes.bench.reference` prints this page. The numbers stand in
`eqa_nodes/bench/reference/published.yaml`. `eqa bench score`, `eqa bench table` and the report show those of
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
             f"{', '.join(f'{share} % of {name}' for name, share in ambiguous_shares().items())}.\n"]
    for title, rows in _grouped(published_values()):
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
