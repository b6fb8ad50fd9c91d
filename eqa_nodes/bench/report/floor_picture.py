"""The map seen from above in pixels: for models and for clips, which show no SVG."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

from PIL import Image, ImageDraw

from eqa_nodes.bench.report.drawing import MapBox, grid_png
from eqa_nodes.core.mapping.map_picture import CELLS
from eqa_nodes.core.pillow import RESAMPLING, writing_font
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

_PATH, _ROBOT, _TEXT, _BACK = (14, 165, 233), (225, 29, 72), (20, 20, 20), (236, 239, 243)
_SECOND, _WHITE = (180, 83, 9), (255, 255, 255)
_ROBOT_M = 0.45  # length of the arrow
_TIPS = ((0.0, 1.0), (2.5, 0.7), (-2.5, 0.7))  # of the arrow: turn from the heading, share of its length
_SIGN_PX = 9  # radius of a sign, and half the length of the smallest arrow


class FloorPicture:
    """An image of a box of the map frame, x to the right and y up. scale: pixels a metre; image: drawn so far."""

    COLOURS = (_PATH, _ROBOT, _TEXT, _BACK, _SECOND, _WHITE, *CELLS)

    def __init__(self, box: MapBox, side_px: int) -> None:
        """side_px: length of the longer side."""
        self.box = box
        self.scale = side_px / max(box.x1 - box.x0, box.y1 - box.y0)
        size = round(self.scale * (box.x1 - box.x0)), round(self.scale * (box.y1 - box.y0))
        self.image = Image.new("RGB", (max(1, size[0]), max(1, size[1])), _BACK)
        self._draw = ImageDraw.Draw(self.image)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point."""
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
        """Draw a ring round the runner-up."""
        (u, v), r = self.at(x, y), _SIGN_PX - 2
        self._draw.ellipse((u - r, v - r, u + r, v + r), outline=_SECOND, width=2)

    def bar(self) -> None:
        """Draw the scale."""
        high = self.image.height
        self._draw.line((8, high - 8, 8 + self.scale, high - 8), fill=_TEXT, width=3)
        self._draw.text((8, high - 12), "1 m", fill=_TEXT, font=writing_font(14), anchor="ld", stroke_width=2,
                        stroke_fill=_WHITE)
