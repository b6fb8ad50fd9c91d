"""Pictures as the simulated model sees them: the recognisable labels, in the model's own words."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from eqa_nodes.core.answerers.option_sheet import SIDE_PX
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.language.uses import rooms_of
from eqa_nodes.core.model import Picture
from eqa_nodes.core.ranges import Positive, Share, check_ranges
from eqa_nodes.core.settings import setting
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.core.types.views import Keyframe, Label, Sighting

# alike: rows of kinds that look alike from afar; a kind is confused within the first row that contains it. general:
# kind -> general word. misread: rows of values that are mistaken for each other.
_WORDS: dict[str, Any] = json.loads((resources.files(__package__) / "words.json").read_text(encoding="utf-8"))
_CHILD = frozenset(("crib", "toy box", "teddy bear", "building blocks", "toy car", "dollhouse", "ball"))
_NEXT_BEST = 0.25  # minimum lead in evidence over every other kind of room
_OTHER_ROOM = "other"
_DOORS = 2  # minimum number of doors that make a room with little else a hallway
_AS_SEEN = (640, 480)  # picture size assumed by the rules on sightings if a view has no image
_FULL_PIXELS = 150  # pixels of such a picture from which those rules trust a sighting fully
_SURE_AT_LEAST = 0.4  # recognition confidence of the smallest object that is noticed
_SECTORS = 3  # viewing directions that may yield different instances of an object
_TWIN = 1_000_000  # difference between the ids of an object's duplicates
_LOOKS, _STATES = ("colour", "material"), ("state",)


@dataclass(frozen=True)
class SightLimits:
    """Limits of the simulated model. They can be fitted to replies that people wrote: a JSON file with some of these
    fields is given as the model's name. Sizes are pixels of an object in the picture as it is sent."""

    sent_px: Positive = setting(640,
        "Long side in pixels that smaller pictures stand for, so that sweeps can render small ones.")
    least_px: Positive = setting(120, "Size below which nothing is noticed: 11 x 11 pixels.")
    sure_px: Positive = setting(700, "Size from which everything is noticed; between the two some objects are.")
    far_m: Positive = setting(9.0, "Distance in metres beyond which nothing is recognised.")
    looks_px: Positive = setting(250, "Size from which colour and material are recognised.")
    state_px: Positive = setting(350, "Size from which a state (on, open, full) is recognised.")
    cut: Share = setting(0.5, "Share of the size that counts of an object cut off at two borders, or mostly hidden.")
    hidden: Share = setting(0.12, "Share of its box that an object fills at most to count as mostly hidden.")
    confuse: Share = setting(0.12,
        "Share of the smallest objects with a look-alike that are taken for it; none of those of four times sure_px.")
    misread: Share = setting(0.1, "Share of the smallest legible colours, materials and states that are misread.")
    generic: Share = setting(0.2, 'Share of objects that are called by a general word ("lamp").')
    double: Share = setting(0.1, "Share of objects that are taken for two when they are seen from two sides.")
    room: Positive = setting(1.0,
        "Evidence that names a room: 1 is an object that is in no other kind of room, two such as are in two kinds.")
    surest: Share = setting(0.92, "Highest confidence.")
    surest_no: Share = setting(0.55, 'Highest confidence in a "no" that rests on nothing having been seen.')
    any_room: Share = setting(0.75,
        'Share of the confidence that is left where the question tells rooms apart ("the main bedroom") and the '
        "pictures do not.")
    least_said: Share = setting(0.3, "Confidence below which it does not answer.")
    doorway: Share = setting(0.3, "Chance that it gives a doorway behind which nothing can be seen.")
    elsewhere: Share = setting(0.05, "Chance that it gives a room where such an object usually is not.")

    def __post_init__(self) -> None:
        check_ranges(self, "the simulated model")
        if self.least_px >= self.sure_px:
            raise ConfigError(f"the simulated model: least_px {self.least_px} must be less than sure_px {self.sure_px}")


