"""Top-down image of an episode as SVG: the robot's own map, its path, goals, frontiers, target and evidence.

User units are metres; SVG's y points down, so map y is negated.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape
from PIL import Image, ImageDraw

from eqa_nodes.bench.report.pictures import measures_svg
from eqa_nodes.core.mapping.map_picture import CELLS, picture_of
from eqa_nodes.core.pillow import RESAMPLING, writing_font
from eqa_nodes.core.types.floor import Frontier, GridMap
from eqa_nodes.core.types.geometry import Point, Pose2
from eqa_nodes.core.types.questions import Evidence, ViewAssessment
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision

PATH_COLOURS = ((13, 148, 136), (99, 91, 235), (219, 64, 126))  # start, middle, end of the path
_MARGIN_M = 0.5
_CHUNKS = 64  # pieces of the path that have a colour of their own
_CONE_M, _CONE_HALF_RAD = 1.8, math.radians(38)
_LONGEST_FRONTIER_M = 1.6
_USUAL_M, _LEAST_M = 9.0, 4.5  # side of a map on which signs have their plain size; of the smallest one
_SIGN_M = 0.5  # height of a goal's number
_BARS_M = (1, 2, 5, 10)


class MapBox(NamedTuple):
    """A rectangle in the map frame, metres."""

    x0: float
    y0: float
    x1: float
    y1: float


def map_svg(trace: EpisodeTrace, target: Point | None, start: Pose2 | None, over: str = "", css: str = "") -> Markup:
    """Return the image as an <svg> element; "" if there is neither a map nor a path.

    over: SVG drawn over the path, below the goals' numbers; css: style rules that make it a file of its own.
    """
    poses = [pose for _, pose in trace.poses]
    evidence = trace.answer.evidence if trace.answer else ()
    box = _box(trace, target)
    if box is None:
        return Markup("")
    size = sign_size(box)
    parts = [grid_image(trace.grid, grid_png(trace.grid))] if trace.grid is not None else []
    parts += [_frontiers(trace.decisions), _path(poses), _cones(evidence), measures_svg(evidence)]
    if target is not None:
        parts.append(star(target, size))
    if poses:
        parts.append(robot(poses[-1], "end", path_colour(1), size))
    if start or poses:
        parts.append(_start(start or poses[0], size))
    parts += [over, _goals(trace.decisions, size), _scale(box, size)]
    view = f"{box.x0:.2f} {-box.y1:.2f} {box.x1 - box.x0:.2f} {box.y1 - box.y0:.2f}"
    alone = ' xmlns="http://www.w3.org/2000/svg"' if css else ""
    return Markup(f'<svg class="map" viewBox="{view}" style="--k:{size:.2f}" role="img" '
                  f'aria-label="map seen from above"{alone}>'
                  f'{f"<style>{css}</style>" if css else ""}{"".join(parts)}</svg>')


def confidence_svg(trace: EpisodeTrace, target: Point | None, start: Pose2 | None) -> Markup:
    """Return the image with the confidence of each judged view beside the path, in per cent, in the direction of the
    view, the highest in green (EXPRESS-Bench, figure 7); "" if no view was judged. Of overlapping signs the most
    confident is drawn.
    """
    box = _box(trace, target)
    judged = sorted({a.keyframe_id: a for a in trace.judged}.values(), key=lambda a: -a.enough)
    if box is None or not judged:
        return Markup("")
    size, shown = sign_size(box), list[tuple[float, float]]()
    signs: list[str] = []
    for a in judged:
        at = ahead(a.pose, 0.6 * size, 0.0)
        if all(math.dist(at, other) >= 1.2 * _SIGN_M * size for other in shown):
            shown.append(at)
            signs.append(_sure(a, at, _SIGN_M * size, best=not signs))
    return map_svg(replace(trace, decisions=[]), target, start, over="".join(reversed(signs)))


def _sure(judged: ViewAssessment, at: tuple[float, float], high: float, best: bool) -> str:
    (x, y), wide = at, 1.3 * high
    said = f"confidence {judged.enough:.2f}" + (f": {judged.says}" if judged.says else "")
    return (f'<g class="sure{" best" if best else ""}"><title>{escape(said)}</title>'
            f'<line x1="{judged.pose.x:.2f}" y1="{-judged.pose.y:.2f}" x2="{x:.2f}" y2="{y:.2f}"/>'
            f'<rect x="{x - wide / 2:.2f}" y="{y - high / 2:.2f}" width="{wide:.2f}" height="{high:.2f}" '
            f'rx="{high / 4:.2f}"/><text x="{x:.2f}" y="{y:.2f}">{100 * judged.enough:.0f}</text></g>')


def _box(trace: EpisodeTrace, target: Point | None) -> MapBox | None:
    """Return what an image of a trace shows, None if there is neither a map nor a path."""
    poses = [pose for _, pose in trace.poses]
    evidence = trace.answer.evidence if trace.answer else ()
    return widened(extent(trace.grid, [*poses, *_lit(evidence)] if poses and trace.grid is None else poses, target))


@cache
def map_css() -> str:
    """Return the style rules of the image."""
    return resources.files("eqa_nodes.bench.report").joinpath("templates/map.css").read_text()


def grid_png(grid: GridMap) -> bytes:
    """Return the map as a PNG, one pixel per cell, north up."""
    return picture_of(grid).png


def path_colour(share: float) -> str:
    """Return the colour of the path after this share (0..1) of its duration, as #rrggbb."""
    position = min(max(share, 0.0), 1.0) * (len(PATH_COLOURS) - 1)
    k = min(int(position), len(PATH_COLOURS) - 2)
    mixed = (round(a + (b - a) * (position - k)) for a, b in zip(PATH_COLOURS[k], PATH_COLOURS[k + 1], strict=True))
    return "#" + "".join(f"{c:02x}" for c in mixed)


