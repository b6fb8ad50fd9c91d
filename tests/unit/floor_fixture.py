"""Small scenes of triangles by hand, map axes, metres."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.mesh.floor import MeshFloor

Soup = tuple[np.ndarray, np.ndarray]


def slab(x0: float, y0: float, x1: float, y1: float, z: float, up: bool = True) -> np.ndarray:
    """Return (2, 3, 3): a flat rectangle that faces up or down."""
    a, b, c, d = (x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)
    return np.array([(a, b, c), (a, c, d)] if up else [(a, c, b), (a, d, c)], float)


def ramp(x0: float, y0: float, x1: float, y1: float, z0: float, z1: float) -> np.ndarray:
    """Return (2, 3, 3): a rectangle that rises along x from z0 to z1."""
    flat = slab(x0, y0, x1, y1, z0)
    flat[..., 2] += np.where(flat[..., 0] == x1, z1 - z0, 0.0)
    return flat


def box(x0: float, y0: float, x1: float, y1: float, z0: float, z1: float) -> np.ndarray:
    """Return (12, 3, 3): a box, its faces outwards."""
    sides = []
    for (ax, ay), (bx, by) in (((x0, y0), (x1, y0)), ((x1, y0), (x1, y1)), ((x1, y1), (x0, y1)), ((x0, y1), (x0, y0))):
        a, b, c, d = (ax, ay, z0), (bx, by, z0), (bx, by, z1), (ax, ay, z1)
        sides += [(a, b, c), (a, c, d)]
    return np.concatenate([np.array(sides, float), slab(x0, y0, x1, y1, z1), slab(x0, y0, x1, y1, z0, up=False)])


def stairs(rise: float, steps: int, tread: float = 0.3) -> np.ndarray:
    """Return boxes that climb along x from x = 0, 1.2 m wide, the last at height rise * steps."""
    return np.concatenate([box(k * tread, 0.0, (k + 1) * tread, 1.2, 0.0, (k + 1) * rise) for k in range(steps)])


def soup(*parts: np.ndarray) -> Soup:
    """Return vertices (n, 3) and faces (m, 3)."""
    corners = np.concatenate(parts).reshape(-1, 3)
    return corners.astype(np.float32), np.arange(len(corners), dtype=np.int32).reshape(-1, 3)


def floor_of(*parts: np.ndarray, robot: RobotModel | None = None) -> MeshFloor:
    """Return the floor of a scene."""
    return MeshFloor(*soup(*parts), robot or RobotModel())


def two_storeys() -> list[np.ndarray]:
    """Return a lower floor 8 m x 4 m, stairs from x = 0 to 3.6 up to 2.16 m, and an upper floor from there to x = 8."""
    return [slab(-3.0, -1.0, 8.0, 3.0, 0.0), stairs(0.18, 12), slab(3.6, -1.0, 8.0, 3.0, 2.16),
            slab(3.6, -1.0, 8.0, 3.0, 2.06, up=False)]
