"""A house as one list of quads: rooms with holes for doors and windows, and every part of every thing.

A quad is a bilinear patch with corners in the order (0,0) (1,0) (1,1) (0,1) of its own coordinates s, t; it is drawn as the two
triangles (0,1,2) and (0,2,3), so triangle i belongs to quad i // 2. Degenerate quads (two equal corners) stand for triangles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from sim_bridge.house.palette import linear_rgb
from sim_bridge.house.scene import House, Opening, Part, Room, Thing
from sim_bridge.house.textures import TEXTURES, texture_row

FLOOR_CELL_M, WALL_CELL_M, THING_CELL_M = 0.12, 0.24, 0.20  # spacing of baked light


@dataclass(frozen=True, eq=False)
class QuadMesh:
    """n quads, map frame, metres. Colours are linear RGB 0..1.

    corners, normals: (n, 4, 3) float32; uv: (n, 3, 2) float32, texture coordinates at (0,0) and their steps along s and t;
    colour: (n, 3) float32; variant: (n,) int32 row of the texture atlas; instance: (n,) int32, 0 = the building itself;
    glow: (n,) float32; cell_m: (n,) float32 spacing of baked light; pane: (n,) bool, window glass with the outdoors behind it.
    """

    corners: np.ndarray
    normals: np.ndarray
    uv: np.ndarray
    colour: np.ndarray
    variant: np.ndarray
    instance: np.ndarray
    glow: np.ndarray
    cell_m: np.ndarray
    pane: np.ndarray

    def triangles(self) -> np.ndarray:
        """Return (2 n, 3, 3) float32 triangle corners."""
        return self.corners[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3, 3)


class Surface(NamedTuple):
    """How a group of quads looks, and to which instance it belongs."""

    colour: str
    texture: str
    instance: int = 0
    glow: float = 0.0
    cell_m: float = THING_CELL_M
    pane: bool = False


class Patch(NamedTuple):
    """k quads of one surface: corners and normals (k, 4, 3), uv_m (k, 4, 2) in metres, fit (k, 4, 2) in 0..1 of the face."""

    corners: np.ndarray
    normals: np.ndarray
    uv_m: np.ndarray
    fit: np.ndarray


def mesh_of(house: House) -> QuadMesh:
    """Return the whole house as quads. Raises ConfigError for an unknown shape, texture or colour."""
    soup = _Soup()
    for room in house.rooms:
        for patch, surface in _room(house, room):
            soup.add(patch, surface)
    for opening in house.openings:
        for patch, surface in _reveal(house, opening):
            soup.add(patch, surface)
    windows = {o.thing for o in house.openings if o.kind == "window"}
    for thing in house.things:
        for part in thing.parts:
            soup.add(_placed(thing, part), _surface(thing, part, thing.id in windows))
    return soup.mesh()


# --- rooms ---------------------------------------------------------------------------------------------------------------


def _rectangle(a: np.ndarray, along: np.ndarray, up: np.ndarray, normal: tuple[float, float, float]) -> Patch:
    """Return one quad from corner a along two edges; texture metres follow the map, so that neighbours join."""
    corners = np.stack([a, a + along, a + along + up, a + up])[None]
    s, t = along / max(np.linalg.norm(along), 1e-9), up / max(np.linalg.norm(up), 1e-9)
    uv = np.stack([corners @ s, corners @ t], axis=-1)
    fit = np.array([[[0, 0], [1, 0], [1, 1], [0, 1]]], float)
    return Patch(corners, np.broadcast_to(np.asarray(normal, float), (1, 4, 3)), uv, fit)


def _flat(x0: float, y0: float, x1: float, y1: float, z: float, up: float) -> Patch:
    return _rectangle(np.array([x0, y0, z]), np.array([x1 - x0, 0, 0]), np.array([0, y1 - y0, 0]), (0, 0, up))


def _room(house: House, room: Room) -> Iterator[tuple[Patch, Surface]]:
    yield (_flat(room.x0, room.y0, room.x1, room.y1, 0.0, 1.0),
           Surface(room.floor_colour, room.floor, cell_m=FLOOR_CELL_M))
    yield (_flat(room.x0, room.y0, room.x1, room.y1, house.wall_height_m, -1.0), Surface("#f4f2ee", "paint", cell_m=WALL_CELL_M))
    for side in _sides(room):
        holes = [hole for o in house.openings if (hole := side.hole(house, o, room.id))]
        for u0, u1, v0, v1 in _tiles_around(holes, side.u0, side.u1, house.wall_height_m):
            yield side.rectangle(u0, u1, v0, v1, 0.0), Surface(room.wall_colour, "paint", cell_m=WALL_CELL_M)
            if v0 == 0.0:
                for patch in side.skirting(u0, u1):
                    yield patch, Surface("#efece4", "paint")


class Side(NamedTuple):
    """One inner wall face: the line axis = at, from u0 to u1 along the other axis; inward is +1 or -1 along `axis`."""

    axis: int
    at: float
    inward: float
    u0: float
    u1: float

    def point(self, u: float, z: float, off: float) -> np.ndarray:
        """Return the map point at u along the face, height z, `off` metres into the room."""
        across = self.at + self.inward * off
        return np.array([across, u, z] if self.axis == 0 else [u, across, z])

    def rectangle(self, u0: float, u1: float, v0: float, v1: float, off: float) -> Patch:
        """Return a part of the face, `off` metres into the room."""
        a = self.point(u0, v0, off)
        normal = (self.inward, 0, 0) if self.axis == 0 else (0, self.inward, 0)
        return _rectangle(a, self.point(u1, v0, off) - a, np.array([0, 0, v1 - v0]), normal)

    def skirting(self, u0: float, u1: float, height: float = 0.08, depth: float = 0.012) -> Iterator[Patch]:
        """Yield the front and the top of a skirting board along a stretch of floor."""
        yield self.rectangle(u0, u1, 0.0, height, depth)
        a = self.point(u0, height, 0.0)
        yield _rectangle(a, self.point(u1, height, 0.0) - a, self.point(u0, height, depth) - a, (0, 0, 1))

    def hole(self, house: House, o: Opening, room: int) -> tuple[float, float, float, float] | None:
        """Return (u0, u1, z0, z1) of an opening in this face, or None where it lies in another."""
        line, ends = ((o.x0, o.x1), (o.y0, o.y1)) if self.axis == 0 else ((o.y0, o.y1), (o.x0, o.x1))
        depth = -self.inward * (sum(line) / 2 - self.at)  # behind the face
        inside = self.u0 - 1e-6 <= min(ends) and max(ends) <= self.u1 + 1e-6
        if room not in o.rooms or not inside or abs(line[1] - line[0]) > 0.5 * abs(ends[1] - ends[0]):
            return None
        return (min(ends), max(ends), o.z0, o.z1) if -1e-6 <= depth <= house.wall_thickness_m * 1.5 + 1e-6 else None


def _sides(room: Room) -> list[Side]:
    return [Side(0, room.x0, 1.0, room.y0, room.y1), Side(0, room.x1, -1.0, room.y0, room.y1),
            Side(1, room.y0, 1.0, room.x0, room.x1), Side(1, room.y1, -1.0, room.x0, room.x1)]


def _tiles_around(holes: list[tuple[float, float, float, float]], u0: float, u1: float,
                  height: float) -> Iterator[tuple[float, float, float, float]]:
    """Yield rectangles (u0, u1, v0, v1) that cover a wall face but for its holes: columns cut at the hole edges."""
    cuts = sorted({u0, u1, *(h[0] for h in holes), *(h[1] for h in holes)})
    for a, b in pairwise(cuts):
        if b - a < 1e-6:
            continue
        at = 0.0
        for low, high in sorted((h[2], h[3]) for h in holes if h[0] < (a + b) / 2 < h[1]):
            if low > at + 1e-6:
                yield a, b, at, low
            at = max(at, high)
        if height > at + 1e-6:
            yield a, b, at, height


def _reveal(house: House, o: Opening) -> Iterator[tuple[Patch, Surface]]:
    """Yield the four inner faces of a hole, from one wall face to the other (or to the outside)."""
    along_x = abs(o.x1 - o.x0) >= abs(o.y1 - o.y0)
    line = (o.y0 + o.y1) / 2 if along_x else (o.x0 + o.x1) / 2
    u0, u1 = sorted((o.x0, o.x1) if along_x else (o.y0, o.y1))
    low, high = _wall_span(house, o, along_x, line)
    def at(u: float, across: float, z: float) -> np.ndarray:
        return np.array([u, across, z] if along_x else [across, u, z])
    depth = at(0, high - low, 0)
    width, height = at(u1 - u0, 0, 0), np.array([0.0, 0.0, o.z1 - o.z0])
    inward = at(1.0, 0, 0)
    trim = Surface("#f0eee8", "paint")
    yield _rectangle(at(u0, low, o.z0), depth, height, tuple(inward)), trim
    yield _rectangle(at(u1, low, o.z0), depth, height, tuple(-inward)), trim
    if o.z1 < house.wall_height_m - 1e-6:
        yield _rectangle(at(u0, low, o.z1), width, depth, (0, 0, -1)), trim
    yield _rectangle(at(u0, low, o.z0), width, depth, (0, 0, 1)), Surface("#a9835a", "wood") if o.z0 < 0.01 else trim


def _wall_span(house: House, o: Opening, along_x: bool, line: float) -> tuple[float, float]:
    """Return where the wall that an opening pierces begins and ends, across the wall."""
    faces = []
    for room in (r for r in house.rooms if r.id in o.rooms):
        low, high = (room.y0, room.y1) if along_x else (room.x0, room.x1)
        faces.append(low if abs(low - line) < abs(high - line) else high)
    if len(faces) == 1:
        faces.append(2 * line - faces[0] if abs(line - faces[0]) > 0.02 else
                     line + math.copysign(house.wall_thickness_m, line - _middle(house, o, along_x)))
    return min(faces), max(faces)


def _middle(house: House, o: Opening, along_x: bool) -> float:
    room = next(r for r in house.rooms if r.id in o.rooms)
    return (room.y0 + room.y1) / 2 if along_x else (room.x0 + room.x1) / 2


# --- parts of things -----------------------------------------------------------------------------------------------------


def _surface(thing: Thing, part: Part, in_window: bool) -> Surface:
    pane = part.texture == "window" or (in_window and part.texture == "glass")
    return Surface(part.colour, "window" if pane else part.texture, thing.id, part.glow, pane=pane)


def _placed(thing: Thing, part: Part) -> Patch:
    """Return a part in the map frame. Raises ConfigError for an unknown shape."""
    if part.shape not in SHAPES:
        raise ConfigError(unknown(f"shape of a part of {thing.kind!r}:", part.shape, SHAPES))
    patch = SHAPES[part.shape](np.asarray(part.size, float))
    corners = _turned(patch.corners, part.yaw) + part.centre
    corners = _turned(corners, thing.yaw) + thing.position
    return patch._replace(corners=corners, normals=_turned(patch.normals, part.yaw + thing.yaw))


def _turned(points: np.ndarray, yaw: float) -> np.ndarray:
    c, s = math.cos(yaw), math.sin(yaw)
    return points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


_FACES = [  # normal, s direction, t direction of the six faces of a box, seen from outside
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((-1, 0, 0), (0, -1, 0), (0, 0, 1)), ((0, 1, 0), (-1, 0, 0), (0, 0, 1)),
    ((0, -1, 0), (1, 0, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0), (0, 1, 0)), ((0, 0, -1), (1, 0, 0), (0, -1, 0))]
_ST = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)


def _box(size: np.ndarray) -> Patch:
    n, s, t = (np.array([face[i] for face in _FACES], float) for i in range(3))
    a, b = (_ST[:, :1] * 2 - 1), (_ST[:, 1:] * 2 - 1)
    unit = n[:, None] + a * s[:, None] + b * t[:, None]
    corners = unit * size / 2
    lengths = np.stack([(np.abs(s) * size).sum(1), (np.abs(t) * size).sum(1)], -1)
    # Grain runs along the longer edge of a face.
    swap = (lengths[:, 0] < lengths[:, 1])[:, None, None]
    uv = _ST * lengths[:, None]
    return Patch(corners, np.repeat(n[:, None], 4, 1), np.where(swap, uv[..., ::-1], uv), np.repeat(_ST[None], 6, 0))


def _revolved(profile: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], rings: int) -> Callable[[np.ndarray], Patch]:
    """Return a maker of solids of revolution; profile maps t in 0..1 to radius 0..1 and height -1..1."""
    def make(size: np.ndarray) -> Patch:
        segments = int(np.clip(8 + 40 * max(size[0], size[1]), 8, 24))
        steps = np.linspace(0.0, 1.0, rings + 1)
        radius, height = profile(steps)
        angle = np.linspace(0.0, 2 * np.pi, segments + 1)
        ring = np.stack([np.cos(angle), np.sin(angle)], -1)
        points = np.concatenate([radius[:, None, None] * ring[None], np.broadcast_to(height[:, None, None],
                                (rings + 1, segments + 1, 1))], -1) * size / 2
        slope = np.gradient(np.stack([radius * size[:2].mean() / 2, height * size[2] / 2], -1), axis=0)
        flat = np.concatenate([slope[:, None, 1:] * ring[None] / size[:2], np.broadcast_to(
            -slope[:, None, :1] / size[:2].mean(), (rings + 1, segments + 1, 1))], -1)
        normals = flat / np.maximum(np.linalg.norm(flat, axis=-1, keepdims=True), 1e-12)
        around = np.broadcast_to(angle[None, :, None] / (2 * np.pi), (rings + 1, segments + 1, 1))
        fit = np.concatenate([around, np.broadcast_to(steps[:, None, None], around.shape)], -1)
        return Patch(*(_cells(x) for x in (points, normals, fit * (np.pi * size[:2].mean(), size[2]), fit)))
    return make


def _cells(lattice: np.ndarray) -> np.ndarray:
    """Return the quads (k, 4, c) of a lattice (rows + 1, columns + 1, c)."""
    quads = np.stack([lattice[:-1, :-1], lattice[:-1, 1:], lattice[1:, 1:], lattice[1:, :-1]], 2)
    return quads.reshape(-1, 4, lattice.shape[-1])


def _disc(size: np.ndarray, up: float) -> Patch:
    """Return the cap of a cylinder as quads around its axis, at height up * size z / 2."""
    segments = int(np.clip(8 + 40 * max(size[0], size[1]), 8, 24))
    angle = np.linspace(0.0, 2 * np.pi, segments + 1)
    rim = np.stack([np.cos(angle), np.sin(angle), np.full(segments + 1, up)], -1) * size / 2
    centre = np.broadcast_to([0.0, 0.0, up * size[2] / 2], (segments, 3))
    corners = np.stack([centre, rim[:-1], rim[1:], centre], 1)
    fit = corners[..., :2] / size[:2] + 0.5
    normals = np.broadcast_to([0.0, 0.0, up], corners.shape)
    return Patch(corners, normals, corners[..., :2].copy(), fit)


def _joined(*patches: Patch) -> Patch:
    return Patch(*(np.concatenate(x) for x in zip(*patches)))


def _tube(bottom: float, top: float) -> Callable[[np.ndarray], Patch]:
    side = _revolved(lambda t: (bottom + (top - bottom) * t, 2 * t - 1), 1)
    def make(size: np.ndarray) -> Patch:
        scaled = [(size * (r, r, 1), up) for r, up in ((bottom, -1.0), (top, 1.0)) if r > 0]
        return _joined(side(size), *(_disc(s, up) for s, up in scaled))
    return make


def _dome(size: np.ndarray) -> Patch:
    """Return the upper half of an ellipsoid with its flat bottom."""
    whole = _revolved(lambda t: (np.cos(t * np.pi / 2), 2 * np.sin(t * np.pi / 2) - 1), 4)
    return _joined(whole(size), _disc(size, -1.0))


def _bowl(size: np.ndarray) -> Patch:
    """Return the open lower half of an ellipsoid, outside and inside."""
    outer = _revolved(lambda t: (np.sin(t * np.pi / 2), 1 - 2 * np.cos(t * np.pi / 2)), 4)
    inner = outer(size * (0.92, 0.92, 0.98))
    return _joined(outer(size), inner._replace(normals=-inner.normals))


_ball = _revolved(lambda t: (np.sin(t * np.pi), -np.cos(t * np.pi)), 7)

SHAPES: dict[str, Callable[[np.ndarray], Patch]] = {
    "box": _box, "cylinder": _tube(1.0, 1.0), "cone": _tube(1.0, 0.0), "frustum": _tube(1.0, 0.65), "cup": _tube(0.7, 1.0),
    "sphere": _ball, "ellipsoid": _ball, "dome": _dome, "bowl": _bowl}


# --- assembly ------------------------------------------------------------------------------------------------------------


class _Soup:
    """Collects patches and joins them."""

    def __init__(self) -> None:
        self._patches: list[Patch] = []
        self._surfaces: list[Surface] = []

    def add(self, patch: Patch, surface: Surface) -> None:
        """Append a patch. Raises ConfigError for an unknown texture."""
        if surface.texture not in TEXTURES:
            raise ConfigError(unknown("texture", surface.texture, TEXTURES))
        self._patches.append(patch)
        self._surfaces.append(surface)

    def mesh(self) -> QuadMesh:
        """Return everything as one mesh."""
        whole = _joined(*self._patches)
        count = [len(p.corners) for p in self._patches]
        rows = [_look(s) for s in self._surfaces]
        def each(column: int, dtype: type) -> np.ndarray:
            return np.repeat(np.array([row[column] for row in rows], dtype), count, axis=0)
        uv = np.where(each(7, bool)[:, None], whole.fit, whole.uv_m / np.repeat(
            np.array([row[6] for row in rows]), count, axis=0)[:, None])
        return QuadMesh(whole.corners.astype(np.float32), whole.normals.astype(np.float32), _affine(uv), each(0, np.float32),
                        each(1, np.int32), each(2, np.int32), each(3, np.float32), each(4, np.float32), each(5, bool))


def _look(surface: Surface) -> tuple:
    """Return the columns of a surface: colour, variant, instance, glow, cell, pane, tile_m, fitted."""
    texture = TEXTURES[surface.texture]
    own = np.asarray(linear_rgb(surface.colour))
    colour = own * texture.tint + 0.5 * (1.0 - texture.tint)  # a texel of 255 doubles: pictures show their own colours
    variant = texture_row(surface.texture, surface.instance)
    fitted = [metres == 0.0 for metres in texture.tile_m]
    return (colour, variant, surface.instance, surface.glow, surface.cell_m, surface.pane,
            [metres or 1.0 for metres in texture.tile_m], fitted)


def _affine(uv: np.ndarray) -> np.ndarray:
    """Return (n, 3, 2): texture coordinates at corner 0 and their mean steps along s and t."""
    s = (uv[:, 1] - uv[:, 0] + uv[:, 2] - uv[:, 3]) / 2
    t = (uv[:, 3] - uv[:, 0] + uv[:, 2] - uv[:, 1]) / 2
    return np.stack([uv[:, 0], s, t], axis=1).astype(np.float32)
