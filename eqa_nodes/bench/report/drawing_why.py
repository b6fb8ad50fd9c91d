"""Explains each decision: the robot's view and the map of that moment, the candidates, the goal and the runner-up."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from markupsafe import Markup, escape
from scipy.spatial import cKDTree

from eqa_nodes.bench.report.drawing import (
    MapBox,
    ahead,
    extent,
    frontier_line,
    grid_image,
    grid_png,
    points_of,
    robot,
    sign_size,
    star,
    widened,
)
from eqa_nodes.bench.report.pictures import Keep, PagePicture, embedded, map_then, view_then
from eqa_nodes.core.display import VALUE, MarkCluster, colour_of, regions_of, strengths, value_layer
from eqa_nodes.core.mapping.map_picture import palette_png
from eqa_nodes.core.types.floor import Candidate, GridMap, parted
from eqa_nodes.core.types.geometry import Point, Pose2
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision

SHOWN = 12  # maximum images of an episode; for the other decisions only the reasons are given
_FIRST = 3  # first decisions that are always included
_PATH_POINTS = 80
_TINT_M = 0.75  # radius in which a region's mark colours the floor
_HEAT = tuple((249, 115, 22, round(210 * math.sqrt(k / 16))) for k in range(17))  # low values must be visible, too
ROBOT = "#3730a3"
_LABEL_M = 0.4  # height of a region's name; a letter is at most 0.72 times as wide
_SAME_ROOM_M = 4.0  # marks of one name within this distance share one label
_TINT = 70  # opacity of a region, 0..255
_SIGN_M = 0.3  # half the width of the robot and of a goal


class DecisionRow(NamedTuple):
    """One decision on the page. steps: None if they are not counted; svg: "" = not among the images.

    runner_up: the second best place and why it lost, "" if the policy names none; view: the robot's view at that time,
    None if it was not kept or the decision is not among the images; final: the map is the last one, because the
    trace has no earlier one.
    """

    number: int
    reason: str
    runner_up: str
    steps: int | None
    metres: float
    svg: Markup
    view: PagePicture | None
    final: bool


class LegendEntry(NamedTuple):
    """A kind of candidate in the legend."""

    name: str
    colour: str


class DecisionSection(NamedTuple):
    """All decisions of an episode. ground: a hidden drawing of the last map, for images without their own map;
    kinds: the kinds of candidates that occur.
    """

    ground: Markup
    pictured: tuple[DecisionRow, ...]
    others: tuple[DecisionRow, ...]
    kinds: tuple[LegendEntry, ...]
    regions: bool
    values: bool

    @property
    def final(self) -> bool:
        """Return whether any image shows the last map instead of the one of its moment."""
        return any(row.final for row in self.pictured)

    @property
    def runners_up(self) -> bool:
        """Return whether any image marks a runner-up."""
        return any(row.runner_up for row in self.pictured)


def why_of(trace: EpisodeTrace, name: str, target: Point | None, keep: Keep = embedded) -> DecisionSection:
    """Return the decisions of an episode with their images. name: unique on the page; keep: stores the views."""
    box = widened(extent(trace.grid, [pose for _, pose in trace.poses], target))
    shown = set(spread(len(trace.decisions))) if box is not None else set()
    so_far = _Travel(trace)
    pictures = _Pictures(trace, box, name, target) if box is not None else None
    choices = []
    for index, decision in enumerate(trace.decisions):
        steps, metres = so_far.at(decision.stamp_ns)
        drawn = pictures is not None and index in shown
        svg = pictures.draw(index) if pictures is not None and drawn else Markup("")
        view = view_then(trace, decision, keep) if drawn else None
        choices.append(DecisionRow(index + 1, *parted(decision.reason), steps, metres, svg, view,
                                   drawn and map_then(trace, decision.stamp_ns) is None))
    kinds = sorted({c.label for d in trace.decisions for c in d.candidates})
    labels = {m.label for d in trace.decisions for m in d.marks}
    final = any(choice.final for choice in choices)
    return DecisionSection(pictures.ground() if pictures is not None and final else Markup(""),
                           tuple(c for c in choices if c.svg), tuple(c for c in choices if not c.svg),
                           tuple(LegendEntry(k, _css(k)) for k in kinds), bool(labels - {VALUE, ""}), VALUE in labels)


def spread(count: int) -> list[int]:
    """Return the indices of the decisions or calls with pictures: the first ones, the last, others evenly between."""
    if count <= SHOWN:
        return list(range(count))
    rest = SHOWN - _FIRST - 1
    step = (count - 1 - _FIRST) / rest
    return [*range(_FIRST), *(_FIRST + round(k * step) for k in range(rest)), count - 1]


class _Travel:
    """Steps and metres up to a stamp, from the recorded poses."""

    def __init__(self, trace: EpisodeTrace) -> None:
        self._stamps = [stamp for stamp, _ in trace.poses]
        legs = (a.distance(b) for (_, a), (_, b) in pairwise(trace.poses))
        self._metres = list(accumulate(legs, initial=0.0))
        # A simulator records one pose per action; if actions are not counted, the number of poses means nothing.
        self._counted = trace.answer is not None and trace.answer.receipt.steps > 0

    def at(self, stamp_ns: int) -> tuple[int | None, float]:
        """Return steps (None = not counted) and metres."""
        seen = bisect_right(self._stamps, stamp_ns)
        steps = max(seen - 1, 0)
        return steps if self._counted else None, self._metres[min(steps, len(self._metres) - 1)]


class _Pictures:
    """Draws an episode's decisions on the maps of their moments, all at the same scale."""

    def __init__(self, trace: EpisodeTrace, box: MapBox, name: str, target: Point | None) -> None:
        self._trace, self._box, self._name, self._target = trace, box, name, target
        self._size = sign_size(box)
        self._stamps = [stamp for stamp, _ in trace.poses]

    def ground(self) -> Markup:
        """Return the last map, for the images without their own map."""
        grid = self._trace.grid
        image = grid_image(grid, grid_png(grid)) if grid is not None else ""
        return Markup(f'<svg class="ground" aria-hidden="true"><defs><g id="{self._name}">{image}</g></defs></svg>')

    def draw(self, index: int) -> Markup:
        """Return one decision as an <svg> element; the most important parts are drawn last."""
        decision, box = self._trace.decisions[index], self._box
        known, regions = map_then(self._trace, decision.stamp_ns), regions_of(decision.marks)
        ground = f'<use href="#{self._name}"/>' if known is None else grid_image(known, grid_png(known))
        parts = [ground, self._floor(known or self._trace.grid, decision.marks, regions),
                 *map(frontier_line, decision.frontiers), self._path(decision.stamp_ns),
                 candidates_svg(decision.candidates, self._size), *self._labels(regions, decision),
                 second_svg(decision, self._size)]
        if self._target is not None:
            parts.append(star(self._target, self._size))
        parts.append(goal_svg(decision.goal, decision.pose, self._size))
        parts.append(robot(decision.pose, "the robot", ROBOT, 1.3 * self._size))
        view = f"{box.x0:.2f} {-box.y1:.2f} {box.x1 - box.x0:.2f} {box.y1 - box.y0:.2f}"
        return Markup(f'<svg class="why-map" viewBox="{view}" style="--k:{self._size:.2f}" role="img" '
                      f'aria-label="decision {index + 1} seen from above">{"".join(parts)}</svg>')

    def _floor(self, grid: GridMap | None, marks: Sequence[Candidate], regions: Sequence[MarkCluster]) -> str:
        """Colour the floor: regions, and values on top of them."""
        if grid is None or not marks:
            return ""
        heat = np.rint(np.maximum(value_layer(grid, marks), 0.0) * (len(_HEAT) - 1))
        names = sorted({r.name for r in regions})
        layers = [(_nearest(grid, regions, names), [(0, 0, 0, 0), *((*colour_of(n), _TINT) for n in names)]),
                  (heat, _HEAT)]
        return "".join(grid_image(grid, palette_png(cells, colours), "") for cells, colours in layers if cells.any())

    def _path(self, stamp_ns: int) -> str:
        """Draw the path so far."""
        poses = [pose for _, pose in self._trace.poses[:bisect_right(self._stamps, stamp_ns)]]
        points = [(p.x, -p.y) for i, p in enumerate(poses) if i == 0 or p[:2] != poses[i - 1][:2]]
        points = points[:-1:max(1, math.ceil(len(points) / _PATH_POINTS))] + points[-1:]
        line = f'points="{points_of(points)}"'
        return f'<polyline {line} class="way-casing"/><polyline {line} class="way"/>' if len(points) > 1 else ""

    def _labels(self, regions: Sequence[MarkCluster], decision: TraceDecision) -> list[str]:
        """Write the names of regions, the largest first; not twice nearby, and not without free space.

        No name covers the robot or its goal.
        """
        signs = [pose for pose in (decision.pose, decision.goal) if pose is not None]
        occupied = [(pose.x, pose.y, _SIGN_M * self._size) for pose in signs]  # centre and half width
        named: list[MarkCluster] = []
        texts = []
        height = 1.2 * _LABEL_M * self._size
        for region in sorted(regions, key=lambda r: -len(r.marks)):
            if any(r.name == region.name and math.dist((r.x, r.y), (region.x, region.y)) < _SAME_ROOM_M for r in named):
                continue
            half = 0.36 * _LABEL_M * self._size * len(region.name)
            x = min(max(region.x, self._box.x0 + half), self._box.x1 - half)
            for y in (region.y, region.y + height, region.y - height, region.y + 2 * height, region.y - 2 * height):
                within = self._box.y0 + height / 2 <= y <= self._box.y1 - height / 2
                if within and all(abs(y - b) >= height or abs(x - a) >= half + other for a, b, other in occupied):
                    occupied.append((x, y, half))
                    named.append(region)
                    texts.append(f'<text x="{x:.2f}" y="{-y:.2f}" class="region" fill="{_css(region.name)}">'
                                 f"{escape(region.name)}<title>weight {region.weight:.2f}</title></text>")
                    break
        return texts


