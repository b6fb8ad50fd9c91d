"""What differs between versions of Pillow (9.4 of Debian 12 is the oldest that is supported), and sizes of images."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from PIL import Image, ImageFont, features

FILE = "DejaVuSans.ttf"
RESAMPLING: Any = getattr(Image, "Resampling", Image)  # the enumeration is new in 9.1


@cache
def writing_font(size: float) -> Any:
    """Return a font of that size in pixels.

    Pillow has one of its own from 10.1 on. With an older one (Debian 12, Ubuntu 22.04) it is DejaVu Sans of the system.
    Raises RuntimeError where that is missing: the small bitmap font of old Pillow could not be read in a picture.
    """
    version = str(features.version("pil"))
    if tuple(int(part) for part in version.split(".")[:2]) >= (10, 1):
        return ImageFont.load_default(size)
    try:
        return ImageFont.truetype(FILE, max(1, round(size)))
    except OSError as error:
        raise RuntimeError(f"Pillow {version} has no font of its own, and {FILE} is not on this machine: apt-get "
                           "install fonts-dejavu-core, or install Pillow 10.1 or newer") from error


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height of an image file, None where it is damaged."""
    try:
        return Image.open(io.BytesIO(data)).size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):  # what Pillow raises at damage
        return None
