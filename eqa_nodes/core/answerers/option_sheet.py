"""The sheet of places: each option that a model may choose, as a numbered thumbnail of the best stored view of it."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from PIL import Image, ImageDraw

from eqa_nodes.core.answerers.vlm_views import decoded
from eqa_nodes.core.model import Picture
from eqa_nodes.core.perception.best_views import Glimpse, best_glimpse
from eqa_nodes.core.pillow import RESAMPLING, writing_font
from eqa_nodes.core.types.calls import OptionMark
from eqa_nodes.core.types.floor import CLOSER, LOOK_ROUND, Option
from eqa_nodes.core.types.views import Keyframe

SIDE_PX = 512  # width of a sheet: one tile of the servers that count tiles
_IDEAL_M, _NEAR_M = 2.5, 1.6  # distance from which a place on the floor, and an object, is seen best
_AHEAD_M = (0.0, 0.6, 1.2)  # where a doorway is looked for: the robot does not see the floor at its feet
_WIDE_M, _CLOSE_M = 2.4, 1.2  # width of what a thumbnail shows of a place, and of an object
_LEAST = 0.2  # minimum share of the image's width that a thumbnail shows
_SAME, _SAME_M = 0.6, 1.5  # two thumbnails with so much of the larger one in common, or places so close, are the same
_ABOVE = 0.25  # share of a thumbnail's height by which the place lies below its middle
_QUALITY = 90
_GAP, _WIDE_PX = 4, 768  # between pictures; width of a sheet of pictures that are two in a row


class _Size(NamedTuple):
    """A size of thumbnails: how many stand in a row, height of the strip with the number, and font, in pixels."""

    columns: int
    strip: int
    font: float

    @property
    def width(self) -> int:
        return (SIDE_PX - (self.columns - 1) * _GAP) // self.columns

    @property
    def height(self) -> int:
        return round(0.75 * self.width)


_LARGE, _SMALL = _Size(3, 24, 20.0), _Size(5, 18, 15.0)


class Thumbnail(NamedTuple):
    """An option on the sheet. seen: where the place is in a stored view, None for a look round; box: what is cropped.

    box: left, top, right, bottom in pixels of the stored image.
    """

    number: int
    option: Option
    seen: Glimpse | None
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


class Sheet(bytes):
    """A JPEG image with the thumbnails of the options. Only the bytes are sent.

    crops: the thumbnails as pictures of their own by number, each with the mark of its option.
    """

    crops: Mapping[int, Picture]

    def __new__(cls, jpeg: bytes, crops: Mapping[int, Picture] | None = None) -> Sheet:
        """Return the sheet of these thumbnails."""
        sheet = super().__new__(cls, jpeg)
        sheet.crops = crops or {}
        return sheet


def glimpses(options: Sequence[Option], views: Iterable[Keyframe]) -> dict[int, Glimpse]:
    """Return the best view of each option by its number, from 1; those that no view shows are missing."""
    kept = list(views)
    found: dict[int, Glimpse] = {}
    for number, option in enumerate(options, 1):
        if option.kind == LOOK_ROUND:
            continue
        thing = option.kind.startswith(CLOSER)
        floor_m = kept[-1].map_from_base.xyz[2] if kept else 0.0
        for ahead_m in _AHEAD_M if option.kind == "doorway" else (0.0,):
            x, y = option.x + ahead_m * math.cos(option.heading), option.y + ahead_m * math.sin(option.heading)
            seen = best_glimpse(kept, (x, y, floor_m + option.z), _NEAR_M if thing else _IDEAL_M,
                                None if thing else option.heading)
            if seen is not None:
                found[number] = seen
                break
    return found


def thumbnails(options: Sequence[Option], views: Iterable[Keyframe]) -> list[Thumbnail]:
    """Return what is listed: what a view shows, and a look round, which needs no picture.

    Of options that would show the same place, the first one is listed; of those that the model passed over the nearest
    are, in one row.
    """
    seen, listed = glimpses(options, views), list[Thumbnail]()
    for number, option in enumerate(options, 1):
        if option.kind == LOOK_ROUND:
            listed.append(Thumbnail(number, option, None))
        elif number in seen:
            thumb = Thumbnail(number, option, seen[number], _box(seen[number], option))
            listed += [] if any(_shows_the_same(thumb, other) for other in listed) else [thumb]
    passed = sorted((one for one in listed if one.option.passed_over), key=lambda one: one.option.distance_m)
    return [one for one in listed if one not in passed[_SMALL.columns:]]


def is_small(option: Option) -> bool:
    """Return whether an option gets a small cell: the model passed it over before, or there is nothing to show."""
    return option.passed_over or option.kind == LOOK_ROUND


def sheet_of(thumbs: Sequence[Thumbnail]) -> Sheet:
    """Return the drawn sheet: large thumbnails first, then small ones. Raises BadFrame for a damaged picture."""
    rows = [(size, cells[i:i + size.columns]) for size, small in ((_LARGE, False), (_SMALL, True))
            for cells in [[one for one in thumbs if is_small(one.option) == small]]
            for i in range(0, len(cells), size.columns)]
    height = sum(size.height + size.strip + _GAP for size, _ in rows) - _GAP
    image = Image.new("RGB", (SIDE_PX, max(1, height)), "white")
    top, crops = 0, dict[int, Picture]()
    for size, cells in rows:
        for i, thumb in enumerate(cells):
            crop = _draw(image, thumb, size, (i * (size.width + _GAP), top))
            crops |= {} if crop is None else {thumb.number: crop}
        top += size.height + size.strip + _GAP
    return Sheet(_jpeg(image), crops)


def sheet_of_pictures(pictures: Sequence[Picture]) -> Sheet:
    """Return all pictures in one image, two in a row, each under its number."""
    width = SIDE_PX if len(pictures) == 1 else (_WIDE_PX - _GAP) // 2
    drawn = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    drawn = [image.resize((width, round(image.height * width / image.width)), RESAMPLING.BICUBIC) for image in drawn]
    row = max((image.height for image in drawn), default=0) + _LARGE.strip + _GAP
    columns = min(2, max(1, len(drawn)))
    whole = Image.new("RGB", (columns * (width + _GAP) - _GAP, max(1, -(-len(drawn) // 2) * row - _GAP)), "white")
    draw = ImageDraw.Draw(whole)
    for i, image in enumerate(drawn):
        left, top = i % 2 * (width + _GAP), i // 2 * row
        draw.rectangle((left, top, left + width - 1, top + _LARGE.strip - 1), "black")
        draw.text((left + 5, top + _LARGE.strip / 2), f"Picture {i + 1}", "white", writing_font(_LARGE.font),
                  anchor="lm")
        whole.paste(image, (left, top + _LARGE.strip))
    return Sheet(_jpeg(whole))


def enlarged(view: Keyframe, shares: tuple[float, float, float, float]) -> Picture:
    """Return a part of a view's stored picture, as large as a tile. Raises BadFrame.

    shares: left, top, right, bottom as shares of width and height; the part is widened to a fifth of the width.
    """
    width, height = decoded(view).size
    left, top, right, bottom = (share * side for share, side in zip(shares, (width, height, width, height)))
    across = min(width, max(right - left, (bottom - top) * 4 / 3, _LEAST * width))
    down = min(height, max(bottom - top, across * 3 / 4))
    x, y = (min(max(0.0, (low + high - size) / 2), side - size)
            for low, high, size, side in ((left, right, across, width), (top, bottom, down, height)))
    box = x, y, x + across, y + down
    return Picture(_jpeg(cropped(view, box, (SIDE_PX, round(SIDE_PX * down / across)))), view, (), box)


def cropped(view: Keyframe, box: tuple[float, float, float, float], size: tuple[int, int]) -> Image.Image:
    """Return a part of a view's picture in another size. box: in pixels of the stored image. Raises BadFrame."""
    return decoded(view).resize(size, RESAMPLING.BICUBIC, box=box)


