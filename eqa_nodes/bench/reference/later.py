"""Systems published after the benchmarks: A-EQA's 184 questions, EXPRESS-Bench and HM-EQA.

Most of these values are quoted by other papers, which `Table.quoted` names.
"""

from __future__ import annotations

from eqa_nodes.bench.metrics.values import BLIND
from eqa_nodes.bench.reference.express import ALL as EXPRESS_ALL
from eqa_nodes.bench.reference.express import C_STAR, D_T, E_PATH
from eqa_nodes.bench.reference.express import C as EXPRESS_C
from eqa_nodes.bench.reference.openeqa import AEQA, AEQA_184, ALL, LLM_MATCH, C
from eqa_nodes.bench.reference.rows import (
    HM_EQA_LIMIT,
    NO_LIMIT,
    Limit,
    PublishedColumn,
    PublishedJudge,
    PublishedValue,
    Subset,
    Table,
    values,
)
from eqa_nodes.core.types.samples import ACTIVE, EM

SPL = "openeqa_e_metres"  # "LLM-Match SPL" of 3D-Mem and later papers
_README = "Pred-EQA's README"
_NOTES = "public reading notes"  # of the paper, whose own text was not available
# The published evaluation of 3D-Mem is OpenEQA's unchanged scorer: same prompts, same default model.
_GPT_4 = PublishedJudge("LLM-Match by GPT-4", LLM_MATCH.words, LLM_MATCH.prompt_sha256, LLM_MATCH.model)
_OPENEQA_S = PublishedJudge("LLM-Match with OpenEQA's prompts, its model is not named", LLM_MATCH.words,
                     LLM_MATCH.prompt_sha256)
_LLM_MATCH = PublishedJudge("LLM-Match, its model is not named", LLM_MATCH.words)
_EAC = PublishedJudge("EAC, its model is not named", ("eac",))
# Pred-EQA's evaluate_express_bench.py: not the final view, and another temperature and parser than EXPRESS-Bench's.
_EAC_SNAPSHOT = PublishedJudge("EAC by GPT-4o-mini of the snapshot that the agent chose, temperature 0.7",
                               ("eac", "snapshot"))
_OPTION = PublishedJudge("the right option, no judge")
_FIFTY = Limit("50 steps of at most 1 m")  # num_step of 3D-Mem's published code, which Pred-EQA builds on
_THREE_RUNS = "standard deviation over three runs"
_PRED_EQA_PAPER = "Yuan et al. 2026, Pred-EQA"
_HM_EQA_ALL = Subset("all of HM-EQA", 500)
# FAST-EQA's eval_results_on_log.py takes the mean of normalised steps over rightly answered questions.
_ANSWERED = Subset("those of HM-EQA that were answered rightly", 0,
                   unknown="its published code takes this mean over the rightly answered questions only")


def _of(paper: str, name: str, judging: PublishedJudge, quoted: str = "", limit: Limit = NO_LIMIT,
        subset: Subset = AEQA_184, task: str = ACTIVE) -> tuple[PublishedColumn, ...]:
    """Return C and SPL of a table of A-EQA. With 3D-Mem's limit, failures count as in its code."""
    of = Table(paper, name, "openeqa", task, judging, subset, failed=BLIND if limit.text else "", limit=limit,
               quoted=quoted)
    return PublishedColumn(of, C), PublishedColumn(of, SPL)


def _express(paper: str, quoted: str, judging: PublishedJudge = _EAC, spread: str = "") -> tuple[PublishedColumn, ...]:
    of = Table(paper, "EXPRESS-Bench", "express", ACTIVE, judging, EXPRESS_ALL, quoted=quoted, spread=spread)
    return tuple(PublishedColumn(of, metric) for metric in (EXPRESS_C, C_STAR, E_PATH, D_T))


def _hm_eqa(paper: str, name: str, quoted: str = "", steps: Subset = _HM_EQA_ALL, spread: str = ""
            ) -> tuple[PublishedColumn, ...]:
    of = Table(paper, name, "hm-eqa", ACTIVE, _OPTION, _HM_EQA_ALL, limit=HM_EQA_LIMIT, quoted=quoted, spread=spread)
    return PublishedColumn(of, "hm_eqa_accuracy"), PublishedColumn(of._replace(subset=steps), "hm_eqa_normalised_steps")