def extent(grid: GridMap | None, poses: Sequence[Pose2], target: Point | None) -> MapBox | None:
    """Return the extent to show: known floor, path and target, with a margin; None if it is empty."""
    points = [(p.x, p.y) for p in poses] + ([target] if target is not None else [])
    if grid is not None and (grid.cells >= 0).any():
        rows, columns = np.nonzero(grid.cells >= 0)
        for row, column in ((rows.min(), columns.min()), (rows.max() + 1, columns.max() + 1)):
            points.append((grid.origin[0] + float(column) * grid.resolution_m,
                           grid.origin[1] + float(row) * grid.resolution_m))
    if not points:
        return None
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return MapBox(min(xs) - _MARGIN_M, min(ys) - _MARGIN_M, max(xs) + _MARGIN_M, max(ys) + _MARGIN_M)


def widened(box: MapBox | None) -> MapBox | None:
    """Return the box, enlarged if it is too small for signs."""
    if box is None:
        return None
    more = [max(0.0, _LEAST_M - side) / 2 for side in (box.x1 - box.x0, box.y1 - box.y0)]
    return MapBox(box.x0 - more[0], box.y0 - more[1], box.x1 + more[0], box.y1 + more[1])


def grid_image(grid: GridMap, png: bytes, style: str = "image-rendering:pixelated") -> str:
    """Return an <image> with one pixel per cell of the map, at the map's position."""
    rows, columns = grid.cells.shape
    width, height = columns * grid.resolution_m, rows * grid.resolution_m
    return (f'<image x="{grid.origin[0]:.3f}" y="{-(grid.origin[1] + height):.3f}" width="{width:.3f}" '
            f'height="{height:.3f}" preserveAspectRatio="none" style="{style}" '
            f'href="data:image/png;base64,{base64.b64encode(png).decode()}"/>')


def _path(poses: Sequence[Pose2]) -> str:
    """Draw the path over a white casing, coloured from its start to its end."""
    points = [(p.x, -p.y) for i, p in enumerate(poses) if i == 0 or p[:2] != poses[i - 1][:2]]
    if len(points) < 2:
        return ""
    step = max(1, math.ceil((len(points) - 1) / _CHUNKS))
    casing = f'<polyline points="{points_of(points)}" class="casing"/>'
    pieces = [f'<polyline points="{points_of(points[k:k + step + 1])}" class="path" '
              f'stroke="{path_colour(k / max(1, len(points) - 1 - step))}"/>'
              for k in range(0, len(points) - 1, step)]
    return casing + "".join(pieces)


def _frontiers(decisions: Sequence[TraceDecision]) -> str:
    """Draw the last frontiers as lines, and the places of earlier ones as dots."""
    known = [d.frontiers for d in decisions if d.frontiers]
    if not known:
        return ""
    earlier = sorted({(round(f.x, 2), round(f.y, 2)) for fs in known[:-1] for f in fs})
    dots = "".join(f'<circle cx="{x:.2f}" cy="{-y:.2f}" r=".06" class="old-frontier"/>' for x, y in earlier)
    return dots + "".join(frontier_line(f) for f in known[-1])


