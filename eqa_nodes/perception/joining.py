"""Joins the parts of a picture that are one object.

Pixels of one object often have several kinds, so that it is seen in parts. Parts that touch are judged together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

PLACES = 5  # decimal places of features, probabilities and vectors that leave a network
_TOUCHING_M = 0.1  # largest step in depth between neighbouring pixels of one object
_SURE = 0.6  # probability from which a small part keeps its own name

Judge: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class _Part(NamedTuple):
    """Some pixels of a picture. kind: number, 0 = surroundings."""

    kind: int
    probability: float
    pixels: float


class Joined(NamedTuple):
    """One object. parts: numbers of its parts; pooled: (2F,) float32, its features."""

    parts: list[int]
    pooled: np.ndarray


def joined(features: np.ndarray, masks: Sequence[np.ndarray], depth_m: np.ndarray, judge: Judge) -> list[Joined]:
    """Return the objects that parts of a picture belong to.

    Two parts that touch are joined if they have one kind, or if what they are together is at least as probable as what
    they are alone (the mean of both, weighted by pixels), unless the smaller one is surely something else. The most
    probable pair is joined first. features: (F, H, W) of the picture; masks: (H, W) bool of each part; depth_m: (H, W),
    metres; judge: pooled features (n, 2F) -> kinds (n,) and their probabilities (n,).
    """
    rows = np.ascontiguousarray(features.reshape(len(features), -1).T)
    moments = [moments_of(rows[np.flatnonzero(mask)]) for mask in masks]
    parts = dict(enumerate(_judged(moments, judge)))
    groups = {i: [i] for i in parts}
    pairs = touching(masks, depth_m)
    worth = _worth_of(pairs, parts, moments, judge)
    while worth:
        _, a, b = max((value, -a, -b) for (a, b), (value, _) in worth.items())
        a, b = -a, -b
        _, parts[a] = worth[a, b]
        moments[a] = moments[a] + moments[b]
        groups[a] += groups.pop(b)
        del parts[b]
        moved = {(min(a, n), max(a, n)) for pair in pairs if {a, b} & set(pair) for n in set(pair) - {a, b}}
        pairs = {pair for pair in pairs if not {a, b} & set(pair)} | moved
        worth = {pair: value for pair, value in worth.items() if not {a, b} & set(pair)}
        worth |= _worth_of(moved, parts, moments, judge)
    return [Joined(sorted(group), pooled(moments[i])) for i, group in groups.items()]


def _worth_of(pairs: set[tuple[int, int]], parts: dict[int, _Part], moments: Sequence[np.ndarray], judge: Judge
              ) -> dict[tuple[int, int], tuple[float, _Part]]:
    """Return the worth of joining each pair that can be joined, and what it then is."""
    found, order = {}, sorted(pairs)
    for (a, b), both in zip(order, _judged([moments[a] + moments[b] for a, b in order], judge), strict=True):
        small, large = sorted((parts[a], parts[b]), key=lambda part: part.pixels)
        mean = (small.probability * small.pixels + large.probability * large.pixels) / both.pixels
        if both.kind and small.kind == large.kind:
            found[a, b] = 1 + both.probability, both
        elif both.kind and both.probability >= mean and (small.kind == both.kind or small.probability < _SURE):
            found[a, b] = both.probability, both
    return found


def _judged(moments: Sequence[np.ndarray], judge: Judge) -> list[_Part]:
    if not moments:
        return []
    return [_Part(int(kind), float(probability), float(own[-1])) for kind, probability, own in zip(
        *judge(np.stack([pooled(own) for own in moments])), moments, strict=True)]


def moments_of(rows: np.ndarray) -> np.ndarray:
    """Return (2F + 1,) float64 of pixels (n, F): the sums of their features and of the squares, and n."""
    own = rows.astype(np.float64)
    return np.concatenate([own.sum(axis=0), (own * own).sum(axis=0), [len(own)]])


def pooled(moments: np.ndarray) -> np.ndarray:
    """Return (2F,) float32: mean and deviation of features. As in training, 1e-6 is added to the variance."""
    mean, square = np.split(moments[:-1] / moments[-1], 2)
    deviation = np.sqrt(np.maximum(square - mean * mean, 0.0) + 1e-6)
    return np.round(np.concatenate([mean, deviation]), PLACES).astype(np.float32)


def touching(masks: Sequence[np.ndarray], depth_m: np.ndarray) -> set[tuple[int, int]]:
    """Return the pairs of masks that touch each other in the image and in depth, the lower number first."""
    image = np.full(depth_m.shape, -1, np.int32)
    for i, mask in enumerate(masks):
        image[mask] = i
    found = set[tuple[int, int]]()
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        near = (np.abs(depth_m[here] - depth_m[there]) < _TOUCHING_M) & (image[here] != image[there])
        near &= (image[here] >= 0) & (image[there] >= 0)
        pairs = np.sort(np.stack([image[here][near], image[there][near]]), axis=0)
        found |= {(a, b) for a, b in np.unique(pairs, axis=1).T.tolist()}
    return found
