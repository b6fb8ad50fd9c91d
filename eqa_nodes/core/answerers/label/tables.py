"""Common-sense tables about homes: uses of objects, inferences about their owners, usual answers (for guesses)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from eqa_nodes.core.language.english import canonical, content_words, same, with_article
from eqa_nodes.core.language.query import Query


class Purpose(NamedTuple):
    """A purpose in words, the objects made for it (the most direct first), and the preposition of their use."""

    words: tuple[str, ...]
    kinds: tuple[str, ...]
    preposition: str


# words of the purpose | objects for it | preposition
_PURPOSES = """
heat boil water tea | kettle, stove, microwave | with
make brew coffee espresso | coffee machine, coffee maker | with
toast bread | toaster | with
heat warm up leftovers food dinner meal | microwave, oven, stove | with
cook meal soup | cooking pot, stove, oven | on
bake cake bread roast | oven, stove | in
cut chop vegetables | cutting board, knife block | on
keep cold cool milk food store drinks fresh | refrigerator | in
wash clean dishes plates | dishwasher, sink | in
wash hands face | sink, washbasin | at
wash clothes laundry | washing machine | in
dry clothes laundry | dryer, drying rack, clothes rack | with
iron shirt clothes | ironing board, iron | on
put collect dirty laundry clothes | laundry basket, hamper | in
dry hands self | towel, hand towel, towel rack | with
bath relax hot bathtub soak | bathtub | in
shower | shower | in
brush teeth | toothbrush, sink | with
see look appearance hair self | mirror | in
check weigh weight self | bathroom scale, scale | on
clean vacuum sweep floor dust | vacuum cleaner, broom, mop | with
throw away rubbish trash garbage waste | trash can, bin | in
find date day month | calendar | with
find country world capital | globe | with
pack journey trip travel | suitcase, backpack | with
cut mow grass lawn | lawn mower | with
ride work school | bicycle | on
smooth press shirt wrinkles | iron | with
draw plan write all | whiteboard | on
feed baby child table | high chair | in
carry water | bucket, watering can | in
make music | piano, guitar | with
practise boxing box punch | punching bag | at
put away tidy toys | toy box, toy chest | in
watch fish | aquarium | at
repair fix mend broken | workbench, toolbox | at
put wet umbrella | umbrella stand | in
store bottle wine | wine rack | in
dog cat pet sleep | pet bed, dog bed | in
file papers documents | filing cabinet | in
hang up shirt dress | clothes rack, wardrobe | in
clean dirty plates dishes without washing | dishwasher | in
tell time hour late | clock, wall clock, alarm clock, grandfather clock | with
cool air hot room breeze | fan, ceiling fan, air conditioner | with
warm air room heat cold | fireplace, heater, radiator, stove | with
warm feet fire cosy | fireplace | at
light room bright dark | floor lamp, lamp, table lamp, desk lamp, ceiling lamp, ceiling light | with
read light dark | floor lamp, desk lamp, table lamp, wall lamp | with
cover warm self cold blanket | blanket | with
print letter document paper | printer | with
work computer homework study | desk, computer, laptop | at
type letter text | laptop, keyboard, computer | with
listen news music | radio, speaker, television | to
watch television movie news film | television, monitor, laptop | on
play piano practise | piano, upright piano, grand piano | at
play guitar practise | guitar | with
find something read book novel | bookshelf, bookcase | in
water plant flower | watering can | with
keep dry rain wet | umbrella | with
reach high shelf climb | ladder, step ladder, step stool | with
hang coat jacket | coat rack, coat stand, wardrobe, hook | on
put wet shoes boots | shoe rack | on
keep store clothes dress | wardrobe, dresser, chest of drawers | in
run jog leaving | treadmill | on
do cycling cycle pedal leaving | exercise bike | on
work out exercise train muscles | treadmill, exercise bike, weight bench, dumbbells, yoga mat | on
lift weights strength | weight bench, dumbbells | on
lay baby down sleep | crib, cot | in
sleep nap lie down night | bed, sofa | in
sit down seat | sofa, armchair, chair, bench | on
relax sit rest armchair | armchair, sofa | in
eat dinner meal guests | dining table, kitchen table | at
play toys child | toy box, toy chest, dollhouse | at
"""
PURPOSES = tuple(Purpose(tuple(words.split()), tuple(kind.strip() for kind in kinds.split(",")), preposition.strip())
                 for words, kinds, preposition in (line.split("|") for line in _PURPOSES.strip().splitlines()))

HINTS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {  # topic -> (answer, what gives it away)
    "pet": (("a cat", ("cat tree", "litter box", "cat bed", "cat bowl", "scratching post", "cat")),
            ("a dog", ("pet bed", "dog bed", "dog bowl", "dog house", "dog leash", "dog")),
            ("a fish", ("aquarium", "fish tank", "fish bowl")), ("a bird", ("bird cage", "birdcage"))),
    "instrument": (("the piano", ("piano", "upright piano", "grand piano", "keyboard")),
                   ("the guitar", ("guitar", "acoustic guitar")), ("the violin", ("violin",)),
                   ("the cello", ("cello",)), ("the drums", ("drum", "drums", "drum kit"))),
    "sport": (("running", ("treadmill",)), ("cycling", ("exercise bike", "bicycle")), ("basketball", ("basketball",)),
              ("football", ("football", "soccer ball")), ("yoga", ("yoga mat",)), ("skateboarding", ("skateboard",)),
              ("boxing", ("punching bag",)),
              ("weight training", ("dumbbell", "dumbbells", "dumbbell rack", "barbell", "weight bench", "kettlebell")),
              ("tennis", ("tennis racket",)), ("golf", ("golf bag",))),
    "hobby": (("painting", ("easel",)), ("astronomy", ("telescope",)), ("photography", ("camera", "tripod")),
              ("chess", ("chess board", "chess set", "chessboard")), ("sewing", ("sewing machine",))),
}
_CHILD = ("high chair", "crib", "cot", "toy box", "toy car", "toy train", "building blocks", "dollhouse", "teddy bear")
SIGNS = {"pet": ("pet bed", *(kind for _, kinds in HINTS["pet"] for kind in kinds)),  # topic -> what gives it away
         "child": _CHILD, "baby": _CHILD, "toddler": _CHILD}
OFFERS = {"read": ("book", "magazine", "newspaper", "notebook"), "drink": ("cup", "glass", "wine glass", "bottle"),
          "eat": ("cereal box", "bread", "cake", "pizza", "banana", "apple", "sandwich", "cookie jar")}
SEATS = ("sofa", "armchair", "bench", "ottoman", "chair", "office chair", "bar stool")

_USUAL_COLOUR = {
    "sofa": "gray", "television": "black", "monitor": "black", "laptop": "black", "piano": "black",
    "refrigerator": "white", "bathtub": "white", "toilet": "white", "washing machine": "white", "bed": "white",
    "desk": "brown", "table": "brown", "chair": "brown", "bookshelf": "brown", "plant": "green",
}
_USUAL_MATERIAL = {
    "sofa": "fabric", "armchair": "fabric", "rug": "fabric", "cushion": "fabric", "towel": "fabric",
    "blanket": "fabric", "refrigerator": "metal", "kettle": "metal", "cooking pot": "metal", "sink": "metal",
    "cup": "ceramic", "vase": "ceramic", "plate": "ceramic", "bowl": "ceramic", "toilet": "ceramic",
    "bathtub": "ceramic", "bottle": "glass", "mirror": "glass", "trash can": "plastic",
}
_USUAL_ROOM = {
    "television": "living room", "sofa": "living room", "bookshelf": "living room", "plant": "living room",
    "piano": "living room", "kettle": "kitchen", "microwave": "kitchen", "stove": "kitchen", "toaster": "kitchen",
    "refrigerator": "kitchen", "coffee machine": "kitchen", "desk": "study", "printer": "study", "laptop": "study",
    "washing machine": "laundry room", "ironing board": "laundry room", "bathtub": "bathroom", "scale": "bathroom",
    "wardrobe": "bedroom", "dining table": "dining room", "bicycle": "garage", "treadmill": "workout room",
    "exercise bike": "workout room", "coat rack": "entryway",
}
_USUAL_STATES = frozenset(("off", "closed", "made", "full", "clean"))
_FIXED_GUESSES = {
    "count": "2", "seats": "4", "bath": "only a shower", "sit_for": "on the sofa in the living room", "more": "2",
    "wasting": "the ceiling lamp",
}
_USUALLY_THERE = {"on": "vase", "above": "painting", "between": "coffee table", "left of": "side table",
                  "right of": "side table", "next to": "table"}  # relation -> what is usually there


@lru_cache(maxsize=256)
def purpose_of(text: str) -> Purpose | None:
    """Return the purpose that shares most words with a text, the more specific on a tie; None when none shares any."""
    words = set(content_words(text))

    def shared(row: Purpose) -> tuple[int, float]:
        common = sum(canonical(word) in words for word in row.words)
        return common, common / len(row.words)

    best = max(PURPOSES, key=shared)
    return best if shared(best)[0] else None


def guess(asked: Query) -> tuple[str, float]:
    """Return the usual answer to a question about a home that was not seen, and how often that may be right."""
    kind = canonical(asked.things[0].kind) if asked.things else ""
    if asked.form in _FIXED_GUESSES:
        return _FIXED_GUESSES[asked.form], 0.2
    if asked.form == "list" and asked.things[0].support is not None:
        return with_article(_USUALLY_THERE.get(asked.things[0].relation, "vase")), 0.2
    if asked.form == "choice":
        options = [option.looks or f"the {option.name}" for option in asked.predicates]
        return next((option for option in options if option in _USUAL_STATES), options[0]), 0.5
    if asked.form == "side" and not asked.aspect:
        return "to the left", 0.5
    if asked.form == "colour":
        return _USUAL_COLOUR.get(kind, "white"), 0.2
    if asked.form == "material":
        return _USUAL_MATERIAL.get(kind, "wood"), 0.4
    if asked.form == "closer":
        return f"the {asked.things[1].kind}", 0.5
    if asked.form in ("where", "room", "use"):
        return _guess_place(asked, kind)
    if asked.form == "hint":
        return HINTS[asked.aspect][0][0], 0.3
    if asked.form == "is" and asked.predicates[0].state and asked.predicates[0].state not in _USUAL_STATES:
        return "no", 0.5
    return "yes", 0.5 if asked.form else 0.1


def _guess_place(asked: Query, kind: str) -> tuple[str, float]:
    use = asked.things[0].use if asked.things else ""
    purpose = purpose_of(use) if use else None
    kind = purpose.kinds[0] if purpose else kind
    room = next((room for obj, room in _USUAL_ROOM.items() if same(obj, kind)), "living room")
    if "room" in (asked.form, asked.aspect):
        return f"the {room}", 0.3
    if asked.aspect == "tool":
        return f"the {kind}" if purpose else "a tool", 0.3
    if purpose and asked.aspect != "where":
        return f"{purpose.preposition} the {kind} in the {room}", 0.4
    return (f"in the {room}" if kind in _USUAL_ROOM else f"on the table in the {room}"), 0.15
