"""What the robot saw and knew at a moment of an episode, as pages show it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import NamedTuple

from PIL import Image

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.mapping.map_picture import grid_of
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import wrap
from eqa_nodes.core.types.trace import VIEW_PX, EpisodeTrace, TraceDecision
from eqa_nodes.wire.image_files import shrunk

_NEAR_M, _NEAR_RAD = 0.6, 0.5  # a remembered view from so near shows what the robot saw

Keep = Callable[[bytes], str]  # a JPEG -> the address by which the page shows it


class PagePicture(NamedTuple):
    """A picture of a page; width and height keep its place free until it is there. note: "" = taken at that moment."""

    src: str
    width: int
    height: int
    note: str = ""


def embedded(jpeg: bytes) -> str:
    """Return a JPEG as an address that holds it."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()


def size_of(data: bytes) -> tuple[int, int]:
    """Return width and height of an encoded image, which somebody has decoded before."""
    with Image.open(io.BytesIO(data)) as image:
        return image.size


def map_then(trace: EpisodeTrace, stamp_ns: int) -> GridMap | None:
    """Return the map as it was known then; None where the trace does not keep it, or nobody can read it."""
    moment = trace.moment_at(stamp_ns)
    if moment is None or moment.map is None:
        return None
    try:
        return grid_of(moment.map, moment.stamp_ns)
    except BadFrame:
        return None  # the page then says that it shows the last map


def view_then(trace: EpisodeTrace, decision: TraceDecision, keep: Keep) -> PagePicture | None:
    """Return what the robot saw when it decided, else the newest view from about there; None without both."""
    jpeg, note = jpeg_then(trace, decision)
    if not jpeg:
        return None
    try:
        small = shrunk(jpeg, VIEW_PX)
        return PagePicture(keep(small), *size_of(small), note)
    except BadFrame as error:
        return PagePicture("", 0, 0, f"this view cannot be shown: {error}")


def jpeg_then(trace: EpisodeTrace, decision: TraceDecision) -> tuple[bytes, str]:
    """Return the view of a decision, and what it is where it is not of that moment; b"" for none."""
    moment = trace.moment_at(decision.stamp_ns)
    if moment is not None and moment.stamp_ns == decision.stamp_ns and moment.view:
        return moment.view, ""
    for view in reversed([view for view in trace.keyframes if view.stamp_ns <= decision.stamp_ns]):
        if view.stamp_ns == decision.stamp_ns:
            return view.jpeg, ""
        if view.pose.distance(decision.pose) < _NEAR_M and abs(wrap(view.pose.yaw - decision.pose.yaw)) < _NEAR_RAD:
            return view.jpeg, "a remembered view from about there"
    return b"", ""
