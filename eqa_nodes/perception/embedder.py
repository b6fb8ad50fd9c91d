"""Embeddings of images and texts in one space: CLIP and SigLIP, through transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.perception.loading import load


class PictureEmbedder:
    """Unit vectors; similar images and matching texts have similar ones.

    Raises ConfigError and MissingExtra when it is made, ModelError when it is used.
    """

    def __init__(self, config: DetectorConfig) -> None:
        self._batch = config.batch
        self._model = load("AutoModel", config.embedder, config)

    def pictures(self, crops: Sequence[np.ndarray]) -> np.ndarray:
        """Return (n, D) float32. crops: n of (H, W, 3) uint8, each of any size."""
        return self._vectors("get_image_features", [{"pictures": part} for part in _parts(crops, self._batch)])

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, D) float32."""
        padding = "max_length" if self._model.kind.startswith("siglip") else True  # SigLIP was trained on full lines
        return self._vectors("get_text_features", [{"text": part, "padding": padding, "truncation": True}
                                                   for part in _parts(texts, self._batch)])

    def _vectors(self, features: str, batches: list[dict[str, Any]]) -> np.ndarray:
        found = []
        with self._model.named_failures(), self._model.torch.inference_mode():
            for batch in batches:
                out = getattr(self._model.model, features)(**self._model.inputs(**batch))
                tensor = out if self._model.torch.is_tensor(out) else out.pooler_output
                found.append(tensor.float().cpu().numpy())
        if not found:
            return np.zeros((0, 0), np.float32)
        raw = np.concatenate(found).astype(np.float64)
        length = np.sqrt((raw * raw).sum(axis=1, keepdims=True))
        return (raw / np.where(length > 0, length, 1.0)).astype(np.float32)


def _parts(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
