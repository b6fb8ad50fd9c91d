"""Text embeddings: texts with similar meaning have similar vectors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from eqa_nodes.core.components import EMBEDDERS
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.gc_freeze import exempt_loaded
from eqa_nodes.core.traits import Traits

DEFAULT = "wordllama"
DIMENSIONS = 256
_SCALE = 127.0  # scale of the stored int8 vectors


class Embedder(Protocol):
    """Converts texts to vectors of DIMENSIONS numbers. name: only vectors of equal names are comparable."""

    name: str

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return (n, DIMENSIONS) float32 vectors of length 1; zeros for a text without words."""


class WordLlama:
    """Mean of trained token vectors (package wordllama with its weights): 0.1 ms per text on a CPU, offline."""

    traits = Traits(library="wordllama", extra="embed")
    name = "wordllama l2_supercat 256"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """As in Embedder."""
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        raw = np.asarray(_wordllama().embed(list(texts), norm=False), dtype=np.float64)
        raw[[not text.strip() for text in texts]] = 0.0
        length = np.sqrt((raw * raw).sum(axis=1, keepdims=True))
        return (raw / np.where(length > 0, length, 1.0)).astype(np.float32)


@cache
def _wordllama() -> Any:
    """Return the model, loaded at first use, which takes a second."""
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    try:
        import wordllama
    finally:  # the package enables logging of all libraries in this process
        root.setLevel(before[0])
        root.handlers[:] = before[1]

    # its own search for the tokenizer uses a folder that is not in the package
    model = wordllama.WordLlama.load(dim=DIMENSIONS, cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    exempt_loaded()
    return model


def make_embedder(name: str) -> Embedder | None:
    """Return the embedder of this name, None for no embeddings. Raises ConfigError.

    "auto": wordllama if it is installed, else None; "none": None.
    """
    if name == "none":
        return None
    chosen = DEFAULT if name == "auto" else name
    traits = EMBEDDERS.traits(chosen)
    installed = not traits.library or find_spec(traits.library) is not None
    if not installed and name != "auto":
        raise ConfigError(f"the embedder {chosen} is not installed: pip install 'eqa-nodes[{traits.extra}]'")
    made: Embedder | None = EMBEDDERS.make(chosen) if installed else None
    return made


def packed(vectors: np.ndarray) -> np.ndarray:
    """Return unit vectors (n, DIMENSIONS) as int8 for storage."""
    return np.rint(vectors * _SCALE).astype(np.int8)


def cosines(stored: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the cosines (n,) of stored int8 vectors with a unit vector, accurate to about 0.01; 0 for zero vectors."""
    floats = stored.astype(np.float32)
    length = np.sqrt(np.einsum("ij,ij->i", floats, floats))
    return (floats * vector).sum(axis=1) / np.where(length > 0, length, 1.0)


def signature(vectors: np.ndarray) -> np.ndarray:
    """Return the signs of vectors (n, DIMENSIONS) as bits (n, 4) uint64, a coarse representation for fast search."""
    return np.packbits(vectors > 0, axis=1).view(np.uint64)
