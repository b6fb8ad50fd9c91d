"""The console's pictures: the map at a moment as an SVG file, and the camera's newest image."""

from __future__ import annotations

import io
from bisect import bisect_right
from dataclasses import replace

import numpy as np
from PIL import Image

from eqa_nodes.bench.report.calls import thumb
from eqa_nodes.bench.report.drawing import extent, map_css, map_svg, robot, sign_size
from eqa_nodes.bench.report.drawing_why import ROBOT, candidates_svg, goal_svg
from eqa_nodes.bench.report.known import map_then
from eqa_nodes.console.live import Live
from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.pillow import RESAMPLING
from eqa_nodes.core.types.trace import EpisodeTrace

CAMERA_PX, _QUALITY = 960, 80
_CALL_PX = 208
_NOTHING = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"/>'


def map_picture(trace: EpisodeTrace) -> bytes:
    """Return the map with the way, the goals and what the last decision weighed, as an SVG file."""
    box = extent(trace.grid, [pose for _, pose in trace.poses], None)
    if box is None:
        return _NOTHING
    size, over = sign_size(box), ""
    if trace.poses:
        pose = trace.poses[-1][1]
        if trace.decisions and trace.answer is None:
            last = trace.decisions[-1]
            over = candidates_svg(last.candidates, size) + goal_svg(last.goal, pose, size)
        over += robot(pose, "the robot", ROBOT, 1.3 * size)
    return map_svg(trace, None, None, f'<g style="--k:{size:.2f}">{over}</g>', map_css()).encode()


def at_moment(trace: EpisodeTrace, stamp_ns: int) -> EpisodeTrace:
    """Return what had happened by then, on the map as it was known. The answer comes at the end.

    Of older traces it is the last map: they keep no earlier one.
    """
    poses = bisect_right([stamp for stamp, _ in trace.poses], stamp_ns)
    decisions = bisect_right([d.stamp_ns for d in trace.decisions], stamp_ns)
    views = [view for view in trace.keyframes if view.stamp_ns <= stamp_ns]
    return replace(trace, grid=map_then(trace, stamp_ns) or trace.grid, poses=trace.poses[:poses],
                   decisions=trace.decisions[:decisions], keyframes=views,
                   answer=trace.answer if poses == len(trace.poses) else None)


def camera_picture(rgb: np.ndarray) -> bytes:
    """Return (H, W, 3) uint8 pixels as a JPEG that is small enough to be sent several times a second."""
    image = Image.fromarray(rgb)
    image.thumbnail((CAMERA_PX, CAMERA_PX), RESAMPLING.BILINEAR)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY)
    return buffer.getvalue()


def call_picture(live: Live, number: int, index: int) -> bytes:
    """Return a picture of the newest call of a model with its numbers, as JPEG. Raises RequestRefused, BadFrame."""
    trace = live.trace()
    if number != live.calls or not trace.calls or index >= len(trace.calls[-1].pictures):
        raise RequestRefused(f"the newest call has no picture {number}/{index}", 404)
    shown = trace.calls[-1].pictures[index]
    view = next((view for view in trace.keyframes if view.id == shown.keyframe_id), None)
    if view is None:
        raise RequestRefused("this picture is of an earlier session, or was not received", 404)
    return thumb(view, shown, _CALL_PX)

