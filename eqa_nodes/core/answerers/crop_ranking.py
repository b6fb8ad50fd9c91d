"""Ranks objects by the similarity of their best crop and the question: OpenEQA, supplement F."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from PIL import Image

from eqa_nodes.core.answerers.object_graph import Crop, GraphObject

_KEPT = 20_000  # vectors, 512 to 1,152 numbers each: questions about one place share its crops


class CropEmbedder(Protocol):
    """Vectors of pictures and texts in one space, of length 1 (perception/embedder.py)."""

    def pictures(self, crops: Sequence[np.ndarray]) -> np.ndarray:
        """Return (n, D) float32. crops: n of (H, W, 3) uint8, each of any size."""

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, D) float32."""


class CropRanker:
    """Keeps the vectors of crops. Raises BadFrame for a view without a usable image."""

    def __init__(self, embedder: CropEmbedder) -> None:
        self._embedder = embedder
        self._vectors: dict[bytes, np.ndarray] = {}

    def likest(self, question: str, objects: Sequence[GraphObject], limit: int) -> list[GraphObject]:
        """Return the objects whose best crop is likest to the question, the likest first; equals: seen first."""
        if not objects:
            return []
        score = self._of(objects) @ self._embedder.texts([question])[0]
        order = sorted(range(len(objects)), key=lambda i: (-float(score[i]), i))
        return [objects[i] for i in order[:limit]]

    def _of(self, objects: Sequence[GraphObject]) -> np.ndarray:
        """Return (n, D) float32, the vectors of the objects' best crops."""
        crops = {_key(obj.crops[0]): obj.crops[0] for obj in objects}
        if len(self._vectors) + len(crops) > _KEPT:
            self._vectors.clear()
        new = [key for key in crops if key not in self._vectors]
        if new:
            found = self._embedder.pictures([_pixels(crops[key]) for key in new])
            self._vectors.update(zip(new, found, strict=True))
        return np.stack([self._vectors[_key(obj.crops[0])] for obj in objects])


def _key(crop: Crop) -> bytes:
    return hashlib.sha256(crop.view.jpeg + repr(crop.bbox).encode()).digest()


def _pixels(crop: Crop) -> np.ndarray:
    with Image.open(io.BytesIO(crop.jpeg())) as image:
        return np.asarray(image.convert("RGB"))
