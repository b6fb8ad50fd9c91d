"""The scene graph of a house. The generator writes it; everything else reads it.

Right-handed house frame = map frame: x east, y north, z up, metres; floor at z = 0. Yaw in radians about +z.
An object's local frame: origin at the centre of its footprint at its lowest point, +x to its own front.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2

STAIRWELL = "stairwell"  # the kind of the room that holds the stairs
# An ObjectPart's shape fills the box `size` around `centre`; elliptic if its two cross extents differ.
SHAPES = (
    "box",
    "cylinder",  # axis along z
    "cylinder_x",  # lying, axis along local x
    "cylinder_y",  # lying, axis along local y
    "cone",  # apex up
    "frustum",  # axis z, the top has 0.6 of the bottom's diameter (lamp shade)
    "bowl",  # axis z, the bottom has 0.6 of the top's diameter (plant pot)
    "sphere",  # an ellipsoid if the extents differ
    "ring_x",  # a torus around local x (tube as thick as the extent along x): wheels, wreaths
    "ring_y",  # the same around local y
)

TEXTURES = (
    "plain", "wood", "planks", "tile", "small_tile", "carpet", "rug", "fabric", "metal", "glass", "brick", "marble",
    "leather", "leaves", "books", "painting", "screen", "paper", "plaster", "wallpaper_stripes", "wallpaper_dots",
    "concrete", "wicker", "ceramic", "plastic", "lampshade",
)

# sRGB of the colour words that parts, walls and floors use beside #rrggbb; the colour of a HouseObject is one of them.
PALETTE = {
    "red": "#b8322a", "orange": "#e07b28", "yellow": "#e8c33a", "green": "#4f8a4a", "blue": "#3466a8",
    "purple": "#7a4a96", "pink": "#e79ab0", "brown": "#7d5435", "beige": "#d8c4a0", "white": "#f0eee8",
    "gray": "#8b8d90", "black": "#26262a", "turquoise": "#3aa6a0", "silver": "#b9bcc0", "gold": "#c9a24a",
    "cream": "#efe6cf", "light blue": "#b4cde4", "light green": "#c2d8b8", "light yellow": "#f2e3ae",
    "light pink": "#f0cdd3", "light purple": "#d3c6e2", "light gray": "#d3d4d6", "light orange": "#f2cfae",
}


class ObjectPart(NamedTuple):
    """A primitive of an object, in the object's local frame.

    shape: one of SHAPES; centre and size (x, y, z extents before the part's own yaw) in metres; colour: a word of
    PALETTE or #rrggbb (sRGB); texture: one of TEXTURES, tinted by the colour, or
    "text:" and the words written on it; glow: emitted light 0..1.
    """

    shape: str
    centre: tuple[float, float, float]
    size: tuple[float, float, float]
    colour: str
    texture: str = "plain"
    yaw: float = 0.0
    glow: float = 0.0


@dataclass
class HouseObject:
    """A labelled object. size: extents along its local x, y and z in metres, before yaw."""

    id: int  # instance id in label images, 1..65535, unique in the house
    kind: str  # "dining table": singular, as a person says it
    room: int
    position: tuple[float, float, float]
    yaw: float
    size: tuple[float, float, float]
    colour: str = ""  # a person's colour word; "" if it would be ambiguous
    material: str = ""  # a person's word: wood, metal, glass, fabric, ceramic ...
    state: str = ""  # on | off | open | closed | running | lit | made | full | empty ...; "" = stateless
    support: int = 0  # id of the object it stands on / lies in / hangs above; 0 = floor, wall or ceiling
    relation: str = "floor"  # floor | on | in | under | wall | ceiling
    parts: list[ObjectPart] = field(default_factory=list)
    solid: bool = True  # an obstacle for the robot
    paint: str = ""  # colour it was built in if `colour` is empty; needed to rebuild it
    tall_m: float = 0.0  # height it was built to, if a lid or flap changes size[2]; 0 = size[2]
    text: str = ""  # text that is written on it

    def extents(self) -> tuple[float, float, float, float]:
        """Return x0, y0, x1, y1 of the footprint along the house's axes, the yaw taken into account."""
        c, s = abs(math.cos(self.yaw)), abs(math.sin(self.yaw))
        dx, dy = (self.size[0] * c + self.size[1] * s) / 2, (self.size[0] * s + self.size[1] * c) / 2
        x, y, _ = self.position
        return x - dx, y - dy, x + dx, y + dy

    def distance(self, x: float, y: float) -> float:
        """Return the distance of a point from the footprint, metres; 0 inside."""
        dx, dy = x - self.position[0], y - self.position[1]
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        u, v = abs(c * dx + s * dy) - self.size[0] / 2, abs(c * dy - s * dx) - self.size[1] / 2
        return math.hypot(max(u, 0.0), max(v, 0.0))


class Opening(NamedTuple):
    """A hole in a wall from (x0, y0) to (x1, y1) along the wall's centre line, from z0 to z1.

    rooms: ids of the two rooms that it connects; -1 = outdoors (windows, the front door). The centre line lies half a
    wall's thickness outside the rooms' inner faces; it runs along x (y0 == y1) or along y (x0 == x1).
    """

    kind: str  # door | passage | window
    x0: float
    y0: float
    x1: float
    y1: float
    z0: float
    z1: float
    rooms: tuple[int, int]
    object_id: int = 0  # id of the door leaf or window as a HouseObject


@dataclass
class Room:
    """An axis-aligned room, inner faces of its walls; kind as a person says it ("living room")."""

    id: int
    kind: str
    x0: float
    y0: float
    x1: float
    y1: float
    floor: str  # one of TEXTURES
    floor_colour: str
    wall_colour: str
    name: str = ""  # unique in the house if there are two of a kind: "second bedroom"
    wall: str = "plaster"  # one of TEXTURES

    @property
    def area_m2(self) -> float:
        """Floor area."""
        return (self.x1 - self.x0) * (self.y1 - self.y0)


class Stairs(NamedTuple):
    """A straight staircase that climbs to the north, in a stairwell of its own, as wide as the room; house frame.

    y0, y1: position of the first and the last riser; landings lie before and behind. rise_m: from floor to floor.
    """

    x0: float
    x1: float
    y0: float
    y1: float
    landing_m: float
    steps: int  # risers; between them lie steps - 1 treads
    rise_m: float

    @property
    def middle(self) -> tuple[float, float]:
        """Return the point half-way up: south of it a robot is on the lower storey, north of it on the upper one."""
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies in the stairwell, landings included."""
        return self.x0 <= x <= self.x1 and self.y0 - self.landing_m <= y <= self.y1 + self.landing_m

    def height_m(self, y: float) -> float:
        """Return the height of the step or landing at this y above the lower floor, metres."""
        climbed = math.floor((y - self.y0) / (self.y1 - self.y0) * (self.steps - 1)) + 1
        return min(max(climbed, 0), self.steps) * self.rise_m / self.steps


@dataclass
class House:
    """A whole home, or one storey of it; the floor of a storey is at z = 0 as well.

    stairs: in the frame of this storey; storey: 0 if they lead up, 1 if they lead down.
    """

    seed: int
    rooms: list[Room]
    openings: list[Opening]
    objects: list[HouseObject]
    start: Pose2
    wall_height_m: float = 2.6
    wall_thickness_m: float = 0.12
    stairs: Stairs | None = None
    storey: int = 0

    def object_by_id(self, instance: int) -> HouseObject:
        """Return the object with this instance id (KeyError if there is none)."""
        return self._index()[instance]

    def room_at(self, x: float, y: float) -> Room | None:
        """Return the room whose floor holds the point."""
        return next((r for r in self.rooms if r.x0 <= x <= r.x1 and r.y0 <= y <= r.y1), None)

    def _index(self) -> dict[int, HouseObject]:
        if not hasattr(self, "_by_id"):
            self._by_id = {t.id: t for t in self.objects}
        return self._by_id
