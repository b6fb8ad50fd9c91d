"""One decision of a vision-language model: what it is shown for a brief, and how its reply is read.

A reply is read tolerantly: valid parts count, unknown numbers are ignored and missing parts get defaults. Only a reply
without any of the parts is a ValueError, and asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from eqa_nodes.core.answerers.common import MAX_EVIDENCE, evidence_from, match_choice
from eqa_nodes.core.answerers.vlm_replies import MAX_TEXT, REGIONS, room_of
from eqa_nodes.core.answerers.vlm_views import numbered_picture
from eqa_nodes.core.forms import NUMBER, TEXT, WHOLE, an_object, list_of
from eqa_nodes.core.model import Mark, Picture
from eqa_nodes.core.perception.projection import point_at, visible_pixel
from eqa_nodes.core.types.advice import Advice, Brief
from eqa_nodes.core.types.floor import CLOSER, UNSEEN, Option
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.questions import Answer, Question, ViewAssessment
from eqa_nodes.core.types.views import Keyframe

_PARTS = ("reasons", "answer", "confidence", "evidence", "missing", "go_to", "rooms")
_DIRECTIONS = ("ahead", "ahead on the left", "on the left", "behind on the left", "behind", "behind on the right",
               "on the right", "ahead on the right")
_NO_MARKERS = str.maketrans("<>", "()")
_MOST_ENTRIES = 100  # of a list in a reply that are looked at
_APART = 1 / 20  # of the image's width: discs so near to each other could not be told apart
_WHAT = 40  # characters of the name of what a picture shows
_UNSTATED = 0.5  # confidence of an answer for which the model stated none
_KINDS = {"frontier": "unexplored space", "doorway": "a doorway or gap", "floor": "floor not yet visited"}

FORM = an_object(
    reasons=TEXT, answer=TEXT, confidence=NUMBER,
    evidence=list_of(an_object(picture=WHOLE, what=TEXT, point=list_of(NUMBER))), missing=TEXT,
    go_to=list_of(an_object(number=WHOLE, chance=NUMBER, room=TEXT)))


class Shown(NamedTuple):
    """The user's part of a request: texts and pictures in order, and the pictures alone by their numbers, from 1."""

    parts: tuple[str | bytes, ...]
    pictures: tuple[Picture, ...]


def shown(brief: Brief, max_side_px: int) -> Shown:
    """Return a brief as a model gets it: each picture under its number, then what is known, by which it decides.

    What changes least comes first, because servers keep the beginning of a request that they have seen before.
    Raises BadFrame for a picture that cannot be decoded.
    """
    marks = [marks_in(view, brief.options) for view in brief.views]
    pictures = tuple(numbered_picture(view, m, max_side_px) for view, m in zip(brief.views, marks, strict=True))
    parts: list[str | bytes] = []
    for i, picture in enumerate(pictures, 1):
        parts += [_heading(i, picture, brief), picture]
    drawn = {mark.number for some in marks for mark in some}
    return Shown((*parts, _known(brief, drawn)), pictures)


def marks_in(view: Keyframe, options: Sequence[Option]) -> tuple[Mark, ...]:
    """Return the options that can be seen in a view, numbered by their position from 1, at their pixels.

    Of two that would cover each other the first one is drawn. A closer look is not drawn: its place is where the robot
    would stand, and a disc there says nothing of what it would see.
    """
    found: list[Mark] = []
    for number, option in enumerate(options, 1):
        pixel = visible_pixel(view, option.x, option.y, view.map_from_base.xyz[2])
        if pixel is not None and view.geometry is not None and not option.kind.startswith(CLOSER):
            apart = _APART * view.geometry.intrinsics.width
            if all(math.dist(pixel[:2], (mark.u, mark.v)) >= apart for mark in found):
                found.append(Mark(number, pixel[0], pixel[1]))
    return tuple(found)


