"""What a model calls the things it sees: general words, look-alikes, and values that are easily misread."""

from __future__ import annotations

from collections.abc import Sequence

# Each row: kinds that look alike from afar. A kind is confused within the first row that holds it.
_ALIKE = """
sofa, armchair, ottoman, bench
chair, stool, office chair, bar stool, high chair
desk, dining table, kitchen table, console table, workbench
coffee table, ottoman, side table, bench
nightstand, side table, filing cabinet
wardrobe, wall cabinet, display cabinet, refrigerator
sideboard, dresser, tv stand, console table, filing cabinet
bookshelf, metal shelf, pantry shelf, display cabinet, wall shelf, bathroom shelf
television, computer monitor, painting
painting, mirror, picture frame, whiteboard, calendar, window
washing machine, dryer, dishwasher, oven
microwave, oven, toaster
kettle, jar, coffee machine, water bottle
bottle, water bottle, vase, detergent bottle, soap dispenser, candle
mug, toothbrush cup, vase, jar
plate, fruit bowl, cutting board
book, laptop, cereal box, picture frame
basket, laundry basket, bucket, trash can, cardboard box, toy box
backpack, suitcase, cushion
hat, cushion, ball
potted plant, house plant, cactus, vase
floor lamp, coat rack, fan
table lamp, desk lamp, vase
ceiling lamp, pendant lamp
wall clock, alarm clock, globe
rug, doormat, bath mat, yoga mat
treadmill, exercise bike, bicycle
ball, exercise ball, globe
teddy bear, cushion, toy car
toilet paper, towel, candle
iron, kettle, toy car
keyboard, laptop, book
speaker, trash can, nightstand
broom, vacuum cleaner, ladder
pet bed, cushion, basket
tire, exercise ball
guitar, broom
door, wardrobe, front door
curtains, towel
"""
_GENERAL = {
    "floor lamp": "lamp", "table lamp": "lamp", "desk lamp": "lamp", "wall lamp": "lamp", "pendant lamp": "lamp",
    "ceiling lamp": "ceiling light", "potted plant": "plant", "house plant": "plant", "sofa": "couch",
    "television": "TV", "refrigerator": "fridge", "computer monitor": "monitor", "office chair": "chair",
    "console table": "table", "side table": "table", "coffee table": "table", "dining table": "table",
    "kitchen table": "table", "display cabinet": "cabinet", "wall cabinet": "cabinet", "filing cabinet": "cabinet",
    "bathroom sink": "sink", "kitchen sink": "sink", "wall clock": "clock", "alarm clock": "clock",
    "metal shelf": "shelf", "pantry shelf": "shelf", "wall shelf": "shelf", "bathroom shelf": "shelf",
    "bookshelf": "shelf", "trash can": "bin", "laundry basket": "basket", "cardboard box": "box", "toy box": "box",
    "water bottle": "bottle", "detergent bottle": "bottle", "kitchen counter": "counter", "mug": "cup",
    "exercise ball": "ball", "bath mat": "mat", "bar stool": "stool", "cooking pot": "pot", "book": "book",
}
# Each row: values that are taken for each other.
_MISREAD = """
gray, silver, beige, white
black, gray, navy, blue
brown, orange, red, gold
yellow, gold, beige
green, teal, blue
pink, purple, red
wood, plastic, cardboard, wicker
metal, plastic, ceramic, glass
fabric, leather, paper
stone, ceramic, marble
on, off
open, closed
made, unmade
full, empty
clean, dirty
running, off
"""


def _rows(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(word.strip() for word in row.split(",")) for row in text.strip().splitlines())


_LOOK_ALIKES, _VALUES = _rows(_ALIKE), _rows(_MISREAD)


def look_alikes(kind: str) -> Sequence[str]:
    """Return the kinds that one may be taken for; () where nothing looks like it."""
    row = next((row for row in _LOOK_ALIKES if kind in row), ())
    return [other for other in row if other != kind]


def misread_as(value: str) -> Sequence[str]:
    """Return the values that one may be taken for; () where none is near."""
    row = next((row for row in _VALUES if value in row), ())
    return [other for other in row if other != value]


def general_word(kind: str) -> str:
    """Return the word that does not tell a kind from its relatives; the kind where there is none."""
    return _GENERAL.get(kind, kind)
