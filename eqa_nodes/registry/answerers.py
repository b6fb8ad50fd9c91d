"""Answerers by name, each imported when first used, with the model behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eqa_nodes.core.answerers.blind import BlindAnswerer
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig

if TYPE_CHECKING:
    from eqa_nodes.config.nodes import AnswererSettings
    from eqa_nodes.core.answerers.captions import CaptionStore


class Making(NamedTuple):
    """What an answerer is made of.

    max_images: shown in one call, 0 = its own default; folder: where captions are kept, None: in RAM.
    """

    model: ModelConfig
    max_images: int
    folder: Path | None

    def captions(self) -> CaptionStore:
        """Return where captions are kept. Raises StorageError."""
        from eqa_nodes.core.answerers.captions import FILE, CaptionStore

        return CaptionStore(self.folder / FILE if self.folder else None)


class Made(NamedTuple):
    """How an answerer is made.

    labels: it reads what labels say of views; captions: it has many pictures described; asks: it asks a model.
    """

    make: Callable[[Making], Answerer]
    labels: bool = False
    captions: bool = False
    asks: bool = True


def _label(of: Making) -> Answerer:
    from eqa_nodes.core.answerers.label.answerer import LabelAnswerer

    return LabelAnswerer()


def _vlm(of: Making) -> Answerer:
    from eqa_nodes.core.answerers.vlm import VlmAnswerer, VlmConfig

    return VlmAnswerer(open_model(of.model), VlmConfig(max_images=of.max_images) if of.max_images else None)


def _random(of: Making) -> Answerer:
    from eqa_nodes.core.answerers.random_answer import RandomAnswerer

    return RandomAnswerer()


def _captions(of: Making) -> Answerer:
    from eqa_nodes.core.answerers.socratic import CaptionAnswerer

    return CaptionAnswerer(open_model(of.model), of.captions())


def _snapshot(of: Making) -> Answerer:
    from eqa_nodes.core.answerers.snapshot import SnapshotAnswerer

    return SnapshotAnswerer(open_model(of.model))


def _things(name: str, boxes: bool) -> Callable[[Making], Answerer]:
    def make(of: Making) -> Answerer:
        from eqa_nodes.core.answerers import scene_graph

        config = {"voxel": scene_graph.VOXEL, "graph": scene_graph.GRAPH}[name]
        return scene_graph.SceneGraphAnswerer(open_model(of.model), replace(config, boxes=boxes), of.captions())

    return make


ANSWERERS: dict[str, Made] = {
    "label": Made(_label, labels=True, asks=False),
    "vlm": Made(_vlm),
    "blind": Made(lambda of: BlindAnswerer(_label(of)), asks=False),
    "blind-llm": Made(lambda of: BlindAnswerer(_vlm(of))),
    "random": Made(_random, asks=False),
    "socratic-captions": Made(_captions, captions=True),
    "socratic-graph": Made(_things("graph", True), labels=True, captions=True),
    "socratic-graph-no-boxes": Made(_things("graph", False), labels=True, captions=True),
    "socratic-voxel": Made(_things("voxel", True), labels=True, captions=True),
    "socratic-voxel-no-boxes": Made(_things("voxel", False), labels=True, captions=True),
    "snapshot": Made(_snapshot, labels=True),
}


def about(name: str) -> Made:
    """Return how an answerer is made. Raises ConfigError for an unknown name."""
    if name not in ANSWERERS:
        raise ConfigError(unknown("answerer", name, ANSWERERS))
    return ANSWERERS[name]


def make_answerer(name: str, model: ModelConfig = ModelConfig(), max_images: int = 0,
                  folder: Path | None = None) -> Answerer:
    """Return an answerer: label (privileged, no model), vlm (asks the model), blind (guesses from priors), or others.

    max_images: that a model is shown in one call, 0 = the answerer's own default. folder: keeps what a model said of
    pictures. Raises ConfigError for an unknown name, and for settings that the backend lacks; StorageError.
    """
    return about(name).make(Making(model, max_images, folder))


def answerer_of(settings: AnswererSettings) -> Answerer:
    """Return the answerer of a node's settings. Raises as make_answerer."""
    return make_answerer(settings.answerer, settings.model, settings.max_images,
                         Path(settings.folder) if settings.folder else None)
