"""Judges made from their names."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.bench.judges.base import Judge
from eqa_nodes.bench.judges.official import find_scorer, open_official
from eqa_nodes.bench.judges.options import JudgeOptions
from eqa_nodes.core.components import JUDGES
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Backend
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig


def open_judge(name: str = "offline", options: JudgeOptions | None = None,
               open_backend: Callable[[ModelConfig], Backend] = open_model) -> Judge:
    """Return a judge by name. Raises ConfigError for an unknown one, or options that do not fit, and MissingExtra."""
    if options is not None and options.official is not None:
        scorer = find_scorer(options.official)
        if name != scorer.kind:
            raise ConfigError(f"{options.official} holds the official {scorer.kind}, not {name}")
        return open_official(scorer, open_backend(options.model))
    judge: Judge = JUDGES.make(name, options or JudgeOptions(), open_backend)
    return judge


def marks_at_once(name: str) -> bool:
    """Say whether this is the name of a judge that asks no model."""
    return name in JUDGES and not JUDGES.traits(name).asks_model
