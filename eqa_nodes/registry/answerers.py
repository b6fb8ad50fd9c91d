"""Answerers made from their names, with the model behind them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.core.answerers.options import AnswererOptions
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.roles import open_models
from eqa_nodes.registry import ANSWERERS

if TYPE_CHECKING:
    from eqa_nodes.config.nodes import AnswererSettings


def make_answerer(name: str, model: ModelConfig = ModelConfig(), max_images: int = 0,
                  folder: Path | None = None, model_for: Sequence[str] = ()) -> Answerer:
    """Return an answerer by name; `model` is opened where it asks one.

    max_images: that a model is shown in one call, 0 = the answerer's own default. folder: keeps what a model said of
    pictures. model_for: models of single roles, as in models/roles.py. Raises ConfigError for an unknown name, and for
    settings that the backend lacks; MissingExtra, StorageError.
    """
    made: Answerer = ANSWERERS.make(name, AnswererOptions(partial(open_models, model, model_for, open_model),
                                                          max_images, folder, model.image_side_px))
    return made


def answerer_of(settings: AnswererSettings) -> Answerer:
    """Return the answerer of a node's settings. Raises as make_answerer."""
    return make_answerer(settings.answerer, settings.model, settings.max_images,
                         Path(settings.folder) if settings.folder else None, settings.model_for)
