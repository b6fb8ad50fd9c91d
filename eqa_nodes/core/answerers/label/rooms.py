"""The rooms in which an object usually is, by common sense, and the rooms that are worth a visit for a question."""

from __future__ import annotations

from functools import cache

from eqa_nodes.core.answerers.label.tables import HINTS, SEATS, SIGNS
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.naming import kept_in, members
from eqa_nodes.core.language.query import Query
from eqa_nodes.core.types.questions import RankedRegion

_SOMETIMES = 0.35  # as likely as that beside a room where an object usually is
_ANYWHERE = {"living room": 0.25, "bedroom": 0.25, "kitchen": 0.2, "hallway": 0.1, "bathroom": 0.1, "study": 0.1}

# room | usually there | sometimes there
_USUAL = """
kitchen | stove, oven, refrigerator, microwave, toaster, kettle, coffee machine, coffee maker, dishwasher, dish rack, \
kitchen counter, kitchen sink, kitchen island, kitchen table, range hood, knife block, cutting board, cooking pot, \
spice rack, fruit bowl, bar stool, cereal box, plate, mug, cup, bowl, wall cabinet, jar | table, chair, high chair, \
bottle, wine rack, trash can, stool, broom, calendar, wall clock, vase, pendant lamp, bucket
living room | sofa, couch, television, tv stand, coffee table, armchair, fireplace, piano, aquarium, ottoman, \
bookshelf, floor lamp, speaker, guitar, cushion, pet bed, remote control | side table, potted plant, house plant, \
painting, picture frame, rug, vase, candle, book, globe, wall clock, sideboard, display cabinet, blanket, table lamp, \
teddy bear, console table, cactus, toy car, building blocks
bedroom | bed, nightstand, wardrobe, dresser, alarm clock, crib, toy box, teddy bear, pillow, dollhouse | desk, \
mirror, rug, table lamp, chair, book, painting, curtains, laundry basket, picture frame, toy car, building blocks, \
ball, backpack, suitcase, guitar, hat, desk lamp, bench, clothes rack, laptop, globe, wall shelf
bathroom | toilet, bathtub, shower, bathroom sink, bath mat, toothbrush cup, toilet paper, bathroom scale, scale, \
bathroom shelf, towel, soap dispenser, washbasin, toothbrush | mirror, laundry basket, trash can, stool, plant, \
candle, basket
study | desk, office chair, computer monitor, keyboard, printer, filing cabinet, whiteboard, desk lamp, laptop, \
computer, globe, bookshelf | book, guitar, piano, calendar, trash can, wall clock, armchair, cactus, potted plant, \
speaker
dining room | dining table, display cabinet, sideboard, wine rack, chair | high chair, vase, candle, painting, \
pendant lamp, plate, fruit bowl, piano, rug
hallway | console table, coat rack, shoe rack, umbrella stand | mirror, painting, bench, rug, potted plant, wall \
lamp, shoes, side table, picture frame, wall clock, hat
entryway | front door, coat rack, shoe rack, umbrella stand, doormat, shoes | mirror, bench, console table, backpack, \
hat, suitcase, umbrella
laundry room | washing machine, dryer, ironing board, iron, drying rack, detergent bottle, laundry basket | clothes \
rack, bucket, broom, vacuum cleaner, mop, basket, bathroom sink
garage | workbench, toolbox, bicycle, lawn mower, tire, ladder, metal shelf, car | cardboard box, bucket, trash can, \
broom, vacuum cleaner, ball, suitcase
workout room | treadmill, exercise bike, weight bench, dumbbell rack, yoga mat, punching bag, exercise ball, dumbbell \
| water bottle, speaker, towel, mirror, television, bench
pantry | pantry shelf, wine rack, cereal box, jar | bottle, cardboard box, basket, broom, bucket
closet | clothes rack, suitcase, vacuum cleaner | cardboard box, hat, shoes, shoe rack, broom, ladder
"""
_TABLE = tuple((room.strip(), tuple(kind.strip() for kind in usual.split(",")),
                tuple(kind.strip() for kind in rarely.split(",")))
               for room, usual, rarely in (line.split("|") for line in _USUAL.strip().splitlines()))


@cache
def rooms_of(kind: str) -> dict[str, float]:
    """Return the usual rooms of an object with weights that sum to 1; for unknown objects the common rooms."""
    name = canonical(kind)
    found = {}
    for room, usual, rarely in _TABLE:
        if name in map(canonical, usual):
            found[room] = 1.0
        elif name in map(canonical, rarely):
            found[room] = _SOMETIMES
    total = sum(found.values())
    return {room: weight / total for room, weight in found.items()} if found else dict(_ANYWHERE)


def regions_for(asked: Query) -> list[RankedRegion]:
    """Return the rooms where the answer may be, best first; the room that the question names, where it names one."""
    if asked.rooms:
        return [RankedRegion(room, 1.0) for room in sorted(asked.rooms)]
    kinds = _kinds(asked)
    weights: dict[str, float] = {}
    for kind in kinds:
        for room, weight in rooms_of(kind).items():
            weights[room] = weights.get(room, 0.0) + weight / len(kinds)
    return [RankedRegion(room, round(weights[room], 4)) for room in sorted(weights, key=lambda r: (-weights[r], r))]


def _kinds(asked: Query) -> list[str]:
    """Return the objects that a question is about: named, lying on named ones, or made for its purpose."""
    named = [kind for thing in asked.subjects for kind in (
        *(thing.kinds or (thing.kind,)), thing.support.kind if thing.support else "") if kind]
    if named:
        return [kind for name in named for kind in (*members(name), *kept_in(name))] or named
    if asked.form == "hint":
        return [kind for _, kinds in HINTS[asked.aspect] for kind in kinds]
    if asked.form == "sign":
        return list(SIGNS[asked.aspect])
    return list(SEATS) if asked.form == "sit_for" else [""]
