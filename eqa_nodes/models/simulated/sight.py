"""Pictures as the simulated model sees them: what labels say of a view, less what nobody could make out."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from PIL import Image

from eqa_nodes.core.model import Picture
from eqa_nodes.core.types.views import Keyframe, Label, Sighting
from eqa_nodes.models.simulated.limits import SightLimits
from eqa_nodes.models.simulated.room_names import RoomThing, names_of
from eqa_nodes.models.simulated.words import general_word, look_alikes, misread_as

_AS_SEEN = (640, 480)  # the picture size that rules over sightings reckon with where a view has no image
_FULL_PIXELS = 150  # of such a picture, from which those rules trust a sighting fully
_SURE_AT_LEAST = 0.4  # recognition of the smallest object that is noticed
_SECTORS = 3  # from which an object is seen, as far as one may be taken for two
_TWIN = 1_000_000  # between the ids of an object's twins
_LOOKS, _STATES = ("colour", "material"), ("state",)


class Noticed(NamedTuple):
    """A thing in one picture, called as the model calls it. size_px: in the picture as it is sent; sure: 0..1.

    truly: its labelled kind, by which it is known what lies on it.
    """

    sighting: Sighting
    truly: str
    size_px: float
    sure: float


class Sight:
    """What is seen in the pictures of one request; things keep their instance and their room is named for all alike.

    views: of each picture, with sightings in the model's own words, boxes and pixels as of a 640 x 480 image, and no
    caption. rooms: their names by the labels' own, which are compared but never told.
    """

    def __init__(self, pictures: Sequence[Picture], limits: SightLimits, seed: int) -> None:
        self._limits, self._seed = limits, seed
        noticed = [self._noticed(picture) for picture in pictures]
        self.rooms = names_of(_by_room(one for seen in noticed for one in seen), limits.room)
        self.views = [self._view(p.view, seen) for p, seen in zip(pictures, noticed, strict=True)]

    def spoken(self, text: str) -> str:
        """Return a text with rooms named as people do: "the bathroom with the bathtub"."""
        for room in sorted(set(self.rooms.values()), key=lambda room: -len(room.name)):
            text = text.replace(room.name, room.spoken) if room.mark else text
        return text

    def kind_of(self, room: str) -> str:
        """Return the kind of a room by the name that sightings give it; "" for none."""
        return next((own.kind for own in self.rooms.values() if own.name == room), "")

    def _view(self, view: Keyframe, seen: Sequence[Noticed]) -> Keyframe:
        things = tuple(self._in_words(one, seen) for one in seen)
        return replace(view, jpeg=b"", sightings=things, caption="", region="", geometry=None)

    def _in_words(self, one: Noticed, seen: Sequence[Noticed]) -> Sighting:
        """Return a sighting with the names of its room and of what it lies on, as they are called here."""
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
        long_side = max(Image.open(io.BytesIO(picture)).size)
        scale = max(long_side, self._limits.sent_px) / max(width, height)
        found = (self._one(picture.view, s, scale, (width, height)) for s in picture.view.sightings)
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
        """Return what can be told of an object of such a size."""
        legible = {name: value for name, value in label.attributes.items()
                   if not (name in _LOOKS and pixels < self._limits.looks_px)
                   and not (name in _STATES and pixels < self._limits.state_px)}
        for name in (*_LOOKS, *_STATES):
            others = misread_as(legible.get(name, ""))
            if others and self._draw(name, label.instance) < self._limits.misread * (1.0 - large):
                legible[name] = others[int(len(others) * self._draw(f"which {name}", label.instance))]
        return legible

    def _twin(self, view: Keyframe, s: Sighting) -> int:
        """Return the instance; of one that is taken for several, a number for the side that it is seen from."""
        if self._draw("double", s.label.instance) >= self._limits.double:
            return s.label.instance
        bearing = math.atan2(view.pose.y - s.centre[1], view.pose.x - s.centre[0])
        return s.label.instance + _TWIN * int((bearing + math.pi) / (2.0 * math.pi) * _SECTORS * 0.999)

    def _draw(self, what: str, instance: int) -> float:
        """Return a number in [0, 1) that depends on nothing but the seed, the instance and what it is for."""
        digest = hashlib.blake2b(f"{what} {self._seed} {instance}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") * 2.0 ** -32


def _support(one: Noticed, seen: Sequence[Noticed], kind: str) -> str:
    """Return what the thing below (behind) an object is called; "" where it cannot be seen in the same picture."""
    below = [other for other in seen if other.truly == kind]
    nearest = min(below, key=lambda other: math.dist(other.sighting.centre, one.sighting.centre), default=None)
    return nearest.sighting.label.kind if nearest else ""


def _by_room(things: Iterable[Noticed]) -> Mapping[str, list[RoomThing]]:
    """Return what was noticed by the room that it is in: walls and doorways tell rooms apart."""
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
    """Return width and height of the image that a view's boxes are measured in."""
    if view.geometry is not None:
        return view.geometry.intrinsics.width, view.geometry.intrinsics.height
    return _image_size(view.jpeg) if view.jpeg else _AS_SEEN


@lru_cache(maxsize=256)
def _image_size(jpeg: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(jpeg)).size
