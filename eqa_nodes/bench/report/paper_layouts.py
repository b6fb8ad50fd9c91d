"""Which columns and which published rows the tables of the papers have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eqa_nodes.bench.reference.openeqa import CATEGORIES
from eqa_nodes.bench.reference.rows import PublishedValue
from eqa_nodes.core.types.samples import ACTIVE, EM

OWN_TABLES = ("openeqa", "express", "hm-eqa")  # data sets whose published values stand in tables of their own columns
_GUESSES = "supplement, table 3"  # the published values with abstentions as they are, beside those with guesses
_ABLATION = "table 3"


class PaperColumn(NamedTuple):
    """A column. metric: in scores.json; source, category: of the questions, "" = any; forced: see rows.Table.

    digits: after the point; factor: of shares. whole: only runs that asked of every source have a value.
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

    def holds(self, p: PublishedValue) -> bool:
        """Say whether a published value belongs into this column."""
        return ((p.table.task, p.metric, p.table.subset.source, p.category)
                == (self.task, self.metric, self.source, self.category)
                and (p.table.name == _GUESSES and not p.table.forced) != self.forced)


class PaperLayout(NamedTuple):
    """A table of a paper. number: by which users name it; only: name of the published table whose systems are rows.

    "" = all but those of an ablation. both: it has columns with and without blind guesses.
    """

    number: str
    title: str
    columns: tuple[PaperColumn, ...]
    only: str = ""
    both: bool = False

    def lists(self, p: PublishedValue) -> bool:
        """Say whether a published value makes its system a row."""
        named = p.table.name == self.only if self.only else p.table.name != _ABLATION
        return named and any(column.holds(p) for column in self.columns)

    def published(self, column: PaperColumn, system: str, beside: Iterable[PublishedValue]) -> PublishedValue | None:
        """Return a system's value of a column as this table prints it, else as another one does."""
        found = [p for p in beside if p.system == system and column.holds(p)]
        return next((p for p in found if p.table.name == self.only), found[0] if found else None)


def layouts_of(dataset: str, categories: Sequence[str]) -> tuple[PaperLayout, ...]:
    """Return the tables of a data set: EXPRESS-Bench's, HM-EQA's, else OpenEQA's. categories: of the questions."""
    if dataset == "express":
        return _EXPRESS
    if dataset == "hm-eqa":
        return _HM_EQA
    own = dataset == "openeqa"
    return _openeqa(CATEGORIES if own else categories, own)


def _openeqa(categories: Sequence[str], own: bool) -> tuple[PaperLayout, ...]:
    """own: of OpenEQA itself, whose questions about histories have two sources, and all of A-EQA's one."""
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
