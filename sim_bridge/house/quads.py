"""The quads of a house: the primitives of parts, centred on the origin, and the building itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sim_bridge.house.scene import STAIRWELL, House, Opening, Room, Stairs


class Patch(NamedTuple):
    """k quads of one surface: corners, normals (k, 4, 3); uv_m (k, 4, 2) metres; fit (k, 4, 2) in 0..1 of the face."""

    corners: np.ndarray
    normals: np.ndarray
    uv_m: np.ndarray
    fit: np.ndarray


Maker = Callable[[np.ndarray], Patch]  # size (3,) in metres -> the solid around the origin

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


def _revolved(profile: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], rings: int) -> Maker:
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


def joined(*patches: Patch) -> Patch:
    """Return one patch with the quads of several."""
    return Patch(*(np.concatenate(x) for x in zip(*patches)))


def _tube(bottom: float, top: float) -> Maker:
    side = _revolved(lambda t: (bottom + (top - bottom) * t, 2 * t - 1), 1)
    def make(size: np.ndarray) -> Patch:
        scaled = [(size * (r, r, 1), up) for r, up in ((bottom, -1.0), (top, 1.0)) if r > 0]
        return joined(side(size), *(_disc(s, up) for s, up in scaled))
    return make


def _bowl(size: np.ndarray) -> Patch:
    """Return an open vessel: outside, inside, and an inner bottom a little above the outer one."""
    wall = np.array([0.9, 0.9, 0.96])
    outer = _BOWL_SIDE(size)
    lifted = outer._replace(corners=outer.corners * wall + (0, 0, size[2] * 0.02), normals=-outer.normals)
    rim = np.stack([outer.corners[:, 3], outer.corners[:, 2], lifted.corners[:, 2], lifted.corners[:, 3]], 1)
    edge = outer._replace(corners=rim, normals=np.broadcast_to([0.0, 0.0, 1.0], rim.shape))
    inside = _disc(size * wall * (0.6, 0.6, 0.92), -1.0)
    return joined(outer, lifted, edge, _disc(size * (0.6, 0.6, 1), -1.0), inside._replace(normals=-inside.normals))


def _ring(size: np.ndarray) -> Patch:
    """Return a torus around x: the tube is as thick as the extent along x."""
    around, tube = np.meshgrid(np.linspace(0, 2 * np.pi, 19), np.linspace(0, 2 * np.pi, 9))
    out = np.stack([np.sin(tube), np.cos(tube) * np.cos(around), np.cos(tube) * np.sin(around)], -1)
    middle = np.stack([np.zeros_like(around), np.cos(around), np.sin(around)], -1)
    points = middle * np.maximum(size - size[0], 0.0) / 2 + out * size[0] / 2
    fit = np.stack([around, tube], -1) / (2 * np.pi)
    return Patch(*(_cells(x) for x in (points, out, fit * np.pi * (size[1], size[0]), fit)))


def _lying(make: Maker, order: tuple[int, int, int]) -> Maker:
    """Return the same solid with its axes permuted: new axis i is the maker's axis order[i]."""
    def lie(size: np.ndarray) -> Patch:
        patch = make(size[np.argsort(order)])
        return patch._replace(corners=patch.corners[..., order], normals=patch.normals[..., order])
    return lie


_CYLINDER = _tube(1.0, 1.0)
_BOWL_SIDE = _revolved(lambda t: (0.6 + 0.4 * t, 2 * t - 1), 1)
SHAPES: dict[str, Maker] = {  # the names of scene.SHAPES

    "box": _box, "cylinder": _CYLINDER,
    "cylinder_x": _lying(_CYLINDER, (2, 0, 1)), "cylinder_y": _lying(_CYLINDER, (1, 2, 0)),
    "cone": _tube(1.0, 0.0), "frustum": _tube(1.0, 0.6), "bowl": _bowl,
    "sphere": _revolved(lambda t: (np.sin(t * np.pi), -np.cos(t * np.pi)), 7),
    "ring_x": _ring, "ring_y": _lying(_ring, (1, 0, 2))}


FLOOR_CELL_M, WALL_CELL_M, OBJECT_CELL_M = 0.12, 0.24, 0.20  # spacing of baked light
OPAQUE, OUTDOORS, CLEAR, MIRROR = 0, 1, 2, 3  # a quad shows its own colour, the sky, the scene behind, a reflection
LID = 4  # closes a storey while its light is computed; not rendered


class QuadStyle(NamedTuple):
    """The appearance of a group of quads, and the instance to which it belongs."""

    colour: str
    texture: str
    instance: int = 0
    glow: float = 0.0
    cell_m: float = OBJECT_CELL_M
    see: int = OPAQUE


_CEILING = QuadStyle("#f4f2ee", "plain", cell_m=WALL_CELL_M)
_TREAD = QuadStyle("brown", "wood", cell_m=FLOOR_CELL_M)
_RISER = QuadStyle("#efece4", "plain", cell_m=FLOOR_CELL_M)


def shell_of(house: House) -> Iterator[tuple[Patch, QuadStyle]]:
    """Yield all quads of the building."""
    for room in house.rooms:
        yield from _room(house, room)
    for opening in house.openings:
        yield from _reveal(house, opening)


