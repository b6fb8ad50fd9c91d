"""ExploraQA (AQ-Nav): tables 2, 3 and 5 to 8 of the paper. Its own system is AQ-Nav; the others are baselines."""

from __future__ import annotations

from eqa_nodes.bench.reference.rows import (
    PublishedColumn,
    PublishedJudge,
    PublishedValue,
    Subset,
    Table,
    columns,
    values,
)
from eqa_nodes.core.types.samples import ACTIVE

PAPER = "AQ-Nav, ExploraQA"
C, E, LENGTH = "openeqa_c", "openeqa_e_metres", "metres"
VLM_MATCH = PublishedJudge("VLM-Match, its model is not named", ("vlm", "match"))
NO_JUDGE = PublishedJudge("distances, no judge")
SEEN = Subset("test, seen scenes", 778)
UNSEEN = Subset("test, unseen scenes", 1839)
CATEGORIES = ("style recognition", "object recognition", "state recognition", "spatial localization",
              "functional reasoning", "commonsense reasoning", "spatial reasoning")


def _table(name: str, subset: Subset, judging: PublishedJudge = VLM_MATCH) -> Table:
    return Table(PAPER, name, "exploraqa", ACTIVE, judging, subset)


def _averages(name: str, subset: Subset) -> tuple[PublishedColumn, ...]:
    of = _table(name, subset)
    kinds = [PublishedColumn(of, metric, kind) for kind in ("object", "spatial") for metric in (C, LENGTH, E)]
    return *kinds, PublishedColumn(of, C), PublishedColumn(of, E)


_TABLE_2_SEEN = """
random | 28.5 29.5 20.1 27.7 32.9 18.6 28.1 19.3
Seq2Seq | 36.7 12.7 29.8 35.7 11.3 30.0 36.2 29.9
RecBERT | 39.4 12.3 31.7 36.6 12.3 31.5 37.9 31.6
ETPNav | 42.6 11.6 35.1 42.6 11.3 35.6 42.6 35.3
AQ-Nav | 48.5 10.8 42.4 45.1 10.6 39.3 46.7 40.7
"""
_TABLE_2_UNSEEN = """
random | 29.2 33.4 18.9 28.9 35.3 19.4 28.9 19.4
Seq2Seq | 33.8 12.5 26.7 32.3 13.0 25.3 33.0 26.0
RecBERT | 36.5 12.2 29.4 35.0 12.6 30.7 35.7 30.1
ETPNav | 41.2 11.9 32.7 41.2 12.6 32.4 41.2 32.5
AQ-Nav | 44.9 10.8 38.2 45.8 11.0 37.6 45.4 37.9
"""
_TABLE_3_SEEN = "AQ-Nav without TAKS | 44.9 10.8 39.0 42.8 10.6 37.3 43.7 38.1"
_TABLE_3_UNSEEN = "AQ-Nav without TAKS | 42.3 10.8 35.2 43.4 11.0 35.8 42.9 35.5"
_TABLE_5_SEEN = """
Seq2Seq | 7.19 42.5 35.9 31.5
RecBERT | 5.11 57.3 49.1 42.4
ETPNav | 3.926 71.5 63.8 56.7
AQ-Nav | 3.767 71.2 66.1 60.0
"""
_TABLE_5_UNSEEN = """
Seq2Seq | 7.387 39.8 31.5 26.3
RecBERT | 5.92 49.3 38.9 34.2
ETPNav | 5.272 57.8 51.6 43.7
AQ-Nav | 5.144 61.6 52.2 45.1
"""
_TABLE_6_SEEN = """
Seq2Seq | 39.7 34.1 35.8 37.2 42.0 24.3 24.7
RecBERT | 42.1 36.7 39.1 40.1 43.9 26.8 31.4
ETPNav | 45.5 39.5 42.5 45.8 47.7 31.6 41.3
AQ-Nav | 50.7 42.5 52.5 45.5 50.3 39.0 42.8
"""
_TABLE_6_UNSEEN = """
Seq2Seq | 30.4 31.3 39.0 31.5 35.7 30.9 31.0
RecBERT | 34.4 33.3 41.1 35.8 38.4 32.1 33.8
ETPNav | 38.8 38.1 46.1 44.8 44.2 37.5 39.1
AQ-Nav | 42.1 41.7 50.3 45.2 48.2 47.8 42.2
"""
_TABLE_7_SEEN = """
Seq2Seq | 32.6 27.3 29.2 33.3 35.0 20.0 27.8
RecBERT | 33.6 29.3 32.1 35.0 36.9 22.5 27.9
ETPNav | 37.4 33.1 34.3 41.4 39.0 26.6 32.3
AQ-Nav | 44.5 36.3 46.6 41.0 43.9 34.2 35.7
"""
_TABLE_7_UNSEEN = """
Seq2Seq | 23.7 24.1 31.7 24.7 28.8 23.2 24.4
RecBERT | 27.7 26.3 33.8 28.1 32.1 27.8 33.8
ETPNav | 29.5 29.2 38.6 35.6 35.3 28.1 31.2
AQ-Nav | 35.5 35.4 43.1 36.5 40.2 38.8 35.0
"""
_TABLE_8 = """
AQ-Nav, lambda 0.00 | 44.0 11.5 35.9 44.8 11.8 35.2 44.4 35.5
AQ-Nav, lambda 0.25 | 44.9 10.8 38.2 45.8 11.0 37.6 45.4 37.9
AQ-Nav, lambda 0.50 | 42.8 11.3 35.1 44.4 11.5 35.3 43.7 35.2
AQ-Nav, lambda 0.75 | 41.6 12.1 33.5 42.7 13.0 32.7 42.2 33.1
AQ-Nav, lambda 1.00 | 36.3 14.8 27.5 36.6 15.0 27.2 36.5 27.3
"""  # "on the unseen set" (A.8)
_ARRIVAL = ("express_d_t", "osr", "sr", "spl")

NUMBERS: tuple[PublishedValue, ...] = (
    *values(_averages("table 2", SEEN), _TABLE_2_SEEN),
    *values(_averages("table 2", UNSEEN), _TABLE_2_UNSEEN),
    *values(_averages("table 3", SEEN), _TABLE_3_SEEN),
    *values(_averages("table 3", UNSEEN), _TABLE_3_UNSEEN),
    *values([PublishedColumn(_table("table 5", SEEN, NO_JUDGE), metric) for metric in _ARRIVAL], _TABLE_5_SEEN),
    *values([PublishedColumn(_table("table 5", UNSEEN, NO_JUDGE), metric) for metric in _ARRIVAL], _TABLE_5_UNSEEN),
    *values(columns(_table("table 6", SEEN), C, CATEGORIES), _TABLE_6_SEEN),
    *values(columns(_table("table 6", UNSEEN), C, CATEGORIES), _TABLE_6_UNSEEN),
    *values(columns(_table("table 7", SEEN), E, CATEGORIES), _TABLE_7_SEEN),
    *values(columns(_table("table 7", UNSEEN), E, CATEGORIES), _TABLE_7_UNSEEN),
    *values(_averages("table 8", UNSEEN), _TABLE_8),
)
