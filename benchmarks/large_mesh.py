"""A large textured scan for tests and benchmarks: a built-in house whose surfaces are cut into small triangles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from trimesh.visual.texture import TextureVisuals

from sim_bridge.house.export import Y_UP_FROM_Z_UP, material_of, turned_away
from sim_bridge.house.meshes import QuadMesh, mesh_of
from sim_bridge.house.scene import House
from sim_bridge.house.textures import atlas
from sim_bridge.mesh.upright import Y_UP, write_stage_config


def write_large_mesh(house: House, path: Path, triangles: int) -> int:
    """Write the house as a GLB of at most so many triangles, with its stage config; return how many there are.

    Corners are shared within a surface, as in scans; all surfaces of one look are one mesh.
    """
    mesh = mesh_of(house)
    cuts = _cuts(mesh.corners.astype(np.float64), triangles)
    away = turned_away(mesh)
    texels, variant = atlas(mesh.variant)
    looks, look = np.unique(np.concatenate([variant[:, None], mesh.colour, mesh.glow[:, None], mesh.see[:, None]],
                                           axis=1), axis=0, return_inverse=True)
    scene = trimesh.Scene()
    for number, row in enumerate(looks):
        material = material_of(f"material {number}", texels[int(row[0])], row[1:4], float(row[4]), int(row[5]))
        quads = np.nonzero(look == number)[0]
        scene.add_geometry(_grids(mesh, quads, cuts, away, material), geom_name=f"part {number}")
    path.write_bytes(scene.export(file_type="glb"))
    write_stage_config(path, *Y_UP)
    return int(2 * cuts.prod(axis=1).sum())


def _cuts(corners: np.ndarray, triangles: int) -> np.ndarray:
    """Return (n, 2) pieces of each quad along s and t: edges about as long everywhere, found by bisection."""
    long = np.stack([np.linalg.norm(corners[:, i] - corners[:, 0], axis=1) for i in (1, 3)], axis=1)

    def cut(edge_m: float) -> np.ndarray:
        return np.maximum(1, np.ceil(long / edge_m)).astype(int)
    low, high = 1e-4, 100.0
    for _ in range(40):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if 2 * cut(middle).prod(axis=1).sum() > triangles else (low, middle)
    return cut(high)


def _grids(mesh: QuadMesh, quads: np.ndarray, cuts: np.ndarray, away: np.ndarray,
           material: object) -> trimesh.Trimesh:
    """Return quads of one look as grids of triangles, glTF's axes."""
    points, uvs, faces, first = [], [], [], 0
    for quad in quads:
        columns, rows = cuts[quad]
        s, t = (grid.ravel()[:, None] for grid in np.meshgrid(np.linspace(0, 1, columns + 1),
                                                              np.linspace(0, 1, rows + 1)))
        a, b, c, d = mesh.corners[quad].astype(np.float64)
        points.append((1 - s) * (1 - t) * a + s * (1 - t) * b + s * t * c + (1 - s) * t * d)
        origin, along_s, along_t = mesh.uv[quad].astype(np.float64)
        uvs.append(origin + s * along_s + t * along_t)
        corner = first + (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
        up = corner + columns + 1
        both = np.concatenate([np.stack([corner, corner + 1, up + 1], 1), np.stack([corner, up + 1, up], 1)])
        faces.append(both[:, ::-1] if away[quad] else both)
        first += len(points[-1])
    return trimesh.Trimesh(np.concatenate(points) @ Y_UP_FROM_Z_UP.T, np.concatenate(faces), process=False,
                           visual=TextureVisuals(uv=np.concatenate(uvs), material=material))
