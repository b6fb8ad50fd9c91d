"""Prepares stored views for a vision-language model: floor places as lettered discs, and scaled images."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.model import Picture
from eqa_nodes.core.pillow import RESAMPLING, image_size, writing_font
from eqa_nodes.core.types.calls import OptionMark
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.views import FloorPixel, Keyframe

Size = tuple[int, int]  # width and height of a picture as sent, pixels
SHARES, THOUSANDTHS, PIXELS = "shares", "thousandths", "pixels"
_PRIOR = 100.0  # prior odds of thousandths against pixels: most models were trained to write thousandths
_CERTAIN = 1e6
_RADIUS = 1 / 30  # radius as a share of the image's shorter side: 16 pixels of 480
_MIN_RADIUS_PX = 9.0  # a letter in a smaller disc would be unreadable
_JPEG_QUALITY = 90
_REST_M, _REST_RAD = 0.05, math.radians(3)  # a camera that moves less than this is at rest
_COMPARED = 64, 48  # size in which pictures are compared
_LEAST_BOX = 0.02
_NOISE = 0.06  # difference of brightness (0 to 1) of a part up to which it is noise or compression


class PointScale:
    """Estimates the scale in which a model writes points if it does not use shares, from all replies so far.

    A number beyond the picture's side proves thousandths, one beyond 1000 proves pixels. Points that fit both scales
    make pixels likelier, since points in thousandths would rarely all lie within the pixels of a small picture.
    """

    def __init__(self) -> None:
        self._odds = _PRIOR

    def of(self, points: Sequence[tuple[object, Size]]) -> str:
        """Return the scale of a reply. points: each point as written, with the size of its picture."""
        found = [(numbers, size) for value, size in points if (numbers := _coordinates(value))]
        said = [(xy, size) for numbers, size in found for xy in zip(numbers[::2], numbers[1::2], strict=True)]
        if all(max(xy) <= 1.0 for xy, _ in said):
            return SHARES
        thousandths = all(max(xy) <= 1000.0 for xy, _ in said)
        pixels = all(x <= width and y <= height for (x, y), (width, height) in said)
        if thousandths and pixels:
            self._odds *= math.prod(min(w, 1000) * min(h, 1000) / 1e6 for _, (w, h) in found)
        elif thousandths or pixels:
            self._odds = _CERTAIN if thousandths else 1.0 / _CERTAIN
        self._odds = min(max(self._odds, 1.0 / _CERTAIN), _CERTAIN)
        return THOUSANDTHS if self._odds >= 1.0 else PIXELS


def point_in(value: object, size: Size, scale: str) -> tuple[float, float] | None:
    """Return a point, or the centre of a box, as shares of width and height; None if invalid or outside the picture.

    value: [x, y], a box of four numbers, {"x": x, "y": y}, or a list with one of these.
    """
    if not (numbers := _coordinates(value)):
        return None
    x, y = (sum(numbers[axis::2]) / len(numbers[axis::2]) for axis in (0, 1))
    across, down = {SHARES: (1, 1), THOUSANDTHS: (1000, 1000), PIXELS: size}[scale]
    if max(numbers) > 1.0:  # otherwise it is in shares, whatever the others are
        x, y = x / across, y / down
    return (x, y) if x <= 1.0 and y <= 1.0 else None


def box_in(value: object, size: Size, scale: str) -> tuple[float, float, float, float] | None:
    """Return a box of four numbers as shares of width and height: left, top, right, bottom, within the picture.

    Reversed corners are put in order. None if it is invalid, or shows less than a fiftieth of a side of the picture.
    """
    numbers = _coordinates(value)
    if len(numbers) != 4:
        return None
    across, down = {SHARES: (1, 1), THOUSANDTHS: (1000, 1000), PIXELS: size}[scale] if max(numbers) > 1.0 else (1, 1)
    xs, ys = (sorted(min(1.0, number / by) for number in numbers[axis::2]) for axis, by in enumerate((across, down)))
    return None if min(xs[1] - xs[0], ys[1] - ys[0]) < _LEAST_BOX else (xs[0], ys[0], xs[1], ys[1])


def number_in(value: object) -> float | None:
    """Return a finite number, which may be text with or without a per cent sign; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value.strip().rstrip("%"))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _coordinates(value: object) -> list[float]:
    """Return the two or four coordinates of a point or a box, [] for anything else."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = [value.get("x"), value.get("y")]
    if not isinstance(value, (list, tuple)) or len(value) not in (2, 4):
        return []
    numbers = [number for number in map(_coordinate, value) if number is not None and number >= 0.0]
    return numbers if len(numbers) == len(value) else []


def _coordinate(value: object) -> float | None:
    """Return a coordinate of a point; "25%" is a share."""
    number = number_in(value)
    return number / 100.0 if number is not None and isinstance(value, str) and value.strip().endswith("%") else number


def lettered(view: Keyframe) -> dict[str, FloorPixel]:
    """Return the view's places by letter: A, B, C."""
    return dict(zip(ascii_uppercase, view.places))