def candidates_svg(candidates: Sequence[Candidate], size: float = 1.0) -> str:
    """Draw candidates, the weakest first; size and opacity grow with the share of the best weight."""
    return "".join(_candidate(c, s, size) for c, s in sorted(zip(candidates, strengths(candidates), strict=True),
                                                             key=lambda cs: cs[1]))


def _candidate(c: Candidate, strength: float, size: float) -> str:
    r, x, y = size * (0.1 + 0.2 * strength), c.x, -c.y
    style = f'class="candidate" fill="{_css(c.label)}" fill-opacity="{0.3 + 0.7 * strength:.2f}"'
    title = f"<title>{escape(c.label)}, weight {c.weight:.3g}</title>"
    if c.label == "frontier":
        return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{r:.2f}" {style}>{title}</circle>'
    return (f'<rect x="{x - r:.2f}" y="{y - r:.2f}" width="{2 * r:.2f}" height="{2 * r:.2f}" {style}>{title}'
            '</rect>')


def second_svg(decision: TraceDecision, size: float = 1.0) -> str:
    """Draw a ring around the runner-up; nothing if the decision names none."""
    if len(decision.candidates) < 2 or not parted(decision.reason)[1]:
        return ""
    second = decision.candidates[1]
    return (f'<circle cx="{second.x:.2f}" cy="{-second.y:.2f}" r="{0.36 * size:.2f}" class="second"><title>runner-up'
            '</title></circle>')


