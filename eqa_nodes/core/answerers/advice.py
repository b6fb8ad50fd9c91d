"""The request to a vision-language model for one decision, the form of the reply, and how it is read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from eqa_nodes.core.answerers.common import evidence_from, match_choice
from eqa_nodes.core.answerers.option_sheet import Thumbnail, enlarged, sheet_of, thumbnails
from eqa_nodes.core.answerers.vlm_replies import MAX_TEXT, REGIONS, room_of
from eqa_nodes.core.answerers.vlm_views import PointScale, box_in, number_in, numbered_picture, point_in
from eqa_nodes.core.model import NUMBER, TEXT, WHOLE, Picture, an_object, list_of
from eqa_nodes.core.perception.projection import floor_at, point_at, visible_pixel
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest, OptionMark, TargetNote
from eqa_nodes.core.types.floor import CLOSER, LOOK_ROUND, POINTED, ZOOM, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import MAX_EVIDENCE, Answer, Question, ViewAssessment
from eqa_nodes.core.types.views import TEXT as READ
from eqa_nodes.core.types.views import Intrinsics, Keyframe

NOT_KNOWN = "not yet known"  # state of one of several targets of a question
_DIRECTIONS = ("ahead", "ahead on the left", "on the left", "behind on the left", "behind", "behind on the right",
               "on the right", "ahead on the right")
_NO_MARKERS = str.maketrans("<>", "()")
_AT_FEET_M = 0.75  # the direction of stairs that begin closer than this is where they lead, not their first step
_APART = 1 / 20  # minimum distance of discs, as a share of the image's width
LAST = ("This is the last call: the robot goes nowhere any more. Answer as well as pictures and notes allow. Where "
        "they show no answer, leave it empty, say in reasons what was looked for and not found, and in missing what "
        "was not seen.")
_KINDS = {"frontier": "unexplored space", "doorway": "a doorway", "floor": "floor not yet visited"}


class Zoom(NamedTuple):
    """A part of a picture that a model asked for. box: left, top, right, bottom as shares of width and height."""

    view: Keyframe
    box: tuple[float, float, float, float]


class Shown(NamedTuple):
    """The user's part of a request: texts and pictures in order, and the pictures alone by their numbers, from 1.

    listed: the listed options by number, each with its thumbnail, None for a look round.
    """

    parts: tuple[str | bytes, ...]
    pictures: tuple[Picture, ...]
    listed: Mapping[int, Picture | None]


def shown(brief: DecisionRequest, max_side_px: int, zoom: Zoom | None = None) -> Shown:
    """Return the request as a model gets it: each picture under its number, the sheet of options, then what is known.

    zoom: the part of a picture or thumbnail that the model asked for in its last reply; shown if its view is one of
    these.

    The parts that change least are first, because servers cache the beginning of a request that they have seen before.
    Raises BadFrame for a picture that cannot be decoded.
    """
    thumbs = thumbnails(brief.options, (*brief.sheet, *brief.views))
    sheet, listed = sheet_of(thumbs), {thumb.number for thumb in thumbs}
    marks = [tuple(mark for mark in marks_in(view, brief.options) if mark.number in listed) for view in brief.views]
    pictures = tuple(numbered_picture(view, m, max_side_px) for view, m in zip(brief.views, marks, strict=True))
    parts: list[str | bytes] = []
    if zoom is not None and any(zoom.view.id == view.id for view in brief.sheet):
        parts += ["A part of the sheet of places, enlarged as you asked", enlarged(zoom.view, zoom.box)]
    for i, picture in enumerate(pictures, 1):
        parts += [_heading(i, picture, brief), picture]
        if zoom is not None and zoom.view.id == picture.view.id:
            parts += [f"A part of picture {i}, enlarged as you asked", enlarged(zoom.view, zoom.box)]
    if thumbs:
        drawn = {mark.number for some in marks for mark in some}
        parts += [_places_listed(thumbs, drawn, brief), sheet]
    return Shown((*parts, _known(brief, len(brief.options) - len(thumbs))), pictures,
                 {number: sheet.crops.get(number) for number in sorted(listed)})


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
    view, newest = picture.view, max(brief.views, key=lambda view: view.id)
    if view.id in brief.now:
        return f"Picture {number}, " + ("what it sees now" if view.id == brief.now[-1] else
                                        f"taken where it stands, of what is {_towards(view.pose.yaw, newest.pose)}")
    when = "the newest" if view is newest else f"taken earlier, {view.pose.distance(newest.pose):.0f} m from here"
    return f"Picture {number}, {when}"


def _places_listed(thumbs: Sequence[Thumbnail], drawn: Collection[int], brief: DecisionRequest) -> str:
    """Return what each number stands for, and the direction of those that no picture shows."""
    said = (_option(thumb.number, thumb.option) + ("" if thumb.number in drawn or thumb.seen is None else
                                                   f" {_direction(thumb.option, brief)}") for thumb in thumbs)
    return f"The sheet of places: {'; '.join(said)}"


def _option(number: int, option: Option) -> str:
    if option.kind == LOOK_ROUND:
        return f"number {number} is {option.kind}"
    room = f", in or beside the {option.room}" if option.room else ""
    return f"number {number} is {_KINDS.get(option.kind, option.kind)}{room}, {option.distance_m:.0f} m away"


def _direction(option: Option, brief: DecisionRequest) -> str:
    """Return in words the direction of an option as seen from the newest view; at the robot's feet, its heading.
    """
    robot = max(brief.views, key=lambda view: view.id).pose
    dx, dy = option.x - robot.x, option.y - robot.y
    return _towards(option.heading if math.hypot(dx, dy) < _AT_FEET_M else math.atan2(dy, dx), robot)


def _towards(heading: float, robot: Pose2) -> str:
    """Return a direction of the map, radians, in words for a robot."""
    return _DIRECTIONS[round(wrap(heading - robot.yaw) / (math.pi / 4)) % len(_DIRECTIONS)]


def _known(brief: DecisionRequest, left_out: int) -> str:
    """Return what is known in addition to the pictures, as data between markers. left_out: number of options that are
    not listed."""
    lines = [_targets_known(brief.targets), *_written(brief.views),
             f"Rooms that it has been in, as you named them: {', '.join(brief.visited)}." if brief.visited else "",
             f"Number of further places, of which there is no picture of their own: {left_out}." if left_out else "",
             *(f"You said before: {note}" for note in brief.notes),
             f"Drives left: about {brief.legs_left}." if brief.legs_left >= 0 else "",
             f"Calls left after this one: {brief.calls_left}." if brief.calls_left >= 0 else "",
             "" if brief.options else LAST]
    data = "\n".join(line for line in lines if line).translate(_NO_MARKERS)  # so that no text can end the data
    return f"<known>\n{data}\n</known>"


def _written(views: Sequence[Keyframe]) -> list[str]:
    """Return the text read in the pictures, one line for each picture with text."""
    read = [(i, [f'{s.label.kind} "{s.label.attributes[READ]}"' for s in view.sightings if READ in s.label.attributes])
            for i, view in enumerate(views, 1)]
    return [f"Read in picture {i}: {', '.join(texts)}." for i, texts in read if texts]


def _targets_known(targets: Sequence[TargetNote]) -> str:
    """Return what is known about the several targets of the question."""
    known = "; ".join(f"{target.what}: {target.known or NOT_KNOWN}" for target in targets)
    return f"The question is about {known}." if known else ""


_PARTS = ("reasons", "room", "targets", "answer", "confidence", "evidence", "missing", "zoom", "go_to", "rooms")
_MOST_ENTRIES = 100  # maximum number of entries that are read from a list in a reply
_MOST_TARGETS, _MOST_POINTED = 8, 3
_NOT_KNOWN = re.compile(r"(?:not (?:yet )?(?:known|seen|visited|found)(?: yet)?|unknown|nothing yet|n/?a)?\W*", re.I)
_WHAT = 40  # maximum number of characters of the name of what a picture shows
_UNSTATED = 0.5  # confidence of an answer for which the model stated none
_POINTED_M = 10.0  # maximum distance of a place in a picture without depth there

FORM = an_object(
    reasons=TEXT, room=TEXT, targets=list_of(an_object(what=TEXT, known=TEXT)), answer=TEXT, confidence=NUMBER,
    evidence=list_of(an_object(picture=WHOLE, number=WHOLE, what=TEXT, point=list_of(NUMBER))), missing=TEXT,
    zoom=an_object(picture=WHOLE, number=WHOLE, box=list_of(NUMBER)),
    go_to=list_of(an_object(number=WHOLE, picture=WHOLE, point=list_of(NUMBER), chance=NUMBER, room=TEXT)))


def read_advice(reply: Mapping[str, object], question: Question, brief: DecisionRequest,
                given: Shown, scale: PointScale,
                show_next: Callable[[Zoom], None] = lambda zoom: None) -> DecisionReply:
    """Return the valid parts of a reply. Raises ValueError if it has none of the parts.

    given: the request as the model got it; scale: estimator of the scale of the model's points; show_next: called with
    the part of a picture that the model asks for.
    """
    if not any(part in reply for part in _PARTS):
        raise ValueError(f"none of the keys {', '.join(_PARTS[:-1])} is there")
    text = _answer_text(reply.get("answer"), question)
    sure = _share(reply.get("confidence"), _UNSTATED) if text else 0.0
    entries = [*_entries(reply.get("evidence")), *_places(reply)]
    entries += [{**zoom, "point": zoom.get("box")} for zoom in [reply.get("zoom")] if isinstance(zoom, dict)]
    scale_name = scale.of([(entry.get("point"), picture.size) for entry in entries if isinstance(entry, dict)
                           and (picture := _shown(entry, given)) is not None])
    points = _evidence(reply.get("evidence"), given, scale_name)
    reasons, missing = _words(reply.get("reasons")), _words(reply.get("missing"))
    proof = [named.view for named in points]
    lost = _lost_pictures(reply.get("evidence"), given)
    if not proof and not lost and reply.get("evidence") != []:  # unreadable evidence; [] means that there is none
        proof = list(brief.views[-1:])
    unanswered = "; ".join(filter(None, ("the pictures do not answer the question", missing)))
    answer = Answer(text, sure, not text, evidence_from(proof, reasons[:200]) if text else (),
                    message="" if text else unanswered)
    room = _room(reply.get("room"))
    assessments = [_assessment(named, text, sure, rank) for rank, named in enumerate(points)]
    options = (*_weighed(reply, brief.options, given.listed), *_pointed(reply, given, scale_name))
    asked = _zoom(reply, given, scale_name)
    unclear = "(No picture has the part that you asked to enlarge.)" if asked is None and _zooms(reply) else ""
    not_there = _not_there(reply, given)
    told = " ".join(filter(None, (reasons, lost, unclear, not_there)))
    faults = ("picture", lost), ("part of a picture", unclear), ("number", not_there)
    if asked is not None:
        show_next(asked)
        options += (WeighedOption(Option(*asked.view.pose, ZOOM, 0.0), 1.0),)
    return DecisionReply(answer, told, missing, options, _with_room(assessments, brief, room),
                         _targets(reply.get("targets")), room,
                         tuple(f"the model named a {what} that was not shown" for what, said in faults if said))


def _zooms(reply: Mapping[str, object]) -> bool:
    """Return whether a reply asks for an enlarged part of a picture, whether or not that can be shown."""
    zoom = reply.get("zoom")
    return isinstance(zoom, dict) and bool(_whole(zoom.get("picture")) or _numbered(zoom) or zoom.get("box"))


def _zoom(reply: Mapping[str, object], given: Shown, scale: str) -> Zoom | None:
    """Return the part of a picture that a reply asks for, None for none or one that is unclear."""
    zoom = reply.get("zoom")
    picture = _shown(zoom, given) if isinstance(zoom, dict) else None
    if picture is None or not isinstance(zoom, dict):
        return None
    all_of_it = not zoom.get("box") and picture.box is not None  # a thumbnail
    box = (0.0, 0.0, 1.0, 1.0) if all_of_it else box_in(zoom.get("box"), picture.size, scale)
    return None if box is None else Zoom(picture.view, (*_in_view(picture, box[:2]), *_in_view(picture, box[2:])))


class _Named(NamedTuple):
    """A view named as evidence: what it shows, and the point in it as shares, None if unclear."""

    view: Keyframe
    what: str
    point: tuple[float, float] | None


def _assessment(named: _Named, text: str, sure: float, rank: int) -> ViewAssessment:
    """Return the assessment of a view named as evidence; the first one named is the most relevant."""
    view, target = named.view, None
    if named.point is not None and view.geometry is not None:
        target = point_at(view, *_pixel(named.point, view.geometry.intrinsics))
    return ViewAssessment(view.id, view.stamp_ns, relevance=1.0 - 0.1 * rank, enough=sure, region=view.region,
                          note=named.what, pose=view.pose, target=target[:2] if target else None, says=text,
                          z=view.map_from_base.xyz[2], target_z=target[2] if target else 0.0)


def _with_room(assessments: Sequence[ViewAssessment], brief: DecisionRequest, room: str) -> tuple[ViewAssessment, ...]:
    """Return the assessments, with the room in which the robot stands set for the newest view."""
    if not room or not brief.views:
        return tuple(assessments)
    view = brief.views[-1]
    if all(a.keyframe_id != view.id for a in assessments):
        assessments = [*assessments, ViewAssessment(view.id, view.stamp_ns, 0.0, 0.0, pose=view.pose,
                                                    z=view.map_from_base.xyz[2])]
    return tuple(a._replace(region=room) if a.keyframe_id == view.id else a for a in assessments)


def _answer_text(value: object, question: Question) -> str:
    """Return the answer or, for a multiple-choice question, the option that it means; "" for none."""
    text = _words(value)
    if not text or not question.choices:
        return "" if not any(char.isalnum() for char in text) else text
    index = match_choice(text, question.choices)
    return "" if index is None else question.choices[index]


def _shown(entry: Mapping[str, object], given: Shown) -> Picture | None:
    """Return the picture that an entry of a reply names or, without one, the thumbnail of the number that it names."""
    picture = _whole(entry.get("picture", entry.get("image"))) or 0
    return given.pictures[picture - 1] if 1 <= picture <= len(given.pictures) else \
        None if picture else given.listed.get(_numbered(entry))


def _in_view(picture: Picture, point: Sequence[float]) -> tuple[float, float]:
    """Return a point of a picture, which may be a part of its view, in shares of the view."""
    if picture.box is None or picture.view.geometry is None:
        return point[0], point[1]
    (left, top, right, bottom), k = picture.box, picture.view.geometry.intrinsics
    return (left + point[0] * (right - left)) / k.width, (top + point[1] * (bottom - top)) / k.height


def _named(value: object) -> list[dict[str, object]]:
    """Return the entries of a reply about evidence; a bare number is that of a picture."""
    return [entry if isinstance(entry, dict) else {"picture": entry} for entry in _entries(value)]


def _evidence(value: object, given: Shown, scale: str) -> list[_Named]:
    """Return the named views, each once, best first."""
    found: dict[int, _Named] = {}
    for entry in _named(value):
        picture = _shown(entry, given)
        if picture is not None:
            point = point_in(entry.get("point"), picture.size, scale)
            found.setdefault(picture.view.id, _Named(picture.view, _words(entry.get("what"))[:_WHAT],
                                                     point and _in_view(picture, point)))
    return list(islice(found.values(), MAX_EVIDENCE))


def _pixel(point: tuple[float, float], camera: Intrinsics) -> tuple[float, float]:
    """Return the pixel of a point given as shares; the right and lower borders count as the last pixel."""
    return min(point[0] * camera.width, camera.width - 0.5), min(point[1] * camera.height, camera.height - 0.5)


def _weighed(reply: Mapping[str, object], options: Sequence[Option],
             listed: Collection[int]) -> tuple[WeighedOption, ...]:
    """Return the options with their weights and rooms, from a list of objects or from two mappings.

    listed: numbers of the options that the model was shown; the others have no weight.
    """
    weights, rooms = [0.0] * len(options), [""] * len(options)
    said = reply.get("rooms")
    entries = _places(reply)
    if isinstance(said, dict):
        entries += [{"number": key, "room": value} for key, value in islice(said.items(), _MOST_ENTRIES)]
    for entry in entries:
        number = _numbered(entry)
        if number in listed:
            weights[number - 1] = max(weights[number - 1], _chance(entry))
            rooms[number - 1] = _room(entry.get("room")) or rooms[number - 1]
    return tuple(map(WeighedOption, options, weights, rooms))


def _pointed(reply: Mapping[str, object], given: Shown, scale: str) -> list[WeighedOption]:
    """Return the places that the model points at in pictures, for entries without the number of a listed option."""
    found = []
    for entry in _places(reply):
        picture = None if _numbered(entry) in given.listed else _shown(entry, given)
        if picture is None:
            continue
        place = _place(picture, entry.get("point"), scale)
        if place is not None:
            found.append(WeighedOption(place, _chance(entry), _room(entry.get("room"))))
        if len(found) == _MOST_POINTED:
            break
    return found


def _not_there(reply: Mapping[str, object], given: Shown) -> str:
    """Return in words the unlisted option numbers in a reply, to be reported in the next call; "" for none."""
    lost = sorted({number for entry in (*_places(reply), *_named(reply.get("evidence"))) if (number := _numbered(entry))
                   and number not in given.listed and _shown(entry, given) is None})
    return f"(There was no number {' or '.join(map(str, lost))}.)" if lost else ""


def _lost_pictures(value: object, given: Shown) -> str:
    """Return in words the pictures named as evidence that were not shown; no other one then proves the answer."""
    named = [entry for entry in _named(value) if _shown(entry, given) is None]
    lost = sorted({number for entry in named if (number := _whole(entry.get("picture", entry.get("image"))))})
    return f"(There was no picture {' or '.join(map(str, lost))}.)" if lost else ""


def _place(picture: Picture, point: object, scale: str) -> Option | None:
    """Return the place on the floor at a point of a picture, as an option with the direction from the robot to it."""
    view, at = picture.view, point_in(point, picture.size, scale)
    if at is None or view.geometry is None:
        return None
    floor = floor_at(view, *_pixel(at, view.geometry.intrinsics), _POINTED_M)
    if floor is None:
        return None
    x, y = floor
    heading = math.atan2(y - view.pose.y, x - view.pose.x)
    return Option(x, y, heading, POINTED, math.dist(floor, view.pose[:2]))


def _places(reply: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the entries of a reply about places to go to."""
    named = reply.get("go_to")
    if isinstance(named, dict):
        return [{"number": key, "chance": value} for key, value in islice(named.items(), _MOST_ENTRIES)]
    return [entry for entry in _entries(named) if isinstance(entry, dict)]


