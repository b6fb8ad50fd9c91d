"""Questions of tasks in the houses, each with eight answers: attributes of objects, and space.

Wrong answers are drawn from what could be right elsewhere, and numbers lie at any rank, so that the text alone says
little about the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.actions import TABLE
from sim_bridge.house.handling import liftable
from sim_bridge.house.questions import lexicon
from sim_bridge.house.questions.facts import HouseFacts, article, be, kinds_of, say
from sim_bridge.house.questions.uses import PLACES, SCATTERED, TOOLS
from sim_bridge.house.scene import HouseObject, Room
from sim_bridge.house.world import HouseWorld

ANSWERS = 8  # options of a question, as in the paper
SOILED = ("dirty", "sticky", "grimy", "dusty", "muddy")  # states that call for cleaning
_RATIO = 1.25  # from one number to the next
_COUNTS = tuple(str(n) for n in range(1, ANSWERS + 1))
_SHAPES = {"a ball": ("globe", "ball", "exercise ball"), "a bowl": ("fruit bowl", "mixing bowl", "pet bowl"),
           "a cylinder": ("mug", "candle", "water bottle", "jar", "bottle", "soap dispenser", "toothbrush cup"),
           "a box": ("cereal box", "cash box", "toaster", "microwave", "printer", "book", "toolbox", "pet food",
                     "lighter", "knife block"),
           "a flat sheet": ("letter", "keyboard", "cutting board", "cloth", "shirt"), "a disc": ("plate",),
           "a ring": ("tire",), "a cone": ("oil can",)}
_MATERIALS = ("wood", "metal", "fabric", "glass", "ceramic", "plastic", "paper", "leather", "wax", "cardboard",
              "rubber", "stone", "wicker")
_ROOMS = ("entryway", "garage", "pantry", "closet", "laundry room", "study", "dining room", "workout room",
          "bathroom", "bedroom")  # rooms that a house may or may not have
_WALL_M, _SHARED_M = 0.3, 1.0  # maximum thickness of a wall between two rooms, and minimum length that they share
_TALLER = 1.25  # how much taller the tallest object is
_ROBOT = RobotModel()
Draw = Callable[[object], int]


class AskedQuestion(NamedTuple):
    """A question. words: for the phrasing; targets: objects of which `need` must be in view to answer it."""

    kind: str
    words: dict[str, str]
    answer: str
    wrong: tuple[str, ...]
    targets: tuple[HouseObject, ...]
    need: int = 1


class Asker:
    """The questions of one house. draw: returns a number for a key, always the same."""

    def __init__(self, place: HouseWorld, facts: HouseFacts, draw: Draw) -> None:
        self._place, self._facts, self._draw = place, facts, draw
        self._portable = [t for t in facts.objects if liftable(t)]
        self.attributes: dict[str, Callable[[], Iterator[AskedQuestion]]] = {
            "category": self._category, "shape": self._shape, "material": self._material, "colour": self._colour,
            "function": self._function, "state": self._state, "existence": self._existence,
            "quantity": self._quantity, "comparison": self._comparison, "several attributes": self._several}
        self.spaces: dict[str, Callable[[], Iterator[AskedQuestion]]] = {
            "size": self._size, "height": self._height, "distance": self._distance, "area": self._area,
            "path": self._path, "layout": self._layout, "relation": self._relation}

    def _asked(self, kind: str, words: dict[str, str], answer: str, wrong: Sequence[str],
               targets: Sequence[HouseObject], need: int = 1) -> Iterator[AskedQuestion]:
        """Yield the question if there are enough wrong answers."""
        others = sorted(dict.fromkeys(text for text in wrong if text != answer),
                        key=lambda text: self._draw(f"{kind} {words} {text}"))[:ANSWERS - 1]
        if len(others) == ANSWERS - 1:
            yield AskedQuestion(kind, words, answer, tuple(others), tuple(targets), need)

    def _alone_on(self) -> Iterator[tuple[HouseObject, dict[str, str]]]:
        """Yield objects that are the only one on something with a name, and the words for it."""
        for base in self._facts.objects:
            carried = self._facts.carried(base)
            name = self._facts.name(base)
            if len(carried) == 1 and name is not None and base.kind not in lexicon.CLUTTERED:
                yield carried[0], {"base": name}

    def _category(self) -> Iterator[AskedQuestion]:
        for obj, words in self._alone_on():
            wrong = [article(t.kind) for t in self._portable if not lexicon.confusable(obj.kind, t.kind)]
            yield from self._asked("category", words, article(obj.kind), wrong, [obj])

    def _shape(self) -> Iterator[AskedQuestion]:
        for obj, words in self._alone_on():
            for shape, kinds in _SHAPES.items():
                if obj.kind in kinds:
                    yield from self._asked("shape", words, shape, list(_SHAPES), [obj])

    def _material(self) -> Iterator[AskedQuestion]:
        for obj, words in self._alone_on():
            if obj.material in _MATERIALS:
                yield from self._asked("material", words, obj.material, _MATERIALS, [obj])

    def _colour(self) -> Iterator[AskedQuestion]:
        for obj in self._facts.objects:
            name, colour = self._facts.name(obj), obj.colour
            covered = obj.kind in lexicon.COVERED or lexicon.colour_unclear(obj) or obj.state in TABLE.marks
            if name is not None and colour in lexicon.WRONG_COLOURS and not covered:
                near = {colour, *lexicon.NEAR_COLOURS.get(colour, ())}
                near |= {c for c, also in lexicon.NEAR_COLOURS.items() if colour in also}
                words = {"name": name, "is": be(obj.kind, False), "does": _does(obj)}
                yield from self._asked("colour", words, colour, [c for c in lexicon.WRONG_COLOURS if c not in near],
                                       [obj])

    def _function(self) -> Iterator[AskedQuestion]:
        uses = (*TOOLS, *SCATTERED, *PLACES)
        for obj, words in self._alone_on():
            fits = [use for use in uses if obj.kind in use.kinds]
            others = [use.purpose for use in uses if obj.kind not in (*use.kinds, *use.also)]
            if fits:
                yield from self._asked("function", words, fits[0].purpose, others, [obj])

    def _state(self) -> Iterator[AskedQuestion]:
        soiled = [t for t in self._facts.objects if t.state in SOILED]
        could = {kind for state in SOILED for kind in TABLE.conditions[state]}
        named = [(t, name) for t in self._facts.objects if (name := self._facts.name(t)) and t not in soiled]
        likely = [name for t, name in named if t.kind in could]
        others = [name for t, name in named if t.relation == "floor" and t.kind not in lexicon.OPENINGS]
        for obj in soiled:
            name = self._facts.name(obj)
            if name is not None:
                wrong = [*likely, *others][:ANSWERS + 4] if len(likely) < ANSWERS - 1 else likely
                yield from self._asked("state", {}, name, wrong, [obj])

    def _existence(self) -> Iterator[AskedQuestion]:
        for room, phrase in self._facts.rooms.items():
            here = self._facts.inside(room)
            absent = [article(t.kind) for t in self._portable
                      if not any(lexicon.confusable(t.kind, u.kind) for u in here)]
            for obj in (t for t in self._portable if t.room == room):
                yield from self._asked("existence", {"room": phrase}, article(obj.kind), absent, [obj])

    def _quantity(self) -> Iterator[AskedQuestion]:
        for room, phrase in self._facts.rooms.items():
            inside = self._facts.inside(room)
            for kind in dict.fromkeys(t.kind for t in inside):
                same = [t for t in inside if t.kind == kind]
                others = [t for t in inside if t.kind != kind]
                clear = kind not in (*lexicon.OPENINGS, *lexicon.ALWAYS_ONE) and self._facts.alone(same[0], others)
                if clear and 1 < len(same) <= ANSWERS:
                    yield from self._asked("quantity", {"things": kinds_of(kind), "room": phrase}, str(len(same)),
                                           _COUNTS, same, len(same))

    def _comparison(self) -> Iterator[AskedQuestion]:
        for base in self._facts.objects:
            name, carried = self._facts.name(base), self._facts.carried(base)
            order = sorted(carried, key=lambda t: -t.size[2])
            if name is None or len(order) < 2 or order[0].size[2] < _TALLER * order[1].size[2]:
                continue
            others = [article(t.kind) for t in (*order[1:], *self._portable) if t.kind != order[0].kind]
            yield from self._asked("comparison", {"base": name}, article(order[0].kind), others, order, 2)

    def _several(self) -> Iterator[AskedQuestion]:
        for obj in self._facts.objects:
            room, inside = self._facts.room(obj), self._facts.inside(obj.room)
            unclear = not obj.colour or lexicon.colour_unclear(obj) or obj.state in TABLE.marks
            if room is None or unclear or obj.material not in _MATERIALS or obj.kind in lexicon.OPENINGS:
                continue
            close = {obj.colour, *lexicon.NEAR_COLOURS.get(obj.colour, ()), ""}
            if all(t is obj or t.material != obj.material or t.colour not in close for t in inside):
                wrong = [article(t.kind) for t in self._facts.objects if t.kind not in lexicon.OPENINGS
                         and not any(lexicon.confusable(t.kind, u.kind) for u in inside)]
                words = {"colour": obj.colour, "material": obj.material, "room": room}
                yield from self._asked("several attributes", words, article(obj.kind), wrong, [obj])

    def _number(self, kind: str, words: dict[str, str], value: float, unit: str, targets: Sequence[HouseObject],
                need: int = 1) -> Iterator[AskedQuestion]:
        """Yield a question for a number; the right one has any rank among the eight."""
        rank = self._draw(f"rank {kind} {words}") % ANSWERS
        places = 2 if value < 1.0 else 1
        texts = [f"{value * _RATIO ** (k - rank):.{places}f} {unit}" for k in range(ANSWERS)]
        if len(set(texts)) == ANSWERS:
            yield from self._asked(kind, words, texts[rank], texts, targets, need)

    def _furniture(self) -> Iterator[tuple[HouseObject, dict[str, str]]]:
        for obj in self._facts.objects:
            name = self._facts.name(obj)
            if name is not None and obj.relation == "floor" and obj.size[2] > 0.3 and obj.kind not in lexicon.OPENINGS:
                yield obj, {"name": name, "is": be(obj.kind, False), "does": _does(obj)}

    def _size(self) -> Iterator[AskedQuestion]:
        for obj, words in self._furniture():
            if obj.kind in lexicon.FRONTED:
                yield from self._number("size", words, obj.size[1], "m", [obj])

    def _height(self) -> Iterator[AskedQuestion]:
        for obj, words in self._furniture():
            yield from self._number("height", words, obj.size[2], "m", [obj])

    def _distance(self) -> Iterator[AskedQuestion]:
        for (a, words), (b, others) in combinations(self._furniture(), 2):
            if a.room == b.room and (gap := self._facts.gap(a, b)) > 0.4:
                both = {"name": words["name"], "other": others["name"]}
                yield from self._number("distance", both, gap, "m", [a, b], 2)

    def _area(self) -> Iterator[AskedQuestion]:
        for room in self._facts.house.rooms:
            inside = self._facts.standing(room.id)
            if room.id in self._facts.rooms and inside:
                yield from self._number("area", {"room": self._facts.rooms[room.id]}, room.area_m2, "square metres",
                                        inside)

    def _path(self) -> Iterator[AskedQuestion]:
        furniture = sorted(self._furniture(), key=lambda pair: self._draw(f"path {pair[1]}"))[:6]
        for (a, words), (b, others) in combinations(furniture, 2):
            ends = [self._before(t) for t in (a, b)]
            if a.room != b.room and ends[0] and ends[1]:
                metres = self._place.geodesic(ends[0], ends[1])
                if 1.0 < metres < 100.0:
                    both = {"name": words["name"], "other": others["name"]}
                    yield from self._number("path", both, metres, "m", [a])

    def _before(self, obj: HouseObject) -> tuple[float, float] | None:
        """Return the free place nearest to an object."""
        return self._place.space(_ROBOT).nearest_free(obj.position[0], obj.position[1], _ROBOT.radius_m)

    def _layout(self) -> Iterator[AskedQuestion]:
        rooms = [r for r in self._facts.house.rooms if r.id in self._facts.rooms]
        kinds = {r.kind for r in self._facts.house.rooms}
        absent = [f"the {kind}" for kind in _ROOMS if kind not in kinds]
        for room in rooms:
            beside = [r for r in rooms if r is not room and _touch(room, r)]
            apart = [self._facts.rooms[r.id] for r in rooms if r is not room and not _touch(room, r)]
            for other in (r for r in beside if r.kind in _ROOMS):
                inside = self._facts.standing(other.id)
                if inside:
                    yield from self._asked("layout", {"room": self._facts.rooms[room.id]},
                                           self._facts.rooms[other.id], [*apart, *absent], inside)

    def _relation(self) -> Iterator[AskedQuestion]:
        facts = self._facts
        every = dict.fromkeys(place for t in facts.objects if (place := facts.place(t)))
        for obj in facts.objects:
            place = facts.place(obj)
            if place is None or obj.kind in lexicon.OBVIOUS or not facts.alone(obj, facts.objects):
                continue
            wrong = [other for other in every if not place.endswith(other) and not other.endswith(place)
                     and _hangs(other) == _hangs(place)]
            words = {"the thing": f"the {say(obj)}", "is": be(obj.kind, False)}
            yield from self._asked("relation", words, place, wrong, [obj])


def _touch(a: Room, b: Room) -> bool:
    """Return whether two rooms share a wall."""
    beside = max(a.x0, b.x0) - min(a.x1, b.x1), max(a.y0, b.y0) - min(a.y1, b.y1)  # gap along x and y; < 0: overlap
    return any(gap < _WALL_M and other < -_SHARED_M for gap, other in (beside, beside[::-1]))


def _does(obj: HouseObject) -> str:
    return "do" if be(obj.kind, False) == "are" else "does"


def _hangs(place: str) -> bool:
    return place.startswith(("on the wall", "on the ceiling"))
