"""Pictures for pages: the map at a moment (SVG), the camera's newest image (JPEG), and the place in 3D."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from eqa_nodes.bench.report.calls import thumb
from eqa_nodes.bench.report.drawing import extent, map_css, map_svg, robot, sign_size
from eqa_nodes.bench.report.drawing_why import ROBOT, candidates_svg, goal_svg
from eqa_nodes.bench.report.pictures import map_then
from eqa_nodes.console.live import Live
from eqa_nodes.console.values import RequestRefused, WatchedRobot
from eqa_nodes.core.pillow import RESAMPLING
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Cloud
from eqa_nodes.viewer.packing import boxes_of, packed, quantised
from eqa_nodes.viewer.scene import ASPECT, first_view

CAMERA_PX, _QUALITY = 960, 80
POINTS = 200_000  # maximum sent to a page: 1.8 MB before compression
_PATH = 1000
_LEVEL = 1  # zlib level, fast because a page waits
_CALL_PX = 208
_NOTHING = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"/>'


def map_picture(trace: EpisodeTrace) -> bytes:
    """Return the map with the path, the goals and the candidates of the last decision, as an SVG file."""
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
    """Return the trace up to a moment, with the map known then. The answer appears at the end.

    For older traces it is the last map, because they keep no earlier ones.
    """
    poses = bisect_right([stamp for stamp, _ in trace.poses], stamp_ns)
    decisions = bisect_right([d.stamp_ns for d in trace.decisions], stamp_ns)
    views = [view for view in trace.keyframes if view.stamp_ns <= stamp_ns]
    return replace(trace, grid=map_then(trace, stamp_ns) or trace.grid, poses=trace.poses[:poses],
                   decisions=trace.decisions[:decisions], keyframes=views,
                   answer=trace.answer if poses == len(trace.poses) else None)


def camera_picture(rgb: np.ndarray) -> bytes:
    """Return (H, W, 3) uint8 RGB pixels as a JPEG, small enough to be sent several times a second."""
    image = Image.fromarray(rgb)
    image.thumbnail((CAMERA_PX, CAMERA_PX), RESAMPLING.BILINEAR)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_QUALITY)
    return buffer.getvalue()


def call_picture(live: Live, number: int, index: int) -> bytes:
    """Return a picture of the newest model call with its numbers, as JPEG. Raises RequestRefused, BadFrame."""
    trace = live.trace()
    if number != live.calls or not trace.calls or index >= len(trace.calls[-1].pictures):
        raise RequestRefused(f"the newest call has no picture {number}/{index}", 404)
    shown = trace.calls[-1].pictures[index]
    view = next((view for view in trace.keyframes if view.id == shown.keyframe_id), None)
    if view is None:
        raise RequestRefused("this picture is of an earlier session, or was not received", 404)
    return thumb(view, shown, _CALL_PX)


def cloud_bytes(cloud: Cloud | None) -> bytes:
    """Return the newest reconstruction in the format of page/data.js. Raises RequestRefused if there is none."""
    if cloud is None:
        raise RequestRefused("there is no reconstruction", 404)
    good = np.flatnonzero(np.isfinite(cloud.points).all(axis=1))
    if len(good) > POINTS:
        good = good[np.linspace(0, len(good) - 1, POINTS).astype(np.int64)]
    points, colours = cloud.points[good], cloud.colours[good]
    positions, grid = quantised(points)
    head: dict[str, Any] = {"grid": grid, "points": len(points), "aspect": ASPECT}
    if len(points):
        view = first_view(points)
        head |= {"eye": view.eye, "target": view.target, "fov": view.fov_deg}
    return packed(head, {"positions": positions, "colours": colours}, _LEVEL)


def shown_place(robot: WatchedRobot | None) -> Mapping[str, Any]:
    """Return path, robot pose and objects of the newest question, metres, map frame. floor: height of the floor."""
    if robot is None:
        raise RequestRefused("the robot is still starting", 404)
    trace, grid = robot.live.trace(), robot.grid()
    floor = grid.z if grid is not None else 0.0
    step = -(-len(trace.poses) // _PATH) or 1
    poses = [pose for _, pose in trace.poses]
    path = [value for pose in [*poses[:-1:step], *poses[-1:]] for value in (round(pose.x, 3), round(pose.y, 3), floor)]
    boxes = [{"name": box.name, "low": box.low, "high": box.high, "privileged": box.privileged}
             for box in boxes_of(trace.keyframes)]
    last = poses[-1] if poses else None
    return {"floor": floor, "path": path, "boxes": boxes,
            "robot": [round(last.x, 3), round(last.y, 3), round(last.yaw, 4)] if last else None}
