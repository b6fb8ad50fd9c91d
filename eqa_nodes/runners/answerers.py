"""Creates answerers by name, with their models."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.core.answerers.common import AnswererOptions
from eqa_nodes.core.components import ANSWERERS
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.roles import open_models

if TYPE_CHECKING:
    from eqa_nodes.config.nodes import AnswererSettings
    from eqa_nodes.core.answerers.object_graph import CropRanker


def answerer_of(own: AnswererSettings) -> Answerer:
    """Return the answerer of a node's settings.

    max_images: images per call of a model, 0 = the answerer's own default. folder: cache of a model's captions of
    images. Raises ConfigError for an unknown name, and for settings that the backend does not support; MissingExtra,
    StorageError.
    """
    made: Answerer = ANSWERERS.make(own.answerer, AnswererOptions(
        partial(open_models, own.model, own.model_for, open_model, own.wording), own.max_images,
        Path(own.folder) if own.folder else None, own.model.image_side_px,
        partial(_ranker, own.embedder, own.model) if own.embedder else None, own.labels_from == "detector"))
    return made


def _ranker(name: str, model: ModelConfig) -> CropRanker:
    from eqa_nodes.core.answerers.object_graph import CropRanker
    from eqa_nodes.core.perception.detection import DetectorConfig
    from eqa_nodes.perception.loading import PictureEmbedder

    return CropRanker(PictureEmbedder(DetectorConfig(embedder=name, device=model.device)))
