"""The place in three dimensions for the page: the reconstruction as packed points, and what moves in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eqa_nodes.console.values import RequestRefused, WatchedRobot
from eqa_nodes.core.types.views import Cloud
from eqa_nodes.viewer.boxes import boxes_of
from eqa_nodes.viewer.packing import packed, quantised
from eqa_nodes.viewer.scene import ASPECT, first_view

POINTS = 200_000  # that a page is sent: 1.8 MB before they are compressed
_PATH = 1000
_LEVEL = 1  # of zlib: a page waits for it


def cloud_bytes(cloud: Cloud | None) -> bytes:
    """Return the newest reconstruction as page/data.js reads it. Raises RequestRefused while there is none."""
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
    """Return path, robot and objects of the newest question, in metres, map frame. floor: height of the floor."""
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