def read_limits(path: Path) -> SightLimits:
    """Read limits from a JSON file; missing fields keep their defaults. Raises ConfigError."""
    try:
        given = read_json(path)
    except StorageError as error:
        raise ConfigError(f"limits of the simulated model: {error}") from error
    known = [own.name for own in fields(SightLimits)]
    if not isinstance(given, dict) or set(given) - set(known) or not all(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in given.values()):
        raise ConfigError(f"{path} must hold a JSON object of numbers; its fields are {', '.join(known)}")
    return replace(SightLimits(), **given)


def look_alikes(kind: str) -> Sequence[str]:
    """Return the kinds that a kind may be mistaken for; () if nothing looks like it."""
    row = next((row for row in _WORDS["alike"] if kind in row), ())
    return [other for other in row if other != kind]


def misread_as(value: str) -> Sequence[str]:
    """Return the values that a value may be mistaken for; () if none is similar."""
    row = next((row for row in _WORDS["misread"] if value in row), ())
    return [other for other in row if other != value]


def general_word(kind: str) -> str:
    """Return the more general word for a kind ("lamp" for "floor lamp"); the kind itself if there is none."""
    return str(_WORDS["general"].get(kind, kind))


class RoomThing(NamedTuple):
    """An object of a room: its recognised kind, the confidence in it (0..1), and its size in the pictures."""

    kind: str
    sure: float
    pixels: float


class RoomName(NamedTuple):
    """A kind of room, "" unknown. mark: an object that tells it from other rooms of its kind, "" if there are none.
    """

    kind: str = ""
    mark: str = ""

    @property
    def name(self) -> str:
        """Return the name used for look-up: "bathtub bathroom"."""
        return f"{self.mark} {self.kind}".strip()

    @property
    def spoken(self) -> str:
        """Return the name as people say it: "bathroom with the bathtub"."""
        return self.name if self.mark in ("", _OTHER_ROOM) else f"{self.kind} with the {self.mark}"


def room_kind(things: Iterable[RoomThing], needed: float) -> str:
    """Return the kind of room that contains such objects; "" if they are not typical of one.

    needed: minimum evidence; each kind of object counts once: the room's share of its usual rooms times its confidence.
    """
    best: dict[str, float] = {}
    doors = 0
    for thing in things:
        doors += canonical(thing.kind).endswith("door")
        best[thing.kind] = max(best.get(thing.kind, 0.0), thing.sure)
    score: dict[str, float] = {}
    for kind, sure in best.items():
        if rooms_of(kind) != rooms_of(""):
            for room, share in rooms_of(kind).items():
                score[room] = score.get(room, 0.0) + share * sure
    ranked = sorted(score, key=lambda room: (-score[room], room))
    second = score[ranked[1]] if len(ranked) > 1 else 0.0
    if ranked and score[ranked[0]] >= needed * 0.9 and score[ranked[0]] - second >= _NEXT_BEST:
        child = ranked[0] == "bedroom" and len(_CHILD & set(best)) > 1
        return "kids bedroom" if child else ranked[0]
    return "hallway" if doors >= _DOORS and len(best) <= doors + 3 else ""


def names_of(rooms: Mapping[str, Sequence[RoomThing]], needed: float) -> dict[str, RoomName]:
    """Return a name for each room, by the rooms' keys.

    Each of several rooms of a kind is marked by its largest object that the others lack.
    """
    kinds = {key: room_kind(things, needed) for key, things in rooms.items()}
    named: dict[str, RoomName] = {}
    for key, kind in kinds.items():
        others = [other for other in rooms if other != key and kinds[other] == kind]
        named[key] = RoomName(kind, _mark(rooms[key], [rooms[o] for o in others]) if kind and others else "")
    return named


def _mark(own: Sequence[RoomThing], others: Sequence[Sequence[RoomThing]]) -> str:
    theirs = {thing.kind for other in others for thing in other}
    mine = sorted((t for t in own if t.kind not in theirs), key=lambda t: (-t.pixels, t.kind))
    return mine[0].kind if mine else _OTHER_ROOM


