"""Questions about the text in a house, with answers from its scene graph.

They are a data set of their own (`house-text`), in scenes "house:<seed>+text"; the data set `house` contains none.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2, wrap
from sim_bridge.house.lettering import letter_m
from sim_bridge.house.questions.facts import HouseFacts
from sim_bridge.house.questions.grounding import Grounding, over_houses, start_past
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.world import with_text

CATEGORY = "text"
_PHRASINGS = {
    "wall clock": ("What time does {} show?", "What time is it by {}?"),
    "book": ("What is the title of {}?", "What is the title of {}?"),
    "jar": ("What does the label on {} say?", "What is written on {}?"),
    "cardboard box": ("What is written on {}?", "What does the label on {} say?"),
    "calendar": ("Which month does {} show?",),
    "whiteboard": ("What is written on {}?", "What does it say on {}?"),
    "sign": ("What does {} say?", "What is written on {}?"),
    "poster": ("What is written on {}?", "What does {} say?"),
}
KINDS = tuple(_PHRASINGS)
_LETTER_PX = 9.0  # minimum height of a capital letter in a 640x480 view: people read it at a glance
_RINGS_M = (1.5, 1.8, 1.2, 2.1, 0.95, 2.5)
_OFF_DEG = (0, 15, -15, 30, -30)  # angles of candidate views from straight in front
_SHOWN = 0.8  # minimum share of the object's front that must be visible
_TRIES = 6  # number of objects of a house for which a view is searched


class TextQuestion(NamedTuple):
    """A question about the text on an object (instance id), with a view in which it is readable.

    letter_px: height of a capital letter in that view, pixels of 640x480. start: pose from which the object is not
    visible in any heading; l_steps, l_metres: atomic actions and metres of the shortest path from there to the view.
    """

    id: str
    scene: str
    kind: str
    question: str
    answer: str
    target: int
    view: Pose2
    letter_px: float
    start: Pose2
    l_steps: int
    l_metres: float


def text_questions(seeds: Iterable[int], n: int, per_house: int = 4) -> Iterator[TextQuestion]:
    """Yield n questions, fewer if the houses run out; kinds of objects alternate."""
    return over_houses(seeds, n, per_house, _of_house, with_text)


def _of_house(grounding: Grounding, seed: int, most: int, used: Counter[str]) -> list[TextQuestion]:
    facts, found, kinds = HouseFacts(grounding.house), list[TextQuestion](), set[str]()
    left = [obj for obj in facts.objects if obj.text]
    for _ in range(_TRIES):
        left = [obj for obj in left if obj.kind not in kinds]
        if not left or len(found) == most:
            break
        obj = min(left, key=lambda t: (used[t.kind], used[t.text], zlib.crc32(f"{seed} {t.id}".encode())))
        left.remove(obj)
        question = _question(grounding, facts, seed, obj)
        if question is not None:
            kinds.add(obj.kind)
            used.update((obj.kind, obj.text))
            found.append(question)
    return found


def _question(grounding: Grounding, facts: HouseFacts, seed: int, obj: HouseObject) -> TextQuestion | None:
    name = _name(facts, obj)
    seen = reading_view(grounding, obj) if name else None
    past = start_past(grounding, (obj.id,), [seen[0]]) if seen else None
    if name is None or seen is None or past is None:
        return None
    text = facts.pick(_PHRASINGS[obj.kind], "text", obj.id).format(name)
    return TextQuestion(f"house-{seed}-text-{obj.id}", f"house:{seed}+text", obj.kind, text, obj.text, obj.id, seen[0],
                        round(seen[1], 1), *past)


def _name(facts: HouseFacts, obj: HouseObject) -> str | None:
    """Return a phrase that fits this object only; for a book it names the colour, if no other book has it."""
    name = facts.name(obj)
    if obj.kind != "book":
        return name
    same = [t for t in facts.inside(obj.room, "book") if t.colour == obj.colour]
    place = facts.place(obj) if facts.room(obj) else None
    return f"the {obj.colour} book {place}" if obj.colour and place and len(same) == 1 else None


def reading_view(grounding: Grounding, obj: HouseObject) -> tuple[Pose2, float] | None:
    """Return a pose from which an object's text is readable, and the height of a letter there in pixels.

    None if the robot cannot stand there, or something occludes the text.
    """
    camera = grounding.robot.camera
    focal = 320.0 / math.tan(math.radians(camera.hfov_deg) / 2)  # pixels, for an image 640 pixels wide
    x, y, _ = obj.position
    for ring in _RINGS_M:
        letter = focal * letter_m(obj) / ring
        for off in _OFF_DEG if letter >= _LETTER_PX else ():
            angle = obj.yaw + math.radians(off)
            pose = Pose2(round(x + ring * math.cos(angle), 3), round(y + ring * math.sin(angle), 3),
                         round(wrap(angle + math.pi), 6))
            room = grounding.house.room_at(pose.x, pose.y)
            if room is None or room.id != obj.room or not grounding.world.free(pose.x, pose.y, grounding.robot):
                continue
            front = obj.size[1] * math.cos(math.radians(off)) * obj.size[2] * (focal / ring) ** 2
            if grounding.pixels(pose).get(obj.id, 0.0) >= _SHOWN * front:
                return pose, letter
    return None
