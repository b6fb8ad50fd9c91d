"""Compiled kernels of the voxel map. Each touches a window of the volume, so its cost does not grow with the house.

Volume arrays are indexed [iy, ix, layer]; (gx, gy) is the global cell of index [0, 0]. Cells are voxel_m wide and start
at multiples of voxel_m. Camera axes are optical. Updates are integer and sequential: same frames give same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit

NEAR_M = 0.05  # points nearer to the camera are not projected


class VoxelWindow(NamedTuple):
    """Half-open index range of the volume that one frame may change."""

    y0: int
    y1: int
    x0: int
    x1: int


class CameraView(NamedTuple):
    """A camera in the map: rotation (3, 3) and position (3,) of map_from_camera, intrinsics in pixels, range in m."""

    rotation: np.ndarray
    position: np.ndarray
    fx: float
    fy: float
    cx: float
    cy: float
    range_m: float


class VoxelLayout(NamedTuple):
    """Position of the volume. base, top: half-open range of layers used for the 2D map; layers beyond it show stairs.

    z0: lower face of layer base, metres; floor, low, band0, band1: layer indices.
    """

    gx: int
    gy: int
    voxel_m: float
    z0: float
    base: int
    top: int
    floor: int
    low: int
    band0: int
    band1: int


class FusionRules(NamedTuple):
    """How a frame changes the map: log-odds steps and bound, distances in metres, central image share that explores."""

    enough: int  # number of points that make a voxel solid
    hit: int
    miss: int
    bound: int
    truncation_m: float
    drop_m: float
    blind_m: float
    explored_m: float
    explored_width: float


@njit()
def scatter(depth: np.ndarray, stride: int, view: CameraView, layout: VoxelLayout, window: VoxelWindow, push_m: float,
            rise: float, enough: int, hits: np.ndarray) -> None:
    """Count in `hits` (window rows, columns, layers) uint8, up to `enough`, the measured surface points in each voxel.

    Points, not projected voxel centres, decide what is solid: they preserve thin legs and walls at a glancing angle.
    push_m: distance by which points move into the surface, so that walls on voxel faces fall on their solid side. rise:
    points lower than the robot's band plus this share of their distance count in the layer below it, as floor.
    """
    r, t = view.rotation, view.position
    band = layout.z0 + (layout.band0 - layout.base) * layout.voxel_m
    per_m = 1.0 / layout.voxel_m
    for v in range(stride // 2, depth.shape[0], stride):
        b = (v + 0.5 - view.cy) / view.fy
        bx, by, bz = r[0, 1] * b + r[0, 2], r[1, 1] * b + r[1, 2], r[2, 1] * b + r[2, 2]
        for u in range(stride // 2, depth.shape[1], stride):
            d = float(depth[v, u])
            if d <= 0.0:
                continue
            d += push_m
            a = (u + 0.5 - view.cx) / view.fx
            x, y = t[0] + d * (r[0, 0] * a + bx), t[1] + d * (r[1, 0] * a + by)
            square = (x - t[0]) ** 2 + (y - t[1]) ** 2
            if square > view.range_m ** 2:
                continue
            ix = int(np.floor(x * per_m)) - layout.gx - window.x0
            iy = int(np.floor(y * per_m)) - layout.gy - window.y0
            z = t[2] + d * (r[2, 0] * a + bz)
            layer = int(np.floor((z - layout.z0) * per_m)) + layout.base
            if rise > 0.0 and layer >= layout.band0 and z < band + rise * np.sqrt(square):
                layer = layout.band0 - 1
            if (0 <= ix < hits.shape[1] and 0 <= iy < hits.shape[0] and 0 <= layer < hits.shape[2]
                    and hits[iy, ix, layer] < enough):
                hits[iy, ix, layer] += 1


@njit()
def sweep(depth: np.ndarray, view: CameraView, layout: VoxelLayout, window: VoxelWindow, rules: FusionRules,
          hits: np.ndarray, voxels: np.ndarray, clear: np.ndarray, explored: np.ndarray, cells: np.ndarray) -> None:
    """Integrate one frame into the window: log-odds of the voxels, clear floor, explored floor, 2D projection."""
    for iy in range(window.y0, window.y1):
        dy = (iy + layout.gy + 0.5) * layout.voxel_m - view.position[1]
        for ix in range(window.x0, window.x1):
            dx = (ix + layout.gx + 0.5) * layout.voxel_m - view.position[0]
            distance = np.sqrt(dx * dx + dy * dy)
            if distance > view.range_m + layout.voxel_m:
                continue
            seen, u = _column(depth, view, layout, rules, dx, dy, distance,
                              hits[iy - window.y0, ix - window.x0], voxels[iy, ix])
            if seen:
                clear[iy, ix] = True
            cells[iy, ix] = project(voxels[iy, ix], layout, clear[iy, ix])
            off_centre = abs(u - 0.5 * depth.shape[1]) / depth.shape[1]
            near = distance <= rules.explored_m
            if seen and near and cells[iy, ix] == 0 and off_centre <= 0.5 * rules.explored_width:
                explored[iy, ix] = True


@njit()
def project(column: np.ndarray, layout: VoxelLayout, clear: bool) -> int:
    """Return the 2D state of a column: 100 if something solid is in the robot's way, 0 if seen clear, else -1."""
    for layer in range(layout.band0, layout.band1):
        if column[layer] > 0:
            return 100
    return 0 if clear else -1


