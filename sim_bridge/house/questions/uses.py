"""Uses of household objects, and what they reveal about the people who own them."""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple


class Use(NamedTuple):
    """A purpose and the kinds of objects made for it, the most direct first. prep: preposition for using them;
    also: kinds that also serve the purpose, but are not asked for."""

    purpose: str
    kinds: tuple[str, ...]
    prep: str = "at"
    also: tuple[str, ...] = ()


def _asked(how: str) -> tuple[Use, ...]:
    """Return the uses of uses.csv that are asked for in one way."""
    lines = resources.files(__package__).joinpath("uses.csv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [[cell.strip() for cell in f"{line};".split(";")] for line in lines]
    return tuple(Use(purpose, _kinds(kinds), prep, _kinds(also[0])) for asked, purpose, kinds, prep, *also in rows
                 if asked == how)


def _kinds(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(", ")) if cell else ()


TOOLS = _asked("tools")  # What can I use to ...? Asked if a home has one of several kinds; else what it looks like.
PLACES = _asked("places")  # What color is the object in which I can ...? Its place is obvious, so its look is asked.
SCATTERED = _asked("scattered")  # Where can I find something to ...? Objects whose place differs between homes.


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