class Noticed(NamedTuple):
    """An object in one picture, named as the model names it. size_px: pixels in the picture as sent; sure: 0..1.

    truly: its labelled kind, which the labels of objects on it refer to.
    """

    sighting: Sighting
    truly: str
    size_px: float
    sure: float


class Sight:
    """What is recognised in the pictures of one request; instances and room names are consistent across the pictures.

    views: one view per picture, with sightings in the model's own words, boxes and pixels as in a 640 x 480 image, and
    no caption. rooms: room names by labelled room; the labelled rooms are only compared, never output.
    """

    def __init__(self, pictures: Sequence[Picture], limits: SightLimits, seed: int) -> None:
        self._limits, self._seed = limits, seed
        noticed = [self._noticed(picture) for picture in pictures]
        self.rooms = names_of(_by_room(one for seen in noticed for one in seen), limits.room)
        self.views = [self._view(p.view, seen) for p, seen in zip(pictures, noticed, strict=True)]

    def spoken(self, text: str) -> str:
        """Return a text with rooms named as people name them: "the bathroom with the bathtub"."""
        for room in sorted(set(self.rooms.values()), key=lambda room: -len(room.name)):
            text = text.replace(room.name, room.spoken) if room.mark else text
        return text

    def kind_of(self, room: str) -> str:
        """Return the kind of the room with this name (as in the sightings); "" if unknown."""
        return next((own.kind for own in self.rooms.values() if own.name == room), "")

    def _view(self, view: Keyframe, seen: Sequence[Noticed]) -> Keyframe:
        things = tuple(self._in_words(one, seen) for one in seen)
        return replace(view, jpeg=b"", sightings=things, caption="", region="", geometry=None)

    def _in_words(self, one: Noticed, seen: Sequence[Noticed]) -> Sighting:
        """Return a sighting with the model's names for its room and for the object that it lies on."""
        label = one.sighting.label
        attributes = dict(label.attributes)
        if "support" in attributes:
            support = _support(one, seen, attributes.pop("support"))
            if support:
                attributes["support"] = support
        pixels = max(1, round(_FULL_PIXELS * one.sure ** 2))
        return one.sighting._replace(pixels=pixels, label=label._replace(
            room=self._room(label.room), attributes=attributes))

    def _room(self, labelled: str) -> str:
        return self.rooms[labelled].name if labelled in self.rooms else ""

    def _noticed(self, picture: Picture) -> list[Noticed]:
        width, height = stored_size(picture.view)
        sent, things = Image.open(io.BytesIO(picture)).size, picture.view.sightings
        scale = max(*sent, self._limits.sent_px) / max(width, height)
        if picture.box is not None:  # a thumbnail
            left, top, right, bottom = picture.box
            scale = sent[0] / (right - left) * max(1.0, self._limits.sent_px / SIDE_PX)
            things = tuple(s for s in things if left <= (s.bbox[0] + s.bbox[2]) / 2 <= right
                           and top <= (s.bbox[1] + s.bbox[3]) / 2 <= bottom)
        found = (self._one(picture.view, s, scale, (width, height)) for s in things)
        return [one for one in found if one is not None]

    def _one(self, view: Keyframe, s: Sighting, scale: float, size: tuple[int, int]) -> Noticed | None:
        c, instance = self._limits, s.label.instance
        if math.hypot(s.centre[0] - view.pose.x, s.centre[1] - view.pose.y) > c.far_m:
            return None
        pixels = s.pixels * scale ** 2 * (c.cut if _cut_off(s, size) or _hidden(s, c.hidden) else 1.0)
        share = (math.sqrt(pixels) - math.sqrt(c.least_px)) / (math.sqrt(c.sure_px) - math.sqrt(c.least_px))
        if share <= 0.0 or self._draw("notice", instance) >= share:
            return None
        large = min(1.0, math.sqrt(pixels / (4.0 * c.sure_px)))
        label = self._named(s.label, large)
        label = label._replace(instance=self._twin(view, s), attributes=self._attributes(s.label, pixels, large))
        box = tuple(round(edge * full / own) for edge, full, own in zip(s.bbox, 2 * _AS_SEEN, 2 * size, strict=True))
        seen = s._replace(label=label, bbox=(box[0], box[1], box[2], box[3]))
        return Noticed(seen, s.label.kind, pixels, _SURE_AT_LEAST + (1.0 - _SURE_AT_LEAST) * large)

    def _named(self, label: Label, large: float) -> Label:
        """Return the label with the model's word for it."""
        alike = look_alikes(label.kind)
        if alike and self._draw("confuse", label.instance) < self._limits.confuse * (1.0 - large):
            return label._replace(kind=alike[int(len(alike) * self._draw("alike", label.instance))])
        if self._draw("general", label.instance) < self._limits.generic:
            return label._replace(kind=general_word(label.kind))
        return label

    def _attributes(self, label: Label, pixels: float, large: float) -> dict[str, str]:
        """Return the attributes that are recognisable at the size of an object, some of them misread."""
        legible = {name: value for name, value in label.attributes.items()
                   if not (name in _LOOKS and pixels < self._limits.looks_px)
                   and not (name in _STATES and pixels < self._limits.state_px)}
        for name in (*_LOOKS, *_STATES):
            others = misread_as(legible.get(name, ""))
            if others and self._draw(name, label.instance) < self._limits.misread * (1.0 - large):
                legible[name] = others[int(len(others) * self._draw(f"which {name}", label.instance))]
        return legible

    def _twin(self, view: Keyframe, s: Sighting) -> int:
        """Return the instance id; for an object taken for several, an id that depends on the viewing direction."""
        if self._draw("double", s.label.instance) >= self._limits.double:
            return s.label.instance
        bearing = math.atan2(view.pose.y - s.centre[1], view.pose.x - s.centre[0])
        return s.label.instance + _TWIN * int((bearing + math.pi) / (2.0 * math.pi) * _SECTORS * 0.999)

    def _draw(self, what: str, instance: int) -> float:
        """Return a pseudo-random number in [0, 1) that depends only on the seed, the instance and the purpose."""
        digest = hashlib.blake2b(f"{what} {self._seed} {instance}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") * 2.0 ** -32


