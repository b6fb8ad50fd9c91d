"""Judges mark an answer against the truth: 1 (wrong) .. 5 (right). docs/judging.md describes each of them."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.bench.judges.base import Judge, Mark, drop_after_last_full_stop
from eqa_nodes.bench.judges.choices import ChoicesJudge
from eqa_nodes.bench.judges.eac import EacJudge
from eqa_nodes.bench.judges.llm_match import LlmMatch
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.judges.options import JudgeOptions
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.model import Backend
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig

__all__ = ["JUDGES", "MODEL_JUDGES", "Judge", "JudgeOptions", "Mark", "OfflineJudge", "drop_after_last_full_stop",
           "open_judge"]

JUDGES: dict[str, Callable[[bool], Judge]] = {"offline": OfflineJudge, "choices": ChoicesJudge}  # by rules, at once
MODEL_JUDGES: dict[str, Callable[[Backend, JudgeOptions], Judge]] = {"llm-match": LlmMatch, "eac": EacJudge}


def open_judge(name: str = "offline", options: JudgeOptions | None = None,
               open_backend: Callable[[ModelConfig], Backend] = open_model) -> Judge:
    """Return a judge by name. Raises ConfigError for an unknown one, or options that do not fit, and MissingExtra."""
    options = options or JudgeOptions()
    if name in JUDGES:
        return JUDGES[name](options.until_last_full_stop)
    if name not in MODEL_JUDGES:
        raise ConfigError(unknown("judge", name, (*JUDGES, *MODEL_JUDGES)))
    backend = open_backend(options.model)
    try:
        return MODEL_JUDGES[name](backend, options)
    except Exception:
        backend.close()
        raise
