"""Data types of published results: a value of a table of a paper, with its questions and its judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


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
    """The limit that ended an episode, in words. steps: number of atomic actions; poses: the poses HM-EQA allows."""

    text: str = ""
    steps: int = 0
    poses: bool = False


NO_LIMIT = Limit()  # none, or none that the paper states
HM_EQA_LIMIT = Limit("int(3 sqrt(A)) poses up to 3 m apart", poses=True)


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
    limit: Limit = NO_LIMIT
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


def columns(of: Table, metric: str, categories: Sequence[str]) -> tuple[PublishedColumn, ...]:
    """Return a column of a metric for each category."""
    return tuple(PublishedColumn(of, metric, category) for category in categories)


def values(layout: Sequence[PublishedColumn], text: str, factor: float = 1.0) -> Iterator[PublishedValue]:
    """Yield the values of a table in text form: one line per system, "name | 33.5±1.0 - 35.5".

    "-" means no value. factor: 100 if the paper has shares instead of per cent. Raises ValueError for a line with
    another number of values.
    """
    for line in text.strip().splitlines():
        system, _, cells = line.partition("|")
        for column, cell in zip(layout, cells.split(), strict=True):
            if cell != "-":
                value, _, error = cell.partition("±")
                yield PublishedValue(column.of, column.metric, system.strip(), round(factor * float(value), 6), cell,
                                float(error) if error and not column.of.spread else None, column.category)