def _support(one: Noticed, seen: Sequence[Noticed], kind: str) -> str:
    """Return the model's name of the object below (behind) another; "" if it is not seen in the same picture."""
    below = [other for other in seen if other.truly == kind]
    nearest = min(below, key=lambda other: math.dist(other.sighting.centre, one.sighting.centre), default=None)
    return nearest.sighting.label.kind if nearest else ""


def _by_room(things: Iterable[Noticed]) -> Mapping[str, list[RoomThing]]:
    """Group the noticed objects by labelled room, because walls and doorways separate rooms."""
    rooms: dict[str, list[RoomThing]] = {}
    for one in things:
        label = one.sighting.label
        rooms.setdefault(label.room, []).append(RoomThing(label.kind, one.sure, one.size_px))
    rooms.pop("", None)
    return rooms


def _cut_off(s: Sighting, size: tuple[int, int]) -> bool:
    left, top, right, bottom = s.bbox
    return (left <= 1) + (top <= 1) + (right >= size[0] - 1) + (bottom >= size[1] - 1) >= 2


def _hidden(s: Sighting, share: float) -> bool:
    left, top, right, bottom = s.bbox
    return s.pixels < share * (right - left) * (bottom - top)


def stored_size(view: Keyframe) -> tuple[int, int]:
    """Return width and height, pixels, of the image that a view's boxes refer to."""
    if view.geometry is not None:
        return view.geometry.intrinsics.width, view.geometry.intrinsics.height
    return _image_size(view.jpeg) if view.jpeg else _AS_SEEN


@lru_cache(maxsize=256)
def _image_size(jpeg: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(jpeg)).size
