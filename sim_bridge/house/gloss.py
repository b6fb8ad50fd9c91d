"""How surfaces shine: what tells metal, plastic, ceramic and glass from painted walls and fabric in a picture.

Reflections show a fixed room (upright strips of light, a pale ceiling, a darker floor, two lamps), as bright as the
light that falls on the surface: no further rays are cast. Only products and square roots are used, so that every
machine computes the same bytes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.house.scene import HouseObject, Part


class Gloss(NamedTuple):
    """mirror: share of the light that is reflected in the surface's own colour, as metals do; coat: strength of the
    white highlight of a clear coat; sharpness: how often the highlight's cosine is squared."""

    mirror: float = 0.0
    coat: float = 0.0
    sharpness: int = 0


MATT = Gloss()
GLOSS = {  # by texture; all others are matt
    "metal": Gloss(0.8, 0.5, 4),
    "ceramic": Gloss(0.0, 1.4, 6),
    "glass": Gloss(0.35, 2.2, 7),
    "plastic": Gloss(0.0, 0.45, 3),
    "leather": Gloss(0.0, 0.15, 3),
    "marble": Gloss(0.0, 0.4, 4),
}
_COATED = {"metal": "metal", "ceramic": "ceramic", "plastic": "plastic", "rubber": "plastic", "wax": "plastic",
           "wood": "wood"}


def gloss_of(texture: str) -> Gloss:
    """Return how a texture shines."""
    return GLOSS.get(texture, MATT)


def texture_of(obj: HouseObject, part: Part) -> str:
    """Return a part's texture; plain parts of the object's own colour show what the object is made of."""
    own = part.colour in (obj.colour, obj.paint) and part.glow == 0.0
    return _COATED.get(obj.material, part.texture) if own and part.texture == "plain" else part.texture


def bend_of(corners_normals: np.ndarray) -> np.ndarray:
    """Return (n, 9) float32: the normal at corner 0 and its mean steps along s and t, from normals (n, 4, 3)."""
    a, b, c, d = (corners_normals[:, i] for i in range(4))
    steps = [(3 * a + b - c + d) / 4, (b - a + c - d) / 2, (d - a + c - b) / 2]
    return np.concatenate(steps, axis=1).astype(np.float32)


@njit(inline="always")
def reflected(dx: float, dy: float, dz: float, nx: float, ny: float, nz: float) -> tuple[float, float, float, float]:
    """Return the unit direction in which a ray leaves a surface of this normal, and the cosine between the two."""
    size = math.sqrt((dx * dx + dy * dy + dz * dz) * (nx * nx + ny * ny + nz * nz)) + 1e-9
    cosine = (dx * nx + dy * ny + dz * nz) / size
    normal, ray = math.sqrt(nx * nx + ny * ny + nz * nz) + 1e-9, math.sqrt(dx * dx + dy * dy + dz * dz)
    twice = 2.0 * cosine / normal
    return dx / ray - twice * nx, dy / ray - twice * ny, dz / ray - twice * nz, abs(cosine)


@njit(inline="always")
def surroundings(x: float, y: float, z: float) -> float:
    """Return how bright the room is that a metal surface reflects along a unit direction: 1 on the average."""
    turn = 2.6 * (0.8 * x + 0.6 * y) + 0.7 * z
    turn -= math.floor(turn)
    strip = 4.0 * turn * (1.0 - turn)
    return 0.42 + 0.22 * z + 1.08 * strip * strip


@njit(inline="always")
def highlight(x: float, y: float, z: float, cosine: float, sharpness: int) -> float:
    """Return the highlight of a clear coat: two lamps, and the ceiling at grazing angles (Schlick 1994)."""
    lamp, window = max(0.0, 0.35 * x + 0.25 * y + 0.9028 * z), max(0.0, -0.6 * x + 0.55 * y + 0.5809 * z)
    for _ in range(sharpness):
        lamp, window = lamp * lamp, window * window
    grazing = (1.0 - cosine) * (1.0 - cosine)
    return lamp + 0.8 * window + 0.35 * grazing * grazing * (0.6 + 0.4 * z)
