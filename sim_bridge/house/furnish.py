"""Places objects in one room: against walls, around tables, on surfaces, on walls and ceilings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sim_bridge.house.kinds import Surface
from sim_bridge.house.scene import HouseObject, ObjectPart
from sim_bridge.house.space import YAW, Placement, RoomSpace, UnplacedObject, ahead, footprint


class RoomFurnisher(RoomSpace):
    """Furnishes one room. Every placing method returns the HouseObject, or None if there is no place for it."""

    # walls -----------------------------------------------------------------------------------------------------------

    def extent(self, side: str) -> tuple[float, float]:
        """Return (low, high) coordinates along the wall."""
        r = self.room
        return (r.x0, r.x1) if side in ("south", "north") else (r.y0, r.y1)

    def wall_spot(self, side: str, along: float, depth: float, z: float = 0.0) -> Placement:
        """Return the spot of an object of this depth with its back to the wall, centred at `along`."""
        r, half = self.room, depth / 2
        x, y = {
            "west": (r.x0 + half, along),
            "east": (r.x1 - half, along),
            "south": (along, r.y0 + half),
            "north": (along, r.y1 - half),
        }[side]
        return Placement(x, y, z, YAW[side])

    def sides(self) -> list[str]:
        """Return the four walls in random order."""
        return self.dice.shuffled(list(YAW))

    def _along(self, side: str, width: float, where: str) -> Iterable[float]:
        low, high = self.extent(side)
        low, high = low + width / 2 + 0.02, high - width / 2 - 0.02
        if low > high:
            return
        if where == "corner":
            yield from self.dice.shuffled([low, high])
            return
        middle = (low + high) / 2
        if where == "centre":
            yield from (
                middle + f * (high - low) / 2 for f in (0.0, 0.15, -0.15, 0.3, -0.3, 0.5, -0.5, 0.75, -0.75, 1.0, -1.0)
            )
            return
        yield from (self.dice.between(low, high) for _ in range(4))
        yield from self.dice.shuffled([low + f * (high - low) / 8 for f in range(9)])

    def wall(
        self,
        name: str,
        where: str = "any",
        front: float = 0.6,
        sides: Sequence[str] | None = None,
        blank: UnplacedObject | None = None,
        gap: float = 0.01,
    ) -> HouseObject | None:
        """Stand an object with its back to a wall: at any place, the centre, or in a corner."""
        blank = blank or self.blank(name)
        for side in sides or self.sides():
            for along in self._along(side, blank.look.width, where):
                spot = self.wall_spot(side, along, blank.look.depth + 2 * gap)
                obj = self.settle(blank, spot, front)
                if obj is not None:
                    return obj
        return None

    def side_of(self, obj: HouseObject) -> str:
        """Return the wall behind an object."""
        return min(YAW, key=lambda s: abs(math.remainder(YAW[s] - obj.yaw, 2 * math.pi)))

    def hang(
        self,
        name: str,
        z: float,
        above: HouseObject | None = None,
        sides: Sequence[str] | None = None,
        where: str = "any",
        blank: UnplacedObject | None = None,
    ) -> HouseObject | None:
        """Fasten an object to the wall with its lower edge at z: centred above an object, or anywhere."""
        blank = blank or self.blank(name)
        if above is not None:
            side = self.side_of(above)
            along = above.position[0] if side in ("south", "north") else above.position[1]
            places = [(side, along)]
        else:
            places = [(s, a) for s in (sides or self.sides()) for a in self._along(s, blank.look.width + 0.2, where)]
        for side, along in places:
            spot = self.wall_spot(side, along, blank.look.depth, z)
            if self.free(footprint(blank, spot), soft=False):
                return self.put(blank, spot, "wall", above.id if above else 0)
        return None

    # other objects ----------------------------------------------------------------------------------------------------

    def _spot(self, obj: HouseObject) -> Placement:
        return Placement(*obj.position, obj.yaw)

    def beside(self, name: str, obj: HouseObject, side: int, gap: float = 0.04,
               blank: UnplacedObject | None = None) -> HouseObject | None:
        """Stand an object left (+1) or right (-1) of another, their backs in line."""
        blank = blank or self.blank(name)
        left = side * (obj.size[1] / 2 + blank.look.width / 2 + gap)
        x, y = ahead(self._spot(obj), -(obj.size[0] - blank.look.depth) / 2, left)
        return self.settle(blank, Placement(x, y, 0.0, obj.yaw))

    def facing(
        self,
        name: str,
        obj: HouseObject,
        gap: float = 0.05,
        left: float = 0.0,
        front: float = 0.0,
        blank: UnplacedObject | None = None,
    ) -> HouseObject | None:
        """Stand an object in front of another, turned towards it."""
        blank = blank or self.blank(name)
        x, y = ahead(self._spot(obj), obj.size[0] / 2 + gap + blank.look.depth / 2, left)
        return self.settle(blank, Placement(x, y, 0.0, obj.yaw + math.pi), front, exempt=(obj.id,))

    def around(self, name: str, table: HouseObject, count: int) -> list[HouseObject]:
        """Stand equal chairs around a table, turned towards it: long sides first, then the heads."""
        blank = self.blank(name)
        depth, width = table.size[0], table.size[1]
        rows = (-width / 4, width / 4) if width > 1.1 else (0.0,)
        places = [
            (s * (depth / 2 + 0.03 + blank.look.depth / 2), y, math.pi if s > 0 else 0.0) for y in rows for s in (-1, 1)
        ]
        places += [(0.0, s * (width / 2 + 0.03 + blank.look.depth / 2), -s * math.pi / 2) for s in (-1, 1)]
        out: list[HouseObject] = []
        for forward, left, turn in places:
            if len(out) == count:
                break
            x, y = ahead(self._spot(table), forward, left)
            look = blank.look._replace(dice=self.dice)
            chair = self.settle(UnplacedObject(blank.kind, look), Placement(x, y, 0.0, table.yaw + turn),
                                exempt=(table.id,))
            if chair is not None:
                out.append(chair)
        return out

    def middle(
        self, name: str, front: float = 0.75, turned: bool | None = None, blank: UnplacedObject | None = None
    ) -> HouseObject | None:
        """Stand an object in the free middle of the room, with `front` metres free all around it."""
        blank = blank or self.blank(name)
        r = self.room
        longer = r.y1 - r.y0 > r.x1 - r.x0
        yaw = 0.0 if (longer if turned is None else turned) else math.pi / 2
        for fx, fy in (
            (0, 0),
            (0.12, 0),
            (-0.12, 0),
            (0, 0.12),
            (0, -0.12),
            (0.15, 0.15),
            (-0.15, -0.15),
            (0.15, -0.15),
            (-0.15, 0.15),
            (0.22, 0),
            (-0.22, 0),
            (0, 0.22),
            (0, -0.22),
        ):
            spot = Placement((r.x0 + r.x1) / 2 + fx * (r.x1 - r.x0), (r.y0 + r.y1) / 2 + fy * (r.y1 - r.y0), 0.0, yaw)
            wide = UnplacedObject(
                blank.kind, blank.look._replace(depth=blank.look.depth + 2 * front, width=blank.look.width + 2 * front)
            )
            around = footprint(wide, spot)
            if (
                self.inside(around)
                and not any(around.meets(b) for b in self.blocks)
                and self.free(footprint(blank, spot))
            ):
                return self.put(blank, spot)
        return None

    def lay(
        self, name: str, under: HouseObject | None = None, blank: UnplacedObject | None = None, shift: float = 0.0
    ) -> HouseObject | None:
        """Lay a rug on the floor: under an object (shifted forward by `shift` metres), or in the middle; cut to fit."""
        r = self.room
        if under is not None:
            x, y = ahead(self._spot(under), shift, 0.0)
            yaw = under.yaw
        else:
            x, y, yaw = (r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2, 0.0 if r.y1 - r.y0 > r.x1 - r.x0 else math.pi / 2
        blank = blank or self.blank(name)
        across = abs(math.cos(yaw)) > 0.5
        room_x, room_y = 2 * min(x - r.x0, r.x1 - x) - 0.1, 2 * min(y - r.y0, r.y1 - y) - 0.1
        most = (room_x, room_y) if across else (room_y, room_x)
        if most[0] < blank.kind.depth[0] or most[1] < blank.kind.width[0]:
            return None
        look = blank.look._replace(
            depth=round(min(blank.look.depth, most[0]), 3), width=round(min(blank.look.width, most[1]), 3)
        )
        return self.put(UnplacedObject(blank.kind, look), Placement(x, y, 0.0, yaw))

    def on(
        self,
        name: str,
        support: HouseObject | None,
        at: tuple[float, float] | None = None,
        turn: float | None = None,
        blank: UnplacedObject | None = None,
    ) -> HouseObject | None:
        """Stand an object on (or in) another: first at `at` = (forward, left), shares -1..1 of the surface."""
        if support is None:
            return None
        blank = blank or self.blank(name)
        surfaces = self._surfaces.get(support.id, [])
        for surface, used in surfaces if at is not None else self.dice.shuffled(surfaces):
            if blank.look.height > surface.clear:
                continue
            for attempt in range(7):
                share = at if at is not None and attempt == 0 else (self.dice.between(-1, 1), self.dice.between(-1, 1))
                spot = self._on_spot(blank, surface, share, turn)
                if spot is None:
                    break
                occupied = footprint(blank, spot)
                if any(occupied.meets(u) for u in used):
                    continue
                x, y = ahead(self._spot(support), spot.x, spot.y)
                world = Placement(x, y, round(support.position[2] + surface.z, 4), support.yaw + spot.yaw)
                block = footprint(blank, world)
                if not self.inside(block) or any(block.meets(b) for b in self.blocks if b.owner != support.id):
                    continue
                if blank.look.height > 0.5 and any(block.meets(h) for h in self.hard):  # would hide a window
                    continue
                used.append(occupied)
                return self.put(blank, world, surface.relation, support.id)
        return None

    def _on_spot(self, blank: UnplacedObject, surface: Surface, share: tuple[float, float],
                 turn: float | None) -> Placement | None:
        """Return the place in the support's frame, or None if the object is larger than the surface."""
        turn = self.dice.between(-0.2, 0.2) if turn is None else turn
        box = footprint(blank, Placement(0.0, 0.0, 0.0, turn))
        free_x, free_y = (surface.x1 - surface.x0) / 2 - box.x1, (surface.y1 - surface.y0) / 2 - box.y1
        if free_x < 0 or free_y < 0:
            return None
        return Placement(
            (surface.x0 + surface.x1) / 2 + share[0] * free_x,
            (surface.y0 + surface.y1) / 2 + share[1] * free_y,
            0.0,
            turn,
        )

    def below(self, name: str, above: HouseObject, left: float = 0.0) -> HouseObject | None:
        """Stand an object on the floor under another (a desk, a bench), flush with its front."""
        blank = self.blank(name)
        x, y = ahead(self._spot(above), above.size[0] / 2 - blank.look.depth / 2 - 0.02, left)
        spot = Placement(x, y, 0.0, above.yaw)
        if not self.free(footprint(blank, spot), exempt=(above.id,)):
            return None
        return self.put(blank, spot, "under", above.id)

    def ceiling(self, name: str, over: HouseObject | None = None, share: float = 0.0) -> HouseObject | None:
        """Hang a lamp from the ceiling: over an object, or in the middle, moved by `share` of half the longer side."""
        blank = self.blank(name)
        r = self.room
        x, y = over.position[:2] if over else ((r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2)
        if r.x1 - r.x0 > r.y1 - r.y0:
            x += share * (r.x1 - r.x0) / 2
        else:
            y += share * (r.y1 - r.y0) / 2
        spot = Placement(x, y, self.ceiling_m - blank.look.height, 0.0)
        if not self.free(footprint(blank, spot), soft=False):
            return None
        return self.put(blank, spot, "ceiling", over.id if over else 0)

    def fit_part(self, obj: HouseObject, parts: list[ObjectPart]) -> None:
        """Give an object other parts and centre it on them (an open window's sash stands to one side)."""
        low = min(p.centre[0] - p.size[0] / 2 for p in parts)
        high = max(p.centre[0] + p.size[0] / 2 for p in parts)
        shift = round((low + high) / 2, 4)
        x, y = ahead(self._spot(obj), shift, 0.0)
        obj.position = (round(x, 4), round(y, 4), obj.position[2])
        obj.size = (round(high - low, 4), *obj.size[1:])
        obj.parts = [p._replace(centre=(round(p.centre[0] - shift, 4), *p.centre[1:])) for p in parts]
