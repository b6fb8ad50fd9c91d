"""The words of vector spaces: what "white" or "the thing made of glass" looks like in the vectors of a detector."""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from eqa_nodes.core.components import PERCEIVER
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.traits import Traits
from eqa_nodes.perception.loading import PictureEmbedder

WEIGHTS = Path(__file__).with_name("weights")  # folder of the perceiver's weights in the package
REPORT, WORDS = "perceiver.json", "words.npz"  # files of a folder of weights
TRANSFORMERS = "transformers"
_HASH = 12  # characters of the hash that names the words of a perceiver
_CLIP_MIDDLE = 0.25  # cosine that counts as a half fit in CLIP's space; it does not change which view fits best


def space_of(folder: Path) -> str:
    """Return the vector space of the perceiver's weights in a folder, "" if they have no words."""
    try:
        stated = json.loads((folder / REPORT).read_text("utf-8"))["sha256"].get(WORDS, "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    where = "" if folder == WEIGHTS else f" {folder.resolve()}"
    return f"{PERCEIVER} {stated[:_HASH]}{where}" if stated else ""


class PerceiverWords:
    """Reads a perceiver's vectors with the last layers of its heads, for each word that is a name in one of them."""

    traits = Traits()

    def __init__(self, where: str) -> None:
        """where: start of the hash of the words, and their folder, none for the package. Raises ConfigError."""
        stated, _, folder = where.partition(" ")
        place = Path(folder) if folder else WEIGHTS
        if space_of(place) != f"{PERCEIVER} {where}":
            raise ConfigError(f"the weights of the perceiver in {place} are not those with which these vectors were "
                              f"made ({stated}): they cannot be compared")
        try:
            with np.load(place / WORDS, allow_pickle=False) as stored:
                heads = [str(head) for head in stored["heads"]]
                self._scale = float(stored["scale"])
                self._layers = [(stored[head].astype(np.float64), stored[f"{head}_bias"].astype(np.float64))
                                for head in heads]
                names = [[str(name) for name in stored[f"{head}_names"]] for head in heads]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ConfigError(f"{place / WORDS} cannot be read ({type(error).__name__}: {error}): train the weights "
                              "again with `eqa learn perceiver`") from error
        self._places: dict[str, list[tuple[int, int]]] = {}  # by canonical name its heads and numbers
        for head, of_head in enumerate(names):
            for number, name in enumerate(of_head):
                if name:
                    self._places.setdefault(canonical(name), []).append((head, number))
        longest_first = sorted(self._places, key=lambda name: (-len(name), name))
        self._known = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")

    def fit(self, phrase: str, vectors: np.ndarray) -> np.ndarray | None:
        """As in Words: the product of the probabilities of the names in the phrase."""
        named = dict.fromkeys(self._known.findall(canonical(phrase)))
        if not named or vectors.shape[1] != len(self._layers[0][0]):
            return None
        shares = [self._shares(vectors, *layer) for layer in self._layers]
        each = [np.max([shares[head][:, number] for head, number in self._places[name]], axis=0) for name in named]
        return np.asarray(np.prod(each, axis=0))

    def _shares(self, vectors: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
        logits = self._scale * vectors @ weights + bias
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


class TransformersWords:
    """Embeds a phrase with the text tower of CLIP or SigLIP, whose picture tower made the vectors."""

    traits = Traits(library="torch", extra="local")

    def __init__(self, model: str) -> None:
        """model: folder or name of a model that is on this machine; none is fetched. Raises ConfigError, MissingExtra.
        """
        self._embedder = _embedder(model)

    def fit(self, phrase: str, vectors: np.ndarray) -> np.ndarray | None:
        """As in Words: the sigmoid of the scaled cosine, with the bias of SigLIP (Zhai et al. 2023, eq. 1)."""
        text = self._embedder.texts([phrase])[0].astype(np.float64)
        if vectors.shape[1] != len(text):
            return None
        scale, bias = self._embedder.scale_and_bias()
        return 1.0 / (1.0 + np.exp(-np.clip(scale * (vectors @ text) + (
            -scale * _CLIP_MIDDLE if bias is None else bias), -30.0, 30.0)))


@cache
def _embedder(model: str) -> PictureEmbedder:
    return PictureEmbedder(DetectorConfig(embedder=model), fetch=False)
