"""A house as one list of quads: rooms with holes for doors and windows, and every part of every object.

A quad is a bilinear patch with corners in the order (0,0) (1,0) (1,1) (0,1) of its own coordinates s, t; it is drawn
as the two triangles (0,1,2) and (0,2,3), so triangle i belongs to quad i // 2. Degenerate quads (two equal corners)
stand for triangles.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from functools import cache, lru_cache

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from sim_bridge.house.quads import CLEAR, MIRROR, OPAQUE, OUTDOORS, SHAPES, Patch, QuadStyle, joined, shell_of
from sim_bridge.house.scene import PALETTE, House, HouseObject, ObjectPart
from sim_bridge.house.textures import gloss_of, texture_named, texture_of, texture_row

NUDGE_M = 2e-4  # offset between parts that share a face, so that one of them is always in front
CLEAR_ABOVE = 0.3  # lighter glass (linear) is seen through; darker glass is a screen, an oven door, a bottle


@dataclass(frozen=True, eq=False)
class QuadMesh:
    """n quads, map frame, metres. Colours are linear RGB 0..1.

    corners, normals: (n, 4, 3) float32; uv: (n, 3, 2) float32, texture coordinates at (0,0), their steps along s and t;
    colour: (n, 3) float32; variant: (n,) int32 row of the texture atlas; instance: (n,) int32, 0 = the building itself;
    glow: (n,) float32; cell_m: (n,) float32 spacing of baked light; see: (n,) int8, OPAQUE, OUTDOORS, CLEAR or MIRROR;
    part: (n,) int32, quads of one part have one number; gloss: (n, 3) float32, the fields of Gloss.
    """

    corners: np.ndarray
    normals: np.ndarray
    uv: np.ndarray
    colour: np.ndarray
    variant: np.ndarray
    instance: np.ndarray
    glow: np.ndarray
    cell_m: np.ndarray
    see: np.ndarray
    part: np.ndarray
    gloss: np.ndarray

    def triangles(self) -> np.ndarray:
        """Return (2 n, 3, 3) float32 triangle corners."""
        return self.corners[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3, 3)


def mesh_of(house: House, before: tuple[House, QuadMesh] | None = None) -> QuadMesh:
    """Return the whole house as quads. Raises ConfigError for an unknown shape, texture or colour.

    before: the same house before some of its objects changed, and its mesh: the quads of the others are copied.
    """
    if before is not None and before[0].rooms is house.rooms and before[0].openings is house.openings:
        return _remeshed(house, *before)
    soup = _Soup()
    for patch, surface in shell_of(house):
        soup.add(patch, surface)
    for obj in house.objects:
        soup.add_object(house, obj)
    return soup.mesh()


def changed_objects(before: House, house: House) -> list[HouseObject]:
    """Return the objects of both houses that the other one does not have: an object is never changed in place."""
    old, new = {id(t) for t in before.objects}, {id(t) for t in house.objects}
    return [t for t in before.objects if id(t) not in new] + [t for t in house.objects if id(t) not in old]


def _remeshed(house: House, before: House, mesh: QuadMesh) -> QuadMesh:
    kept = {id(t) for t in before.objects}
    ids = np.concatenate([[0], [t.id for t in before.objects if t.parts]]).astype(np.int64)
    ends = np.flatnonzero(np.diff(mesh.instance)) + 1  # the shell comes first, then one object after the other
    spans = dict(zip(ids.tolist(), zip([0, *ends.tolist()], [*ends.tolist(), len(mesh.instance)], strict=True),
                     strict=True))
    pieces = [(mesh, spans[0])]
    for obj in (t for t in house.objects if t.parts):
        if id(obj) in kept:
            pieces.append((mesh, spans[obj.id]))
            continue
        soup = _Soup()
        soup.add_object(house, obj)
        fresh = soup.mesh()
        pieces.append((fresh, (0, len(fresh.instance))))
    columns = {field.name: np.concatenate([getattr(source, field.name)[a:b] for source, (a, b) in _runs(pieces)])
               for field in fields(QuadMesh) if field.name != "part"}
    part, first = [], 0
    for source, (a, b) in pieces:
        own = source.part[a:b] - source.part[a]
        part.append(own + np.int32(first))
        first += int(own[-1]) + 1
    return QuadMesh(**columns, part=np.concatenate(part).astype(np.int32))


def _runs(pieces: list[tuple[QuadMesh, tuple[int, int]]]) -> list[tuple[QuadMesh, tuple[int, int]]]:
    """Join neighbouring pieces of one mesh, so that fewer arrays are concatenated."""
    runs = pieces[:1]
    for source, (a, b) in pieces[1:]:
        last, (start, end) = runs[-1]
        if source is last and end == a:
            runs[-1] = (source, (start, b))
        else:
            runs.append((source, (a, b)))
    return runs


@cache
def linear_rgb(colour: str) -> tuple[float, float, float]:
    """Return linear RGB 0..1 of a word of PALETTE or #rrggbb. Raises ConfigError for anything else."""
    text = PALETTE.get(colour, colour)
    if not re.fullmatch("#[0-9a-fA-F]{6}", text):
        raise ConfigError(unknown("colour", colour, PALETTE) + ", or #rrggbb")
    srgb = np.array([int(text[i:i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return (float(linear[0]), float(linear[1]), float(linear[2]))


def _surface(obj: HouseObject, part: ObjectPart, in_window: bool) -> QuadStyle:
    """Return the look of a part. Glass shows the outdoors in a window, reflects in a mirror, and is clear if light."""
    see = OPAQUE
    if part.texture == "glass":
        clear = part.glow == 0.0 and sum(linear_rgb(part.colour)) / 3 > CLEAR_ABOVE
        see = OUTDOORS if in_window else MIRROR if obj.kind == "mirror" else CLEAR if clear else OPAQUE
    return QuadStyle(part.colour, texture_of(obj, part), obj.id, part.glow, see=see)


@lru_cache(maxsize=512)
def _solid(shape: str, size: tuple[float, float, float]) -> Patch:
    """Return a primitive around the origin. Results are cached, because houses repeat legs, handles and books."""
    if shape not in SHAPES:
        raise ConfigError(unknown("shape", shape, SHAPES))
    return SHAPES[shape](np.asarray(size, float))


def _placed(obj: HouseObject, part: ObjectPart, nudge_m: float) -> Patch:
    """Return a part in the map frame, offset slightly so that faces do not coincide. Raises ConfigError (shape)."""
    patch = _solid(part.shape, part.size)
    patch = patch._replace(uv_m=patch.uv_m + 1.37 * sum(part.centre))  # so that neighbouring parts differ
    corners = placed_at(obj, _turned(patch.corners, part.yaw) + part.centre + nudge_m)
    return patch._replace(corners=corners, normals=_turned(patch.normals, part.yaw + obj.yaw))


def placed_at(obj: HouseObject, points: np.ndarray | tuple[float, float, float]) -> np.ndarray:
    """Return points (..., 3) of an object's local frame in the map frame."""
    return _turned(np.asarray(points, float), obj.yaw) + obj.position


def _turned(points: np.ndarray, yaw: float) -> np.ndarray:
    c, s = math.cos(yaw), math.sin(yaw)
    return points @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


class _Soup:
    """Collects patches and builds one mesh from them."""

    def __init__(self) -> None:
        self._patches: list[Patch] = []
        self._surfaces: list[QuadStyle] = []

    def add(self, patch: Patch, surface: QuadStyle) -> None:
        """Append a patch. Raises ConfigError for an unknown texture."""
        texture_named(surface.texture)
        self._patches.append(patch)
        self._surfaces.append(surface)

    def add_object(self, house: House, obj: HouseObject) -> None:
        """Append all parts of an object. Raises ConfigError."""
        in_window = any(o.object_id == obj.id for o in house.openings if o.kind == "window")
        for number, part in enumerate(obj.parts):
            self.add(_placed(obj, part, NUDGE_M * (number % 7 - 3)), _surface(obj, part, in_window))

    def mesh(self) -> QuadMesh:
        """Return everything as one mesh."""
        whole = joined(*self._patches)
        count = [len(p.corners) for p in self._patches]
        rows = [_look(s) for s in self._surfaces]
        def each(column: int, dtype: type) -> np.ndarray:
            return np.repeat(np.array([row[column] for row in rows], dtype), count, axis=0)
        uv = np.where(each(7, bool)[:, None], whole.fit, whole.uv_m / np.repeat(
            np.array([row[6] for row in rows]), count, axis=0)[:, None])
        return QuadMesh(whole.corners.astype(np.float32), whole.normals.astype(np.float32), _affine(uv),
                        each(0, np.float32), each(1, np.int32), each(2, np.int32), each(3, np.float32),
                        each(4, np.float32), each(5, np.int8), np.repeat(np.arange(len(count), dtype=np.int32), count),
                        each(8, np.float32))


def _look(surface: QuadStyle) -> tuple:
    """Return the columns of a surface: colour, variant, instance, glow, cell, see, tile_m, fitted, gloss."""
    texture = texture_named(surface.texture)
    own = np.asarray(linear_rgb(surface.colour))
    colour = own * texture.tint + 0.5 * (1.0 - texture.tint)  # a texel of 255 doubles: images show their own colours
    variant = texture_row(surface.texture, surface.instance)
    fitted = [metres == 0.0 for metres in texture.tile_m]
    return (colour, variant, surface.instance, surface.glow, surface.cell_m, surface.see,
            [metres or 1.0 for metres in texture.tile_m], fitted, gloss_of(surface.texture))


def _affine(uv: np.ndarray) -> np.ndarray:
    """Return (n, 3, 2): texture coordinates at corner 0 and their mean steps along s and t."""
    s = (uv[:, 1] - uv[:, 0] + uv[:, 2] - uv[:, 3]) / 2
    t = (uv[:, 3] - uv[:, 0] + uv[:, 2] - uv[:, 1]) / 2
    return np.stack([uv[:, 0], s, t], axis=1).astype(np.float32)
