"""Vectors of detected objects: as text in labels, and compared with words, so that "the white thing by the window" is
found although nobody named it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from eqa_nodes.core.components import VECTOR_SPACES
from eqa_nodes.core.errors import ConfigError

LONGEST = 10_000  # characters of a vector's text; CLIP's largest vectors need 1,500
_SCALE = 127.0  # of the stored int8 numbers
_BESIDE = re.compile(r"\b(?:next to|close to|in front of|beside|behind|near|by|on|under|above|below)\b")


class Words(Protocol):
    """What the words of a phrase look like in one vector space. The constructor takes what follows the space's name."""

    def fit(self, phrase: str, vectors: np.ndarray) -> np.ndarray | None:
        """Return how well each of the vectors (n, D) fits a phrase, (n,) 0..1; None if the space knows no word of it.

        Raises ModelError.
        """


class Appearance(NamedTuple):
    """The vector of an object. space: name in VECTOR_SPACES and what its words need, such as "perceiver 12ab34"."""

    space: str
    values: np.ndarray  # (D,) int8, a vector of length 1 times 127

    def text(self) -> str:
        """Return it in one line."""
        return f"{self.space} {base64.b64encode(self.values.tobytes()).decode()}"


def vector_text(space: str, vector: np.ndarray | None) -> str:
    """Return a vector (D,) of any length as text; "" without a vector or a space that has words for it."""
    length = float(np.sqrt((vector.astype(np.float64) ** 2).sum())) if vector is not None and space else 0.0
    if vector is None or not length:
        return ""
    return Appearance(space, np.rint(vector / length * _SCALE).astype(np.int8)).text()


def appearance_in(text: str) -> Appearance | None:
    """Return the vector that `vector_text` wrote, None if it is none or too long."""
    if len(text) > LONGEST:
        return None
    space, _, data = text.rpartition(" ")
    try:
        values = np.frombuffer(base64.b64decode(data, validate=True), np.int8)
    except (binascii.Error, ValueError):
        return None
    return Appearance(space, values) if space and len(values) else None


def open_words(space: str) -> Words:
    """Return the words of a vector space. Raises ConfigError if they are not available here, MissingExtra.

    Spaces are named in recordings and memory files, which may come from anybody: no class is imported by its name.
    """
    name, _, rest = space.partition(" ")
    if name not in VECTOR_SPACES:
        raise ConfigError(f"no package that is installed here knows the vector space {name!r} "
                          f"({', '.join(VECTOR_SPACES)} are known)")
    made: Words = VECTOR_SPACES.make(name, rest)
    return made


def asked_things(text: str) -> tuple[str, str]:
    """Return what a text asks for, and what it is said to be beside ("" without): ("the thing", "the window")."""
    parts = _BESIDE.split(text.lower(), maxsplit=1)
    return parts[0].strip(), parts[1].strip(" ?.!") if len(parts) > 1 else ""


class AskedLooks(NamedTuple):
    """A thing that a text describes, in one vector space, and the thing beside it."""

    words: Words
    thing: str
    beside: str

    def fit(self, vectors: Sequence[np.ndarray]) -> float | None:
        """Return how well a view with these vectors (D,) shows what is asked, 0..1; None if no word is known.

        That is the best product of the fit of one object to the thing, and of another one to what is beside it.
        """
        rows = np.stack(vectors).astype(np.float64) / _SCALE
        own, other = (self.words.fit(part, rows) if part else None for part in (self.thing, self.beside))
        if own is not None and other is not None:
            both = own[:, None] * other[None, :]
            np.fill_diagonal(both, 0.0)
            return float(both.max())
        known = own if own is not None else other
        return None if known is None else float(known.max())
