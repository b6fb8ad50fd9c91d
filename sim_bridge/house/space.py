"""The free space of one room and the objects in it: nothing overlaps, and no opening is blocked.

Two kinds of reserved space keep a room usable: `hard` space in front of doors and windows, which nothing may enter, and
`soft` space in front of furniture, in which nothing solid may stand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sim_bridge.house.catalogue import KINDS, Kind
from sim_bridge.house.dice import Dice
from sim_bridge.house.kinds import Look, Surface
from sim_bridge.house.scene import HouseObject, Room

EPS = 1e-4
# side: yaw of an object that stands with its back to that wall.
YAW = {"west": 0.0, "south": math.pi / 2, "east": math.pi, "north": -math.pi / 2}


class Block(NamedTuple):
    """An axis-aligned box of space in the house frame; owner: id of the object it belongs to, 0 = an opening."""

    x0: float
    y0: float
    z0: float
    x1: float
    y1: float
    z1: float
    owner: int = 0

    def meets(self, other: Block) -> bool:
        """Return whether the two boxes share space."""
        return (
            self.x0 < other.x1 - EPS
            and other.x0 < self.x1 - EPS
            and self.y0 < other.y1 - EPS
            and other.y0 < self.y1 - EPS
            and self.z0 < other.z1 - EPS
            and other.z0 < self.z1 - EPS
        )


def block_of(obj: HouseObject) -> Block:
    """Return the box that an object occupies."""
    x0, y0, x1, y1 = obj.extents()
    z = obj.position[2]
    return Block(x0, y0, z, x1, y1, z + obj.size[2], obj.id)


class UnplacedObject(NamedTuple):
    """An object whose look is decided, but which is not placed yet."""

    kind: Kind
    look: Look


class Placement(NamedTuple):
    """A place for an object: origin and yaw in the house frame."""

    x: float
    y: float
    z: float
    yaw: float


def footprint(blank: UnplacedObject, spot: Placement, owner: int = 0) -> Block:
    """Return the box that the object occupies at the spot."""
    c, s = abs(math.cos(spot.yaw)), abs(math.sin(spot.yaw))
    dx, dy = (blank.look.depth * c + blank.look.width * s) / 2, (blank.look.depth * s + blank.look.width * c) / 2
    return Block(spot.x - dx, spot.y - dy, spot.z, spot.x + dx, spot.y + dy, spot.z + blank.look.height, owner)


def ahead(spot: Placement, forward: float, left: float) -> tuple[float, float]:
    """Return the point `forward` and `left` metres from the spot in its own frame."""
    c, s = math.cos(spot.yaw), math.sin(spot.yaw)
    return spot.x + forward * c - left * s, spot.y + forward * s + left * c


class Ids:
    """Counts instance ids for the whole house."""

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        """Return a new id."""
        self.last += 1
        return self.last


class RoomSpace:
    """One room, the objects in it, and the space that they occupy or need."""

    def __init__(self, room: Room, dice: Dice, ids: Ids, ceiling_m: float) -> None:
        self.room, self.dice, self.ids, self.ceiling_m = room, dice, ids, ceiling_m
        self.objects: list[HouseObject] = []
        self.blocks: list[Block] = []
        self.hard: list[Block] = []
        self.soft: list[Block] = []
        self.quota = 99  # how many more objects may stand on the floor
        self.style: dict[str, str] = {}  # colours shared by the cabinets of the room
        self._surfaces: dict[int, list[tuple[Surface, list[Block]]]] = {}

    # looks -----------------------------------------------------------------------------------------------------------

    def blank(
        self,
        name: str,
        depth: float = 0.0,
        width: float = 0.0,
        height: float = 0.0,
        colour: str = "",
        state: str = "",
        material: str = "",
    ) -> UnplacedObject:
        """Decide the look of an object of a kind. Given values are kept; sizes are limited to the kind's range."""
        kind, dice = KINDS[name], self.dice
        sizes = [
            min(max(want, low), high) if want else dice.between(low, high)
            for want, (low, high) in ((depth, kind.depth), (width, kind.width), (height, kind.height))
        ]
        if kind.depth == kind.width and not width:  # round or square
            sizes[1] = sizes[0]
        state = state or dice.pick(kind.states)
        material = material or dice.pick(kind.materials)
        style = self.style.get(material, "")
        if not colour:
            colour = style if style in kind.colours and dice.chance(0.6) else dice.pick(kind.colours)
        swing = kind.swing if state == "open" else 0.0
        return UnplacedObject(kind,
                              Look(round(sizes[0] + swing, 3), sizes[1], sizes[2], colour, material, state, dice,
                                   swing))

    def put(self, blank: UnplacedObject, spot: Placement, relation: str = "floor", support: int = 0) -> HouseObject:
        """Build the object at the spot, without checking for free space."""
        look, kind = blank.look, blank.kind
        parts = kind.build(look)
        height = round(max(p.centre[2] + p.size[2] / 2 for p in parts), 4)
        if abs(height - look.height) < 0.03:
            height = look.height
        colour = look.colour if look.colour in kind.colours else ""
        obj = HouseObject(
            self.ids.next(),
            kind.name,
            self.room.id,
            (round(spot.x, 4), round(spot.y, 4), round(spot.z, 4)),
            round(spot.yaw, 5),
            (look.depth, look.width, height),
            colour,
            look.material,
            look.state,
            support,
            relation,
            parts,
            kind.solid and relation in ("floor", "on", "in", "under"),
            look.colour,
            look.height,
        )
        self.objects.append(obj)
        if look.height > 0.03:
            self.blocks.append(footprint(blank, spot, obj.id))
        if kind.surfaces is not None:
            self._surfaces[obj.id] = [(s, []) for s in kind.surfaces(look)]
        return obj

    # free space ------------------------------------------------------------------------------------------------------

    def inside(self, block: Block) -> bool:
        """Return whether the box lies between the room's walls, floor and ceiling."""
        r = self.room
        return (
            block.x0 >= r.x0 - EPS
            and block.y0 >= r.y0 - EPS
            and block.x1 <= r.x1 + EPS
            and block.y1 <= r.y1 + EPS
            and block.z1 <= self.ceiling_m + EPS
        )

    def free(self, block: Block, exempt: Sequence[int] = (), soft: bool = True) -> bool:
        """Return whether an object may occupy this space; objects and reserves of `exempt` owners are ignored."""
        if not self.inside(block) or any(block.meets(h) for h in self.hard):
            return False
        if any(block.meets(b) for b in self.blocks if b.owner not in exempt):
            return False
        return not soft or not any(block.meets(s) for s in self.soft if s.owner not in exempt)

    def _front(self, blank: UnplacedObject, spot: Placement, reach: float, owner: int = 0) -> Block:
        x, y = ahead(spot, blank.look.depth / 2 + reach / 2, 0.0)
        swept = UnplacedObject(blank.kind, blank.look._replace(depth=reach, height=1.2))
        return footprint(swept, Placement(x, y, 0.05, spot.yaw), owner)

    def settle(self, blank: UnplacedObject, spot: Placement, front: float = 0.0,
               exempt: Sequence[int] = ()) -> HouseObject | None:
        """Place the object on the floor with `front` metres of free space before it; None if it does not fit."""
        if self.quota <= 0 or not self.free(footprint(blank, spot), exempt, soft=blank.kind.solid):
            return None
        if front:
            zone = self._front(blank, spot, front)
            if not self.inside(zone) or any(zone.meets(b) for b in self.blocks if b.owner not in exempt):
                return None
        obj = self.put(blank, spot)
        self.quota -= 1
        if front:
            self.soft.append(self._front(blank, spot, front, obj.id))
        return obj
