"""Readable text in a house: signs, posters, titles, labels and clocks. Scenes "house:<seed>+text".

Texts are drawn from a separate random stream and added to a copy, so a house without "+text" stays byte-identical.
"text:NO SHOES" is the name of a texture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.pillow import RESAMPLING, writing_font
from sim_bridge.house.dice import Dice
from sim_bridge.house.kinds import at, box
from sim_bridge.house.scene import House, HouseObject, ObjectPart

PREFIX = "text:"
TITLES = ("EMMA", "DUNE", "ULYSSES", "DRACULA", "HAMLET", "WALDEN", "MATILDA", "HEIDI", "IVANHOE", "CANDIDE", "TARZAN",
          "PINOCCHIO", "MOBY DICK", "JANE EYRE", "PETER PAN", "BLACK BEAUTY")
CONTENTS = ("RICE", "TEA", "SALT", "OATS", "NUTS", "MINT", "CORN", "PEAS", "DILL", "SAGE", "LIME", "BRAN")
STORED = ("TOYS", "BOOKS", "XMAS", "CABLES", "TOOLS", "PHOTOS", "CAMPING", "WINTER", "LETTERS", "SHOES")
SIGNS = ("NO SHOES", "QUIET PLEASE", "NO SMOKING", "HOME SWEET HOME", "DOG INSIDE", "DOOR CODE 4711", "WIFI BLUE42",
         "ROOM 12", "LIGHTS OFF", "PARTY AT NINE", "KEEP CLOSED", "NO PHONES", "WASH HANDS", "VISITORS LEFT")
POSTERS = ("JAZZ NIGHT", "PARIS", "METROPOLIS", "OPEN AIR", "ROME 1960", "CIRCUS", "VENICE", "MOON LANDING", "LISBON",
           "CITY RUN", "TANGO", "NORTH SEA", "GRAND PRIX", "ALPS")
NOTES = ("BUY MILK", "CALL ANNA", "PAY RENT", "MEET AT NOON", "FEED THE CAT", "BOOK FLIGHT", "FIX THE LAMP",
         "DENTIST 15:30")
MONTHS = ("MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST")
TIMES = tuple(f"{hour:02d}:{minute:02d}" for hour in range(24) for minute in range(0, 60, 5))
WRITTEN = tuple(dict.fromkeys((*TITLES, *CONTENTS, *STORED, *SIGNS, *POSTERS, *NOTES, *MONTHS, *TIMES)))

_POINTS = 120  # font size in pixels of the canvas, before scaling
_MARGIN = 0.28  # margin around the words, in heights of a letter
_GAP = 0.45  # gap between two lines, in heights of a letter
_LONG = 9  # minimum number of letters for two lines
_INK = 0.07


class TextLayout(NamedTuple):
    """Lines of words. aspect: width / height of the panel that they fill; letter: height of a capital letter as a share
    of the panel's height."""

    lines: tuple[str, ...]
    aspect: float
    letter: float


def words_of(texture: str) -> str:
    """Return the words in a texture's name. Raises ConfigError for unknown words."""
    words = texture.removeprefix(PREFIX)
    if words not in WRITTEN:
        raise ConfigError(unknown("text", words, WRITTEN))
    return words


@cache
def layout_of(words: str) -> TextLayout:
    """Return the layout of words."""
    lines = _lines(words)
    letter, width, height = _measured(lines)
    return TextLayout(lines, width / height, letter / height)


def drawn(words: str, size: int) -> np.ndarray:
    """Return dark words as colour factors (size, size, 3) of the surface, fitted to the face, v up."""
    lines = _lines(words)
    letter, width, height = _measured(lines)
    canvas = Image.new("L", (round(width), round(height)), 255)
    pen, font = ImageDraw.Draw(canvas), writing_font(_POINTS)
    for number, line in enumerate(lines):
        pen.text((width / 2, letter * (_MARGIN + 1 + number * (1 + _GAP))), line, 0, font, anchor="ms",
                 stroke_width=2, stroke_fill=0)
    fine = canvas.resize((size, max(1, round(size * height / width))), RESAMPLING.BOX)  # equal vertical resolution
    small = np.asarray(fine.resize((size, size), RESAMPLING.BILINEAR), np.float64)[::-1] / 255
    return np.repeat((_INK + (1 - _INK) * small)[:, :, None], 3, axis=2)


def _lines(words: str) -> tuple[str, ...]:
    """Return words in one line, or in the two that differ least in length."""
    parts = words.split()
    if len(words) < _LONG or len(parts) == 1:
        return (words,)
    halves = [(" ".join(parts[:i]), " ".join(parts[i:])) for i in range(1, len(parts))]
    return min(halves, key=lambda half: max(map(len, half)))


def _measured(lines: tuple[str, ...]) -> tuple[float, float, float]:
    """Return the height of a capital letter, and the size of the canvas, in pixels."""
    font = writing_font(_POINTS)
    _, top, _, bottom = font.getbbox("H", anchor="ls")
    letter = float(bottom - top)
    longest = max(font.getlength(line) for line in lines)
    return letter, longest + 2.6 * _MARGIN * letter, letter * (len(lines) + _GAP * (len(lines) - 1) + 2 * _MARGIN)


_PAPER, _CARD, _DISPLAY = "#f6f2e4", "#f7e7a8", "#bfe6b8"
_SALT = 7_000_003  # seed offset, so that the random stream differs from the house's own
_PROUD_M = 0.004  # distance of a panel from its surface


