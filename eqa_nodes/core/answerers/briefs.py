"""The request to a vision-language model for one decision: pictures with numbered options, and what is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from eqa_nodes.core.answerers.vlm_views import numbered_picture
from eqa_nodes.core.model import Picture
from eqa_nodes.core.perception.projection import visible_pixel
from eqa_nodes.core.types.advice import DecisionRequest, TargetNote
from eqa_nodes.core.types.calls import OptionMark
from eqa_nodes.core.types.floor import CLOSER, LOOK_ROUND, Option
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.views import TEXT, Keyframe

NOT_KNOWN = "not yet known"  # state of one of several targets of a question
_DIRECTIONS = ("ahead", "ahead on the left", "on the left", "behind on the left", "behind", "behind on the right",
               "on the right", "ahead on the right")
_NO_MARKERS = str.maketrans("<>", "()")
_AT_FEET_M = 0.75  # the direction of stairs that begin closer than this is where they lead, not their first step
_APART = 1 / 20  # minimum distance of discs, as a share of the image's width
_LAST = ("This is the last call: the robot goes nowhere any more. Answer as well as pictures and notes allow. Where "
         "they show no answer, leave it empty, say in reasons what was looked for and not found, and in missing what "
         "was not seen.")
_KINDS = {"frontier": "unexplored space", "doorway": "a doorway or gap", "floor": "floor not yet visited"}


class Shown(NamedTuple):
    """The user's part of a request: texts and pictures in order, and the pictures alone by their numbers, from 1."""

    parts: tuple[str | bytes, ...]
    pictures: tuple[Picture, ...]


def shown(brief: DecisionRequest, max_side_px: int) -> Shown:
    """Return the request as a model gets it: each picture under its number, then what is known.

    The parts that change least are first, because servers cache the beginning of a request that they have seen before.
    Raises BadFrame for a picture that cannot be decoded.
    """
    marks = [marks_in(view, brief.options) for view in brief.views]
    pictures = tuple(numbered_picture(view, m, max_side_px) for view, m in zip(brief.views, marks, strict=True))
    parts: list[str | bytes] = []
    for i, picture in enumerate(pictures, 1):
        parts += [_heading(i, picture, brief), picture]
    drawn = {mark.number for some in marks for mark in some}
    return Shown((*parts, _known(brief, drawn)), pictures)


def marks_in(view: Keyframe, options: Sequence[Option]) -> tuple[OptionMark, ...]:
    """Return the options visible in a view, numbered by their position from 1, with their pixels.

    Of two that would overlap only the first one is drawn. A closer look and a look round are not drawn: their place is
    where the robot would stand, and a disc there says nothing about what it would see.
    """
    found: list[OptionMark] = []
    for number, option in enumerate(options, 1):
        pixel = visible_pixel(view, option.x, option.y, view.map_from_base.xyz[2])
        if pixel is not None and view.geometry is not None and not option.kind.startswith((CLOSER, LOOK_ROUND)):
            apart = _APART * view.geometry.intrinsics.width
            if all(math.dist(pixel[:2], (mark.u, mark.v)) >= apart for mark in found):
                found.append(OptionMark(number, pixel[0], pixel[1]))
    return tuple(found)


def _heading(number: int, picture: Picture, brief: DecisionRequest) -> str:
    newest = ", the newest" if picture.view.id == max(view.id for view in brief.views) else ", taken earlier"
    now = ", taken where the robot stands" if picture.view.id in brief.now else newest
    options = "; ".join(_option(mark.number, brief.options[mark.number - 1]) for mark in picture.marks)
    return f"Picture {number}{now}{': ' + options if options else ''}"


def _option(number: int, option: Option) -> str:
    room = f", in or beside the {option.room}" if option.room else ""
    return f"number {number} is {_KINDS.get(option.kind, option.kind)}{room}, {option.distance_m:.0f} m away"


def _direction(option: Option, brief: DecisionRequest) -> str:
    """Return in words the direction of an option as seen from the newest view; at the robot's feet, its heading.
    """
    robot = max(brief.views, key=lambda view: view.id).pose
    dx, dy = option.x - robot.x, option.y - robot.y
    towards = option.heading if math.hypot(dx, dy) < _AT_FEET_M else math.atan2(dy, dx)
    return _DIRECTIONS[round(wrap(towards - robot.yaw) / (math.pi / 4)) % len(_DIRECTIONS)]


def _known(brief: DecisionRequest, drawn: set[int]) -> str:
    """Return what is known in addition to the pictures, as data between markers."""
    hidden = [_hidden(i, option, brief) for i, option in enumerate(brief.options, 1) if i not in drawn]
    lines = [_targets_known(brief.targets), *_written(brief.views),
             f"Rooms that it has been in, as you named them: {', '.join(brief.visited)}." if brief.visited else "",
             f"In none of the pictures (directions from the newest one): {'; '.join(hidden)}." if hidden else "",
             *(f"You said before: {note}" for note in brief.notes),
             f"Drives left: about {brief.legs_left}." if brief.legs_left >= 0 else "",
             f"Calls left after this one: {brief.calls_left}." if brief.calls_left >= 0 else "",
             "" if brief.options else _LAST]
    data = "\n".join(line for line in lines if line).translate(_NO_MARKERS)  # so that no text can end the data
    return f"<known>\n{data}\n</known>"


def _written(views: Sequence[Keyframe]) -> list[str]:
    """Return the text read in the pictures, one line for each picture with text."""
    read = [(i, [f'{s.label.kind} "{s.label.attributes[TEXT]}"' for s in view.sightings if TEXT in s.label.attributes])
            for i, view in enumerate(views, 1)]
    return [f"Read in picture {i}: {', '.join(texts)}." for i, texts in read if texts]


def _hidden(number: int, option: Option, brief: DecisionRequest) -> str:
    """Return the description of an option that no picture shows, with its direction."""
    if option.kind == LOOK_ROUND:
        return f"number {number} is {option.kind}"
    return f"{_option(number, option)} {_direction(option, brief)}"


def _targets_known(targets: Sequence[TargetNote]) -> str:
    """Return what is known about the several targets of the question."""
    known = "; ".join(f"{target.what}: {target.known or NOT_KNOWN}" for target in targets)
    return f"The question is about {known}." if known else ""
