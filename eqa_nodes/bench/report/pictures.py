"""Pictures of a moment and of an answer for pages: the robot's view and its map, measured lines, rings and boxes."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.language.quantities import said_length
from eqa_nodes.core.mapping.map_picture import grid_of
from eqa_nodes.core.perception.projection import pixel_of
from eqa_nodes.core.pillow import writing_font
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.measures import MeasuredLine, measures_of, points_of
from eqa_nodes.core.types.questions import Evidence
from eqa_nodes.core.types.trace import VIEW_PX, EpisodeTrace, TraceDecision
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.wire.image_files import decode_image, shrunk

_NEAR_M, _NEAR_RAD = 0.6, 0.5  # a remembered view within these limits stands for the robot's view

Keep = Callable[[bytes], str]  # a JPEG -> its URL on the page


class PagePicture(NamedTuple):
    """A picture of a page; width and height reserve its place while it loads. note: "" = taken at that moment."""

    src: str
    width: int
    height: int
    note: str = ""


def embedded(jpeg: bytes) -> str:
    """Return a JPEG as a data URL."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()


def size_of(data: bytes) -> tuple[int, int]:
    """Return width and height of an encoded image that is known to be valid."""
    with Image.open(io.BytesIO(data)) as image:
        return image.size


def map_then(trace: EpisodeTrace, stamp_ns: int) -> GridMap | None:
    """Return the map as known at a time; None if the trace does not have it or it is unreadable."""
    moment = trace.moment_at(stamp_ns)
    if moment is None or moment.map is None:
        return None
    try:
        return grid_of(moment.map, moment.stamp_ns)
    except BadFrame:
        return None  # the page then states that it shows the last map


def view_then(trace: EpisodeTrace, decision: TraceDecision, keep: Keep) -> PagePicture | None:
    """Return the robot's view at a decision, else the newest view from nearby; None without both."""
    jpeg, note = jpeg_then(trace, decision)
    if not jpeg:
        return None
    try:
        small = shrunk(jpeg, VIEW_PX)
        return PagePicture(keep(small), *size_of(small), note)
    except BadFrame as error:
        return PagePicture("", 0, 0, f"this view cannot be shown: {error}")


def jpeg_then(trace: EpisodeTrace, decision: TraceDecision) -> tuple[bytes, str]:
    """Return the view of a decision, and a note if it is not of that moment; b"" for none."""
    moment = trace.moment_at(decision.stamp_ns)
    if moment is not None and moment.stamp_ns == decision.stamp_ns and moment.view:
        return moment.view, ""
    for view in reversed([view for view in trace.keyframes if view.stamp_ns <= decision.stamp_ns]):
        if view.stamp_ns == decision.stamp_ns:
            return view.jpeg, ""
        if view.pose.distance(decision.pose) < _NEAR_M and abs(wrap(view.pose.yaw - decision.pose.yaw)) < _NEAR_RAD:
            return view.jpeg, "a remembered view from about there"
    return b"", ""


_LINE, _DARK = (255, 214, 10), (17, 24, 39)
_PIECES = 200  # pieces of a line, to find its visible part
_SHOWN = 0.05  # minimum visible share of a line to be drawn


def measured_picture(view: Keyframe, note: str) -> bytes:
    """Return the JPEG of a view with the lines in the note of its evidence; unchanged if it shows none of them.

    A damaged picture is also unchanged; the page reports it when decoding. A line that continues beyond the image
    has no bar at that end. Occluded lines are drawn, too.
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
    """The visible part of a line: its ends in pixels, and whether they are the ends of the line."""

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
    """Draw a line with bars across its ends, and its length next to its middle."""
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
    """Write a text next to a point, off the line and within the image."""
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
    """Return measured lines as SVG over a map in metres, y down; "" for none. A vertical line is a dot."""
    found = dict.fromkeys(measure for one in evidence for measure in measures_of(one.note))
    return "".join(_line_svg(measure) for measure in found)


def _line_svg(measure: MeasuredLine) -> str:
    (x0, y0, _), (x1, y1, _) = measure
    return (f'<g class="measure"><title>measured for the answer</title><line x1="{x0:.2f}" y1="{-y0:.2f}" '
            f'x2="{x1:.2f}" y2="{-y1:.2f}"/><text x="{(x0 + x1) / 2:.2f}" y="{-(y0 + y1) / 2 - 0.15:.2f}">'
            f"{said_length(measure.metres)}</text></g>")


_RING, _SHADE = (245, 158, 11), (17, 24, 39)
_RADIUS, _WIDTH = 1 / 18, 1 / 110  # shares of the image's shorter side


def proof_picture(view: Keyframe, note: str, calls: Sequence[ModelCall] = ()) -> bytes:
    """Return the JPEG of a view with the lines of its evidence's note, and a ring around the model's point.

    calls: calls of the episode; if the note has no point, the last call that pointed into this view is used. The
    picture is unchanged if there is nothing to draw, or if it is damaged; the page reports this when decoding.
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
        for off, colour, wide in ((width, _SHADE, 3 * width), (0, _RING, width)):
            draw.ellipse((u - radius - off, v - radius - off, u + radius + off, v + radius + off), None, colour, wide)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=92, subsampling=0)
    return out.getvalue()


