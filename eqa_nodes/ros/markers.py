"""Converts a decision to standard messages for RViz and Foxglove: regions, frontiers, candidates, goal and reason."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from geometry_msgs.msg import Point, Vector3
from nav_msgs.msg import OccupancyGrid
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from eqa_nodes.core.display import Colour, MarkCluster, colour_of, regions_of, strengths, value_layer
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Situation
from eqa_nodes.ros import convert

SHOWN = 40  # strongest candidates shown: their number grows with the path, the message must not
_REGION_DISC_M = 0.6
_GOAL: Colour = (225, 29, 72)
_TEXT_M, _REASON_M = 0.22, 0.28


def decision_markers(situation: Situation, decision: Decision) -> MarkerArray:
    """Return the markers that explain a decision, in the map frame, with the stamp of its map.

    Namespaces: regions, frontiers, candidates/<kind>, goal, reason. The first marker clears all earlier ones.
    """
    shown = sorted(zip(decision.candidates, strengths(decision.candidates), strict=True), key=lambda cs: -cs[1])[:SHOWN]
    left_out = len(decision.candidates) - len(shown)
    reason = decision.reason + (f" ({left_out} weaker candidates are not shown)" if left_out else "")
    markers = [Marker(action=Marker.DELETEALL), *_regions(regions_of(decision.marks)),
               *_frontiers(situation.frontiers), *_candidates(shown), *_goal(situation.pose, decision.goal),
               _text("reason", _point(situation.pose.x, situation.pose.y, 1.6), reason, _GOAL, _REASON_M)]
    stamped = convert.header(situation.grid.stamp_ns)
    for number, marker in enumerate(markers):
        marker.header, marker.id = stamped, number
        marker.pose.position.z += situation.grid.z
    return MarkerArray(markers=markers)


def semantic_map(grid: GridMap, marks: Sequence[Candidate]) -> OccupancyGrid:
    """Return the value of the floor as a grid of 0..100, -1 = unknown, with the stamp of the map."""
    layer = value_layer(grid, marks)
    return convert.grid_msg(np.where(layer < 0, -1, np.rint(100 * layer)).astype(np.int8), grid)


def _regions(regions: Sequence[MarkCluster]) -> Iterator[Marker]:
    for region in regions:
        colour = colour_of(region.name)
        discs = _marker("regions", Marker.SPHERE_LIST, colour, 0.2 + 0.3 * min(max(region.weight, 0.0), 1.0),
                        (_REGION_DISC_M, _REGION_DISC_M, 0.01))  # flat spheres: one marker contains a whole region
        discs.points = [_point(m.x, m.y, 0.02) for m in region.marks]
        yield discs
        yield _text("regions", _point(region.x, region.y, 0.3), f"{region.name} {region.weight:.2f}", colour, _TEXT_M)


def _frontiers(frontiers: Sequence[Frontier]) -> Iterator[Marker]:
    if not frontiers:
        return
    lines = _marker("frontiers", Marker.LINE_LIST, colour_of("frontier"), 0.9, (0.06, 0.0, 0.0))
    for f in frontiers:
        dx, dy = -math.sin(f.heading) * f.length_m / 2, math.cos(f.heading) * f.length_m / 2
        lines.points += [_point(f.x - dx, f.y - dy, 0.05), _point(f.x + dx, f.y + dy, 0.05)]
    yield lines


def _candidates(candidates: Sequence[tuple[Candidate, float]]) -> Iterator[Marker]:
    """Yield markers: colour shows the kind; size, opacity and text the weight. Frontiers are spheres, others cubes."""
    for c, strength in candidates:
        kind, colour, size = f"candidates/{c.label}", colour_of(c.label), 0.12 + 0.28 * strength
        shape = Marker.SPHERE if c.label == "frontier" else Marker.CUBE
        body = _marker(kind, shape, colour, 0.35 + 0.6 * strength, (size, size, size))
        body.pose.position = _point(c.x, c.y, size / 2)
        yield body
        yield _text(kind, _point(c.x, c.y, size + 0.2), f"{c.label} {c.weight:.3g}", colour, _TEXT_M)


def _goal(pose: Pose2, goal: Pose2 | None) -> Iterator[Marker]:
    if goal is None:
        return
    arrow = _marker("goal", Marker.ARROW, _GOAL, 1.0, (0.6, 0.12, 0.12))
    arrow.pose = convert.pose_msg(goal.transform(0.1))
    line = _marker("goal", Marker.LINE_STRIP, _GOAL, 0.5, (0.04, 0.0, 0.0))
    line.points = [_point(pose.x, pose.y, 0.1), _point(goal.x, goal.y, 0.1)]
    yield from (arrow, line)


def _text(namespace: str, at: Point, text: str, colour: Colour, height_m: float) -> Marker:
    marker = _marker(namespace, Marker.TEXT_VIEW_FACING, colour, 1.0, (0.0, 0.0, height_m))
    marker.pose.position, marker.text = at, text
    return marker


def _marker(namespace: str, kind: int, colour: Colour, opacity: float, scale: tuple[float, float, float]) -> Marker:
    red, green, blue = (c / 255 for c in colour)
    x, y, z = scale
    return Marker(ns=namespace, type=kind, scale=Vector3(x=x, y=y, z=z),
                  color=ColorRGBA(r=red, g=green, b=blue, a=opacity))


def _point(x: float, y: float, z: float) -> Point:
    return Point(x=x, y=y, z=z)
