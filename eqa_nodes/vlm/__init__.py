"""Model backends behind eqa_nodes.core.model.Backend; an absent library is named only when its backend is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.model import Backend
from eqa_nodes.vlm.config import ModelConfig


def _openai(**options: Any) -> Backend:
    from eqa_nodes.vlm.openai_chat import OpenAIChat, OpenAIChatConfig
    return OpenAIChat(OpenAIChatConfig(**options))


def _scripted(**options: Any) -> Backend:
    from eqa_nodes.vlm.scripted import ScriptedBackend
    return ScriptedBackend(**options)


BACKENDS: dict[str, Callable[..., Backend]] = {"openai": _openai, "scripted": _scripted}


def make_backend(name: str, **options: Any) -> Backend:
    """Return the backend of that name; options are the fields of its config. Raises ConfigError, MissingExtra."""
    if name not in BACKENDS:
        raise ConfigError(unknown("model backend", name, BACKENDS))
    return BACKENDS[name](**options)


def open_model(config: ModelConfig) -> Backend:
    """Return the backend that a configuration names. Raises ConfigError, MissingExtra."""
    options = asdict(config)
    temperature = options.pop("temperature")
    return make_backend(options.pop("backend"), **options, temperature=None if temperature < 0 else temperature)