def _draw(image: Image.Image, thumb: Thumbnail, size: _Size, corner: tuple[int, int]) -> Picture | None:
    """Draw one thumbnail with its number and distance above it; return it as a picture, None for a look round."""
    left, top = corner
    draw = ImageDraw.Draw(image)
    draw.rectangle((left, top, left + size.width - 1, top + size.strip - 1), "black")
    words = f"{thumb.number}:  {thumb.option.distance_m:.0f} m" if thumb.seen else f"{thumb.number}:  look round"
    draw.text((left + 5, top + size.strip / 2), words, "white", writing_font(size.font), anchor="lm")
    corner = left, top + size.strip
    if thumb.seen is None:
        draw.rectangle((*corner, corner[0] + size.width - 1, corner[1] + size.height - 1), "lightgrey")
        return None
    crop = cropped(thumb.seen.view, thumb.box, (size.width, size.height))
    scale = size.width / (thumb.box[2] - thumb.box[0])
    u, v = (thumb.seen.u - thumb.box[0]) * scale, (thumb.seen.v - thumb.box[1]) * scale
    for radius, colour in ((6, "black"), (4, "white")):
        ImageDraw.Draw(crop).ellipse((u - radius, v - radius, u + radius, v + radius), colour)
    image.paste(crop, corner)
    return Picture(_jpeg(crop), thumb.seen.view, [OptionMark(thumb.number, thumb.seen.u, thumb.seen.v)], thumb.box)


def _shows_the_same(thumb: Thumbnail, other: Thumbnail) -> bool:
    """Return whether two thumbnails show nearly the same part of one view, or one place; False for things."""
    if thumb.seen is None or other.seen is None or thumb.seen.view.id != other.seen.view.id or any(
            one.option.kind.startswith(CLOSER) for one in (thumb, other)):
        return False
    apart_m = math.dist((thumb.option.x, thumb.option.y), (other.option.x, other.option.y))
    if apart_m < _SAME_M and "doorway" not in (thumb.option.kind, other.option.kind):
        return True
    left, top, right, bottom = ((max, max, min, min)[i](thumb.box[i], other.box[i]) for i in range(4))
    larger = max((box[2] - box[0]) * (box[3] - box[1]) for box in (thumb.box, other.box))
    return max(0.0, right - left) * max(0.0, bottom - top) >= _SAME * larger


def _box(seen: Glimpse, option: Option) -> tuple[float, float, float, float]:
    """Return what a thumbnail shows: the place and what stands around it, within the image, 4 to 3."""
    assert seen.view.geometry is not None
    k, thing = seen.view.geometry.intrinsics, option.kind.startswith(CLOSER)
    most = min(float(k.width), k.height * 4.0 / 3.0)
    width = min(most, max(_LEAST * k.width, k.fx * (_CLOSE_M if thing else _WIDE_M) / seen.depth_m))
    height = 0.75 * width
    left = min(max(0.0, seen.u - width / 2), k.width - width)
    middle = seen.v if thing else seen.v - _ABOVE * height
    top = min(max(0.0, middle - height / 2), k.height - height)
    return left, top, left + width, top + height


def _jpeg(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
