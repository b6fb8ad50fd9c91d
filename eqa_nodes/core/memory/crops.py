"""Crops of single objects from the views that show them best."""

from __future__ import annotations

import io
import re

from PIL import Image

from eqa_nodes.core.types.remembered import MemoryObject

_NAME = 60  # characters of a kind that a file's name has at most


def crop_of(jpeg: bytes, bbox: tuple[int, int, int, int], margin: float = 0.1) -> bytes:
    """Return the JPEG of an object in a view, with a margin on each side as a share of its box, within the image.

    bbox: left, top, right, bottom in pixels, the last two behind it.
    """
    with Image.open(io.BytesIO(jpeg)) as view:
        left, top, right, bottom = bbox
        dx, dy = round(margin * (right - left)), round(margin * (bottom - top))
        crop = view.crop((max(left - dx, 0), max(top - dy, 0), min(right + dx, view.width),
                          min(bottom + dy, view.height)))
        out = io.BytesIO()
        crop.save(out, "JPEG", quality=95, subsampling=0)
        return out.getvalue()


def file_name(obj: MemoryObject) -> str:
    """Return a name for the image of an object: "12-table-lamp.jpg", safe as a path whatever its kind says."""
    kind = re.sub(r"[^a-z0-9]+", "-", obj.kind.lower())[:_NAME].strip("-")
    return f"{obj.id}-{kind or 'thing'}.jpg"
