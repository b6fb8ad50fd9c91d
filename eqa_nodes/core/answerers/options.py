"""The inputs from which an answerer is constructed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from eqa_nodes.core.answerers.captions import CaptionStore
    from eqa_nodes.core.answerers.crop_ranking import CropRanker
    from eqa_nodes.core.model import Backend


class AnswererOptions(NamedTuple):
    """open_model: opens the model of the run's settings, or raises ConfigError or MissingExtra.

    max_images: shown to the model in one call, 0 = the answerer's own default. folder: where an answerer may keep what
    a model said of images, None = in memory. max_side_px: longest side of a picture for the model, 0 = as stored.
    open_ranker: opens what ranks objects by their pictures, None = they are ranked by their names.
    """

    open_model: Callable[[], Backend]
    max_images: int = 0
    folder: Path | None = None
    max_side_px: int = 512
    open_ranker: Callable[[], CropRanker] | None = None

    def captions(self) -> CaptionStore:
        """Return where captions are kept. Raises StorageError."""
        from eqa_nodes.core.answerers.captions import FILE, CaptionStore

        return CaptionStore(self.folder / FILE if self.folder else None)
