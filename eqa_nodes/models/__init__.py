"""Model backends behind eqa_nodes.core.model.Backend; a missing library is reported when its backend is used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from eqa_nodes.core.components import BACKENDS
from eqa_nodes.models.config import ModelConfig, environment_model

if TYPE_CHECKING:  # it needs numpy, which help texts must not load
    from eqa_nodes.core.model import Backend


def make_backend(name: str, api_key: str = "", **options: Any) -> Backend:
    """Return the backend of that name. options: fields of ModelConfig. api_key: "" = EQA_VLM_API_KEY.

    Raises ConfigError, MissingExtra.
    """
    return open_model(ModelConfig(backend=name, **options), api_key)


def open_model(config: ModelConfig, api_key: str = "") -> Backend:
    """Return the configured backend, behind a cassette if one is configured. Raises ConfigError, MissingExtra."""
    opened: Callable[[], Backend] = partial(BACKENDS.make, config.backend, config, api_key)
    BACKENDS.check(config.backend)
    if not config.cassette:
        return opened()
    from eqa_nodes.models.cassette import Cassette
    return Cassette(config, opened, environment_model(config.backend))
