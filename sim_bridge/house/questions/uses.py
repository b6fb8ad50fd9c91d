"""Uses of household objects, and what they reveal about the people who own them."""

from __future__ import annotations

from typing import NamedTuple


class Use(NamedTuple):
    """A purpose and the kinds of objects made for it, the most direct first. prep: preposition for using them;
    also: kinds that also serve the purpose, but are not asked for."""

    purpose: str
    kinds: tuple[str, ...]
    prep: str = "at"
    also: tuple[str, ...] = ()


TOOLS = (  # What can I use to ...? Asked if a home has one of several kinds; else what the object looks like.
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
    Use("read without the ceiling light", ("floor lamp", "desk lamp", "table lamp", "wall lamp")),
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
PLACES = (  # What color is the object in which I can ...? Their place is obvious, so only their look is asked.
    Use("wash my clothes", ("washing machine",), "in"),
    Use("dry my clothes", ("dryer", "drying rack"), "in"),
    Use("play the piano", ("piano",), "at"),
    Use("hang my coat", ("coat rack",), "on"),
    Use("put my dirty laundry", ("laundry basket",), "in"),
    Use("find something to read", ("bookshelf",), "in"),
    Use("iron a shirt", ("ironing board",), "on"),
    Use("work on a computer", ("desk",), "at"),
    Use("check my weight", ("bathroom scale",), "on"),
    Use("go for a run", ("treadmill",), "on"),
    Use("practise boxing", ("punching bag",), "at"),
    Use("put my wet shoes", ("shoe rack",), "on"),
    Use("keep milk cold", ("refrigerator",), "in"),
    Use("bake a cake", ("oven",), "in"),
    Use("put away toys", ("toy box",), "in"),
    Use("repair a broken chair", ("workbench",), "at"),
    Use("put my wet umbrella", ("umbrella stand",), "in"),
    Use("store a bottle of wine", ("wine rack",), "in"),
    Use("let my dog sleep", ("pet bed",), "in"),
    Use("clean dirty plates", ("dishwasher",), "in"),
    Use("file some papers", ("filing cabinet",), "in"),
    Use("hang up a shirt", ("clothes rack", "wardrobe"), "in"),
)
SCATTERED = (  # Where can I find something to ...? Objects whose place differs between homes.
    Use("tell the time", ("wall clock", "alarm clock")),
    Use("find out the date", ("calendar",)),
    Use("pack for a journey", ("suitcase", "backpack")),
    Use("clean the floor", ("vacuum cleaner", "broom")),
    Use("type a letter", ("laptop", "keyboard")),
    Use("collect dirty laundry", ("laundry basket",)),
    Use("carry water", ("bucket",)),
    Use("smooth a shirt", ("iron",)),
)


class Hint(NamedTuple):
    """What objects reveal about the people who own them."""

    question: str
    answers: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]  # answer, its evidence, other correct answers


HINTS = (
    Hint("What instrument does someone here play?", (
        ("the piano", ("piano",), ("piano",)), ("the guitar", ("guitar",), ("guitar",)))),
    Hint("What sport does someone here do?", (
        ("running", ("treadmill",), ()), ("cycling", ("exercise bike", "bicycle"), ()),
        ("weight training", ("dumbbell rack", "weight bench"), ("weights",)),
        ("yoga", ("yoga mat",), ()), ("boxing", ("punching bag",), ()))),
    Hint("What kind of pet lives here?", (
        ("a dog", ("pet bed",), ("a cat", "a dog or a cat")), ("fish", ("aquarium",), ("a fish",)))),
)


class TableItem(NamedTuple):
    """Something that may be on a table. unsure: kinds for which the answer is ambiguous."""

    what: str
    kinds: tuple[str, ...]
    unsure: tuple[str, ...] = ()


OFFERS = (
    TableItem("to read", ("book",), ("cereal box", "laptop", "calendar")),
    TableItem("to drink from", ("mug",), ("bottle", "water bottle", "jar", "coffee machine", "vase", "kettle")),
    TableItem("to eat", ("cereal box",), ("jar", "fruit bowl", "plate", "cooking pot")),
)
OFFERING = ("dining table", "kitchen table", "coffee table", "side table", "console table", "desk", "sideboard",
            "dresser", "nightstand", "kitchen island")
