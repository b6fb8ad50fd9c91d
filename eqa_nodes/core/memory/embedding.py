"""Text embeddings: texts with similar meaning have similar vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from eqa_nodes.core.components import EMBEDDERS
from eqa_nodes.core.errors import ConfigError, MissingExtra
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
        tokenizer, table = _wordllama()
        raw = np.zeros((len(texts), DIMENSIONS), np.float64)
        encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False) if len(texts) else []
        for row, text, tokens in zip(raw, texts, encoded, strict=True):
            if text.strip() and tokens.ids:
                row[:] = table[tokens.ids].sum(axis=0, dtype=np.float32) / np.float32(len(tokens.ids))
        length = np.sqrt((raw * raw).sum(axis=1, keepdims=True))
        return (raw / np.where(length > 0, length, 1.0)).astype(np.float32)


@cache
def _wordllama() -> tuple[Any, np.ndarray]:
    """Return the tokenizer and the table (tokens, DIMENSIONS) float16 of the package, loaded at first use.

    The package itself is not imported: that takes a quarter of a second and turns on the logging of all libraries.
    """
    from safetensors import safe_open
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise MissingExtra("wordllama", "embed")
    folder = Path(spec.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with safe_open(folder / f"weights/l2_supercat_{DIMENSIONS}.safetensors", framework="np") as weights:
        table = weights.get_tensor("embedding.weight")
    exempt_loaded()
    return tokenizer, table


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
