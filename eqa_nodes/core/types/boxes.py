"""Axis-aligned boxes in a map, by their lower and upper corners in metres."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.types.views import Sighting

Point = tuple[float, float, float]


def box_of(s: Sighting) -> tuple[Point, Point]:
    """Return the corners of a sighting's box, map frame, metres."""
    (x, y, z), (u, v, w) = s.centre, s.size
    return (x - u / 2, y - v / 2, z - w / 2), (x + u / 2, y + v / 2, z + w / 2)


def least(a: Point, b: Point) -> Point:
    """Return the lower corner of the box around both."""
    return min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2])


def most(a: Point, b: Point) -> Point:
    """Return the upper corner of the box around both."""
    return max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2])


def overlap(low: np.ndarray, high: np.ndarray, b_low: Point, b_high: Point, slack: float) -> np.ndarray:
    """Return for boxes (n, 3), (n, 3) what share (n,) of the smaller of box and b both have in common."""
    low, high = low - slack, high + slack
    b0, b1 = np.array(b_low) - slack, np.array(b_high) + slack
    common = np.clip(np.minimum(high, b1) - np.maximum(low, b0), 0.0, None).prod(axis=1)
    return np.asarray(common / np.minimum((high - low).prod(axis=1), (b1 - b0).prod()))


def covered(of_low: Point, of_high: Point, low: Point, high: Point, slack_m: float) -> float:
    """Return the share of the first box inside the second one, which is widened by the slack."""
    k_low, k_high = np.array(of_low), np.array(of_high)
    common = np.minimum(k_high, np.array(high) + slack_m) - np.maximum(k_low, np.array(low) - slack_m)
    shares = np.where(k_high - k_low > 1e-3, common / np.maximum(k_high - k_low, 1e-3), common >= 0)  # some are flat
    return float(shares.clip(0.0, 1.0).prod())