def _rectangle(a: np.ndarray, along: np.ndarray, up: np.ndarray, normal: tuple[float, float, float]) -> Patch:
    """Return one quad from corner a along two edges; texture metres follow the map, so that neighbours join."""
    corners = np.stack([a, a + along, a + along + up, a + up])[None]
    s, t = along / max(np.linalg.norm(along), 1e-9), up / max(np.linalg.norm(up), 1e-9)
    uv = np.stack([corners @ s, corners @ t], axis=-1)
    fit = np.array([[[0, 0], [1, 0], [1, 1], [0, 1]]], float)
    return Patch(corners, np.broadcast_to(np.asarray(normal, float), (1, 4, 3)), uv, fit)


def _flat(x0: float, y0: float, x1: float, y1: float, z: float, up: float) -> Patch:
    return _rectangle(np.array([x0, y0, z]), np.array([x1 - x0, 0, 0]), np.array([0, y1 - y0, 0]), (0, 0, up))


def _room(house: House, room: Room) -> Iterator[tuple[Patch, QuadStyle]]:
    floor, ceiling = QuadStyle(room.floor_colour, room.floor, cell_m=FLOOR_CELL_M), _CEILING
    top = house.wall_height_m
    if house.stairs is not None and room.kind == STAIRWELL:
        yield from _stairwell(house.stairs, room, floor, house.storey)
        top = house.stairs.rise_m if house.storey == 0 else top
        ceiling = _CEILING._replace(see=LID) if house.storey == 0 else ceiling
    else:
        yield _flat(room.x0, room.y0, room.x1, room.y1, 0.0, 1.0), floor
    yield _flat(room.x0, room.y0, room.x1, room.y1, top, -1.0), ceiling
    for side in _sides(room):
        holes = [hole for o in house.openings if (hole := side.hole(house, o, room.id))]
        for u0, u1, v0, v1 in _tiles_around(holes, side.u0, side.u1, top):
            yield side.rectangle(u0, u1, v0, v1, 0.0), QuadStyle(room.wall_colour, room.wall, cell_m=WALL_CELL_M)
            if v0 == 0.0 and room.kind != STAIRWELL:
                for patch in side.skirting(u0, u1):
                    yield patch, QuadStyle("#efece4", "plain")


def _stairwell(s: Stairs, room: Room, floor: QuadStyle, storey: int) -> Iterator[tuple[Patch, QuadStyle]]:
    """Yield the walkable quads of a stairwell: below, a landing and the steps; above, the other landing."""
    if storey > 0:
        yield _flat(s.x0, s.y1, s.x1, room.y1, 0.0, 1.0), floor
        yield _flat(s.x0, room.y0, s.x1, s.y1, 0.0, 1.0), floor._replace(see=LID)
        return
    yield _flat(s.x0, room.y0, s.x1, s.y0, 0.0, 1.0), floor
    tread, riser = (s.y1 - s.y0) / (s.steps - 1), s.rise_m / s.steps
    for number in range(s.steps):
        y, z = s.y0 + number * tread, number * riser
        yield (_rectangle(np.array([s.x0, y, z]), np.array([s.x1 - s.x0, 0, 0]), np.array([0, 0, riser]), (0, -1, 0)),
               _RISER)
        if number < s.steps - 1:
            yield _flat(s.x0, y, s.x1, y + tread, z + riser, 1.0), _TREAD


class WallFace(NamedTuple):
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
        """Return (u0, u1, z0, z1) of an opening in this face, or None if it lies in another."""
        line, ends = ((o.x0, o.x1), (o.y0, o.y1)) if self.axis == 0 else ((o.y0, o.y1), (o.x0, o.x1))
        depth = -self.inward * (sum(line) / 2 - self.at)  # behind the face
        inside = self.u0 - 1e-6 <= min(ends) and max(ends) <= self.u1 + 1e-6
        if room not in o.rooms or not inside or abs(line[1] - line[0]) > 0.5 * abs(ends[1] - ends[0]):
            return None
        return (min(ends), max(ends), o.z0, o.z1) if -1e-6 <= depth <= house.wall_thickness_m * 1.5 + 1e-6 else None


def _sides(room: Room) -> list[WallFace]:
    return [WallFace(0, room.x0, 1.0, room.y0, room.y1), WallFace(0, room.x1, -1.0, room.y0, room.y1),
            WallFace(1, room.y0, 1.0, room.x0, room.x1), WallFace(1, room.y1, -1.0, room.x0, room.x1)]


def _tiles_around(holes: list[tuple[float, float, float, float]], u0: float, u1: float,
                  height: float) -> Iterator[tuple[float, float, float, float]]:
    """Yield rectangles (u0, u1, v0, v1) that cover a wall face except its holes, in columns between hole edges."""
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


def _reveal(house: House, o: Opening) -> Iterator[tuple[Patch, QuadStyle]]:
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
    trim = QuadStyle("#f0eee8", "plain")
    yield _rectangle(at(u0, low, o.z0), depth, height, tuple(inward)), trim
    yield _rectangle(at(u1, low, o.z0), depth, height, tuple(-inward)), trim
    if o.z1 < house.wall_height_m - 1e-6:
        yield _rectangle(at(u0, low, o.z1), width, depth, (0, 0, -1)), trim
    yield _rectangle(at(u0, low, o.z0), width, depth, (0, 0, 1)), QuadStyle("#a9835a", "wood") if o.z0 < 0.01 else trim


def _wall_span(house: House, o: Opening, along_x: bool, line: float) -> tuple[float, float]:
    """Return the extent of an opening's wall across its thickness: begin and end."""
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