def heading(number: int, view: Keyframe, letters: Mapping[str, FloorPixel]) -> str:
    """Return the caption above an image: its number, pose, letters drawn on it, and content."""
    x, y = (round(metres, 1) + 0.0 for metres in view.pose[:2])  # + 0.0, so that none is written as "-0.0"
    drawn = f", letters {', '.join(letters)}" if letters else ""
    caption = f", {view.caption}" if view.caption else ""
    where = f"taken at ({x:.1f}, {y:.1f}) m, looking to {round(math.degrees(view.pose.yaw)) + 0} degrees"
    return f"Picture {number}: {where}{drawn}{caption}"


def distinct(views: Sequence[Keyframe], most: int) -> list[Keyframe]:
    """Return at most `most` of the views, in their order, without those that repeat an earlier one.

    A view repeats another if both are from the same pose, have the same caption, and differ in no part of the picture.
    """
    kept: list[tuple[Keyframe, np.ndarray | None]] = []
    for view in views:
        if len(kept) == most:
            break
        alike = [(other, grey) for other, grey in kept if _same_place(view, other)]
        own = _grey(view) if alike else None
        if not any(other.jpeg == view.jpeg or _same_picture(own, _grey(other) if grey is None else grey)
                   for other, grey in alike):
            kept.append((view, own))
    return [view for view, _ in kept]


def _same_place(one: Keyframe, other: Keyframe) -> bool:
    turned = abs(wrap(one.pose.yaw - other.pose.yaw))
    return one.caption == other.caption and one.pose.distance(other.pose) <= _REST_M and turned <= _REST_RAD


def _grey(view: Keyframe) -> np.ndarray | None:
    """Return a small grey picture of a view, None if it is damaged or absent: it then repeats nothing."""
    try:
        return np.asarray(decoded(view).convert("L").resize(_COMPARED, RESAMPLING.BOX), np.float32) / np.float32(255)
    except BadFrame:
        return None


def _same_picture(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is not None and other is not None and float(np.abs(one - other).max()) <= _NOISE


def picture(view: Keyframe, letters: Mapping[str, FloorPixel], max_side_px: int = 0) -> Picture:
    """Return the view's JPEG with the letters on it; as stored if nothing is drawn and it is not too large.

    max_side_px: larger images are scaled down first, 0 = never. Raises BadFrame for an absent or broken image.
    """
    return Picture(_drawn(view, {letter: (p.u + 0.5, p.v + 0.5) for letter, p in letters.items()}, max_side_px), view)


def numbered_picture(view: Keyframe, marks: Sequence[OptionMark], max_side_px: int = 0) -> Picture:
    """Return the view's JPEG with the numbers of options on it; otherwise like `picture`."""
    return Picture(_drawn(view, {str(m.number): (m.u, m.v) for m in marks}, max_side_px), view, marks)


def _drawn(view: Keyframe, discs: Mapping[str, tuple[float, float]], max_side_px: int) -> bytes:
    size = image_size(view.jpeg)
    if view.jpeg and not discs and (not max_side_px or (size is not None and max(size) <= max_side_px)):
        return view.jpeg
    image = decoded(view)
    width = image.width
    if max_side_px:
        image.thumbnail((max_side_px, max_side_px))
    draw_discs(image, discs, image.width / width)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()


def decoded(view: Keyframe) -> Image.Image:
    """Return the picture of a view, RGB. Raises BadFrame for an absent or broken one."""
    if not view.jpeg:
        raise BadFrame(f"keyframe {view.id} has no image for the model")
    try:
        return Image.open(io.BytesIO(view.jpeg)).convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:  # Pillow's errors for damage
        raise BadFrame(f"the image of keyframe {view.id} cannot be decoded: {error}") from error


def draw_discs(image: Image.Image, discs: Mapping[str, tuple[float, float]], scale: float) -> None:
    """Draw black letters or numbers on white discs with a black rim, which are visible on any floor.

    discs: pixel (column, row) of the stored image by text. A disc at the border is moved inside.
    """
    radius = max(_MIN_RADIUS_PX, _RADIUS * min(image.size))
    font = writing_font(1.5 * radius)
    draw = ImageDraw.Draw(image)
    for written, (column, row) in discs.items():
        u = max(radius, min(image.width - radius, column * scale))
        v = max(radius, min(image.height - radius, row * scale))
        draw.ellipse((u - radius, v - radius, u + radius, v + radius), "white", "black", max(2, round(radius / 6)))
        draw.text((u, v), written, "black", font, anchor="mm")
