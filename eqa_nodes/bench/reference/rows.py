"""What a published number is: a value of a table of a paper, with the questions and the judge that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Subset(NamedTuple):
    """The questions that a value is a mean over. questions: how many, 0 = the paper does not say.

    ids_sha256: over their sorted ids, joined by line feeds; "" = any run of that many questions of the data set asked
    the same ones, or nobody can tell (see `unknown`). source: "scannet" or "hm3d" where the data set has both, else "".
    unknown: why nobody can tell which questions they are, "" = it is known.
    """

    name: str
    questions: int
    ids_sha256: str = ""
    source: str = ""
    unknown: str = ""


class PublishedJudge(NamedTuple):
    """Who marked. words: all must be in the name of a judge of the same kind; () = no judge of wording decides.

    prompt_sha256: of the published prompts, as official judges state it, "" = not public. model: the exact name that
    the published scorer asks, "" = not named.
    """

    name: str
    words: tuple[str, ...] = ()
    prompt_sha256: str = ""
    model: str = ""


class Limit(NamedTuple):
    """What ended an episode, in words. steps: so many atomic actions; poses: those that HM-EQA allows."""

    text: str = ""
    steps: int = 0
    poses: bool = False


NO_LIMIT = Limit()  # none, or none that the paper states
HM_EQA_LIMIT = Limit("int(3 sqrt(A)) poses up to 3 m apart", poses=True)


class Table(NamedTuple):
    """Part of a table of a paper: values of one task over the same questions by one judge.

    task: of a run that may stand beside it. forced: a blind guess stands in place of an abstention. failed: how failed
    questions count (metrics/values.py), "" = not stated. quoted: where the values were read, "" = in the paper itself.
    spread: what stands behind a value's ±, "" = its standard error.
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
        """Return paper and table for a reader."""
        return f"{self.paper}, {self.name}" + (f", as quoted in {self.quoted}" if self.quoted else "")


class PublishedColumn(NamedTuple):
    """Where the values of a column belong: the metric's name in scores.json, and the category, "" = all."""

    of: Table
    metric: str
    category: str = ""


class PublishedValue(NamedTuple):
    """One value: per cent, or metres for d_T and path lengths. text: the value as it was published.

    error: its standard error as published, None = none, also where ± is something else (`Table.spread`).
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
    """Yield the values of a table that is written as text: a line a system, "name | 33.5±1.0 - 35.5".

    "-" stands for no value. factor: of per cent, where the paper has shares. Raises ValueError for a line of another
    length.
    """
    for line in text.strip().splitlines():
        system, _, cells = line.partition("|")
        for column, cell in zip(layout, cells.split(), strict=True):
            if cell != "-":
                value, _, error = cell.partition("±")
                yield PublishedValue(column.of, column.metric, system.strip(), round(factor * float(value), 6), cell,
                                float(error) if error and not column.of.spread else None, column.category)