def goal_svg(goal: Pose2 | None, pose: Pose2, size: float = 1.0) -> str:
    """Draw a goal as a pin with its heading, and a line to it from the robot's pose; nothing for None."""
    if goal is None:
        return ""
    r = 0.22 * size
    (x, y), tip = ahead(goal, 0.0, 0.0), ahead(goal, 2.1 * r, 0.0)
    sides = [ahead(goal, 1.05 * r, 0.9), ahead(goal, 1.05 * r, -0.9)]
    return (f'<line x1="{pose.x:.2f}" y1="{-pose.y:.2f}" x2="{x:.2f}" y2="{y:.2f}" class="leg"/>'
            f'<g class="aim"><title>goal</title><polygon points="{points_of([tip, *sides])}"/>'
            f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{r:.2f}"/></g>')


def _nearest(grid: GridMap, regions: Sequence[MarkCluster], names: Sequence[str]) -> np.ndarray:
    """Return (rows, columns): 1 + index of the name of the nearest mark; 0 if none is near or the cell is not free."""
    tint = np.zeros(grid.cells.shape, np.uint8)
    marks = [m for r in regions for m in r.marks]
    free = np.argwhere(grid.cells == 0)
    if marks and len(free):
        at = np.array(grid.origin) + (free[:, ::-1] + 0.5) * grid.resolution_m
        off, nearest = cKDTree([(m.x, m.y) for m in marks]).query(at, distance_upper_bound=_TINT_M)
        number = np.array([0, *(1 + names.index(m.label) for m in marks)])
        tint[tuple(free.T)] = number[np.where(np.isfinite(off), nearest + 1, 0)]
    return tint


def _css(label: str) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour_of(label))