@njit()
def _column(depth: np.ndarray, view: CameraView, layout: VoxelLayout, rules: FusionRules, dx: float, dy: float,
            distance: float, hits: np.ndarray, column: np.ndarray) -> tuple[bool, float]:
    """Update one column. Return whether its floor was seen clear, and the image column (pixels) where it was seen.

    The floor is known if surface points lie on it, or from the lowest layer inside the image: if that is occluded, air
    seen above it says nothing about the floor. Nearer than blind_m the floor lies below the image; there the lowest
    visible part of the robot's band decides.
    """
    r = view.rotation
    dz = layout.z0 + 0.5 * layout.voxel_m - view.position[2]
    x, y, z = _to_camera(r, dx, dy, dz)
    low, high = -layout.base * layout.voxel_m, (len(column) - 1 - layout.base) * layout.voxel_m
    if _outside(*_to_camera(r, dx, dy, dz + low), *_to_camera(r, dx, dy, dz + high), view, depth.shape[1]):
        for layer in range(len(column)):
            if hits[layer] >= rules.enough:
                column[layer] = min(column[layer] + rules.hit, rules.bound)
        return False, 0.0
    decided, clear, where = False, False, -1.0
    floor_hit, band_hit = False, False
    for layer in range(len(column)):
        rise = (layer - layout.base) * layout.voxel_m
        zc = z + rise * r[2, 2]
        surface = hits[layer] >= rules.enough
        if surface:
            column[layer] = min(column[layer] + rules.hit, rules.bound)
        if hits[layer] > 0:
            floor_hit |= layout.floor <= layer < layout.band0
            band_hit |= layout.band0 <= layer < layout.band1
        if zc <= NEAR_M:
            continue
        u = view.fx * (x + rise * r[2, 0]) / zc + view.cx
        v = view.fy * (y + rise * r[2, 1]) / zc + view.cy
        if u < 0.0 or v < 0.0 or u >= depth.shape[1] or v >= depth.shape[0]:
            continue
        d = float(depth[int(v), int(u)])
        beyond = d - zc
        if d > 0.0 and beyond > rules.truncation_m and not surface:
            column[layer] = max(column[layer] - rules.miss, -rules.bound)
        if decided or layer < layout.floor or layer >= layout.top:
            continue
        decided, where = True, u
        if layer == layout.floor:
            # The visible surface must be this cell's floor: nothing before it (a wall's foot), not the foot of a drop.
            fall = -(dz + rise) * beyond / zc
            clear = d > 0.0 and beyond * distance > -0.5 * layout.voxel_m * zc and fall < rules.drop_m
        else:
            near = distance <= rules.blind_m and layer < layout.band1
            clear = d > 0.0 and beyond > 0.0 and not surface and (layer <= layout.low or near)
    return clear or (floor_hit and not band_hit), where


@njit()
def _to_camera(r: np.ndarray, dx: float, dy: float, dz: float) -> tuple[float, float, float]:
    return (r[0, 0] * dx + r[1, 0] * dy + r[2, 0] * dz, r[0, 1] * dx + r[1, 1] * dy + r[2, 1] * dz,
            r[0, 2] * dx + r[1, 2] * dy + r[2, 2] * dz)


@njit()
def _outside(x0: float, y0: float, z0: float, x1: float, y1: float, z1: float, view: CameraView, width: int) -> bool:
    """Return whether a column between two points (camera axes) lies outside the image, beyond one of its sides."""
    left, right = -view.cx / view.fx, (width - view.cx) / view.fx
    return ((z0 <= NEAR_M and z1 <= NEAR_M) or (x0 < left * z0 and x1 < left * z1)
            or (x0 > right * z0 and x1 > right * z1))
