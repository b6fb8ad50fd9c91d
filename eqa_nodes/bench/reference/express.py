"""EXPRESS-Bench (Jiang et al., ICCV 2025): tables 2 to 4, and the shares of ambiguous questions of section 5.2."""

from __future__ import annotations

from eqa_nodes.bench.reference.rows import (
    HM_EQA_LIMIT,
    NO_LIMIT,
    PublishedColumn,
    PublishedJudge,
    PublishedValue,
    Subset,
    Table,
    values,
)
from eqa_nodes.core.types.samples import ACTIVE, EM

PAPER = "Jiang et al. 2025, EXPRESS-Bench"
C, C_STAR, E_PATH, D_T = "express_c", "express_c_star", "express_e_path", "express_d_t"
EAC = PublishedJudge("EAC by GPT-4o-mini", ("eac",), "c29fe5d84eff3cf3c7362dc09353dea4193fb0c6edfa151b0378b31fd815ecea",
              "gpt-4o-mini")
ALL = Subset("all of EXPRESS-Bench", 2044)
LIMIT = HM_EQA_LIMIT  # max_step_room_size_ratio of the published code


def _columns(name: str, task: str, *metrics: str) -> tuple[PublishedColumn, ...]:
    table = Table(PAPER, name, "express", task, EAC, ALL, limit=LIMIT if task == ACTIVE else NO_LIMIT)
    return tuple(PublishedColumn(table, metric) for metric in metrics)


_TABLE_2_STILL = """
human | 83.99
DeepSeek-V3 blind | 59.15
GPT-4 blind | 58.96
LLaMA-3-8b blind | 57.25
DeepSeek-V3 with GPT-4o-mini captions | 62.60
GPT-4 with GPT-4o-mini captions | 62.56
LLaMA-3-8b with GPT-4o-mini captions | 59.95
DeepSeek-V3 with LLaVA-1.5-7b captions | 60.63
GPT-4 with LLaVA-1.5-7b captions | 59.53
LLaMA-3-8b with LLaVA-1.5-7b captions | 58.59
GPT-4o-mini with frames | 58.37
LLaVA-1.5-7b with frames | 57.66
"""
_TABLE_2 = """
random exploration (RE) | 36.95 62.75 12.06 7.26
frontier exploration (FBE) | 38.60 60.24 14.55 6.64
goal-oriented exploration (GOE) | 38.54 63.34 12.74 6.46
Fine-EQA | 40.55 63.95 16.22 6.43
"""
_TABLE_3 = """
Fine-EQA without FBE | 38.54 63.34 12.74 6.46
Fine-EQA without GOE | 39.63 60.74 14.64 6.54
Fine-EQA | 40.55 63.95 16.22 6.43
"""
_TABLE_4 = """
random exploration (RE) | 0.23 0.55 0.16
frontier exploration (FBE) | 0.28 0.58 0.19
goal-oriented exploration (GOE) | 0.27 0.58 0.18
Fine-EQA | 0.34 0.59 0.22
"""
# Confidence is Prismatic's probability that the final view answers the question: no judge of wording is used.
_CONFIDENCE = PublishedJudge("confidence by Prism-DINOSigLIP 7B in the final view", (), "", "prism-dinosiglip+7b")
_TABLE_4_OF = Table(PAPER, "table 4", "express", ACTIVE, _CONFIDENCE, ALL, limit=LIMIT)

NUMBERS: tuple[PublishedValue, ...] = (
    *values(_columns("table 2", EM, C_STAR), _TABLE_2_STILL),
    *values(_columns("table 2", ACTIVE, C, C_STAR, E_PATH, D_T), _TABLE_2),
    *values(_columns("table 3", ACTIVE, C, C_STAR, E_PATH, D_T), _TABLE_3),
    *values([PublishedColumn(_TABLE_4_OF, metric) for metric in ("npl", "ace", "wce")], _TABLE_4, 100.0),
)

# Per cent of the questions of a data set that have several right answers, section 5.2.
AMBIGUOUS = {"hm-eqa": 35.6, "openeqa": 62.3, "express": 9.7}
