"""A small furnished home as remembered views, without a simulator: for tests of what reads sightings."""

from __future__ import annotations

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe, Label, Sighting


def thing(instance: int, kind: str, room: str, at: tuple[float, float, float], size: tuple[float, float, float],
          pixels: int = 2000, bbox: tuple[int, int, int, int] = (100, 100, 400, 300), **attributes: str) -> Sighting:
    """Return a sighting; attributes as in Label (relation defaults to floor)."""
    return Sighting(Label(instance, kind, room, {"relation": "floor", **attributes}), pixels, bbox, at, size)


def view(number: int, pose: Pose2, *things: Sighting, jpeg: bytes = b"", region: str = "") -> Keyframe:
    """Return a keyframe taken one second after the one before."""
    return Keyframe(number, number * 1_000_000_000, pose.transform(), jpeg, things, region=region)


LIVING_ROOM = (
    thing(1, "sofa", "living room", (0.0, 3.5, 0.4), (2.2, 0.9, 0.8), colour="gray", material="fabric"),
    thing(2, "coffee table", "living room", (0.0, 2.2, 0.2), (1.0, 0.6, 0.4), colour="brown", material="wood"),
    thing(3, "tv stand", "living room", (0.0, 0.5, 0.25), (1.4, 0.4, 0.5), colour="white", material="wood"),
    thing(4, "television", "living room", (0.0, 0.5, 0.8), (1.1, 0.1, 0.6), colour="black", state="on", relation="on",
          support="tv stand"),
    thing(5, "floor lamp", "living room", (1.6, 3.6, 0.8), (0.4, 0.4, 1.6), colour="gold", material="metal",
          state="off"),
    thing(6, "painting", "living room", (0.1, 3.95, 1.7), (0.9, 0.05, 0.6), relation="wall", support="sofa"),
    thing(7, "vase", "living room", (0.2, 2.2, 0.5), (0.2, 0.2, 0.3), colour="blue", material="ceramic", relation="on",
          support="coffee table"),
    thing(8, "book", "living room", (-0.3, 2.2, 0.42), (0.2, 0.15, 0.04), colour="red", relation="on",
          support="coffee table"),
    thing(9, "guitar", "living room", (-1.7, 3.6, 0.5), (0.4, 0.3, 1.0), colour="orange", material="wood"),
)
KITCHEN = (
    thing(20, "kitchen table", "kitchen", (6.0, 2.0, 0.4), (1.4, 0.9, 0.75), colour="brown", material="wood"),
    *(thing(21 + i, "chair", "kitchen", (5.6 + 0.8 * (i % 2), 1.25 + 1.5 * (i // 2), 0.45), (0.45, 0.45, 0.9),
            colour="red", material="wood") for i in range(4)),
    thing(25, "kettle", "kitchen", (7.8, 3.5, 1.0), (0.2, 0.2, 0.25), 300, colour="silver", material="metal",
          relation="on", support="kitchen counter"),
    thing(26, "refrigerator", "kitchen", (7.7, 0.6, 0.9), (0.7, 0.7, 1.8), colour="white", state="open"),
    thing(27, "kitchen sink", "kitchen", (7.8, 2.4, 0.9), (0.5, 0.5, 0.3), state="running"),
    thing(28, "fruit bowl", "kitchen", (6.0, 2.0, 0.85), (0.3, 0.3, 0.15), state="empty", relation="on",
          support="kitchen table"),
    thing(29, "kitchen counter", "kitchen", (7.8, 3.0, 0.45), (0.6, 2.0, 0.9), colour="white", material="wood"),
)
BEDROOM = (
    thing(40, "bed", "bedroom", (1.0, 8.0, 0.4), (1.8, 2.0, 0.6), colour="blue", state="unmade"),
    thing(41, "phone", "bedroom", (2.2, 8.9, 0.6), (0.08, 0.15, 0.02), 160, colour="black", relation="on",
          support="nightstand"),
    thing(42, "nightstand", "bedroom", (2.2, 8.9, 0.3), (0.4, 0.4, 0.55), colour="brown"),
    thing(43, "door", "bedroom", (1.5, 5.5, 1.0), (0.9, 0.05, 2.0), state="closed", relation="wall"),
    thing(44, "door", "bedroom", (3.6, 8.0, 1.0), (0.05, 0.9, 2.0), state="open", relation="wall"),
)
BATHROOM = (
    thing(60, "bathtub", "bathroom", (5.0, 8.0, 0.3), (0.8, 1.7, 0.6), colour="white"),
    thing(62, "pet bed", "bathroom", (5.6, 9.3, 0.1), (0.6, 0.5, 0.2), colour="gray"),
    thing(61, "washing machine", "bathroom", (4.2, 9.2, 0.45), (0.6, 0.6, 0.9), colour="white", state="off"),
)
HOME = (
    view(1, Pose2(0.0, -1.2, 1.57), *LIVING_ROOM, region="living room"),
    view(2, Pose2(4.6, 2.0, 0.0), *KITCHEN, region="kitchen"),
    view(3, Pose2(1.0, 6.0, 1.57), *BEDROOM, region="bedroom"),
    view(4, Pose2(4.0, 8.2, 0.2), *BATHROOM, region="bathroom"),
)
