"""What the simulated model says of the things it saw, so that it can read it again in its notes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.label.scene import Seen
from eqa_nodes.core.language.english import COLOURS
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe, Label, Sighting

_SEEN = re.compile(r"Seen: ([^.\n]*)\.")
_TIMES = re.compile(r"(\d+) x (.+)")
_STATE = re.compile(r" \(([a-z ]+)\)")
_ON = re.compile(r"(.+?) (on|in|under) the (.+)")
_MATERIALS = frozenset(("wood", "plastic", "cardboard", "wicker", "metal", "ceramic", "glass", "fabric", "leather",
                        "paper", "stone", "marble", "rubber", "wax"))
_MOST = 8  # kinds of things that one reply tells of
_PIXELS = 75  # of a thing that is only remembered: the rules are less sure of it
_FIRST = -1  # instance of the first remembered thing; the next ones count down


class Noted(NamedTuple):
    """A kind of thing as it was noted, and how many of them there were."""

    kind: str
    room: str
    attributes: dict[str, str]
    times: int


def told(things: Iterable[Seen]) -> str:
    """Return things in words: "2 x red wood chair in the kitchen; television (on) on the tv stand"."""
    said = Counter(_phrase(thing) for thing in {t.instance: t for t in things}.values())
    return "; ".join(f"{n} x {phrase}" if n > 1 else phrase for phrase, n in list(said.items())[:_MOST])


def _phrase(thing: Seen) -> str:
    a = thing.attributes
    words = " ".join(filter(None, (a.get("colour"), a.get("material"), thing.kind)))
    state = f" ({a['state']})" if a.get("state") else ""
    lies = a.get("support") and a.get("relation") in ("on", "in", "under")
    where = f" {a['relation']} the {a['support']}" if lies else ""
    return f"{words}{state}{where}{f' in the {thing.room}' if thing.room else ''}"


def noted(text: str) -> list[Noted]:
    """Return what `told` told in earlier replies, of each thing what was said last."""
    found: dict[tuple[str, str, str], Noted] = {}
    for sentence in _SEEN.findall(text):
        for phrase in filter(None, sentence.split("; ")):
            one = _read(phrase)
            found[one.kind, one.room, one.attributes.get("support", "")] = one
    return list(found.values())


def _read(phrase: str) -> Noted:
    times = _TIMES.fullmatch(phrase)
    count, rest = (int(times[1]), times[2]) if times else (1, phrase)
    attributes = {"relation": "floor"}
    if state := _STATE.search(rest):
        attributes["state"] = state[1]
        rest = _STATE.sub("", rest, count=1)
    head, _, tail = rest.rpartition(" in the ")
    room = tail if head and is_room(tail) else ""
    rest = head if room else rest
    if lies := _ON.fullmatch(rest):
        rest, attributes["relation"], attributes["support"] = lies[1], lies[2], lies[3]
    words = rest.split()
    for name, known in (("colour", COLOURS), ("material", _MATERIALS)):
        if len(words) > 1 and words[0] in known:
            attributes[name] = words.pop(0)
    return Noted(" ".join(words), room, attributes, count)


def remembered_view(notes: Sequence[Noted], pose: Pose2) -> Keyframe:
    """Return the noted things as one view; only where they are said to be is known of their places."""
    things = [(one, n) for one in notes for n in range(one.times)]
    sightings = tuple(
        Sighting(Label(_FIRST - i, one.kind, one.room, dict(one.attributes)), _PIXELS, (300, 200, 340, 240),
                 (pose.x, pose.y, 0.0), (0.1, 0.1, 0.1)) for i, (one, _) in enumerate(things))
    return Keyframe(-1, 0, pose.transform(), b"", sightings)
