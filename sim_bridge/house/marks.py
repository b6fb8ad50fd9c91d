"""How states look that a kind has no parts of its own for: dirt, dust, water in a bucket. See marks in actions.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sim_bridge.house.actions import TABLE
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.kinds import at
from sim_bridge.house.scene import PALETTE, ObjectPart

_PROUD_M = 0.003  # distance of a spot from its surface
_SPOTS = ((-0.25, -0.22, 0.22), (0.22, 0.05, 0.3), (-0.08, 0.28, 0.18), (0.3, -0.3, 0.16))  # x, y, width; shares
_TINT = 0.6  # share of the tint


def marked(kind: str, state: str, parts: list[ObjectPart]) -> list[ObjectPart]:
    """Return the parts of an object with the marks of its state. States that belong to its kind have none."""
    if state in KINDS[kind].states or state not in TABLE.marks:
        return parts
    how, colour = TABLE.marks[state]
    if how == "tint":
        return [part._replace(colour=_mixed(part.colour, colour)) for part in parts]
    low, high = _box(parts)
    if how == "disc":
        return [*parts, _disc(low, high, colour)]
    flat = high[2] - low[2] < 3 * (high[0] - low[0])  # a thin upright object, such as a picture, is marked in front
    return [*parts, *(_spot(low, high, flat, spot, colour) for spot in _SPOTS)]


def _box(parts: Sequence[ObjectPart]) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the box around the parts, local frame, metres."""
    centre, size = (np.array([getattr(part, name) for part in parts]) for name in ("centre", "size"))
    return (centre - size / 2).min(axis=0), (centre + size / 2).max(axis=0)


def _disc(low: np.ndarray, high: np.ndarray, colour: str) -> ObjectPart:
    middle, size = (low + high) / 2, high - low
    return at("cylinder", middle[0], middle[1], high[2] - 0.004, (0.8 * size[0], 0.8 * size[1], 0.008), colour)


def _spot(low: np.ndarray, high: np.ndarray, flat: bool, spot: tuple[float, float, float], colour: str) -> ObjectPart:
    u, v, wide = spot
    middle, size = (low + high) / 2, high - low
    if flat:
        return at("cylinder", middle[0] + u * size[0], middle[1] + v * size[1], high[2] - 0.001,
                  (wide * size[0], wide * size[1], _PROUD_M), colour)
    return at("cylinder_x", high[0], middle[1] + v * size[1], middle[2] + u * size[2],
              (_PROUD_M, wide * size[1], wide * size[1]), colour)


@lru_cache(maxsize=1024)
def _mixed(colour: str, tint: str) -> str:
    """Return a colour mixed with a tint, as #rrggbb."""
    a, b = ([int(PALETTE.get(text, text).lstrip("#")[i:i + 2], 16) for i in (0, 2, 4)] for text in (colour, tint))
    return "#" + "".join(f"{round((1 - _TINT) * x + _TINT * y):02x}" for x, y in zip(a, b, strict=True))