def frontier_line(f: Frontier) -> str:
    """Draw a frontier across its heading."""
    half = min(f.length_m, _LONGEST_FRONTIER_M) / 2
    dx, dy = -math.sin(f.heading) * half, math.cos(f.heading) * half
    return (f'<line x1="{f.x - dx:.2f}" y1="{-(f.y - dy):.2f}" x2="{f.x + dx:.2f}" y2="{-(f.y + dy):.2f}" '
            f'class="frontier"><title>frontier, {f.length_m:.1f} m</title></line>')


def _goals(decisions: Sequence[TraceDecision], size: float) -> str:
    """Number the goals; goals that would overlap share a sign."""
    signs: list[tuple[Pose2, list[int]]] = []
    high = _SIGN_M * size
    for number, decision in enumerate(decisions, 1):
        if (goal := decision.goal) is not None:
            near = next((numbers for pose, numbers in signs if pose.distance(goal) < high), None)
            if near is None:
                signs.append((goal, [number]))
            else:
                near.append(number)
    return "".join(_goal(pose, numbers, decisions, high) for pose, numbers in signs)


def _goal(pose: Pose2, numbers: Sequence[int], decisions: Sequence[TraceDecision], high: float) -> str:
    said = "; ".join(f"{n}: {decisions[n - 1].reason}" for n in numbers)
    text = ",".join(map(str, numbers)) if len(numbers) < 3 else f"{numbers[0]}…{numbers[-1]}"
    wide = high * max(1.0, 0.45 + 0.5 * len(text))
    return (f'<g class="goal"><title>{escape(said)}</title><rect x="{pose.x - wide / 2:.2f}" '
            f'y="{-pose.y - high / 2:.2f}" width="{wide:.2f}" height="{high:.2f}" rx="{high / 2:.2f}"/>'
            f'<text x="{pose.x:.2f}" y="{-pose.y:.2f}">{text}</text></g>')


def _cones(evidence: Sequence[Evidence]) -> str:
    return "".join(cone(e.pose, "the evidence was seen from here") for e in evidence[:3])


def _lit(evidence: Sequence[Evidence]) -> list[Pose2]:
    """Return the ends of the cones, which extend the box of a recording, because it has no map."""
    turns = (_CONE_HALF_RAD, 0.0, -_CONE_HALF_RAD)
    ends = [ahead(e.pose, _CONE_M, turn) for e in evidence[:3] for turn in turns]
    return [Pose2(x, -y, 0.0) for x, y in ends]


def cone(pose: Pose2, title: str) -> str:
    """Draw the position and direction from which something was seen."""
    left, right = (ahead(pose, _CONE_M, turn) for turn in (_CONE_HALF_RAD, -_CONE_HALF_RAD))
    x, y = pose.x, -pose.y
    return (f'<g class="cone"><title>{title}</title><path d="M{x:.2f} {y:.2f}L{left[0]:.2f} '
            f'{left[1]:.2f}A{_CONE_M} {_CONE_M} 0 0 1 {right[0]:.2f} {right[1]:.2f}Z" fill="#f59e0b"/>'
            f'<circle cx="{x:.2f}" cy="{y:.2f}" r=".1"/></g>')


def star(at: Point, size: float = 1.0) -> str:
    """Mark the place from which the answer is visible."""
    x, y = at[0], at[1]
    spikes = [(x + size * r * math.sin(k * math.pi / 5), -y - size * r * math.cos(k * math.pi / 5))
              for k, r in zip(range(10), (0.3, 0.13) * 5, strict=True)]
    return f'<polygon points="{points_of(spikes)}" class="target"><title>the answer can be seen here</title></polygon>'


def _start(pose: Pose2, size: float) -> str:
    return (f'<circle cx="{pose.x:.2f}" cy="{-pose.y:.2f}" r="{0.17 * size:.2f}" class="start" fill="{path_colour(0)}">'
            '<title>start</title></circle>')


def robot(pose: Pose2, title: str, colour: str, size: float = 1.0) -> str:
    """Draw an arrow head in the direction of the robot's heading."""
    outline = ((0.32, 0.0), (0.22, 2.4), (0.08, math.pi), (0.22, -2.4))
    corners = [ahead(pose, size * distance, turn) for distance, turn in outline]
    return f'<polygon points="{points_of(corners)}" class="robot" fill="{colour}"><title>{title}</title></polygon>'


def ahead(pose: Pose2, distance: float, turn: float) -> tuple[float, float]:
    """Return the SVG point at a distance from a pose, `turn` radians to the left of its heading."""
    return pose.x + distance * math.cos(pose.yaw + turn), -(pose.y + distance * math.sin(pose.yaw + turn))


