"""Sorts and containers: what counts as fruit, what holds it, and names that only sound alike."""

from __future__ import annotations

from functools import cache

from eqa_nodes.core.language.english import canonical, normalise, singular

# name or names | the kinds of objects that it stands for
_GROUPS = """
fruit | apple, banana, orange, pear, lemon, lime, grape, peach, plum, kiwi, mango, melon, pineapple, strawberry, cherry
vegetable | carrot, broccoli, potato, tomato, onion, cucumber, pepper, lettuce, cabbage
food, snack, something to eat | apple, banana, orange, bread, cake, pizza, sandwich, donut, hot dog, cereal box, \
cookie jar, carrot, broccoli, cheese, egg
drink, beverage, something to drink | bottle, water bottle, wine bottle, beer bottle, wine rack, juice, milk, soda, \
coffee, tea, can
furniture, piece of furniture | sofa, armchair, chair, office chair, table, coffee table, dining table, \
kitchen table, side table, console table, desk, bed, crib, nightstand, wardrobe, dresser, chest of drawers, \
bookshelf, shelf, cabinet, \
display cabinet, filing cabinet, sideboard, tv stand, bench, stool, bar stool, ottoman, workbench, metal shelf, \
pantry shelf, high chair, kitchen island, couch
seat, seating, place to sit, something to sit on | sofa, armchair, chair, office chair, bench, stool, bar stool, ottoman
cutlery, silverware, flatware | knife, fork, spoon, teaspoon, chopsticks
crockery, tableware, dish, dishes, dishware | plate, bowl, cup, mug, saucer
cookware, pots and pans, pan | cooking pot, pot, frying pan, saucepan, wok
appliance, household appliance, kitchen appliance | refrigerator, oven, stove, microwave, toaster, kettle, \
coffee machine, dishwasher, washing machine, dryer, vacuum cleaner, iron, fan, blender, freezer, air conditioner
electronics, electronic device, device, gadget | television, computer monitor, computer, laptop, printer, speaker, \
radio, mobile phone, tablet, keyboard, remote control, camera, alarm clock
screen, display | television, computer monitor, monitor
plant, greenery | plant, cactus, tree, flower, bonsai, fern, palm
light, light source | lamp, candle holder, chandelier, lantern, spotlight
toy | teddy bear, toy car, toy train, building blocks, dollhouse, doll, toy ball, puzzle, rocking horse, kite
clothes, clothing, garment, something to wear | hat, coat, jacket, shirt, dress, trousers, shoes, scarf, glove, sock, \
belt, tie, sweater
footwear | shoes, boots, sandals, slippers
bag, luggage | backpack, suitcase, handbag, duffel bag, briefcase, shopping bag, school bag
musical instrument, instrument | guitar, piano, violin, cello, drum, flute, trumpet, harp, accordion
picture, artwork, photo, photograph, poster, art | painting, picture frame, photo, poster
shelf, shelving | bookshelf, shelf, metal shelf, wall shelf, pantry shelf, bathroom shelf
tool | hammer, screwdriver, wrench, drill, saw, pliers, toolbox
gym equipment, fitness equipment, sports equipment, exercise equipment, exercise machine | treadmill, exercise bike, \
weight bench, dumbbell rack, dumbbell, barbell, punching bag, yoga mat, exercise ball, kettlebell
weight | dumbbell, dumbbell rack, barbell, kettlebell
vehicle | car, bicycle, motorcycle, scooter
pet, animal | cat, dog, bird, fish, rabbit, hamster
bedding | blanket, pillow, cushion, duvet, bedspread
tap, water tap | faucet, kitchen sink, bathroom sink, sink
timepiece | clock, wall clock, alarm clock, watch
floor covering | rug, bath mat, doormat, yoga mat
computer | laptop, computer
reading material, something to read | book, magazine, newspaper, notebook, comic
wc, loo | toilet
storage box, box | cardboard box, toy box, toolbox
"""
# what is kept | in what: its state (full, empty) tells whether there is any
_KEPT_IN = """
fruit | fruit bowl
laundry, dirty laundry, washing, dirty clothes | laundry basket, drying rack
knife, cutlery | knife block
wine, bottle of wine, drink | wine rack
spice, salt, pepper | spice rack
umbrella | umbrella stand
coat, jacket | coat rack
dish, dishes, crockery | dish rack
toothbrush | toothbrush cup
soap | soap dispenser
cereal | cereal box
tool | toolbox
detergent | detergent bottle
fish | aquarium
weight, dumbbell | dumbbell rack
"""
# Their last word names something else: a pet bed is no bed. Of mats only "mat" says so, not "rug".
_BY_FULL_NAME = frozenset((
    "pet bed", "dog bed", "cat bed", "toy car", "toy train", "toy box", "high chair", "exercise bike", "weight bench",
    "teddy bear", "dog house", "doll house", "bird house", "toilet paper", "paper towel", "range hood", "knife block",
    "kitchen island", "punching bag", "cutting board", "ironing board", "rocking horse", "cat tree", "hot dog",
    "tv stand", "umbrella stand", "plant stand", "range", "fruit bowl stand"))
_LITERAL = frozenset(("yoga mat", "bath mat", "exercise mat", "door mat"))


def _table(text: str) -> dict[str, tuple[str, ...]]:
    rows = (line.split("|") for line in text.strip().splitlines())
    return {singular(normalise(name)): tuple(map(normalise, kinds.split(","))) for names, kinds in rows
            for name in names.split(",")}


GROUPS, KEPT_IN = _table(_GROUPS), _table(_KEPT_IN)
GROUP_WORDS = frozenset(f"{_GROUPS} {_KEPT_IN}".replace("|", " ").replace(",", " ").split())


def members(name: str) -> tuple[str, ...]:
    """Return the kinds that a name of a group ("fruit", "furniture") stands for; () for a name of one kind."""
    return GROUPS.get(singular(name), ())


def kept_in(name: str) -> tuple[str, ...]:
    """Return the kinds of objects that contain the named one ("fruit": a fruit bowl)."""
    return KEPT_IN.get(singular(name), ())


@cache
def by_head(kind: str, name: str) -> bool:
    """Return whether a kind is a special case of a name by its last words: a floor lamp is a lamp, a pet bed no bed."""
    kind = normalise(kind)
    if kind in _BY_FULL_NAME:
        return False
    return kind.endswith(f" {name}") or (kind not in _LITERAL and canonical(kind).endswith(f" {canonical(name)}"))


@cache
def in_group(kind: str, name: str) -> bool:
    """Return whether a kind belongs to the group that a name stands for, as a whole or by its last words."""
    own = canonical(kind)
    return any(own == canonical(member) or by_head(kind, member) for member in members(name))
