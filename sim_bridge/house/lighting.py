"""Bakes the light of a house: sun and sky through the windows, lamps that are on, and their diffuse reflections.

A value is irradiance / pi, so that a surface of albedo a shows a * value. Windows and lamps are sampled directly
(next-event estimation); reflections are gathered over a fixed set of cosine-weighted directions (Cohen & Wallace 1993).
Every sample uses the same directions, so the result is smooth and identical on every run.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sim_bridge.house.meshes import QuadMesh, linear_rgb, placed_at
from sim_bridge.house.quads import LID, MIRROR, OPAQUE
from sim_bridge.house.render import LightMap
from sim_bridge.house.scene import House, Opening, Room
from sim_bridge.rays import RayScene, for_bands

INSET_M, LIFT_M = 0.03, 0.012  # distance of samples from the edges of their quad and from its surface
SHARE_M = 0.06  # samples of one part that are closer than this and face the same way share their light
GATHER, GATHER_OBJECTS, BOUNCES = 32, 16, 3  # directions per sample of the building and of objects; reflections
SKY = np.array([4.6, 5.0, 5.6])  # radiance of the sky as seen from indoors
SUN, SUN_GRID = np.array([3.4, 3.1, 2.6]), 2  # irradiance / pi of the sun; rays per side of its (softened) disc
LAMP, LARGEST_LAMP_M2 = 14.0, 0.16  # radiance of a part that glows fully; screens count as no larger than this
REFLECTORS = {"desk lamp": 6.0, "pendant lamp": 6.0}  # opaque shades send the light of a small bulb down
OWN_TINT = 0.3  # share of a shade's own colour in its light; the rest is that of the bulb or of a screen
WARM, WHITE = np.array([1.0, 0.84, 0.60]), np.array([0.88, 0.95, 1.0])
BRIGHT = 4.0  # maximum light per reflected sample: with few directions, brighter ones would appear as spots
BAND = 2048  # samples in one unit of work


class Samples(NamedTuple):
    """Where light is computed: points and unit normals (k, 3) float32, the quad (k,) of each; grid as in LightMap.

    member: (m,) index of the sample for each value of the light map; neighbours on one part share a sample.
    """

    points: np.ndarray
    normals: np.ndarray
    quad: np.ndarray
    grid: np.ndarray
    member: np.ndarray


def samples_of(mesh: QuadMesh) -> Samples:
    """Lay a grid of samples over every quad, spaced by about its cell_m."""
    c = mesh.corners.astype(np.float64)
    lengths = [np.maximum(np.linalg.norm(c[:, a] - c[:, b], axis=1), np.linalg.norm(c[:, d] - c[:, e], axis=1))
               for a, b, d, e in ((1, 0, 2, 3), (3, 0, 2, 1))]
    cells = [np.clip(np.ceil(length / mesh.cell_m).astype(np.int64), 1, 200) for length in lengths]
    count = (cells[0] + 1) * (cells[1] + 1)
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    quad = np.repeat(np.arange(len(count)), count)
    local = np.arange(count.sum()) - first[quad]
    steps = [local % (cells[0][quad] + 1) / cells[0][quad], local // (cells[0][quad] + 1) / cells[1][quad]]
    inset = [np.minimum(INSET_M / np.maximum(length, 1e-6), 0.25)[quad] for length in lengths]
    s, t = (np.clip(step, edge, 1 - edge)[:, None] for step, edge in zip(steps, inset))
    weights = ((1 - s) * (1 - t), s * (1 - t), s * t, (1 - s) * t)
    points, normals = (sum(x[quad, corner] * weight for corner, weight in enumerate(weights))
                       for x in (c, mesh.normals.astype(np.float64)))
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-9)
    chosen, member = _shared(points, normals, mesh.part[quad])
    points, normals = points[chosen], normals[chosen]
    return Samples((points + LIFT_M * normals).astype(np.float32), normals.astype(np.float32), quad[chosen],
                   np.stack([first, *cells], axis=1).astype(np.int32), member)


def _shared(points: np.ndarray, normals: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the kept samples (k,), and (m,) the kept one for each: one per part, SHARE_M cube and direction."""
    cube = np.floor((points - points.min(axis=0)) / SHARE_M).astype(np.int64)
    facing = np.rint(normals * 2.0).astype(np.int64) + 2
    key = part.astype(np.int64)
    for column, span in zip((*cube.T, *facing.T), (1024, 1024, 128, 5, 5, 5), strict=True):
        key = key * span + column
    _, chosen, member = np.unique(key, return_index=True, return_inverse=True)
    return chosen, member


