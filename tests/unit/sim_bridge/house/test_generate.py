"""The generator of homes: what every house must hold to, over many seeds."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy import ndimage

from sim_bridge.house.arrange import CELL_M, floor_of, is_obstacle
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.dice import Dice
from sim_bridge.house.generate import generate_house
from sim_bridge.house.kinds import Look
from sim_bridge.house.questions.dataset import SPLITS
from sim_bridge.house.scene import PALETTE, SHAPES, TEXTURES, House, HouseObject, Opening

ROBOT_RADIUS_M = 0.18
SEEDS = [*range(12), *range(1000, 1012)]
AREAS_M2 = {"bathroom": (3.5, 10), "living room": (15, 34), "bedroom": (7, 20), "kitchen": (7, 18),
            "hallway": (2.5, 30)}
ROOM_KINDS = {"kitchen": {"refrigerator", "oven", "kitchen sink"}, "bathroom": {"toilet", "bathroom sink"},
              "bedroom": {"bed"}, "living room": {"sofa"}, "study": {"desk"}}


@pytest.fixture(scope="module")
def houses() -> list[House]:
    return [generate_house(seed) for seed in SEEDS]


def corners(obj: HouseObject) -> np.ndarray:
    """(4, 2) footprint in the house frame."""
    c, s = math.cos(obj.yaw), math.sin(obj.yaw)
    local = np.array([(a, b) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]) * np.array(obj.size[:2]) / 2
    return local @ np.array([[c, s], [-s, c]]) + np.array(obj.position[:2])


def overlap_m(a: HouseObject, b: HouseObject) -> float:
    """Depth to which two things share space: the least over the separating axes of the footprints, and over z."""
    low, high = max(a.position[2], b.position[2]), min(a.position[2] + a.size[2], b.position[2] + b.size[2])
    depths = [high - low]
    for yaw in (a.yaw, a.yaw + math.pi / 2, b.yaw, b.yaw + math.pi / 2):
        axis = np.array([math.cos(yaw), math.sin(yaw)])
        pa, pb = corners(a) @ axis, corners(b) @ axis
        depths.append(min(pa.max(), pb.max()) - max(pa.min(), pb.min()))
    return min(depths)


def spans(opening: Opening, obj: HouseObject) -> bool:
    """Whether a thing stands before the opening's hole, nearer than 0.25 m to the wall's centre line."""
    x0, y0, x1, y1 = obj.extents()
    along, across = ((x0, x1), (y0, y1)) if opening.y0 == opening.y1 else ((y0, y1), (x0, x1))
    low, high, at = (
        (opening.x0, opening.x1, opening.y0) if opening.y0 == opening.y1 else (opening.y0, opening.y1, opening.x0)
    )
    shared = min(along[1], high) - max(along[0], low)
    tall = min(obj.position[2] + obj.size[2], opening.z1) - max(obj.position[2], opening.z0)
    return shared > 0.05 and tall > 0.05 and across[0] < at + 0.25 and across[1] > at - 0.25


def test_rooms_are_many_and_of_plausible_size(houses: list[House]) -> None:
    counts = {len(h.rooms) for h in houses}
    assert min(counts) >= 4
    assert max(counts) <= 12
    assert len(counts) >= 6
    for house in houses:
        assert sum(r.area_m2 for r in house.rooms) < 220
        assert len({r.name for r in house.rooms}) == len(house.rooms)
        assert {"living room", "kitchen", "bedroom", "bathroom"} <= {r.kind for r in house.rooms}
        for room in house.rooms:
            low, high = AREAS_M2.get(room.kind, (2.5, 24))
            assert low <= room.area_m2 <= high, f"seed {house.seed}: {room.name} has {room.area_m2:.1f} m2"


def test_rooms_do_not_overlap(houses: list[House]) -> None:
    for house in houses:
        for i, a in enumerate(house.rooms):
            for b in house.rooms[:i]:
                apart = max(a.x0 - b.x1, b.x0 - a.x1, a.y0 - b.y1, b.y0 - a.y1)
                assert apart >= house.wall_thickness_m - 2e-3


def test_every_room_and_nearly_everything_is_reached_from_an_open_start_in_a_shared_room(houses: list[House]) -> None:
    far = total = 0
    for house in houses:
        floor, room = floor_of(house), house.room_at(house.start.x, house.start.y)
        assert room is not None and room.kind in ("hallway", "entryway", "living room")
        assert floor.clearance_m[floor.cell(house.start.x, house.start.y)] >= 0.3
        labels, _ = ndimage.label(floor.clearance_m >= ROBOT_RADIUS_M)
        start = floor.cell(house.start.x, house.start.y)
        assert labels[start], f"seed {house.seed}: the start is not free"
        for room in house.rooms:
            reached = int(((labels == labels[start]) & (floor.room == room.id)).sum()) * CELL_M**2
            assert reached > 0.4, f"seed {house.seed}: only {reached:.2f} m2 of the {room.name} can be reached"
        distance = ndimage.distance_transform_edt(labels != labels[start]) * CELL_M
        for obj in house.objects:
            if obj.relation == "floor" and is_obstacle(obj):
                x0, y0, x1, y1 = obj.extents()
                (r0, c0), (r1, c1) = floor.cell(x0, y0), floor.cell(x1, y1)
                total += 1
                far += distance[r0 : r1 + 1, c0 : c1 + 1].min() > 0.8
    assert far <= 0.01 * total


def test_same_seed_same_house(houses: list[House]) -> None:
    assert generate_house(SEEDS[3]) == houses[3]
    assert generate_house(SEEDS[3]) != houses[4]
    assert not set(SPLITS["train"]) & set(SPLITS["test"])
    assert set(SEEDS) <= {*SPLITS["train"], *SPLITS["validation"], *SPLITS["test"]}


def test_ids_are_unique_and_references_hold(houses: list[House]) -> None:
    for house in houses:
        ids = [t.id for t in house.objects]
        assert len(set(ids)) == len(ids)
        assert min(ids) >= 1
        assert max(ids) <= 65535
        known = {0, *ids}
        assert all(t.support in known for t in house.objects)
        assert all(o.object_id in known for o in house.openings)
        assert all(o.object_id for o in house.openings if o.kind != "passage")


def test_many_kinds_and_what_a_room_needs(houses: list[House]) -> None:
    kinds = Counter(t.kind for h in houses for t in h.objects)
    assert len(kinds) >= 120
    assert set(kinds) <= set(KINDS)
    for room_kind, needed in ROOM_KINDS.items():
        rooms = [(h, r) for h in houses for r in h.rooms if r.kind == room_kind]
        whole = sum(needed <= {t.kind for t in h.objects if t.room == r.id} for h, r in rooms)
        assert whole >= 0.95 * len(rooms), f"{whole} of {len(rooms)} {room_kind}s have {needed}"


def test_sizes_stay_in_the_range_of_their_kind(houses: list[House]) -> None:
    for house in houses:
        for t in house.objects:
            kind = KINDS[t.kind]
            swing = kind.swing if t.state == "open" else 0.0
            lows, highs = (kind.depth[0], kind.width[0]), (kind.depth[1] + swing, kind.width[1])
            for value, low, high in zip(t.size, lows, highs):
                assert low - 1e-6 <= value <= high + 1e-6, f"{t.kind} {t.size}"
            assert 0 < t.size[2] <= kind.height[1] + 0.05
            assert max(t.size) >= 0.06


def test_parts_stay_within_their_thing(houses: list[House]) -> None:
    for t in (t for house in houses[:10] for t in house.objects):
        for p in t.parts:
            c, s = abs(math.cos(p.yaw)), abs(math.sin(p.yaw))
            half = ((p.size[0] * c + p.size[1] * s) / 2, (p.size[0] * s + p.size[1] * c) / 2)
            assert p.shape in SHAPES
            assert p.texture in TEXTURES
            assert p.colour in PALETTE or p.colour[0] == "#"
            assert abs(p.centre[0]) + half[0] <= t.size[0] / 2 + 0.05, f"{t.kind} {t.state} {p}"
            assert abs(p.centre[1]) + half[1] <= t.size[1] / 2 + 0.05, f"{t.kind} {t.state} {p}"
            assert p.centre[2] - p.size[2] / 2 >= -0.005
            assert p.centre[2] + p.size[2] / 2 <= t.size[2] + 0.035


def test_named_colour_is_a_colour_of_the_parts(houses: list[House]) -> None:
    for t in (t for house in houses[:10] for t in house.objects if t.colour):
        assert t.colour in PALETTE
        assert any(p.colour == t.colour for p in t.parts), t.kind


def test_things_lie_in_their_room(houses: list[House]) -> None:
    for house in houses:
        for t in house.objects:
            if t.kind in ("window", "door", "front door"):
                continue
            room, (x0, y0, x1, y1) = house.rooms[t.room], t.extents()
            inside = (x0 - room.x0, y0 - room.y0, room.x1 - x1, room.y1 - y1)
            assert min(inside) >= -0.01, f"seed {house.seed}: {t.kind} leaves the {room.name}"
            assert t.position[2] + t.size[2] <= house.wall_height_m + 0.01


def test_no_two_things_share_space(houses: list[House]) -> None:
    for house in houses:
        for room in house.rooms:
            objects = [t for t in house.objects if t.room == room.id and t.size[2] > 0.03]
            boxes = np.array([(*t.extents(), t.position[2], t.position[2] + t.size[2]) for t in objects])
            low, high = boxes[:, [0, 1, 4]], boxes[:, [2, 3, 5]]
            near = (np.minimum(high[:, None], high) - np.maximum(low[:, None], low) > 0.02).all(axis=2)
            for i, j in np.argwhere(np.triu(near, 1)):
                a, b = objects[i], objects[j]
                if b.id != a.support and a.id != b.support:
                    assert overlap_m(a, b) < 0.02, f"seed {house.seed} {room.name}: {a.kind} in {b.kind}"


def test_supported_things_rest_on_a_surface_of_their_support(houses: list[House]) -> None:
    for house in houses:
        for t in (t for t in house.objects if t.relation in ("on", "in")):
            support = house.object_by_id(t.support)
            swing = KINDS[support.kind].swing if support.state == "open" else 0.0
            look = Look(*support.size, support.colour, support.material, support.state, Dice(0), swing)
            surfaces = KINDS[support.kind].surfaces
            assert surfaces is not None
            rise = t.position[2] - support.position[2]
            assert any(abs(s.z - rise) < 0.035 and s.relation == t.relation and t.size[2] <= s.clear
                       for s in surfaces(look)), f"{t.kind} {t.relation} {support.kind} at {rise:.3f}"
            x0, y0, x1, y1 = t.extents()
            sx0, sy0, sx1, sy1 = support.extents()
            assert min(x0 - sx0, y0 - sy0, sx1 - x1, sy1 - y1) >= -0.02


def test_openings_stay_free(houses: list[House]) -> None:
    for house in houses:
        for o in house.openings:
            assert o.kind == "window" or max(o.x1 - o.x0, o.y1 - o.y0) >= 0.8
            for t in house.objects:
                if t.id == o.object_id or t.support == o.object_id != 0 or t.room not in o.rooms or t.size[2] < 0.03:
                    continue
                if t.relation in ("on", "in") and t.size[2] < 0.5:  # a plant or a kettle on a sill
                    continue
                assert not spans(o, t), f"seed {house.seed}: {t.kind} before a {o.kind}"


@pytest.mark.parametrize("kind", [k for k in KINDS.values() if len(set(k.states)) > 1], ids=lambda k: k.name)
def test_states_show_in_the_parts(kind: object) -> None:
    built = {}
    for state in sorted(set(kind.states)):
        swing = kind.swing if state == "open" else 0.0
        look = Look(kind.depth[0] + swing, kind.width[1], kind.height[0], kind.colours[0], kind.materials[0], state,
                    Dice(1), swing)
        built[state] = tuple(kind.build(look))
    if kind.name != "door":  # an open door differs by where its leaf stands
        assert len(set(built.values())) == len(built)