def _heading(number: int, picture: Picture, brief: Brief) -> str:
    newest = ", the newest" if picture.view.id == max(view.id for view in brief.views) else ", taken earlier"
    now = ", taken where the robot stands" if picture.view.id in brief.now else newest
    options = "; ".join(_option(mark.number, brief.options[mark.number - 1]) for mark in picture.marks)
    return f"Picture {number}{now}{': ' + options if options else ''}"


def _option(number: int, option: Option) -> str:
    room = f", {option.room} by your guess" if option.room else ""
    return f"number {number} is {_KINDS.get(option.kind, option.kind)}{room}, {option.distance_m:.0f} m away"


def _direction(option: Option, brief: Brief) -> str:
    """Return in words where an option lies as the robot looks, by the newest view."""
    robot = max(brief.views, key=lambda view: view.id).pose
    bearing = wrap(math.atan2(option.y - robot.y, option.x - robot.x) - robot.yaw)
    return _DIRECTIONS[round(bearing / (math.pi / 4)) % len(_DIRECTIONS)]


def _known(brief: Brief, drawn: set[int]) -> str:
    """Return what is known besides the pictures, as data between markers."""
    hidden = [f"{_option(i, option)} {_direction(option, brief)}" for i, option in enumerate(brief.options, 1)
              if i not in drawn]
    lines = [f"Rooms visited, as you named them: {', '.join(brief.visited)}." if brief.visited else "",
             "In none of the pictures: " + "; ".join(hidden) + "." if hidden else "",
             *(f"You said before: {note}" for note in brief.notes),
             f"Drives left: {brief.legs_left}." if brief.legs_left >= 0 else "",
             f"Calls left after this one: {brief.calls_left}." if brief.calls_left >= 0 else "",
             "" if brief.options else "The robot cannot go anywhere else: answer as well as the pictures allow."]
    data = "\n".join(line for line in lines if line).translate(_NO_MARKERS)  # what was said cannot end the data
    return f"<known>\n{data}\n</known>"


def read_advice(reply: Mapping[str, object], question: Question, brief: Brief,
                pictures: Sequence[Picture]) -> Advice:
    """Return what a reply says, of all its parts the valid ones. Raises ValueError where it has none of them."""
    if not any(part in reply for part in _PARTS):
        raise ValueError(f"none of the keys {', '.join(_PARTS[:6])} is there")
    text = _answer_text(reply.get("answer"), question)
    sure = _share(reply.get("confidence"), _UNSTATED) if text else 0.0
    points = _evidence(reply.get("evidence"), pictures)
    reasons, missing = _words(reply.get("reasons")), _words(reply.get("missing"))
    weights, rooms = _go_to(reply, len(brief.options), {mark.number for p in pictures for mark in p.marks})
    proof = [brief.views[named.picture] for named in points] or ([brief.views[-1]] if brief.views else [])
    unanswered = "; ".join(filter(None, ("the pictures do not answer the question", missing)))
    answer = Answer(text, sure, not text, evidence_from(proof, reasons[:200]) if text else (),
                    message="" if text else unanswered)
    return Advice(answer, reasons, missing, weights, rooms,
                  tuple(_assessment(brief.views[named.picture], named, text, sure, rank)
                        for rank, named in enumerate(points)))


class _Named(NamedTuple):
    """A picture named as evidence, from 0: what it shows, and where in it, as shares; None where that is unclear."""

    picture: int
    what: str
    point: tuple[float, float] | None


def _assessment(view: Keyframe, named: _Named, text: str, sure: float, rank: int) -> ViewAssessment:
    """Return what naming a view as evidence says of it; the first one named is the most relevant."""
    target = None
    if named.point is not None and view.geometry is not None:
        camera = view.geometry.intrinsics
        target = point_at(view, named.point[0] * camera.width, named.point[1] * camera.height)
    return ViewAssessment(view.id, view.stamp_ns, relevance=1.0 - 0.1 * rank, enough=sure, region=view.region,
                          note=named.what, pose=view.pose, target=target[:2] if target else None, says=text,
                          z=view.map_from_base.xyz[2], target_z=target[2] if target else 0.0)


