"""Compatibility with versions of Pillow (the oldest supported one is 9.4 of Debian 12), and sizes of images."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from PIL import Image, ImageFont, features

FILE = "DejaVuSans.ttf"
RESAMPLING: Any = getattr(Image, "Resampling", Image)  # the enumeration is new in 9.1


@cache
def writing_font(size: float) -> Any:
    """Return a font of a size in pixels.

    Pillow contains one since 10.1. With an older version (Debian 12, Ubuntu 22.04) it is DejaVu Sans of the system.
    Raises RuntimeError if that is missing: the small bitmap font of old Pillow would be unreadable in a picture.
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
    """Return width and height of an image file, None if it is damaged."""
    try:
        return Image.open(io.BytesIO(data)).size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):  # Pillow's errors for damaged files
        return None
