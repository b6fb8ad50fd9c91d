"""Bakes the light of a house: sun and sky through the windows, lamps that are on, and their diffuse reflections.

A value is irradiance / pi, so that a surface of albedo a shows a * value. Windows and lamps are sampled directly
(next-event estimation); reflections are gathered over a fixed set of cosine-weighted directions (Cohen & Wallace 1993).
Every sample uses the same directions, so the result is smooth and identical on every run.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from sim_bridge.embree import blocked
from sim_bridge.house.light_samples import BAND, LitScene, Samples
from sim_bridge.house.meshes import QuadMesh, changed_objects, linear_rgb, placed_at
from sim_bridge.house.reflections import Gathered, SampleMap, gathered, openness_of, reflected, regathered
from sim_bridge.house.render import LightMap
from sim_bridge.house.scene import House, Opening, Room
from sim_bridge.rays import for_bands

SKY = np.array([4.6, 5.0, 5.6])  # radiance of the sky as seen from indoors
SUN, SUN_GRID = np.array([3.4, 3.1, 2.6]), 2  # irradiance / pi of the sun; rays per side of its (softened) disc
LAMP, LARGEST_LAMP_M2 = 14.0, 0.16  # radiance of a part that glows fully; screens count as no larger than this
REFLECTORS = {"desk lamp": 6.0, "pendant lamp": 6.0}  # opaque shades send the light of a small bulb down
OWN_TINT = 0.3  # share of a shade's own colour in its light; the rest is that of the bulb or of a screen
_MARGIN_M, _RECESS_M = 0.01, 0.3  # added around a changed object, and around a room: half a wall and what hangs on it
WARM, WHITE = np.array([1.0, 0.84, 0.60]), np.array([0.88, 0.95, 1.0])


class BakedLight(NamedTuple):
    """The light of a house, with what a house in which an object has changed can take over from it.

    sun, direct: (m, 3) direct light of the sun alone and of everything, for each sample.
    """

    map: LightMap
    house: House
    mesh: QuadMesh
    samples: Samples
    sun: np.ndarray
    direct: np.ndarray
    groups: tuple[Gathered, Gathered]


class _Change(NamedTuple):
    """What a house shares with the one before it. rooms: indices of the rooms whose direct light is computed again."""

    before: BakedLight
    samples: SampleMap
    rooms: set[int]


def bake(house: House, mesh: QuadMesh, before: BakedLight | None = None) -> BakedLight:
    """Return the light of a house. before: light of the same house before some of its objects changed.

    The result is the same to the last bit with and without it.
    """
    same = before is not None and _same_shape(before.mesh, mesh)
    scene = LitScene.of(mesh, before.samples if before is not None and same else None)
    change = _change(house, scene, before) if before is not None else None
    rooms = _rooms_of(house, scene.samples)
    sun = before.sun if before is not None and same else _sun(house, scene)
    direct = _direct(house, scene, rooms, sun, change)
    building = mesh.instance[scene.samples.quad] == 0
    if before is not None and same and change is not None:
        groups = before.groups
    elif change is None:
        groups = gathered(scene, building)
    else:
        groups = regathered(scene, change.before.groups, building, change.samples, len(change.before.samples.points))
    light = reflected(scene, direct, groups)
    values = _exposed(house, light, openness_of(groups, len(light)), rooms, building)
    light_map = LightMap(values.astype(np.float32)[scene.samples.member], scene.samples.grid)
    return BakedLight(light_map, house, mesh, scene.samples, sun, direct, groups)


def _change(house: House, scene: LitScene, before: BakedLight) -> _Change | None:
    """Return what is shared with the light before; None if it is another house."""
    if before.house.rooms is not house.rooms or before.house.openings is not house.openings:
        return None
    changed = changed_objects(before.house, house)
    boxes = {i: box for i in sorted({t.id for t in changed})
             if (box := _box_of_change(before.mesh, scene.mesh, i)) is not None}
    ids = np.array(list(boxes), np.int64)  # only their shape has changed, and the samples on it
    old, new = (np.nonzero(~np.isin(mesh.instance[samples.quad], ids))[0]
                for mesh, samples in ((before.mesh, before.samples), (scene.mesh, scene.samples)))
    if len(old) != len(new) or not (np.array_equal(before.samples.points[old], scene.samples.points[new])
                                    and np.array_equal(before.samples.normals[old], scene.samples.normals[new])):
        return None
    kinds = {t.room for t in changed}
    rooms = {number for number, room in enumerate(house.rooms)
             if room.id in kinds or any(_meets(room, box) for box in boxes.values())}
    old_quads, new_quads = (np.nonzero(~np.isin(mesh.instance, ids))[0] for mesh in (before.mesh, scene.mesh))
    every = np.array(list(boxes.values()), float).reshape(-1, 2, 3)
    return _Change(before, SampleMap(old, new, old_quads, new_quads, before.mesh, every), rooms)


def _same_shape(old: QuadMesh, new: QuadMesh) -> bool:
    """Return whether two meshes differ in colours and glow only, so that every ray ends where it did."""
    return all(np.array_equal(getattr(old, name), getattr(new, name))
               for name in ("instance", "see", "part", "cell_m", "corners", "normals"))


def _box_of_change(old: QuadMesh, new: QuadMesh, instance: int) -> np.ndarray | None:
    """Return (2, 3) the box around an object before and after; None if its shape is the same."""
    a, b = (mesh.corners[mesh.instance == instance] for mesh in (old, new))
    if np.array_equal(a, b) and np.array_equal(old.see[old.instance == instance], new.see[new.instance == instance]):
        return None
    both = np.concatenate([a, b]).reshape(-1, 3)
    return np.stack([both.min(axis=0) - _MARGIN_M, both.max(axis=0) + _MARGIN_M]) if len(both) else None


def _meets(room: Room, box: np.ndarray) -> bool:
    """Return whether a box lies in a room or in its doorways and window recesses."""
    (x0, y0, _), (x1, y1, _) = box
    return bool(x0 < room.x1 + _RECESS_M and x1 > room.x0 - _RECESS_M
                and y0 < room.y1 + _RECESS_M and y1 > room.y0 - _RECESS_M)


def _direct(house: House, scene: LitScene, rooms: np.ndarray, sun: np.ndarray, change: _Change | None) -> np.ndarray:
    """Return (m, 3) direct light: sun, windows and lamps."""
    direct, source = sun.copy(), np.full(len(sun), -1)
    if change is not None:
        source[change.samples.new] = change.samples.old
    for number, room in enumerate(house.rooms):
        here = np.nonzero(rooms == number)[0]
        old = source[here]
        if change is not None and number not in change.rooms and (old >= 0).all() \
                and np.array_equal(sun[here], change.before.sun[old]):
            direct[here] = change.before.direct[old]
            continue
        for opening in (o for o in house.openings if o.kind == "window" and room.id in o.rooms):
            direct[here] += _window(scene, here, opening, room)
        for lamp in _lamps(house, room):
            direct[here] += _lamp(scene, here, lamp)
    return direct


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


def _sun(house: House, scene: LitScene) -> np.ndarray:
    """Return (m, 3) direct sunlight."""
    sun, value = sun_of(house.seed), np.zeros((len(scene.samples.points), 3))
    facing = np.nonzero(scene.samples.normals @ sun > 0.02)[0]
    for a in (np.arange(SUN_GRID) - (SUN_GRID - 1) / 2) * 0.03:
        for b in (np.arange(SUN_GRID) - (SUN_GRID - 1) / 2) * 0.03:
            ray = sun + a * np.array([-sun[1], sun[0], 0.0]) + b * np.array([0.0, 0.0, 1.0])
            clear = scene.lit(facing, np.broadcast_to(ray, (len(facing), 3)), np.full(len(facing), 60.0))
            value[facing[clear]] += (scene.samples.normals[facing[clear]] @ sun)[:, None] * SUN / SUN_GRID ** 2
    return value


def _window(scene: LitScene, here: np.ndarray, o: Opening, room: Room) -> np.ndarray:
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


def _from_area(scene: LitScene, here: np.ndarray, point: np.ndarray, area: float, facing: np.ndarray | None,
               radius: float) -> np.ndarray:
    """Return (k,) irradiance / pi at samples `here` from a small emitter of radiance 1; facing None: all round."""
    value, beam = np.zeros(len(here)), np.zeros(3) if facing is None else facing

    def band(part: slice) -> None:
        _shine(scene.rays.scene, scene.samples.points, scene.samples.normals, here[part], point, area, beam, radius,
               value[part])
    for_bands(band, len(here), BAND * 4)
    return value


@njit(nogil=True)
def _shine(scene: int, points: np.ndarray, normals: np.ndarray, here: np.ndarray, point: np.ndarray, area: float,
           facing: np.ndarray, radius: float, value: np.ndarray) -> None:
    """Fill the light of _from_area where it arrives. facing: (3,), or zeros for an emitter that shines all round."""
    around, ray = not facing.any(), np.empty(3)
    starts, rays = np.empty((len(here), 3), np.float32), np.empty((len(here), 3), np.float32)
    reach, at, blocks = np.empty(len(here), np.float32), np.empty(len(here), np.int64), np.empty(len(here), np.bool_)
    count = 0
    for k in range(len(here)):
        i = here[k]
        for axis in range(3):
            ray[axis] = point[axis] - points[i, axis]
        distance = max(math.sqrt(ray[0] * ray[0] + ray[1] * ray[1] + ray[2] * ray[2]), 0.05)
        cosine = (ray[0] * normals[i, 0] + ray[2] * normals[i, 2] + ray[1] * normals[i, 1]) / distance
        emitted = 1.0
        if not around:
            emitted = -(ray[0] * facing[0] + ray[1] * facing[1] + ray[2] * facing[2]) / distance
        if cosine > 0 and emitted > 0:
            starts[count], rays[count], at[count] = points[i], ray, k
            reach[count] = 1.0 - radius / distance
            # An emitter seen from closer than its own size would blow up: its disc never covers more than the
            # hemisphere.
            value[k] = cosine * emitted * area / (math.pi * distance ** 2 + area)
            count += 1
    blocked(scene, starts[:count], rays[:count], reach[:count], blocks[:count])
    for k in range(count):
        if blocks[k]:
            value[at[k]] = 0.0


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


def _lamp(scene: LitScene, here: np.ndarray, lamp: Lamp) -> np.ndarray:
    return _from_area(scene, here, lamp.centre, lamp.area, None, lamp.radius)[:, None] * lamp.colour


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
