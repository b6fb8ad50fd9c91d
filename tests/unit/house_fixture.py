"""A small house by hand: a living room and a kitchen beside it, joined by a door, with a few things."""

from __future__ import annotations

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.scene import House, HouseObject, Opening, Part, Room


def empty_room(width: float = 4.0, depth: float = 3.0) -> House:
    """Return one closed room with its corner at the origin."""
    room = Room(0, "bedroom", 0.0, 0.0, width, depth, "planks", "#b98d5f", "#e8e2d4")
    return House(0, [room], [], [], Pose2(1.0, 1.0, 0.0))


def two_rooms() -> House:
    """Return living room (0..5, 0..4) and kitchen (5.12..8.12, 0..4) with a door at y 1.6..2.4 and a window each."""
    rooms = [Room(0, "living room", 0.0, 0.0, 5.0, 4.0, "planks", "#b98d5f", "#dfe6e2"),
             Room(1, "kitchen", 5.12, 0.0, 8.12, 4.0, "tile", "#d8d4cc", "#f0dfb8")]
    openings = [Opening("door", 5.06, 1.6, 5.06, 2.4, 0.0, 2.05, (0, 1)),
                Opening("window", 1.5, 4.06, 3.3, 4.06, 0.9, 2.1, (0, -1), 9),
                Opening("window", 6.0, 4.06, 7.2, 4.06, 1.0, 2.1, (1, -1), 10)]
    return House(1, rooms, openings, _things(), Pose2(1.0, 2.0, 0.0))


def _things() -> list[HouseObject]:
    legs = [Part("box", (x, y, 0.35), (0.06, 0.06, 0.70), "#7a4f2d", "wood")
            for x in (-0.55, 0.55) for y in (-0.35, 0.35)]
    table = [Part("box", (0, 0, 0.72), (1.2, 0.8, 0.04), "#8a5a33", "wood"), *legs]
    sofa = [Part("box", (0, 0, 0.22), (0.9, 1.9, 0.44), "green", "fabric"),
            Part("box", (-0.35, 0, 0.6), (0.2, 1.9, 0.5), "green", "fabric"),
            *(Part("box", (0, y, 0.5), (0.9, 0.2, 0.3), "green", "fabric") for y in (-0.85, 0.85))]
    lamp = [Part("cylinder", (0, 0, 0.02), (0.28, 0.28, 0.04), "black", "metal"),
            Part("cylinder", (0, 0, 0.75), (0.03, 0.03, 1.46), "black", "metal"),
            Part("frustum", (0, 0, 1.55), (0.4, 0.4, 0.3), "cream", "fabric", glow=0.9)]
    fridge = [Part("box", (0, 0, 0.9), (0.65, 0.65, 1.8), "silver", "metal"),
              Part("box", (0.335, 0.25, 1.1), (0.03, 0.03, 0.5), "gray", "metal")]
    return [
        HouseObject(1, "dining table", 1, (6.8, 2.0, 0.0), 0.0, (1.2, 0.8, 0.74), "brown", "wood", parts=table),
        HouseObject(2, "sofa", 0, (0.5, 2.6, 0.0), 0.0, (0.9, 1.9, 0.85), "green", "fabric", parts=sofa),
        HouseObject(3, "floor lamp", 0, (0.4, 0.5, 0.0), 0.0, (0.4, 0.4, 1.7), "black", "metal", "on", parts=lamp),
        HouseObject(4, "refrigerator", 1, (7.7, 0.5, 0.0), 3.14159 / 2, (0.65, 0.65, 1.8), "silver", "metal", "closed",
                    parts=fridge),
        HouseObject(5, "painting", 0, (2.5, 0.02, 1.3), 3.14159 / 2, (0.04, 0.9, 0.6), relation="wall", solid=False,
                    parts=[Part("box", (0, 0, 0.3), (0.04, 0.9, 0.6), "white", "painting")]),
        HouseObject(6, "bowl", 1, (6.8, 2.0, 0.74), 0.0, (0.3, 0.3, 0.1), "blue", "ceramic", support=1, relation="on",
                    solid=False, parts=[Part("bowl", (0, 0, 0.05), (0.3, 0.3, 0.1), "blue", "plain")]),
        HouseObject(7, "rug", 0, (2.6, 2.0, 0.0), 0.0, (2.4, 1.6, 0.01), "red", "fabric", solid=False,
                    parts=[Part("box", (0, 0, 0.005), (2.4, 1.6, 0.01), "red", "rug")]),
        HouseObject(8, "plant", 0, (4.5, 3.5, 0.0), 0.0, (0.5, 0.5, 1.1), "green", "leaves",
                    parts=[Part("bowl", (0, 0, 0.2), (0.36, 0.36, 0.4), "#b5623f", "plain"),
                           Part("sphere", (0, 0, 0.8), (0.55, 0.55, 0.8), "green", "leaves")]),
        *(HouseObject(i, "window", room, (x, 4.06, 0.9), -3.14159 / 2, (0.06, w, 1.2), relation="wall", solid=False,
                      parts=[
            Part("box", (0, 0, 0.6), (0.01, w, 1.2), "white", "glass"),
            Part("box", (0, 0, 0.6), (0.04, 0.05, 1.2), "white", "plain")])
          for i, room, x, w in ((9, 0, 2.4, 1.8), (10, 1, 6.6, 1.2)))]
