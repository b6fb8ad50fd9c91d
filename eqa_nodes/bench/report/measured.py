"""Draws what was measured for an answer: into the picture that proves it, and onto the map seen from above."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.language.quantities import said_length
from eqa_nodes.core.perception.projection import pixel_of
from eqa_nodes.core.pillow import writing_font
from eqa_nodes.core.types.measures import MeasuredLine, measures_of
from eqa_nodes.core.types.questions import Evidence
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.wire.image_files import decode_image

_LINE, _DARK = (255, 214, 10), (17, 24, 39)
_PIECES = 200  # of a line, to find the part of it that a view shows
_SHOWN = 0.05  # part of a line, from which it is worth drawing


def measured_picture(view: Keyframe, note: str) -> bytes:
    """Return the JPEG of a view with the lines that the note of its evidence holds; unchanged where it shows none.

    It is also unchanged where it is damaged: who decodes it for a page says so. A line that goes on beyond the image
    has no bar at that end. It is drawn also where something stands before it.
    """
    seen = [(measure, part) for measure in measures_of(note) if (part := _part(view, measure)) is not None]
    if not seen:
        return view.jpeg
    try:
        image = decode_image(view.jpeg, f"of keyframe {view.id}").convert("RGB")
    except BadFrame:
        return view.jpeg
    for measure, part in seen:
        _draw(image, measure, part)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=92, subsampling=0)
    return out.getvalue()


class _Part:
    """The part of a line that a view shows: its ends in pixels, and whether they are those of the line."""

    def __init__(self, ends: Sequence[tuple[float, float]], whole: tuple[bool, bool]) -> None:
        self.ends, self.whole = ends, whole


def _part(view: Keyframe, measure: MeasuredLine) -> _Part | None:
    a, b = np.array(measure.start), np.array(measure.end)
    along = [pixel_of(view, *(a + (b - a) * k / _PIECES)) for k in range(_PIECES + 1)]
    shown = [k for k, pixel in enumerate(along) if pixel is not None]
    if len(shown) < max(2, _SHOWN * _PIECES):
        return None
    first, last = along[shown[0]], along[shown[-1]]
    assert first is not None and last is not None
    return _Part((first[:2], last[:2]), (shown[0] == 0, shown[-1] == _PIECES))


def _draw(image: Image.Image, measure: MeasuredLine, part: _Part) -> None:
    """Draw a line with bars across its ends, and its length beside its middle."""
    draw, width = ImageDraw.Draw(image), max(2, round(min(image.size) / 160))
    (u0, v0), (u1, v1) = part.ends
    long = math.hypot(u1 - u0, v1 - v0) or 1.0
    across = -(v1 - v0) / long * 4 * width, (u1 - u0) / long * 4 * width
    lines = [((u0, v0), (u1, v1))]
    lines += [((u - across[0], v - across[1]), (u + across[0], v + across[1]))
              for (u, v), whole in zip(part.ends, part.whole, strict=True) if whole]
    for colour, wide in ((_DARK, 3 * width), (_LINE, width)):
        for line in lines:
            draw.line(line, fill=colour, width=wide)
    _write(draw, image.size, ((u0 + u1) / 2, (v0 + v1) / 2), across, said_length(measure.metres))


def _write(draw: ImageDraw.ImageDraw, size: tuple[int, int], at: tuple[float, float], across: tuple[float, float],
           text: str) -> None:
    """Write a text beside a point, off the line and within the image."""
    font = writing_font(max(14, min(size) // 18))
    border = max(2, min(size) // 160)
    left, top, right, bottom = draw.textbbox((0, 0), text, font, stroke_width=border)
    half_w, half_h = (right - left) / 2, (bottom - top) / 2
    sign = -1.0 if across[1] > 0 or (across[1] == 0 and across[0] > 0) else 1.0
    scale = math.hypot(*across) or 1.0
    off = abs(across[0]) / scale * half_w + abs(across[1]) / scale * half_h + 2 * border
    x = min(max(at[0] + sign * across[0] / scale * off, half_w), size[0] - half_w)
    y = min(max(at[1] + sign * across[1] / scale * off, half_h), size[1] - half_h)
    draw.text((x - half_w - left, y - half_h - top), text, _LINE, font, stroke_width=border, stroke_fill=_DARK)


def measures_svg(evidence: Sequence[Evidence]) -> str:
    """Return what was measured as SVG over a map in metres, y down; "" for nothing. An upright length is a dot."""
    found = dict.fromkeys(measure for one in evidence for measure in measures_of(one.note))
    return "".join(_line_svg(measure) for measure in found)


def _line_svg(measure: MeasuredLine) -> str:
    (x0, y0, _), (x1, y1, _) = measure
    return (f'<g class="measure"><title>measured for the answer</title><line x1="{x0:.2f}" y1="{-y0:.2f}" '
            f'x2="{x1:.2f}" y2="{-y1:.2f}"/><text x="{(x0 + x1) / 2:.2f}" y="{-(y0 + y1) / 2 - 0.15:.2f}">'
            f"{said_length(measure.metres)}</text></g>")
