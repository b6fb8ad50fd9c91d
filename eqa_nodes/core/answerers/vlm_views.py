"""Prepares remembered views for a vision-language model: floor places as lettered discs, scaled images."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from string import ascii_uppercase

from PIL import Image, ImageDraw, ImageFont

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.model import Picture
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
    if not view.jpeg:
        raise BadFrame(f"keyframe {view.id} has no image for the model")
    if not letters and not max_side_px:
        return Picture(view.jpeg, view)
    try:
        stored = Image.open(io.BytesIO(view.jpeg))
        if not letters and max(stored.size) <= max_side_px:
            return Picture(view.jpeg, view)
        image = stored.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # what Pillow raises at damage
        raise BadFrame(f"the image of keyframe {view.id} cannot be decoded: {error}") from error
    if max_side_px:
        image.thumbnail((max_side_px, max_side_px))
    _draw(image, letters, image.width / stored.width)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return Picture(out.getvalue(), view)


def _draw(image: Image.Image, letters: Mapping[str, FloorPixel], scale: float) -> None:
    """Draw black letters on white discs with a black rim: seen on any floor. A disc at the border is moved inside."""
    radius = max(_MIN_RADIUS_PX, _RADIUS * min(image.size))
    font = ImageFont.load_default(size=1.5 * radius)
    draw = ImageDraw.Draw(image)
    for letter, place in letters.items():
        u = max(radius, min(image.width - radius, (place.u + 0.5) * scale))
        v = max(radius, min(image.height - radius, (place.v + 0.5) * scale))
        draw.ellipse((u - radius, v - radius, u + radius, v + radius), "white", "black", max(2, round(radius / 6)))
        draw.text((u, v), letter, "black", font, anchor="mm")
