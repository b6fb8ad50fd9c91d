"""Names, floors and walls of the rooms, so that the rooms of a home can be told apart."""

from __future__ import annotations

from sim_bridge.house.dice import Dice
from sim_bridge.house.plan import WALL_M, Cell
from sim_bridge.house.scene import Room

FLOORS: dict[str, tuple[tuple[str, str], ...]] = {
    "bathroom": (
        ("small_tile", "white"),
        ("small_tile", "turquoise"),
        ("tile", "light gray"),
        ("small_tile", "black"),
        ("small_tile", "light blue"),
        ("marble", "white"),
    ),
    "kitchen": (
        ("tile", "white"),
        ("tile", "beige"),
        ("tile", "gray"),
        ("small_tile", "light orange"),
        ("wood", "brown"),
    ),
    "laundry room": (("tile", "light blue"), ("small_tile", "light green"), ("tile", "gray")),
    "garage": (("concrete", "gray"),),
    "workout room": (("carpet", "black"), ("carpet", "gray"), ("planks", "beige")),
    "entryway": (("tile", "beige"), ("tile", "black"), ("marble", "white"), ("tile", "brown")),
    "hallway": (("planks", "brown"), ("planks", "beige"), ("tile", "light gray"), ("marble", "cream")),
    "bedroom": (
        ("carpet", "beige"),
        ("carpet", "blue"),
        ("carpet", "light gray"),
        ("planks", "beige"),
        ("carpet", "green"),
        ("planks", "brown"),
        ("carpet", "light purple"),
    ),
    "pantry": (("tile", "beige"), ("planks", "brown")),
    "closet": (("carpet", "beige"), ("planks", "beige")),
    "": (("planks", "brown"), ("planks", "beige"), ("wood", "brown"), ("carpet", "beige"), ("planks", "gray")),
}
WALLS: dict[str, tuple[str, ...]] = {
    "bathroom": ("tile", "small_tile", "tile", "plaster"),
    "kitchen": ("plaster", "plaster", "tile"),
    "living room": ("plaster", "plaster", "wallpaper_stripes", "brick"),
    "garage": ("brick", "concrete"),
    "bedroom": ("plaster", "wallpaper_stripes", "wallpaper_dots"),
    "dining room": ("plaster", "wallpaper_stripes"),
    "": ("plaster",),
}
COLOURS = (
    "white",
    "cream",
    "light blue",
    "light green",
    "light yellow",
    "light pink",
    "light purple",
    "light gray",
    "light orange",
    "beige",
    "turquoise",
    "white",
    "yellow",
)


def finish(dice: Dice, cells: list[Cell]) -> list[Room]:
    """Return rooms with names, floors and walls. A wall colour repeats only after all colours were used."""
    colours: list[str] = []
    rooms = []
    for index, (cell, name) in enumerate(zip(cells, _names(dice, cells), strict=True)):
        colours = colours or dice.shuffled(COLOURS)
        floor, floor_colour = dice.pick(FLOORS.get(cell.kind, FLOORS[""]))
        wall = dice.pick(WALLS.get(cell.kind, WALLS[""]))
        colour = (
            dice.pick(("red", "brown", "white")) if wall == "brick" else "gray" if wall == "concrete" else colours.pop()
        )
        half = WALL_M / 2
        rooms.append(
            Room(
                index,
                cell.kind,
                round(cell.x0 + half, 3),
                round(cell.y0 + half, 3),
                round(cell.x1 - half, 3),
                round(cell.y1 - half, 3),
                floor,
                floor_colour,
                colour,
                name,
                wall,
            )
        )
    return rooms


def _names(dice: Dice, cells: list[Cell]) -> list[str]:
    """Name the rooms; several rooms of a kind get names that a person would use, such as "second bedroom"."""
    series = {
        "bedroom": ["main bedroom", *dice.shuffled(["second bedroom", "kids' bedroom"]), "guest bedroom"],
        "bathroom": ["main bathroom", "second bathroom", "third bathroom"],
    }
    many = [k for k in series if sum(c.kind == k for c in cells) > 1]
    ranked = sorted(
        range(len(cells)),
        key=lambda i: (cells[i].parent is not None, -_area(cells[i]) if cells[i].kind == "bedroom" else 0.0, i),
    )
    names = [c.kind for c in cells]
    for i in ranked:
        if cells[i].kind in many:
            names[i] = series[cells[i].kind].pop(0)
    return names


def _area(cell: Cell) -> float:
    return (cell.x1 - cell.x0) * (cell.y1 - cell.y0)
