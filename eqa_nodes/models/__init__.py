"""Model backends behind eqa_nodes.core.model.Backend; a missing library is reported when its backend is used."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.model import Backend
from eqa_nodes.models.config import ModelConfig


def _openai(config: ModelConfig, api_key: str) -> Backend:
    from eqa_nodes.models.openai_chat import OpenAIChat
    return OpenAIChat(config, api_key)


def _scripted(config: ModelConfig, api_key: str) -> Backend:
    from eqa_nodes.models.scripted import ScriptedBackend, read_script
    return ScriptedBackend(read_script(Path(config.model)) if config.model else (), config=config)


def _transformers(config: ModelConfig, api_key: str) -> Backend:
    from eqa_nodes.models.local import LocalModel
    return LocalModel(config)


BACKENDS: dict[str, Callable[[ModelConfig, str], Backend]] = {
    "openai": _openai, "scripted": _scripted, "transformers": _transformers}


def make_backend(name: str, api_key: str = "", **options: Any) -> Backend:
    """Return the backend of that name; options are fields of ModelConfig. Raises ConfigError, MissingExtra.

    api_key: "" = EQA_VLM_API_KEY.
    """
    return open_model(ModelConfig(backend=name, **options), api_key)


def open_model(config: ModelConfig, api_key: str = "") -> Backend:
    """Return the backend that a configuration names, behind its cassette if there is one. Raises as make_backend."""
    if config.backend not in BACKENDS:
        raise ConfigError(unknown("model backend", config.backend, BACKENDS))
    opened = partial(BACKENDS[config.backend], config, api_key)
    if not config.cassette:
        return opened()
    from eqa_nodes.models.cassette import Cassette
    return Cassette(config, opened, os.environ.get("EQA_VLM_MODEL", ""))
