"""Parts of a picture become one object if they are together what they are alone, or more surely so."""

from __future__ import annotations

import numpy as np
import pytest

from eqa_nodes.perception.joining import joined, moments_of, pooled, touching

CUP, TABLE = 1, 2


def masks() -> list[np.ndarray]:
    """Return four parts side by side: 3, 2, 4 and 3 columns of 4 pixels."""
    found = [np.zeros((4, 12), bool) for _ in range(4)]
    for mask, (first, last) in zip(found, ((0, 3), (3, 5), (5, 9), (9, 12)), strict=True):
        mask[:, first:last] = True
    return found


def depth() -> np.ndarray:
    """Return depth: the last part is 1 m behind the others."""
    found = np.ones((4, 12), np.float32)
    found[:, 9:] = 2.0
    return found


def groups(*parts: float) -> list[list[int]]:
    """Return the groups of four parts; a part's value v means: a table with probability v, a cup with -v."""
    features = np.zeros((1, 4, 12), np.float32)
    for mask, value in zip(masks(), parts, strict=True):
        features[:, mask] = value

    def judge(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, nothing = rows[:, 0], np.abs(rows[:, 0]) < 0.1
        return np.where(nothing, 0, np.where(mean > 0, TABLE, CUP)), np.where(nothing, 1.0, np.abs(mean).round(5))

    return [one.parts for one in joined(features, masks(), depth(), judge)]


def test_features_are_pooled_as_in_training() -> None:
    """Mean and deviation over the pixels of a part, as by numpy."""
    features = np.random.default_rng(0).normal(size=(3, 120, 160)).astype(np.float32)
    mask = np.random.default_rng(1).random((120, 160)) < 0.1
    own = features[:, mask].astype(float)
    row = pooled(moments_of(features[:, mask].T))
    assert np.allclose(row, [*own.mean(axis=1), *np.sqrt(own.var(axis=1) + 1e-6)], atol=1e-5)


def test_parts_touch_in_the_image_and_in_depth() -> None:
    assert touching(masks(), depth()) == {(0, 1), (1, 2)}
    assert touching(masks(), np.ones((4, 12), np.float32)) == {(0, 1), (1, 2), (2, 3)}


@pytest.mark.parametrize(("parts", "expected"), [
    ((0.8, 0.7, 0.9, 0.9), [[0, 1, 2], [3]]),  # one kind; the last one does not touch
    ((0.8, -0.5, 0.9, 0.0), [[0], [1], [2], [3]]),  # together they are less surely anything
    ((0.8, -0.95, 0.9, 0.0), [[0], [1], [2], [3]]),  # surely a cup
    ((0.0, 0.8, 0.0, 0.0), [[0], [1], [2], [3]])])  # surroundings are joined to nothing
def test_what_is_joined(parts: tuple[float, ...], expected: list[list[int]]) -> None:
    assert groups(*parts) == expected


def test_a_doubtful_part_belongs_to_what_it_completes() -> None:
    """A part that is doubtfully a cup alone; with the table beside it, a more probable table than both."""
    features = np.zeros((1, 4, 12), np.float32)
    features[0, :, 3:5] = 1.0

    def judge(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        alone = rows[:, 0] > 0.99
        return np.where(alone, CUP, TABLE), np.where(alone, sure, np.where(rows[:, 0] > 0, 0.9, 0.8))

    sure = 0.5
    assert [one.parts for one in joined(features, masks(), depth(), judge)] == [[0, 1, 2], [3]]
    sure = 0.95
    assert [one.parts for one in joined(features, masks(), depth(), judge)] == [[0], [1], [2], [3]]
