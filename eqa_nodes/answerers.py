"""Answerers by name, each imported when first used, with the model behind it."""

from __future__ import annotations

from collections.abc import Callable

from eqa_nodes.core.answerers.blind import BlindAnswerer
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.vlm import open_model
from eqa_nodes.vlm.config import ModelConfig


def _label(model: ModelConfig, max_images: int) -> Answerer:
    from eqa_nodes.core.answerers.label.answerer import LabelAnswerer

    return LabelAnswerer()


def _vlm(model: ModelConfig, max_images: int) -> Answerer:
    from eqa_nodes.core.answerers.vlm import VlmAnswerer, VlmConfig

    return VlmAnswerer(open_model(model), VlmConfig(max_images=max_images) if max_images else None)


def _blind(model: ModelConfig, max_images: int) -> Answerer:
    return BlindAnswerer(_label(model, max_images))


ANSWERERS: dict[str, Callable[[ModelConfig, int], Answerer]] = {"label": _label, "vlm": _vlm, "blind": _blind}


def make_answerer(name: str, model: ModelConfig = ModelConfig(), max_images: int = 0) -> Answerer:
    """Return an answerer: label (privileged, no model), vlm (asks the model), blind (guesses from priors).

    max_images: that a model is shown in one call, 0 = the answerer's own default.
    Raises ConfigError for an unknown name, and for settings that the backend lacks.
    """
    if name not in ANSWERERS:
        raise ConfigError(unknown("answerer", name, ANSWERERS))
    return ANSWERERS[name](model, max_images)
