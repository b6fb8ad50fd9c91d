"""Words about household objects: ambiguous names, everyday names, and objects with a visible state. See words.json."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from sim_bridge.house.scene import HouseObject

_WORDS = json.loads(resources.files(__package__).joinpath("words.json").read_text(encoding="utf-8"))

SPOKEN: dict[str, str] = _WORDS["spoken"]
ALSO: dict[str, str] = _WORDS["also"]  # other correct names of an object that a question asks for
DOORS = ("door",)
OPENINGS = ("door", "window", "curtains", "front door")  # in the wall, not on it
BUILT_IN = ("kitchen counter", "kitchen sink")  # one continuous worktop: people do not say what is next to it
MASS = frozenset(("toilet paper", "bread", "pet food"))
SINGULAR_S = frozenset(("canvas", "mattress"))
_SHOWS: dict[str, list[str]] = _WORDS["shows"]  # visible unlabelled objects of another kind: plates in a dish rack
_PLAIN_NAMES = frozenset(("pet bed", "high chair", "weight bench"))  # never meant by the last word alone
_GROUPS: dict[str, set[str]] = {}  # kinds that look alike: no question asks about one if another could be meant
for _group in _WORDS["alike"]:
    for _kind in _group:
        _GROUPS.setdefault(_kind, set()).update(_group)


@cache
def confusable(kind: str, other: str) -> bool:
    """Return whether a person could mean `other` by the name `kind`: same, more special, or looking alike."""
    special = other not in _PLAIN_NAMES and kind not in _PLAIN_NAMES
    return (kind == other or other in _GROUPS.get(kind, ()) or kind in _SHOWS.get(other, ())
            or (special and (other.endswith(" " + kind) or kind.endswith(" " + other))))


def _of_colours(table: str) -> dict[str, tuple[str, ...]]:
    return {colour: tuple(others) for colour, others in _WORDS[table].items()}


BELONGINGS = frozenset(_WORDS["belongings"])  # portable, asked for as "my ..."
OBVIOUS = frozenset(_WORDS["obvious"])  # nobody asks which room the toilet is in
CLUTTERED = frozenset(_WORDS["cluttered"])  # with unlabelled objects of their own: no question asks what is on them
COVERED = {"bed": "blanket"}  # the part that shows the colour of these objects, instead of their frame
COLOUR_UNCLEAR = frozenset(_WORDS["colour_unclear"])  # several colours, or one that is known without looking
MATERIAL_VARIES = frozenset(_WORDS["material_varies"])
MATERIAL_HIDDEN = ("black",)  # neither grain nor weave shows in these colours
PALE_WHEN_LIT = ("white", "beige")  # shades of these colours look alike with light behind them
PALE_METAL = ("white", "gray", "silver")  # metal of these colours looks alike, because it reflects its surroundings
TYPICAL: dict[str, list[str]] = _WORDS["typical"]  # objects that reveal the kind of a room
SAME_ROOM = {"entryway": "hallway", "hallway": "entryway"}  # a partial view does not distinguish them
BEDS = ("bed",)
CHAIRS = ("chair",)
SEATS = ("sofa", "armchair")
ELECTRIC = ("floor lamp", "table lamp", "desk lamp", "wall lamp", "ceiling lamp", "pendant lamp", "television",
            "computer monitor")
ALWAYS_ONE = frozenset(_WORDS["always_one"])  # their number is known without looking
FRONTED = frozenset(_WORDS["fronted"])  # their front is unambiguous, so that left and right of them are defined
FLOWING = frozenset(("kitchen sink", "bathroom sink"))  # objects that are running or off
STATE_NOT_ASKED = frozenset(_WORDS["state_not_asked"])  # the state is too small to be seen reliably
NEVER_FULL = frozenset(_WORDS["never_full"])  # people do not call them full
SAME_FROM_ALL_SIDES = frozenset(_WORDS["same_from_all_sides"])  # their state needs no view from the front
WRONG_COLOURS = _of_colours("wrong_colours")  # very different from the true colour under any light
NEAR_COLOURS = _of_colours("near_colours")


def front_of(obj: HouseObject) -> int:
    """Return the instance that must be viewed from its front to see its state; 0 if any side suffices."""
    return 0 if obj.kind in SAME_FROM_ALL_SIDES else obj.id


def colour_unclear(obj: HouseObject) -> bool:
    """Return whether people could disagree about the colour: several colours, pale metal, a pale lit shade."""
    pale = obj.state == "on" and obj.kind in ELECTRIC and obj.colour in PALE_WHEN_LIT
    return obj.kind in COLOUR_UNCLEAR or pale or (obj.material == "metal" and obj.colour in PALE_METAL)