def _numbered(entry: Mapping[str, object]) -> int:
    """Return the number of the option in an entry, 0 for none."""
    return _whole(entry.get("number", entry.get("option"))) or 0


def _chance(entry: Mapping[str, object]) -> float:
    return _share(entry.get("chance", entry.get("weight")), 0.0)


def _targets(value: object) -> tuple[TargetNote, ...]:
    """Return the targets of the question, each with what is known about it."""
    said: dict[str, str] = {}
    for entry in _entries(value):
        what, known = (_words(entry.get(key)) for key in ("what", "known")) if isinstance(entry, dict) else ("", "")
        if what:
            said[what] = said.get(what) or ("" if _NOT_KNOWN.fullmatch(known) else known)
    return tuple(islice((TargetNote(what, known) for what, known in said.items()), _MOST_TARGETS))


def _room(value: object) -> str:
    """Return the named kind of room if it is one of REGIONS, otherwise ""."""
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


def _share(value: object, default: float) -> float:
    """Return a number from 0 to 1, also from "0.8", "80%" or 80; `default` for anything else."""
    number = number_in(value)
    if number is None or not 0.0 <= number <= 100.0:
        return default
    percent = number > 1.0 or (isinstance(value, str) and value.strip().endswith("%"))
    return number / 100.0 if percent else number