def lettered(house: House) -> House:
    """Return a copy of a house with words on its objects; the same house always gets the same words."""
    dice, rooms = Dice(house.seed + _SALT), set[int]()
    used: dict[str, list[str]] = {}

    def words(choice: Sequence[str]) -> str:
        """Draw words that no other object of the house has, if any are left."""
        before = used.setdefault(choice[0], [])
        left = [text for text in choice if text not in before]
        before.append(dice.pick(left or choice))
        return before[-1]

    def written_on(obj: HouseObject) -> HouseObject:
        if obj.kind == "painting":
            if obj.room in rooms:
                return obj
            rooms.add(obj.room)
            return _sign(obj, words(SIGNS)) if dice.chance(0.5) else _poster(obj, words(POSTERS))
        if obj.kind not in _LETTERED:
            return obj
        choice, write = _LETTERED[obj.kind]
        return write(obj, words(choice))

    return replace(house, objects=[written_on(obj) for obj in house.objects])


def letter_m(obj: HouseObject) -> float:
    """Return the height of a capital letter on an object in metres, 0 if the object has no text."""
    panels = [part for part in obj.parts if part.texture.startswith(PREFIX)]
    return max((p.size[2] * layout_of(words_of(p.texture)).letter for p in panels), default=0.0)


def _panel(text: str, x: float, z: float, most: tuple[float, float], colour: str, glow: float = 0.0) -> ObjectPart:
    """Return a panel on a front at local x, as large as fits into `most` (width, height in metres) around height z."""
    aspect = layout_of(text).aspect
    high = min(most[1], most[0] / aspect)
    return box(x + _PROUD_M / 2, 0, z - high / 2, (_PROUD_M, high * aspect, high), colour, PREFIX + text, glow)


def _with(obj: HouseObject, text: str, parts: list[ObjectPart], **changed: Any) -> HouseObject:
    return replace(obj, parts=parts, text=text, **changed)


def _sign(obj: HouseObject, text: str) -> HouseObject:
    _, wide, high = obj.size
    size = (0.02, min(wide, 0.8), min(high, 0.5))
    board = box(0, 0, 0, size, "white", "plastic")
    return _with(obj, text, [board, _panel(text, 0.01, size[2] / 2, (size[1] * 0.94, size[2] * 0.9), "white")],
                 kind="sign", size=size, material="plastic", colour="white", paint="")


def _poster(obj: HouseObject, text: str) -> HouseObject:
    deep, wide, _ = obj.size
    title = _panel(text, deep / 2, 0.05 + 0.16, (wide - 0.1, 0.3), _PAPER)
    return _with(obj, text, [*obj.parts[:2], title], kind="poster")


def _clock(obj: HouseObject, text: str) -> HouseObject:
    """A digital clock."""
    size = (obj.size[0], 0.42, 0.2)
    body = box(0, 0, 0, size, "black")
    return _with(obj, text, [body, _panel(text, size[0] / 2, 0.1, (0.39, 0.17), _DISPLAY, 0.25)], size=size)


def _book(obj: HouseObject, text: str) -> HouseObject:
    """A book that stands and shows its cover."""
    size = (0.05, 0.28, 0.22)
    pages = box(0, 0, 0.005, (0.038, 0.272, 0.21), "#f4efe0", "paper")
    covers = [box(x, 0, 0, (0.006, *size[1:]), obj.colour) for x in (-0.022, 0.022)]
    return _with(obj, text, [pages, *covers, _panel(text, 0.025, 0.13, (0.26, 0.13), _PAPER)], size=size)


def _jar(obj: HouseObject, text: str) -> HouseObject:
    """A large jar: the label on a small one would be unreadable from the robot's distance."""
    size = (0.17, 0.19, 0.22)
    glass = at("cylinder", -0.005, 0, 0, (0.16, 0.16, 0.18), obj.colour, "glass")
    lid = at("cylinder", -0.005, 0, 0.18, (0.14, 0.14, 0.04), "#c8b890", "metal")
    return _with(obj, text, [glass, lid, _panel(text, 0.077, 0.09, (0.19, 0.12), _PAPER)], size=size)


def _carton(obj: HouseObject, text: str) -> HouseObject:
    front = max(part.centre[0] + part.size[0] / 2 for part in obj.parts)
    _, wide, high = obj.size
    return _with(obj, text, [*obj.parts, _panel(text, front, high * 0.5, (wide * 0.8, high * 0.6), _PAPER)])


def _calendar(obj: HouseObject, text: str) -> HouseObject:
    deep, wide, high = obj.size
    paper, _, *days = obj.parts
    return _with(obj, text, [paper, *days, _panel(text, deep / 2, high * 0.75, (wide - 0.01, 0.2), _PAPER)])


def _board(obj: HouseObject, text: str) -> HouseObject:
    deep, wide, high = obj.size
    return _with(obj, text, [*obj.parts[:2], _panel(text, deep / 2, high * 0.5, (wide * 0.8, high * 0.6), "white")])


_LETTERED: dict[str, tuple[Sequence[str], Callable[[HouseObject, str], HouseObject]]] = {
    "wall clock": (TIMES, _clock), "book": (TITLES, _book), "jar": (CONTENTS, _jar),
    "cardboard box": (STORED, _carton), "calendar": (MONTHS, _calendar),
    "whiteboard": (NOTES, _board)}
