"""A simulator of corridors: "corridor:4" has four rooms on each side, with a piece of furniture in each.

eqa ask "Is there a fridge?" --scene corridor:4

It draws its worlds as text and leaves physics and rendering to GridWorld. A simulator of your own that renders by
itself implements sim_bridge.simulator.Simulator in its place.
"""

from __future__ import annotations

from sim_bridge.toy import GridWorld

MOST_ROOMS = 12  # on each side
ROOM, DOOR = 6, 2  # cells of 0.5 m: inner width of a room, of its door
FURNITURE = "STBCFP"  # sofa, table, bed, chair, fridge, plant


def corridor(rooms: int) -> tuple[str, ...]:
    """Return the floor plan of a corridor with so many rooms on each side."""
    wall = "#" * ((ROOM + 1) * rooms + 1)
    doors = "#" + "".join("." * DOOR + "#" * (ROOM + 1 - DOOR) for _ in range(rooms))
    floor = "#" + ("." * ROOM + "#") * rooms
    north, south = (_row(rooms, first) for first in (0, 3))
    hall = "#" + "." * (len(wall) - 2) + "#"
    start = "#." + ">" + hall[3:]
    return (wall, north, floor, floor, doors, hall, start, hall, doors, floor, floor, south, wall)


def _row(rooms: int, first: int) -> str:
    """Return a row of the plan with a piece of furniture in each room."""
    return "#" + "".join(f"...{FURNITURE[(first + i) % len(FURNITURE)]}..#" for i in range(rooms))


class CorridorSimulator(GridWorld):
    """Corridors with 1 to 12 rooms on each side."""

    def __init__(self) -> None:
        super().__init__({f"corridor:{rooms}": corridor(rooms) for rooms in range(1, MOST_ROOMS + 1)})
