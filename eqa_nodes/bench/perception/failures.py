"""Pictures of a detector's worst failures: contact sheets of what it missed, invented and confused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.bench.perception.figures import is_wanted
from eqa_nodes.bench.perception.matching import Box, FoundObject, MatchedView, TruthObject
from eqa_nodes.bench.perception.views import LabelledView
from eqa_nodes.core.pillow import RESAMPLING, writing_font

MISSED, FALSE, CONFUSED = "missed", "false", "confused"
SHEETS = (MISSED, FALSE, CONFUSED)
TILES, OF_A_KIND = 24, 3  # maximum numbers of pictures on a sheet: in all, and of one kind
_COLUMNS, _WIDTH, _HEIGHT, _WORDS, _GAP, _LETTER_PX, _TITLE = 6, 240, 180, 38, 8, 13, 40  # pixels
_TRUE, _DETECTED, _PAPER, _INK = (0, 200, 90), (240, 50, 70), (250, 250, 250), (20, 20, 20)
_AROUND, _LEAST_PX = 0.6, 64  # margin around the boxes, as a share of their size; minimum size of a crop


class Failure(NamedTuple):
    """One failure. weight: failures with a larger one are shown first; crop: (h, w, 3) uint8 around the boxes, whose
    coordinates are those of the crop."""

    weight: float
    kind: str
    words: tuple[str, str]
    crop: np.ndarray
    true_box: Box | None
    found_box: Box | None


class FailurePictures:
    """Keeps the worst failures of each sort: the largest that were missed, the surest that are wrong."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, list[Failure]]] = {sheet: {} for sheet in SHEETS}
        self._count = Counter[str]()

    def add(self, view: LabelledView, matched: MatchedView) -> None:
        """Add the failures in a view; of the missed objects only those of the wanted class."""
        for t in matched.truth:
            if t.counted and not t.found_as and is_wanted(t):
                pixels = (t.box[2] - t.box[0]) * (t.box[3] - t.box[1])
                self._keep(MISSED, view, pixels, t.kind, f"{t.kind}, {_where(t)}", t.box, None)
        for f in matched.found:
            if f.counted and not f.true_kind:
                words = f'{"part, " * f.part}"{f.kind}" {f.score:.2f}, {_where(f)}'
                self._keep(FALSE, view, f.score, f.kind, words, None, f.box)
            elif f.counted and not f.right:
                self._keep(CONFUSED, view, f.score, f.true_kind, f'{f.true_kind}: "{f.kind}" {f.score:.2f}',
                           f.true_box, f.box)

    def worst(self, sheet: str) -> list[Failure]:
        """Return the failures for a sheet, the worst first, at most a few of one kind."""
        every = [one for kept in self._kept[sheet].values() for one in kept]
        return sorted(every, key=lambda one: (-one.weight, one.kind))[:TILES]

    def count(self, sheet: str) -> int:
        """Return the number of failures of a sort that were added."""
        return self._count[sheet]

    def _keep(self, sheet: str, view: LabelledView, weight: float, kind: str, words: str, true_box: Box | None,
              found_box: Box | None) -> None:
        self._count[sheet] += 1
        kept = self._kept[sheet].setdefault(kind, [])
        if len(kept) == OF_A_KIND and weight <= kept[-1].weight:
            return
        crop, boxes = _cropped(view.frame.rgb, [true_box, found_box])
        kept.append(Failure(weight, kind, (words, f"{view.scene}, view {view.number}"), crop, *boxes))
        kept.sort(key=lambda one: -one.weight)
        del kept[OF_A_KIND:]


def _where(one: TruthObject | FoundObject) -> str:
    return f"{one.width_px:.0f} px, {one.distance_m:.1f} m"


def _cropped(rgb: np.ndarray, boxes: Sequence[Box | None]) -> tuple[np.ndarray, list[Box | None]]:
    """Return the part of a picture around boxes, in the proportions of a tile, and the boxes in it."""
    left, top, right, bottom = np.array([box for box in boxes if box]).T
    x0, y0, x1, y1 = left.min(), top.min(), right.max(), bottom.max()
    high = max((y1 - y0) * (1 + 2 * _AROUND), (x1 - x0) * (1 + 2 * _AROUND) * _HEIGHT / _WIDTH, _LEAST_PX)
    height, width = rgb.shape[:2]
    h = min(round(high), height)
    w = min(round(high * _WIDTH / _HEIGHT), width)
    x = min(max(round((x0 + x1 - w) / 2), 0), width - w)
    y = min(max(round((y0 + y1 - h) / 2), 0), height - h)
    moved: list[Box | None] = [(b[0] - x, b[1] - y, b[2] - x, b[3] - y) if b else None for b in boxes]
    return rgb[y:y + h, x:x + w].copy(), moved


def contact_sheet(failures: Sequence[Failure], title: str) -> Image.Image:
    """Return a sheet of failures: the truth's boxes are green, the detector's red."""
    rows = max(1, -(-len(failures) // _COLUMNS))
    columns = min(_COLUMNS, max(3, len(failures)))
    sheet = Image.new("RGB", (columns * (_WIDTH + _GAP) + _GAP, _TITLE + rows * (_HEIGHT + _WORDS + _GAP)), _PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((_GAP, _GAP), title, _INK, writing_font(_LETTER_PX + 3))
    for n, one in enumerate(failures):
        x, y = _GAP + n % _COLUMNS * (_WIDTH + _GAP), _TITLE + n // _COLUMNS * (_HEIGHT + _WORDS + _GAP)
        sheet.paste(_tile(one), (x, y))
        for line, words in enumerate(one.words):
            draw.text((x, y + _HEIGHT + 2 + line * (_LETTER_PX + 3)), words, _INK if line == 0 else (110, 110, 110),
                      writing_font(_LETTER_PX - line))
    return sheet


def _tile(one: Failure) -> Image.Image:
    """Return the crop, enlarged, with the boxes."""
    height, width = one.crop.shape[:2]
    scale = min(_WIDTH / width, _HEIGHT / height)
    tile = Image.new("RGB", (_WIDTH, _HEIGHT), (225, 225, 225))
    size = round(width * scale), round(height * scale)
    at = (_WIDTH - size[0]) // 2, (_HEIGHT - size[1]) // 2
    tile.paste(Image.fromarray(one.crop).resize(size, RESAMPLING.BICUBIC), at)
    draw = ImageDraw.Draw(tile)
    for box, colour in ((one.true_box, _TRUE), (one.found_box, _DETECTED)):
        if box is not None:
            ends = [round(edge * scale) + at[k % 2] for k, edge in enumerate(box)]
            draw.rectangle((ends[0], ends[1], ends[2] - 1, ends[3] - 1), outline=colour, width=2)
    return tile