_3D_MEM = """
GPT-4o blind | 35.9 -
Explore-EQA (GPT-4o) | 46.9 23.4
ConceptGraphs with frontier snapshots | 47.2 33.3
3D-Mem (GPT-4o) | 52.6 42.0
"""
_PRED_EQA = """
Pred-EQA (Qwen2.5-VL 7B) | 46.2 37.8
Pred-EQA (Qwen3-VL 8B) | 53.3 48.5
"""
_PRED_EQA_SIZES = """
Pred-EQA (Qwen2.5-VL 3B) | 38.6 -
Pred-EQA (Qwen3-VL 32B) | 56.3 53.9
"""
_PRED_EQA_EXPRESS = """
Pred-EQA (Qwen2.5-VL 7B) | 47.44 68.54 34.31 5.80
Pred-EQA (Qwen3-VL 8B) | 52.58 70.54 47.66 5.64
"""
# Normalised steps are printed as shares of 1. NavMCP counts one step per started 3 m of a drive.
_HM_EQA = """
Explore-EQA | 58.4 52
Graph-EQA | 63.5 20
Memory-EQA | 61.4 40
Fine-EQA | 56.0 54
3D-Mem | 50.4 63
ToolEQA | 62.3 -
"""
# NavMCP's column E_path is not entered: its 25.58 of Fine-EQA weighs C*, where EXPRESS-Bench has 16.22 with grounding.
_NAVMCP = "NavMCP (Qwen3.6-Plus, Qwen-RobotNav-8B)"

NUMBERS: tuple[PublishedValue, ...] = (
    *values(_of("Yang et al. 2025, 3D-Mem", "A-EQA", _GPT_4, f"{_NOTES} and {_README}", _FIFTY), _3D_MEM),
    *values(_of("Yang et al. 2025, 3D-Mem", "A-EQA, all questions", _GPT_4, _NOTES, _FIFTY, AEQA),
            "3D-Mem (GPT-4o, 557 questions) | 53.3 38.0"),
    *values(_of("Yang et al. 2025, 3D-Mem", "EM-EQA", _GPT_4, _NOTES, subset=ALL, task=EM),
            "3D-Mem (GPT-4o, 3.1 images) | 57.2 -"),
    *values(_of("Zhu et al. 2025, MTU3D", "A-EQA", _LLM_MATCH, f"{_README} and {_NOTES} of MetaNav"),
            "MTU3D (GPT-4o) | 51.1 42.6"),
    *values(_of(_PRED_EQA_PAPER, "README", _OPENEQA_S, "", _FIFTY), _PRED_EQA),
    *values(_of(_PRED_EQA_PAPER, "A-EQA", _OPENEQA_S, _NOTES, _FIFTY), _PRED_EQA_SIZES),
    *values(_of("GSMem (arXiv 2603.19137)", "A-EQA", _LLM_MATCH, _NOTES), "GSMem (GPT-4o) | 55.4 43.8"),
    *values(_of("MetaNav (arXiv 2604.02318)", "A-EQA", _LLM_MATCH, _NOTES, _FIFTY), "MetaNav (GPT-4o) | 58.3 45.5"),
    *values(_express("ToolEQA", _README), "ToolEQA (Qwen2.5-VL 7B) | 42.21 65.77 25.82 5.25"),
    *values(_express(_PRED_EQA_PAPER, "", _EAC_SNAPSHOT), _PRED_EQA_EXPRESS),
    *values(_express("Zhang et al. 2026, FAST-EQA (arXiv 2602.15813)", "NavMCP and Qwen-RobotNav's README")[1:2],
            "FAST-EQA | 68.7"),
    *values(_express("Lei et al. 2026, NavMCP", "", spread=_THREE_RUNS)[1:2], f"{_NAVMCP} | 79.27±0.44"),
    *values(_hm_eqa("several papers", "HM-EQA", "NavMCP (table 1)"), _HM_EQA),
    *values(_hm_eqa("Zhang et al. 2026, FAST-EQA (arXiv 2602.15813)", "HM-EQA", "NavMCP (table 1)", _ANSWERED),
            "FAST-EQA | 69.2 65"),
    *values(_hm_eqa("Lei et al. 2026, NavMCP", "table 1", spread=_THREE_RUNS), f"{_NAVMCP} | 76.7±0.1 15±1"),
)
