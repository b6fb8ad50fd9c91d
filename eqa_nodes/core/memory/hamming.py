"""Compiled scan of signatures, in a module of its own because the compiler takes a second to load."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.kernels import njit

_BITS = 256
_FAR = _BITS + 1


@njit(nogil=True)
def _ones(x: np.uint64) -> np.uint64:
    """Return the number of set bits, by halving."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(nogil=True)
def nearest(signatures: np.ndarray, wanted: np.ndarray, allowed: np.ndarray, count: int) -> np.ndarray:
    """Return the positions of about `count` allowed signatures (n, 4) with the smallest distance to `wanted` (4,)."""
    n = len(signatures)
    far = np.empty(n, np.uint16)
    histogram = np.zeros(_FAR + 1, np.int64)
    for i in range(n):
        d = np.uint64(0)
        for k in range(4):
            d += _ones(signatures[i, k] ^ wanted[k])
        far[i] = d if allowed[i] else _FAR
        histogram[far[i]] += 1
    limit, total = 0, histogram[0]
    while limit < _BITS and total < count:
        limit += 1
        total += histogram[limit]
    out = np.empty(min(total, 2 * count), np.int64)
    m = 0
    for i in range(n - 1, -1, -1):
        if far[i] <= limit and m < len(out) and (far[i] < limit or total <= 2 * count):
            out[m] = i
            m += 1
    for i in range(n - 1, -1, -1):  # prefers the newest among equal distances
        if total > 2 * count and far[i] == limit and m < len(out):
            out[m] = i
            m += 1
    return out[:m]
