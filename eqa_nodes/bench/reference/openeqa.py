"""OpenEQA (Majumdar et al., CVPR 2024): table 2 of the paper, tables 3 to 5 of its supplement, each as printed.

Some values are printed in several tables and differ there in the last digit, such as LLaMA-2 blind: 28.3 and 27.7.
"""

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
from eqa_nodes.core.types.samples import ACTIVE, EM

PAPER = "Majumdar et al. 2024, OpenEQA"
C, E = "openeqa_c", "openeqa_e_steps"
# The paper says GPT-4; the exact model is the default of its published scorer.
LLM_MATCH = PublishedJudge("LLM-Match by GPT-4", ("llm", "match"),
                    "9fcb8bd1f18f3235e59d8bd658d0b2fc331d333819c6f970a63f533924200f81", "gpt-4-1106-preview")
CATEGORIES = ("object recognition", "object localization", "attribute recognition", "spatial understanding",
              "object state recognition", "functional reasoning", "world knowledge")

ALL = Subset("all of EM-EQA", 1636, "048d38041464750be5a9e4972ef209d62d1bfdcb27514d6d7393b90fbb0687b0")
SCANNET = Subset("EM-EQA in ScanNet", 1079, "c0b754b72c9299f43b246ed4c6032b6425d4b5dadd68291586ce55f708ec336e",
                 "scannet")
HM3D = Subset("EM-EQA in HM3D", 557, "5c9336b3d98152505fe5b5dab0be9618db9a38ecb65eaab8466910fc2284b054", "hm3d")
_PART = "which questions they are is not published"
ALL_500 = Subset("500 questions of EM-EQA", 500, unknown=_PART)
SCANNET_500 = Subset("those in ScanNet of 500 of EM-EQA", 0, "", "scannet", _PART)
HM3D_500 = Subset("those in HM3D of 500 of EM-EQA", 0, "", "hm3d", _PART)
AEQA = HM3D._replace(name="all of A-EQA")
AEQA_184 = Subset("184 questions of A-EQA", 184, "9e13357dbdc5a901e24661d1c2f452f0e1f5e7cc09c4e3bad5efdf71ba60bd36",
                  "hm3d")


def _table(name: str, task: str, subset: Subset, forced: bool = True) -> Table:
    return Table(PAPER, name, "openeqa", task, LLM_MATCH, subset, forced)


def _sources(scannet: Subset, hm3d: Subset, both: Subset, active: Subset) -> tuple[PublishedColumn, ...]:
    em = tuple(PublishedColumn(_table("table 2", EM, subset), C) for subset in (scannet, hm3d, both))
    aeqa = _table("table 2", ACTIVE, active)
    return *em, PublishedColumn(aeqa, C), PublishedColumn(aeqa, E)


def _guesses(em: Subset, active: Subset) -> tuple[PublishedColumn, ...]:
    """Return the columns of table 3: with and without a blind guess instead of an abstention, for both tasks."""
    return tuple(PublishedColumn(_table("supplement, table 3", task, subset, forced), C)
                 for task, subset in ((EM, em), (ACTIVE, active)) for forced in (True, False))


def _categories(name: str, task: str, subset: Subset) -> tuple[PublishedColumn, ...]:
    return columns(_table(name, task, subset), C, (*CATEGORIES, ""))


