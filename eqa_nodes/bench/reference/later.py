"""Systems after the benchmarks: A-EQA's 184 questions, EXPRESS-Bench and HM-EQA.

Most of these values were read in a later paper or README that quotes them; `Table.quoted` names it.
"""

from __future__ import annotations

from eqa_nodes.bench.metrics.values import BLIND
from eqa_nodes.bench.reference.express import ALL as EXPRESS_ALL
from eqa_nodes.bench.reference.express import C_STAR, D_T, E_PATH
from eqa_nodes.bench.reference.express import C as EXPRESS_C
from eqa_nodes.bench.reference.openeqa import AEQA_184, C
from eqa_nodes.bench.reference.rows import (
    HM_EQA_LIMIT,
    NO_LIMIT,
    Column,
    Judging,
    Limit,
    Published,
    Subset,
    Table,
    values,
)
from eqa_nodes.bench.samples import ACTIVE

SPL = "openeqa_e_metres"  # "LLM-Match SPL" of 3D-Mem and those after it
_README = "Pred-EQA's README"
_LLM_MATCH = Judging("LLM-Match, its model is not named", ("llm", "match"))
_EAC = Judging("EAC, its model is not named", ("eac",))
_OPTION = Judging("the right option, no judge")
_FIFTY = Limit("50 steps of at most 1 m")  # num_step of 3D-Mem's published code, which Pred-EQA builds on


def _aeqa(paper: str, name: str, quoted: str, limit: Limit = NO_LIMIT) -> tuple[Column, ...]:
    of = Table(paper, name, "openeqa", ACTIVE, _LLM_MATCH, AEQA_184, failed=BLIND if limit.text else "", limit=limit,
               quoted=quoted)
    return Column(of, C), Column(of, SPL)


def _express(paper: str, quoted: str) -> tuple[Column, ...]:
    of = Table(paper, "EXPRESS-Bench", "express", ACTIVE, _EAC, EXPRESS_ALL, quoted=quoted)
    return tuple(Column(of, metric) for metric in (EXPRESS_C, C_STAR, E_PATH, D_T))


def _hm_eqa(paper: str, name: str, quoted: str = "") -> tuple[Column, ...]:
    of = Table(paper, name, "hm-eqa", ACTIVE, _OPTION, Subset("all of HM-EQA", 500),
               limit=HM_EQA_LIMIT, quoted=quoted)
    return Column(of, "hm_eqa_accuracy"), Column(of, "hm_eqa_normalised_steps")


_3D_MEM = """
Explore-EQA (GPT-4o) | 46.9 23.4
ConceptGraphs with frontier snapshots | 47.2 33.3
3D-Mem (GPT-4o) | 52.6 42.0
"""
_PRED_EQA = """
Pred-EQA (Qwen2.5-VL 7B) | 46.2 37.8
Pred-EQA (Qwen3-VL 8B) | 53.3 48.5
"""
_PRED_EQA_EXPRESS = """
Pred-EQA (Qwen2.5-VL 7B) | 47.44 68.54 34.31 5.80
Pred-EQA (Qwen3-VL 8B) | 52.58 70.54 47.66 5.64
"""
# Normalised steps are printed as shares of 1. NavMCP counts one for every 3 m or part of them of a drive.
_HM_EQA = """
Explore-EQA | 58.4 52
Graph-EQA | 63.5 20
Memory-EQA | 61.4 40
Fine-EQA | 56.0 54
3D-Mem | 50.4 63
ToolEQA | 62.3 -
FAST-EQA | 69.2 65
"""

NUMBERS: tuple[Published, ...] = (
    *values(_aeqa("Yang et al. 2025, 3D-Mem", "A-EQA", "later papers", _FIFTY), _3D_MEM),
    *values(_aeqa("Zhu et al. 2025, MTU3D", "A-EQA", _README), "MTU3D (GPT-4o) | 51.1 42.6"),
    *values(_aeqa("Yuan et al. 2026, Pred-EQA", "README", "", _FIFTY), _PRED_EQA),
    *values(_aeqa("Yuan et al. 2026, Pred-EQA", "A-EQA", "second-hand notes", _FIFTY),
            "Pred-EQA (Qwen3-VL 32B) | 56.3 53.9"),
    *values(_express("ToolEQA", _README), "ToolEQA (Qwen2.5-VL 7B) | 42.21 65.77 25.82 5.25"),
    *values(_express("Yuan et al. 2026, Pred-EQA", ""), _PRED_EQA_EXPRESS),
    *values(_express("Zhang et al. 2026, FAST-EQA", "NavMCP")[1:2], "FAST-EQA | 68.7"),
    *values(_hm_eqa("several papers", "HM-EQA", "NavMCP (table 1)"), _HM_EQA),
    *values(_hm_eqa("Lei et al. 2026, NavMCP", "table 1"),
            "NavMCP (Qwen3.6-Plus, Qwen-RobotNav-8B) | 76.7±0.1 15±1"),
)