def _scale(box: MapBox, size: float) -> str:
    bar_m = next((bar for bar in _BARS_M if bar >= size), _BARS_M[-1])
    x, y = box.x1 - 0.2 * size, -box.y0 - 0.16 * size
    line = f'x1="{x - bar_m:.2f}" x2="{x:.2f}" y1="{y:.2f}" y2="{y:.2f}"'
    return (f'<g class="scale"><line {line} class="halo"/><line {line}/>'
            f'<text x="{x - bar_m / 2:.2f}" y="{y - 0.14 * size:.2f}">{bar_m} m</text></g>')


def sign_size(box: MapBox) -> float:
    """Return the scale of signs on a map relative to their plain size, so that they are visible on a large map."""
    return max(box.x1 - box.x0, box.y1 - box.y0, _LEAST_M) / _USUAL_M


def points_of(points: Sequence[tuple[float, float]]) -> str:
    """Return points in the format of an SVG polyline."""
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


_PATH, _ROBOT, _TEXT, _BACK = (14, 165, 233), (225, 29, 72), (20, 20, 20), (236, 239, 243)
_SECOND, _WHITE = (180, 83, 9), (255, 255, 255)
_ROBOT_M = 0.45  # length of the arrow
_TIPS = ((0.0, 1.0), (2.5, 0.7), (-2.5, 0.7))  # tips of the arrow: angle from the heading, share of its length
_SIGN_PX = 9  # radius of a sign, and half the length of the smallest arrow


class FloorPicture:
    """An image of a box of the map frame, x to the right and y up. scale: pixels per metre; image: drawn so far."""

    COLOURS = (_PATH, _ROBOT, _TEXT, _BACK, _SECOND, _WHITE, *CELLS)

    def __init__(self, box: MapBox, side_px: int) -> None:
        """side_px: length of the longer side, pixels."""
        self.box = box
        self.scale = side_px / max(box.x1 - box.x0, box.y1 - box.y0)
        size = round(self.scale * (box.x1 - box.x0)), round(self.scale * (box.y1 - box.y0))
        self.image = Image.new("RGB", (max(1, size[0]), max(1, size[1])), _BACK)
        self._draw = ImageDraw.Draw(self.image)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point of the map frame."""
        return (x - self.box.x0) * self.scale, (self.box.y1 - y) * self.scale

    def floor(self, grid: GridMap) -> None:
        """Draw the map."""
        cells = Image.open(io.BytesIO(grid_png(grid))).convert("RGB")
        rows, columns = grid.cells.shape
        cell = grid.resolution_m * self.scale
        cells = cells.resize((max(1, round(columns * cell)), max(1, round(rows * cell))), RESAMPLING.NEAREST)
        left, top = self.at(grid.origin[0], grid.origin[1] + rows * grid.resolution_m)
        self.image.paste(cells, (round(left), round(top)))

    def path(self, poses: Sequence[Pose2]) -> None:
        """Draw a path and, at its end, the robot."""
        pixels = [self.at(p.x, p.y) for p in poses]
        if len(pixels) > 1:
            self._draw.line(pixels, fill=_PATH, width=3)
        if pixels:
            (x, y), yaw = pixels[-1], poses[-1].yaw
            length = _ROBOT_M * self.scale
            tips = [(x + math.cos(yaw + turn) * share * length, y - math.sin(yaw + turn) * share * length)
                    for turn, share in _TIPS]
            self._draw.polygon([(float(u), float(v)) for u, v in tips], fill=_ROBOT)

    def goal(self, goal: Pose2, number: int, pose: Pose2) -> None:
        """Draw a goal with its number, and a line to it from a pose."""
        (x, y), r = self.at(goal.x, goal.y), _SIGN_PX
        self._draw.line((*self.at(pose.x, pose.y), x, y), fill=_ROBOT, width=2)
        self._draw.ellipse((x - r, y - r, x + r, y + r), fill=_WHITE, outline=_ROBOT, width=2)
        self._draw.text((x, y), str(number), fill=_TEXT, font=writing_font(12), anchor="mm")

    def second(self, x: float, y: float) -> None:
        """Draw a ring around the runner-up."""
        (u, v), r = self.at(x, y), _SIGN_PX - 2
        self._draw.ellipse((u - r, v - r, u + r, v + r), outline=_SECOND, width=2)

    def bar(self) -> None:
        """Draw the scale bar."""
        high = self.image.height
        self._draw.line((8, high - 8, 8 + self.scale, high - 8), fill=_TEXT, width=3)
        self._draw.text((8, high - 12), "1 m", fill=_TEXT, font=writing_font(14), anchor="ld", stroke_width=2,
                        stroke_fill=_WHITE)
