"""What the simulated model reads in a request and its notes, and what it concludes by the label answerer's rules."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from eqa_nodes.core.answerers.advice import LAST, NOT_KNOWN
from eqa_nodes.core.answerers.asker import DIRECTIONS
from eqa_nodes.core.answerers.label.answers import RuleAnswer, in_choices
from eqa_nodes.core.answerers.label.home import regions_for
from eqa_nodes.core.answerers.label.rules import look_up
from eqa_nodes.core.answerers.label.scene import LabelScene, Seen, in_region
from eqa_nodes.core.answerers.option_sheet import Sheet
from eqa_nodes.core.answerers.vlm_replies import REGIONS
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.language.directions import at_destination
from eqa_nodes.core.language.english import COLOURS
from eqa_nodes.core.language.query import Query
from eqa_nodes.core.language.rooms import is_room
from eqa_nodes.core.language.states import MATERIALS
from eqa_nodes.core.language.understanding import query_of
from eqa_nodes.core.model import WRONG_FORM, Message, Picture
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, RankedRegion
from eqa_nodes.core.types.views import Keyframe, Label, Sighting
from eqa_nodes.models.simulated.sight import SightLimits

# The forms and a text that only their system message contains; tried in this order.
_FORMS = (("decide", '"go_to"'), ("assess", '"views"'), ("regions", '"regions"'), ("classes", '"classes"'),
          ("answer", '"images"'), ("blind", '"answer"'), ("abstention", '"answers"'))
_NEEDS_PICTURES = ("decide", "assess", "answer")
_QUESTION = re.compile(r"<question>\s*(.*?)\s*</question>", re.S)
_LIST = re.compile(r"<kinds>\s*(.*?)\s*</kinds>", re.S)
_AT_MOST = re.compile(r"At most (\d+) of")
_PICTURE = re.compile(r"Picture (\d+)")
_OPTION = re.compile(r"\bnumber (\d+) is ([^;.:\n]*)")
_ABOUT = re.compile(r"^The question is about (.*)\.$", re.M)
_VISITED = re.compile(r"Rooms that it has been in[^:]*: ([^.\n]*)")


class ShownPicture(NamedTuple):
    """A picture and the number by which the model refers to it, 0 for a thumbnail of an option."""

    number: int
    picture: Picture


class ShownOption(NamedTuple):
    """A numbered option. said: its description; room: the kind of room named there, "" for none."""

    number: int
    said: str
    room: str


class SimulatedRequest(NamedTuple):
    """One request. text: the user's first message without the headings of pictures, which contain captions.

    last: whether the robot goes nowhere any more; visited: kinds of rooms; listed, most: kinds of objects to choose
    from, and how many; known: what is already known about the objects of the question, "" for nothing.
    """

    form: str
    question: Question
    pictures: tuple[ShownPicture, ...]
    options: tuple[ShownOption, ...]
    text: str
    last: bool = False
    visited: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    most: int = 0
    known: Mapping[str, str] = {}


def read_request(messages: Sequence[Message], seed: int) -> SimulatedRequest:
    """Parse a request; comments on an earlier reply to it are ignored. Raises ModelError."""
    system = "\n".join(part for m in messages if m.role == "system" for part in m.parts if isinstance(part, str))
    user = next((m.parts for m in messages if m.role == "user"), ())
    form = next((name for name, key in _FORMS if key in system), "")
    words = "\n".join(part for part in user if isinstance(part, str))
    asked = _QUESTION.search(words)
    if not form or asked is None:
        raise ModelError(f"{WRONG_FORM} the simulated model knows the prompts of questions about a place only: "
                         f"{', '.join(name for name, _ in _FORMS)}")
    pictures = _pictures(user)
    if form in _NEEDS_PICTURES and not pictures:
        raise ModelError(f"{WRONG_FORM} the simulated model was shown no picture")
    plain = "\n".join(part for part in user if isinstance(part, str) and not _PICTURE.match(part))
    options = {int(n): ShownOption(int(n), said, _room_in(said)) for n, said in _OPTION.findall(words)}
    visited = _VISITED.search(plain)
    named, most = _LIST.search(words), _AT_MOST.search(words)
    return SimulatedRequest(form, _question(asked[1], seed), pictures, tuple(options.values()), plain, LAST in plain,
                   tuple(room.partition(" (")[0] for room in visited[1].split(", ")) if visited else (),
                   tuple(json.loads(line) for line in named[1].splitlines()) if named else (),
                   int(most[1]) if most else 0, _known_in(plain))


def _known_in(text: str) -> Mapping[str, str]:
    """Return what is known of each object that the question is about."""
    about = _ABOUT.search(text)
    said = dict(one.split(": ", 1) for one in about[1].split("; ") if ": " in one) if about else {}
    return {what: "" if known == NOT_KNOWN else known for what, known in said.items()}


def _question(written: str, seed: int) -> Question:
    """Parse the question, and the options of a multiple-choice one."""
    first, *more = written.splitlines()
    choices = next((json.loads(line[line.index("["):]) for line in more if line.startswith("One of these options")), ())
    said = next((line.partition(": ")[2] for line in more if line.startswith(DIRECTIONS)), '""')
    return Question(json.loads(first), choices=tuple(choices), seed=seed, instruction=json.loads(said))


def _pictures(parts: Sequence[str | bytes]) -> tuple[ShownPicture, ...]:
    """Return the pictures, each with the number of the heading above it. Raises ModelError for one without labels."""
    found: list[ShownPicture] = []
    number = 0
    for part in parts:
        if isinstance(part, str):
            heading = _PICTURE.match(part)
            number = int(heading[1]) if heading else number
        elif isinstance(part, Picture):
            found.append(ShownPicture(number or len(found) + 1, part))
        elif isinstance(part, Sheet):
            whole = {shown.picture.view.id for shown in found}  # of these the picture shows more than the thumbnail
            found += [ShownPicture(0, Picture(crop, replace(crop.view, id=_FIRST_CROP - n), crop.marks, crop.box))
                      for n, crop in enumerate(part.crops.values()) if crop.view.id not in whole]
        else:
            raise ModelError(f"{WRONG_FORM} the simulated model reads the labels of remembered views, and one picture "
                             "has none")
    return tuple(found)


def _room_in(said: str) -> str:
    words = (word.removeprefix("in or beside the ") for word in said.split(", "))
    return next((word for word in words if word in REGIONS), "")


_SEEN = re.compile(r"Seen: ([^.\n]*)\.")
_TIMES = re.compile(r"(\d+) x (.+)")
_STATE = re.compile(r" \(([a-z ]+)\)")
_ON = re.compile(r"(.+?) (on|in|under) the (.+)")
_MOST_NOTED = 8  # maximum number of kinds of objects listed in one reply
_PIXELS = 75  # size given to a remembered object: the rules are less sure of it
_FIRST_CROP = -2  # id of the first thumbnail as a view of its own; the next ones count down
_FIRST_NOTED = -1  # instance of the first remembered object; the next ones count down
_RULES_SUREST = 0.95  # confidence of the rules in an object in full view
# Words by which a question tells rooms of a kind apart and which no picture shows.
_TOLD_APART = re.compile(r"\b(?:main|master|first|second|third|other|guest|kids'?|kid's|children's|small|large|back|"
                         r"upstairs|downstairs) (?=(?:bed|bath|living |dining |guest )?rooms?\b)", re.I)
_NUMBERED = re.compile(r"\b((?:bed|bath)?room) \d+\b", re.I)
_NOT_SEEN = frozenset(("exists", "sign", "wasted_in", "enough"))  # forms in which "no" may mean that it was not seen


class Noted(NamedTuple):
    """A kind of object in a note, and how many of them were seen."""

    kind: str
    room: str
    attributes: dict[str, str]
    times: int


def told(things: Iterable[Seen]) -> str:
    """Describe objects in words: "2 x red wood chair in the kitchen; television (on) on the tv stand"."""
    said = Counter(_phrase(thing) for thing in {t.instance: t for t in things}.values())
    return "; ".join(f"{n} x {phrase}" if n > 1 else phrase for phrase, n in list(said.items())[:_MOST_NOTED])


def _phrase(thing: Seen) -> str:
    a = thing.attributes
    words = " ".join(filter(None, (a.get("colour"), a.get("material"), thing.kind)))
    state = f" ({a['state']})" if a.get("state") else ""
    lies = a.get("support") and a.get("relation") in ("on", "in", "under")
    where = f" {a['relation']} the {a['support']}" if lies else ""
    return f"{words}{state}{where}{f' in the {thing.room}' if thing.room else ''}"


def noted(text: str) -> list[Noted]:
    """Parse what `told` wrote in earlier replies, and return the latest note of each object."""
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
    for name, known in (("colour", COLOURS), ("material", MATERIALS)):
        if len(words) > 1 and words[0] in known:
            attributes[name] = words.pop(0)
    return Noted(" ".join(words), room, attributes, count)


def remembered_view(notes: Sequence[Noted], pose: Pose2) -> Keyframe:
    """Return the noted objects as one view. Their positions are unknown, apart from the rooms and supports noted."""
    things = [(one, n) for one in notes for n in range(one.times)]
    sightings = tuple(
        Sighting(Label(_FIRST_NOTED - i, one.kind, one.room, dict(one.attributes)), _PIXELS, (300, 200, 340, 240),
                 (pose.x, pose.y, 0.0), (0.1, 0.1, 0.1)) for i, (one, _) in enumerate(things))
    return Keyframe(-1, 0, pose.transform(), b"", sightings)


def in_plain_rooms(text: str) -> str:
    """Return a question with rooms named by their kind alone."""
    return _NUMBERED.sub(r"\1", _TOLD_APART.sub("", text))


def asked_in(question: Question) -> Query:
    """Parse a question with rooms named by their kind alone."""
    return at_destination(query_of(in_plain_rooms(question.text)), question.instruction)


def usual_rooms(question: Question) -> list[RankedRegion]:
    """Return the rooms in which the answer is usually found, the likeliest first."""
    return regions_for(asked_in(question))


def listed(room: str) -> str:
    """Return the name for a kind of room in the list of the prompts, "" if none fits."""
    return room if room in REGIONS else next((known for known in REGIONS if in_region(room, known)), "")


def found_in(views: Sequence[Keyframe], question: Question, limits: SightLimits) -> RuleAnswer | None:
    """Return the answer from views, with the confidence that the model states; None if they give none."""
    scene = LabelScene(views)
    asked, plain = at_destination(query_of(question.text), question.instruction), asked_in(question)
    found, share = look_up(scene, asked), 1.0
    if found is None and plain != asked:
        found, share = look_up(scene, plain), limits.any_room
    if found is None:
        return None
    sure = cautious(found.confidence * share, limits)
    if found.text.startswith("no") and _by_absence(plain):
        sure = min(sure, limits.surest_no)
    return in_choices(found._replace(confidence=sure), question.choices)


def _by_absence(query: Query) -> bool:
    return query.form in _NOT_SEEN or any(
        p.room or p.support is not None or p.state == "full" for p in query.predicates)


def cautious(confidence: float, limits: SightLimits) -> float:
    """Convert a confidence of the rules to the one that the model states."""
    return round(min(1.0, confidence / _RULES_SUREST) * limits.surest, 2)
