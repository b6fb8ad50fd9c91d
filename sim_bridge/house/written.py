"""Words that stand on things in a house, drawn as textures: "text:NO SHOES" is the name of one."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.pillow import RESAMPLING, writing_font

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

_POINTS = 120  # of the font, in pixels of the canvas before it is scaled
_MARGIN = 0.28  # around the words, in heights of a letter
_GAP = 0.45  # between two lines, in heights of a letter
_LONG = 9  # letters from which words are set in two lines
_INK = 0.07


class Layout(NamedTuple):
    """Words in lines. aspect: width of the panel that they fill, in heights of it; letter: height of a capital
    letter in heights of the panel."""

    lines: tuple[str, ...]
    aspect: float
    letter: float


def words_of(texture: str) -> str:
    """Return the words of a texture's name. Raises ConfigError for words that nobody writes."""
    words = texture.removeprefix(PREFIX)
    if words not in WRITTEN:
        raise ConfigError(unknown("text", words, WRITTEN))
    return words


@cache
def layout_of(words: str) -> Layout:
    """Return how words are set."""
    lines = _lines(words)
    letter, width, height = _measured(lines)
    return Layout(lines, width / height, letter / height)


def drawn(words: str, size: int) -> np.ndarray:
    """Return dark words on the colour of the surface as factors (size, size, 3), fitted to the face, v up."""
    lines = _lines(words)
    letter, width, height = _measured(lines)
    canvas = Image.new("L", (round(width), round(height)), 255)
    pen, font = ImageDraw.Draw(canvas), writing_font(_POINTS)
    for number, line in enumerate(lines):
        pen.text((width / 2, letter * (_MARGIN + 1 + number * (1 + _GAP))), line, 0, font, anchor="ms",
                 stroke_width=2, stroke_fill=0)
    fine = canvas.resize((size, max(1, round(size * height / width))), RESAMPLING.BOX)  # as fine down as across
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
