"""Prepares remembered views for a vision-language model: floor places as lettered discs, scaled images."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase

from PIL import Image, ImageDraw

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.model import Picture
from eqa_nodes.core.pillow import writing_font
from eqa_nodes.core.types.calls import Mark
from eqa_nodes.core.types.views import FloorPixel, Keyframe

_RADIUS = 1 / 30  # of the image's shorter side: 16 pixels of 480
_MIN_RADIUS_PX = 9.0  # a letter in a smaller disc cannot be read
_JPEG_QUALITY = 90


def lettered(view: Keyframe) -> dict[str, FloorPixel]:
    """Return the view's places by their letters: A, B, C."""
    return dict(zip(ascii_uppercase, view.places))


def heading(number: int, view: Keyframe, letters: Mapping[str, FloorPixel]) -> str:
    """Return the caption above an image: its number, its pose, what is drawn on it, what is in view."""
    x, y, yaw = view.pose
    drawn = f", letters {', '.join(letters)}" if letters else ""
    caption = f", {view.caption}" if view.caption else ""
    where = f"taken at ({x:.1f}, {y:.1f}) m, looking to {math.degrees(yaw):.0f} degrees"
    return f"Picture {number}: {where}{drawn}{caption}"


def picture(view: Keyframe, letters: Mapping[str, FloorPixel], max_side_px: int = 0) -> Picture:
    """Return the view's JPEG with the letters on it; as it is stored where nothing is drawn and nothing too large.

    max_side_px: longer images are scaled down first, 0 = never. Raises BadFrame for an absent or broken image.
    """
    return Picture(_drawn(view, {letter: (p.u + 0.5, p.v + 0.5) for letter, p in letters.items()}, max_side_px), view)


def numbered_picture(view: Keyframe, marks: Sequence[Mark], max_side_px: int = 0) -> Picture:
    """Return the view's JPEG with the numbers of options on it; else as `picture`."""
    return Picture(_drawn(view, {str(m.number): (m.u, m.v) for m in marks}, max_side_px), view, marks)


def _drawn(view: Keyframe, discs: Mapping[str, tuple[float, float]], max_side_px: int) -> bytes:
    if not view.jpeg:
        raise BadFrame(f"keyframe {view.id} has no image for the model")
    if not discs and not max_side_px:
        return view.jpeg
    try:
        stored = Image.open(io.BytesIO(view.jpeg))
        if not discs and max(stored.size) <= max_side_px:
            return view.jpeg
        image = stored.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # what Pillow raises at damage
        raise BadFrame(f"the image of keyframe {view.id} cannot be decoded: {error}") from error
    if max_side_px:
        image.thumbnail((max_side_px, max_side_px))
    draw_discs(image, discs, image.width / stored.width)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()


def draw_discs(image: Image.Image, discs: Mapping[str, tuple[float, float]], scale: float) -> None:
    """Draw black letters or numbers on white discs with a black rim: seen on any floor.

    discs: pixels of the stored image by what is written. A disc at the border is moved inside.
    """
    radius = max(_MIN_RADIUS_PX, _RADIUS * min(image.size))
    font = writing_font(1.5 * radius)
    draw = ImageDraw.Draw(image)
    for written, (column, row) in discs.items():
        u = max(radius, min(image.width - radius, column * scale))
        v = max(radius, min(image.height - radius, row * scale))
        draw.ellipse((u - radius, v - radius, u + radius, v + radius), "white", "black", max(2, round(radius / 6)))
        draw.text((u, v), written, "black", font, anchor="mm")