def _answer_text(value: object, question: Question) -> str:
    """Return the answer, of a multiple-choice question the option that it means, "" for none."""
    text = _words(value)
    if not text or not question.choices:
        return "" if not any(char.isalnum() for char in text) else text
    index = match_choice(text, question.choices)
    return "" if index is None else question.choices[index]


def _evidence(value: object, pictures: Sequence[Picture]) -> list[_Named]:
    """Return the pictures named, each once, the best first."""
    found: dict[int, _Named] = {}
    for entry in _entries(value):
        named = entry.get("picture", entry.get("image")) if isinstance(entry, dict) else entry
        number = _whole(named)
        if number is not None and 1 <= number <= len(pictures):
            said = entry if isinstance(entry, dict) else {}
            point = _point(said.get("point"), pictures[number - 1])
            found.setdefault(number, _Named(number - 1, _words(said.get("what"))[:_WHAT], point))
    return list(islice(found.values(), MAX_EVIDENCE))


def _point(value: object, picture: Picture) -> tuple[float, float] | None:
    """Return a point as shares of width and height; models also write per cent, thousandths or pixels."""
    if not isinstance(value, (list, tuple)) or len(value) not in (2, 4):
        return None
    numbers = [_number(v) for v in value]
    if any(n is None or n < 0 for n in numbers):
        return None
    x, y = (n or 0.0 for n in (numbers if len(numbers) == 2 else
                               [(a + b) / 2 for a, b in ((numbers[0] or 0.0, numbers[2] or 0.0),
                                                         (numbers[1] or 0.0, numbers[3] or 0.0))]))
    if max(x, y) > 1.0:
        width, height = picture.size
        across, down = ((width, height) if x <= width and y <= height else (1000.0, 1000.0))
        x, y = x / across, y / down
    return (x, y) if x <= 1.0 and y <= 1.0 else None


def _go_to(reply: Mapping[str, object], count: int,
           drawn: Collection[int]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return the chance and the room of each of `count` options, from a list of objects or from two mappings."""
    weights, rooms = [0.0 if i + 1 in drawn else UNSEEN for i in range(count)], [""] * count
    named, said = reply.get("go_to"), reply.get("rooms")
    entries = [{"number": key, "chance": value} for key, value in islice(named.items(), _MOST_ENTRIES)] \
        if isinstance(named, dict) else [e for e in _entries(named) if isinstance(e, dict)]
    if isinstance(said, dict):
        entries += [{"number": key, "room": value} for key, value in islice(said.items(), _MOST_ENTRIES)]
    for entry in entries:
        number = _whole(entry.get("number", entry.get("option")))
        if number is not None and 1 <= number <= count:
            weights[number - 1] = max(weights[number - 1], _share(entry.get("chance", entry.get("weight")), 0.0))
            rooms[number - 1] = _room(entry.get("room")) or rooms[number - 1]
    return tuple(weights), tuple(rooms)


def _room(value: object) -> str:
    """Return the kind of a room out of REGIONS that is named, "" for any other."""
    name = room_of(_words(value))
    return next((region for region in REGIONS if name == region or name.endswith(" " + region)), "")


def _entries(value: object) -> list[object]:
    return value[:_MOST_ENTRIES] if isinstance(value, list) else []


def _words(value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return f"{value:g}"
    return " ".join(value.split())[:MAX_TEXT] if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    """Return a number from 0 to 9999 that may be written as text ("3", "#3", "picture 3"), None for anything else."""
    if isinstance(value, str):
        digits = "".join(char for char in value if char.isascii() and char.isdigit())
        return int(digits) if 0 < len(digits) < 5 else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or not 0 <= value < 10_000:
        return None
    return int(value) if value == int(value) else None


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value.strip().rstrip("%"))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _share(value: object, default: float) -> float:
    """Return a number from 0 to 1, also from "0.8", "80%" or 80; `default` for what is none."""
    number = _number(value)
    if number is None or not 0.0 <= number <= 100.0:
        return default
    percent = number > 1.0 or (isinstance(value, str) and value.strip().endswith("%"))
    return number / 100.0 if percent else number
