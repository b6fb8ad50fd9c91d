"""Seeded random draws for the generator; the same seed gives the same house on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Dice:
    """Draws from one numpy PCG64 stream, in call order."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def between(self, low: float, high: float) -> float:
        """Return a number in [low, high), rounded to millimetres so that sizes stay readable."""
        return round(low + (high - low) * float(self._rng.random()), 3)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return float(self._rng.random()) < probability

    def count(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return int(self._rng.integers(low, high + 1))

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[int(self._rng.integers(len(items)))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        return [items[int(i)] for i in self._rng.permutation(len(items))]
