"""Draws into a picture what makes it prove an answer: measured lines, and the place that a model pointed at."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

from PIL import ImageDraw

from eqa_nodes.bench.report.measured import measured_picture
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.measures import points_of
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.wire.image_files import decode_image

_RING, _DARK = (245, 158, 11), (17, 24, 39)
_RADIUS, _WIDTH = 1 / 18, 1 / 110  # of the image's shorter side


def proof_picture(view: Keyframe, note: str, calls: Sequence[ModelCall] = ()) -> bytes:
    """Return the JPEG of a view with the lines of its evidence's note, and a ring round what the model pointed at.

    calls: of the episode; where the note holds no place, the last one that pointed into this view counts. The picture
    is unchanged where there is nothing to draw, or where it is damaged: who decodes it for a page says so.
    """
    jpeg, shares, points = measured_picture(view, note), points_of(note), pointed_at(view.id, calls)
    if not shares and not points:
        return jpeg
    try:
        image = decode_image(jpeg, f"of keyframe {view.id}").convert("RGB")
    except BadFrame:
        return jpeg
    if shares:
        points = tuple((x * image.width, y * image.height) for x, y in shares)
    draw, short = ImageDraw.Draw(image), min(image.size)
    radius, width = short * _RADIUS, max(2, round(short * _WIDTH))
    for u, v in points:
        for off, colour, wide in ((width, _DARK, 3 * width), (0, _RING, width)):
            draw.ellipse((u - radius - off, v - radius - off, u + radius + off, v + radius + off), None, colour, wide)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=92, subsampling=0)
    return out.getvalue()


def pointed_at(keyframe_id: int, calls: Sequence[ModelCall]) -> tuple[tuple[float, float], ...]:
    """Return the pixels of a view at which the last call that named it as evidence pointed; () for none."""
    for call in reversed(calls):
        for picture in call.pictures:
            if picture.keyframe_id == keyframe_id and picture.points:
                return tuple(point for point in picture.points if all(map(math.isfinite, point)))
    return ()
