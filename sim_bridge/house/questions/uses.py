"""What household things are for, and what they tell about the people who own them."""

from __future__ import annotations

from typing import NamedTuple


class Use(NamedTuple):
    """What people want to do, and the kinds of things made for it, the most direct first; prep: how they
    use them; also: what would do as well, but is not asked for."""

    purpose: str
    kinds: tuple[str, ...]
    prep: str = "at"
    also: tuple[str, ...] = ()


TOOLS = (  # What can I use to ... in the room?
    Use("heat water", ("kettle",), also=("oven", "microwave")),
    Use("make coffee", ("coffee machine",)),
    Use("toast bread", ("toaster",)),
    Use("warm up leftovers", ("microwave", "oven")),
    Use("cook soup", ("cooking pot",), also=("oven",)),
    Use("clean the floor", ("vacuum cleaner", "broom")),
    Use("tell the time", ("wall clock", "alarm clock")),
    Use("find out the date", ("calendar",)),
    Use("cool the air", ("fan",)),
    Use("warm up the room", ("fireplace",)),
    Use("throw away some rubbish", ("trash can",)),
    Use("see how I look", ("mirror",)),
    Use("read in the dark", ("floor lamp", "desk lamp", "table lamp", "wall lamp"),
        also=("ceiling lamp", "pendant lamp")),
    Use("print a letter", ("printer",)),
    Use("watch a film", ("television", "laptop", "computer monitor")),
    Use("listen to music", ("speaker",)),
    Use("make music", ("piano", "guitar")),
    Use("dry my hands", ("towel",)),
    Use("reach something high up", ("ladder",)),
    Use("weigh myself", ("bathroom scale",)),
    Use("find a country", ("globe",), also=("laptop",)),
    Use("pack for a journey", ("suitcase", "backpack")),
    Use("cut the grass", ("lawn mower",)),
    Use("ride to work", ("bicycle",)),
    Use("smooth a shirt", ("iron",)),
    Use("draw a plan for all to see", ("whiteboard",)),
    Use("feed a baby at the table", ("high chair",)),
    Use("carry water", ("bucket",)),
    Use("type a letter", ("laptop", "keyboard")),
)
PLACES = (  # Where can I ...?
    Use("wash my clothes", ("washing machine",), "in"),
    Use("dry my clothes", ("dryer", "drying rack"), "in"),
    Use("play the piano", ("piano",), "at"),
    Use("take a bath", ("bathtub",), "in"),
    Use("take a shower", ("shower",), "in"),
    Use("hang my coat", ("coat rack",), "on"),
    Use("put my dirty laundry", ("laundry basket",), "in"),
    Use("find something to read", ("bookshelf",), "in"),
    Use("iron a shirt", ("ironing board",), "on"),
    Use("work on a computer", ("desk",), "at"),
    Use("check my weight", ("bathroom scale",), "on"),
    Use("go for a run without leaving home", ("treadmill",), "on"),
    Use("do some cycling without leaving home", ("exercise bike",), "on"),
    Use("practise boxing", ("punching bag",), "at"),
    Use("warm my feet by a fire", ("fireplace",), "at"),
    Use("put my wet shoes", ("shoe rack",), "on"),
    Use("keep milk cold", ("refrigerator",), "in"),
    Use("bake a cake", ("oven",), "in"),
    Use("relax in an armchair", ("armchair",), "in"),
    Use("put away toys", ("toy box",), "in"),
    Use("watch fish", ("aquarium",), "at"),
    Use("repair a broken chair", ("workbench",), "at"),
    Use("put my wet umbrella", ("umbrella stand",), "in"),
    Use("store a bottle of wine", ("wine rack",), "in"),
    Use("find a quiet place for my dog to sleep", ("pet bed",), "in"),
    Use("clean dirty plates without washing up", ("dishwasher",), "in"),
    Use("file some papers", ("filing cabinet",), "in"),
    Use("hang up a shirt", ("clothes rack", "wardrobe"), "in"),
)


class Hint(NamedTuple):
    """What things tell about the people who own them."""

    question: str
    answers: tuple[tuple[str, tuple[str, ...]], ...]  # answer -> kinds that give it away


HINTS = (
    Hint("What instrument does someone here play?", (("the piano", ("piano",)), ("the guitar", ("guitar",)))),
    Hint("What sport does someone here do?", (
        ("running", ("treadmill",)), ("cycling", ("exercise bike", "bicycle")),
        ("weight training", ("dumbbell rack", "weight bench")),
        ("yoga", ("yoga mat",)), ("boxing", ("punching bag",)))),
    Hint("Do I have a pet?", (("yes", ("pet bed", "aquarium")),)),
    Hint("Does a small child live here?", (("yes", ("high chair", "toy box", "building blocks", "toy car")),)),
)


class Offer(NamedTuple):
    """Something that may be on a table; unsure: kinds that leave doubt."""

    what: str
    kinds: tuple[str, ...]
    unsure: tuple[str, ...] = ()


OFFERS = (
    Offer("to read", ("book",), ("cereal box", "laptop", "calendar")),
    Offer("to drink from", ("mug",), ("bottle", "water bottle", "jar", "coffee machine", "vase", "kettle")),
    Offer("to eat", ("cereal box",), ("jar", "fruit bowl", "plate", "cooking pot")),
)
OFFERING = ("dining table", "kitchen table", "coffee table", "side table", "console table", "desk", "sideboard",
            "dresser", "nightstand", "kitchen island")