_TABLE_2 = """
GPT-4 blind | 32.5±1.2 35.5±1.7 33.5±1.0 35.5±1.7 -
LLaMA-2 blind | 27.9±1.2 29.0±1.7 28.3±1.0 29.0±1.7 -
GPT-4 with LLaVA-1.5 captions | 45.4±1.3 40.0±1.8 43.6±1.1 38.1±1.8 7.0±0.4
LLaMA-2 with LLaVA-1.5 captions | 39.6±1.3 31.1±1.8 36.8±1.1 30.9±1.8 5.9±0.4
GPT-4 with ConceptGraphs | 37.8±1.3 34.0±1.7 36.5±1.0 34.4±1.8 6.5±0.4
LLaMA-2 with ConceptGraphs | 31.0±1.2 24.2±1.6 28.7±1.0 23.9±1.6 4.3±0.3
GPT-4 with sparse voxel map | 40.9±1.3 35.0±1.8 38.9±1.0 34.2±1.8 6.4±0.4
LLaMA-2 with sparse voxel map | 36.0±1.3 30.9±1.8 34.3±1.0 29.9±1.7 5.5±0.4
"""
_TABLE_2_GPT_4V = "GPT-4V | 51.3±2.5 46.6±3.1 49.6±2.0 41.8±3.2 7.5±0.6"
_TABLE_2_HUMAN = "human | 87.7±0.7 85.1±1.1 86.8±0.6 85.1±1.1 -"
_TABLE_3 = """
GPT-4 blind | 33.5 - 35.5 -
LLaMA-2 blind | 27.7 - 28.8 -
GPT-4 with LLaVA-1.5 captions | 43.6 29.3 38.1 23.7
LLaMA-2 with LLaVA-1.5 captions | 36.7 36.2 30.9 31.2
GPT-4 with ConceptGraphs | 36.5 18.5 34.4 12.4
LLaMA-2 with ConceptGraphs | 28.7 26.6 23.8 18.9
GPT-4 with sparse voxel map | 38.9 27.3 34.2 21.2
LLaMA-2 with sparse voxel map | 34.3 34.6 29.9 29.3
"""
_TABLE_3_GPT_4V = "GPT-4V | 49.5 46.7 41.8 40.6"
_TABLE_3_HUMAN = "human | 86.8 - 85.1 -"
_TABLE_4 = """
GPT-4 blind | 15.4 20.3 31.5 31.4 51.0 52.2 34.2 33.5±1.0
LLaMA-2 blind | 10.7 15.3 22.3 25.0 51.7 44.1 29.7 28.3±1.0
GPT-4 with LLaVA-1.5 captions | 36.5 31.9 45.8 36.1 56.0 54.8 44.8 43.6±1.1
LLaMA-2 with LLaVA-1.5 captions | 30.5 18.8 39.4 31.4 50.1 47.4 41.7 36.8±1.1
GPT-4 with ConceptGraphs | 26.4 17.0 40.6 29.1 55.5 48.4 39.9 36.5±1.0
LLaMA-2 with ConceptGraphs | 17.1 13.9 24.4 27.2 43.5 38.1 39.0 28.7±1.0
GPT-4 with sparse voxel map | 30.0 20.0 49.6 31.7 55.5 45.4 40.8 38.9±1.0
LLaMA-2 with sparse voxel map | 23.4 11.7 38.9 30.8 52.8 45.4 39.1 34.3±1.1
human | 87.9 77.3 87.9 86.7 98.7 81.8 87.2 86.8±0.6
"""
_TABLE_4_GPT_4V = "GPT-4V | 43.4 42.0 57.2 33.6 63.2 57.4 50.7 49.6±2.0"
_TABLE_5 = """
GPT-4 blind | 25.3 28.4 27.3 37.7 47.2 54.2 29.5 35.5±1.7
LLaMA-2 blind | 13.7 22.1 16.2 29.7 43.3 50.4 28.8 29.0±1.6
GPT-4 with LLaVA-1.5 captions | 25.0 24.0 34.1 34.4 56.9 53.5 40.6 38.1±1.7
LLaMA-2 with LLaVA-1.5 captions | 19.7 11.7 31.2 28.3 48.1 46.1 35.8 30.9±1.7
GPT-4 with ConceptGraphs | 25.3 16.5 29.2 37.0 52.2 46.8 37.8 34.4±1.8
LLaMA-2 with ConceptGraphs | 13.3 11.9 18.8 27.9 31.7 31.7 36.5 23.9±1.6
GPT-4 with sparse voxel map | 29.0 17.2 31.5 31.5 54.2 39.8 38.9 34.2±1.8
LLaMA-2 with sparse voxel map | 16.7 9.7 33.4 29.0 47.2 40.5 37.5 29.9±1.7
human | 89.7 72.8 85.4 84.8 97.8 78.9 88.5 85.1±1.1
"""
_TABLE_5_GPT_4V = "GPT-4V | 34.0 34.3 51.5 39.5 51.9 45.6 36.6 41.8±3.2"

NUMBERS: tuple[PublishedValue, ...] = (
    *values(_sources(SCANNET, HM3D, ALL, AEQA), _TABLE_2),
    *values(_sources(SCANNET_500, HM3D_500, ALL_500, AEQA_184), _TABLE_2_GPT_4V),
    *values(_sources(SCANNET, HM3D, ALL, AEQA), _TABLE_2_HUMAN),
    *values(_guesses(ALL, AEQA), _TABLE_3),
    *values(_guesses(ALL_500, AEQA_184), _TABLE_3_GPT_4V),
    *values(_guesses(ALL, AEQA), _TABLE_3_HUMAN),
    *values(_categories("supplement, table 4", EM, ALL), _TABLE_4),
    *values(_categories("supplement, table 4", EM, ALL_500), _TABLE_4_GPT_4V),
    *values(_categories("supplement, table 5", ACTIVE, AEQA), _TABLE_5),
    *values(_categories("supplement, table 5", ACTIVE, AEQA_184), _TABLE_5_GPT_4V),
)