def pointed_at(keyframe_id: int, calls: Sequence[ModelCall]) -> tuple[tuple[float, float], ...]:
    """Return the pixels of a view that the last call with this view as evidence pointed at; () for none."""
    for call in reversed(calls):
        for picture in call.pictures:
            if picture.keyframe_id == keyframe_id and picture.points:
                return tuple(point for point in picture.points if all(map(math.isfinite, point)))
    return ()


_MOST = 6  # maximum number of objects outlined in an evidence image
_EDGE, _SMALL = 0.5, 0.5  # percent: from an edge, closer is cut off; of the image's area, smaller is hard to see
_LETTER, _PAD, _HIGH = 2.3, 4.0, 7.5  # size of a name, percent of an image as wide as a phone
_CORNERS = ((False, False), (True, False), (False, True), (True, True))  # right, below
_COVERED = 20.0  # percent: a name inside a lower box would hide much of it


class Outline(NamedTuple):
    """An object in an image: its name, and left, top, width and height as percentages of the image.

    right, below: corner of the box at which its name is written; outside: the name is outside the box; named: there is
    room for the name.
    """

    name: str
    left: float
    top: float
    width: float
    height: float
    right: bool = False
    below: bool = False
    outside: bool = False
    named: bool = True

    @property
    def cut(self) -> bool:
        """Return whether it reaches an edge of the image, which then may show only a part of it."""
        return (min(self.left, self.top) < _EDGE or self.left + self.width > 100 - _EDGE
                or self.top + self.height > 100 - _EDGE)

    @property
    def label(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the name."""
        wide = _PAD + _LETTER * len(self.name)
        left = self.left + self.width - wide if self.right else self.left
        top = self.top + self.height - _HIGH * (not self.outside) if self.below else self.top - _HIGH * self.outside
        return left, top, left + wide, top + _HIGH


def weakness(shown: Sequence[Outline]) -> str:
    """Return a warning about a picture with these objects as a proof; "" = none."""
    if shown and all(one.cut for one in shown):
        return "only a part of it is in the picture"
    if shown and max(one.width * one.height / 100 for one in shown) < _SMALL:
        return "it is small in the picture"
    return ""


def outlines(view: Keyframe, note: str) -> tuple[Outline, ...]:
    """Return the outlines of the labelled objects that the note of the evidence names, largest first."""
    named = [part.strip() for part in note.split(",")]
    shown = sorted((s for s in view.sightings if s.label.kind in named), key=lambda s: (-s.pixels, s.label.instance))
    with Image.open(io.BytesIO(view.jpeg)) as image:
        wide, high = image.size
    return placed([Outline(s.label.kind, 100 * s.bbox[0] / wide, 100 * s.bbox[1] / high,
                           100 * (s.bbox[2] - s.bbox[0]) / wide, 100 * (s.bbox[3] - s.bbox[1]) / high)
                   for s in shown[:_MOST]])


def placed(boxes: list[Outline]) -> tuple[Outline, ...]:
    """Place each name at a corner of its box, without overlapping other names and within the image.

    The name of a low box is placed outside if there is room. A box without any room has no name.
    """
    done: list[Outline] = []
    for box in boxes:
        beside = (True, False) if box.height < _COVERED else (False,)
        tries = (box._replace(right=right, below=below, outside=outside)
                 for outside in beside for right, below in _CORNERS)
        done.append(next((one for one in tries if _free(one, done)), box._replace(named=False)))
    return tuple(done)


def _free(one: Outline, others: list[Outline]) -> bool:
    left, top, right, bottom = one.label
    if left < 0 or right > 100 or top < 0 or bottom > 100:
        return False
    return not any(other.named and left < o[2] and o[0] < right and top < o[3] and o[1] < bottom
                   for other in others for o in (other.label,))