def bake(house: House, mesh: QuadMesh) -> LightMap:
    """Return the light of a house."""
    samples = samples_of(mesh)
    solid = np.nonzero(np.isin(mesh.see, (OPAQUE, MIRROR, LID)))[0]
    triangles = mesh.triangles().reshape(-1, 2, 3, 3)[solid].reshape(-1, 3, 3)
    scene = _Scene(samples, mesh, solid, RayScene(triangles))
    rooms = _rooms_of(house, samples)
    direct = _sun(house, scene)
    for number, room in enumerate(house.rooms):
        here = np.nonzero(rooms == number)[0]
        for opening in (o for o in house.openings if o.kind == "window" and room.id in o.rooms):
            direct[here] += _window(scene, here, opening, room)
        for lamp in _lamps(house, room):
            direct[here] += _lamp(scene, here, lamp)
    building = mesh.instance[samples.quad] == 0
    light, openness = _reflected(scene, direct, building)
    values = _exposed(house, light, openness, rooms, building)
    return LightMap(values.astype(np.float32)[samples.member], samples.grid)


class _Scene(NamedTuple):
    """The mesh that stops light while baking, without glass (triangle i belongs to quad solid[i // 2])."""

    samples: Samples
    mesh: QuadMesh
    solid: np.ndarray
    rays: RayScene

    def lit(self, which: np.ndarray, towards: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Return (k,) bool: whether nothing lies between sample which[i] and that point plus reach[i] * towards[i]."""
        clear = np.zeros(len(which), bool)
        origins, directions = self.samples.points[which], np.ascontiguousarray(towards, np.float32)
        length = np.ascontiguousarray(reach, np.float32)

        def band(part: slice) -> None:
            clear[part] = ~self.rays.blocked(origins[part], directions[part], length[part])
        for_bands(band, len(which), BAND * 8)
        return clear


def _rooms_of(house: House, samples: Samples) -> np.ndarray:
    """Return (m,) the index of the room that contains each sample, or of the nearest one (door frames)."""
    x, y = samples.points[:, 0], samples.points[:, 1]
    outside = [np.hypot(np.maximum(np.maximum(r.x0 - x, x - r.x1), 0), np.maximum(np.maximum(r.y0 - y, y - r.y1), 0))
               for r in house.rooms]
    return np.argmin(np.stack(outside), axis=0)


def sun_of(seed: int) -> np.ndarray:
    """Return the unit direction to the sun of a house (3,), 30 to 50 degrees high."""
    rng = np.random.default_rng([seed, 77])
    turn, height = rng.uniform(0, 2 * math.pi), math.radians(rng.uniform(30, 50))
    return np.array([math.cos(turn) * math.cos(height), math.sin(turn) * math.cos(height), math.sin(height)])


def _sun(house: House, scene: _Scene) -> np.ndarray:
    """Return (m, 3) direct sunlight."""
    sun, value = sun_of(house.seed), np.zeros((len(scene.samples.points), 3))
    facing = np.nonzero(scene.samples.normals @ sun > 0.02)[0]
    for a in (np.arange(SUN_GRID) - (SUN_GRID - 1) / 2) * 0.03:
        for b in (np.arange(SUN_GRID) - (SUN_GRID - 1) / 2) * 0.03:
            ray = sun + a * np.array([-sun[1], sun[0], 0.0]) + b * np.array([0.0, 0.0, 1.0])
            clear = scene.lit(facing, np.broadcast_to(ray, (len(facing), 3)), np.full(len(facing), 60.0))
            value[facing[clear]] += (scene.samples.normals[facing[clear]] @ sun)[:, None] * SUN / SUN_GRID ** 2
    return value


def _window(scene: _Scene, here: np.ndarray, o: Opening, room: Room) -> np.ndarray:
    """Return (k, 3) light of the sky through a window: 3 x 3 points on its area."""
    along_x = abs(o.x1 - o.x0) >= abs(o.y1 - o.y0)
    area = math.hypot(o.x1 - o.x0, o.y1 - o.y0) * (o.z1 - o.z0)
    centre = np.array([(room.x0 + room.x1) / 2 - o.x0, (room.y0 + room.y1) / 2 - o.y0, 0.0])
    inward = np.where([not along_x, along_x, False], np.sign(centre), 0.0)
    total = np.zeros(len(here))
    for u in (1 / 6, 1 / 2, 5 / 6):
        for v in (1 / 6, 1 / 2, 5 / 6):
            point = np.array([o.x0 + u * (o.x1 - o.x0), o.y0 + u * (o.y1 - o.y0), o.z0 + v * (o.z1 - o.z0)])
            total += _from_area(scene, here, point - 0.1 * inward, area / 9, inward, 0.0)
    return total[:, None] * SKY


def _from_area(scene: _Scene, here: np.ndarray, point: np.ndarray, area: float, facing: np.ndarray | None,
               radius: float) -> np.ndarray:
    """Return (k,) irradiance / pi at samples `here` from a small emitter of radiance 1; facing None: all round."""
    ray = point - scene.samples.points[here]
    distance = np.maximum(np.linalg.norm(ray, axis=1), 0.05)
    cosine = np.einsum("ij,ij->i", ray, scene.samples.normals[here]) / distance
    emitted = np.ones(len(here)) if facing is None else -(ray @ facing) / distance
    at = np.nonzero((cosine > 0) & (emitted > 0))[0]
    clear = at[scene.lit(here[at], ray[at], 1.0 - radius / distance[at])]
    value = np.zeros(len(here))
    # An emitter seen from closer than its own size would blow up: its disc never covers more than the hemisphere.
    value[clear] = (cosine * emitted * area / (math.pi * distance ** 2 + area))[clear]
    return value


class Lamp(NamedTuple):
    """A glowing object: centre, linear colour times strength, area in square metres, and the radius of what glows."""

    centre: np.ndarray
    colour: np.ndarray
    area: float
    radius: float


def _lamps(house: House, room: Room) -> list[Lamp]:
    """Return the glowing parts of a room that are worth sampling."""
    lamps = []
    windows = {o.object_id for o in house.openings if o.kind == "window"}
    for obj in (t for t in house.objects if t.room == room.id and t.id not in windows):
        strength = LAMP * REFLECTORS.get(obj.kind, 1.0)
        for part in (p for p in obj.parts if p.glow > 0.2):
            _, b, c = sorted(part.size)
            if b * c < 0.002:
                continue
            colour = np.array(linear_rgb(part.colour))
            base = WHITE if part.texture == "screen" else WARM
            colour = OWN_TINT * colour / colour.max() + (1.0 - OWN_TINT) * base
            lamps.append(Lamp(placed_at(obj, part.centre), colour * part.glow * strength, min(b * c, LARGEST_LAMP_M2),
                              max(part.size) / 2 + 0.03))
    return lamps


def _lamp(scene: _Scene, here: np.ndarray, lamp: Lamp) -> np.ndarray:
    return _from_area(scene, here, lamp.centre, lamp.area, None, lamp.radius)[:, None] * lamp.colour


def _reflected(scene: _Scene, direct: np.ndarray, building: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (m, 3) light with reflections, and (m,) how open the surroundings are (1 = nothing within a metre)."""
    openness = np.zeros(len(direct))
    groups = []
    for which, count in ((np.nonzero(building)[0], GATHER), (np.nonzero(~building)[0], GATHER_OBJECTS)):
        hit, openness[which] = _gather(scene, which, count)
        groups.append((which, hit))
    albedo = np.minimum(scene.mesh.colour, 0.85)[scene.samples.quad]
    light = direct
    for _ in range(BOUNCES):
        glowing = np.minimum(light, BRIGHT) * albedo
        glowing = np.concatenate([glowing, np.zeros((1, 3))])  # index -1: the ray left the house
        light = direct.copy()
        for which, hit in groups:
            light[which] += np.stack([glowing[:, c][hit].mean(axis=1) for c in range(3)], axis=1)
    return light, openness


def _gather(scene: _Scene, which: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (k, count) the light sample that each of `count` rays from samples `which` hits, -1 = none; openness."""
    hit, openness = np.full((len(which), count), -1), np.zeros(len(which))
    local = _cosine_directions(count)

    def band(part: slice) -> None:
        rays = np.einsum("kj,mji->mki", local, _frames(scene.samples.normals[which[part]])).reshape(-1, 3)
        record = scene.rays.hits(np.repeat(scene.samples.points[which[part]], count, axis=0), rays.astype(np.float32))
        hit[part] = _sample_hit(scene, record).reshape(-1, count)
        openness[part] = np.minimum(record["tfar"], 1.0).reshape(-1, count).mean(axis=1)
    for_bands(band, len(which), BAND)
    return hit, openness


def _cosine_directions(count: int) -> np.ndarray:
    """Return (count, 3) directions about +z with density cosine / pi: a spiral over the unit disc, lifted (Malley)."""
    k = np.arange(count)
    radius, turn = np.sqrt((k + 0.5) / count), k * math.pi * (3.0 - math.sqrt(5.0))
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), np.sqrt(1 - radius ** 2)], axis=1)


def _frames(normals: np.ndarray) -> np.ndarray:
    """Return (k, 3, 3): rows tangent, bitangent, normal (branchless: Duff et al. 2017)."""
    x, y, z = normals.T.astype(np.float64)
    sign = np.where(z >= 0, 1.0, -1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    tangent = np.stack([1 + sign * x * x * a, sign * b, -sign * x], axis=1)
    bitangent = np.stack([b, sign + y * y * a, -y], axis=1)
    return np.stack([tangent, bitangent, normals], axis=1)


def _sample_hit(scene: _Scene, record: dict[str, np.ndarray]) -> np.ndarray:
    """Return the light sample nearest to each hit, -1 if nothing was hit."""
    triangle, u, v = record["primID"], record["u"], record["v"]
    quad = scene.solid[np.maximum(triangle, 0) >> 1]
    second = (triangle & 1).astype(bool)
    s, t = np.where(second, u, u + v), np.where(second, u + v, v)
    first, across, up = scene.samples.grid[quad].T
    column = np.rint(np.clip(s, 0, 1) * across).astype(np.int64)
    row = np.rint(np.clip(t, 0, 1) * up).astype(np.int64)
    return np.where(triangle >= 0, scene.samples.member[first + row * (across + 1) + column], -1)


def _exposed(house: House, light: np.ndarray, openness: np.ndarray, rooms: np.ndarray,
             building: np.ndarray) -> np.ndarray:
    """Return the light with the exposure set for each room, plus a faint ambient light for dark rooms."""
    out = np.empty_like(light)
    for number in range(len(house.rooms)):
        here = rooms == number
        ambient = openness[here, None] * np.array([0.050, 0.049, 0.046])
        value = light[here] + ambient
        mean = float(np.median(value[building[here]].mean(axis=1))) if building[here].any() else 1.0
        out[here] = value * (0.62 / mean) ** 0.8
    return out
