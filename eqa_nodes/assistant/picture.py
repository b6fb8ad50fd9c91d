"""The map as a picture for a model: floor, obstacles, the robot's path and the robot, with a scale bar."""

from __future__ import annotations

import io
import math
from typing import NamedTuple

from PIL import Image, ImageDraw

from eqa_nodes.bench.report.drawing import Box, extent, grid_png
from eqa_nodes.core.pillow import RESAMPLING, writing_font
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

SIDE_PX = 768  # of the longer side
_PATH, _ROBOT, _TEXT, _BACK = (14, 165, 233), (225, 29, 72), (20, 20, 20), (236, 239, 243)
_ROBOT_M = 0.45  # length of the arrow
_TIPS = ((0.0, 1.0), (2.5, 0.7), (-2.5, 0.7))  # of the arrow: turn from the heading, share of its length


class MapPicture(NamedTuple):
    """png: x grows to the right, y upwards; box: what it shows, metres, map frame."""

    png: bytes
    box: Box


def map_picture(grid: GridMap, poses: list[Pose2]) -> MapPicture | None:
    """Return a picture of the map with the path and, at its end, the robot; None while nothing is known."""
    box = extent(grid, poses, None)
    if box is None:
        return None
    scale = SIDE_PX / max(box.x1 - box.x0, box.y1 - box.y0)  # pixels a metre
    size = round(scale * (box.x1 - box.x0)), round(scale * (box.y1 - box.y0))
    image = Image.new("RGB", size, _BACK)
    floor = Image.open(io.BytesIO(grid_png(grid))).convert("RGB")
    rows, columns = grid.cells.shape
    cell = grid.resolution_m * scale
    top_left = ((grid.origin[0] - box.x0) * scale, (box.y1 - grid.origin[1] - rows * grid.resolution_m) * scale)
    floor = floor.resize((max(1, round(columns * cell)), max(1, round(rows * cell))), RESAMPLING.NEAREST)
    image.paste(floor, (round(top_left[0]), round(top_left[1])))
    draw = ImageDraw.Draw(image)
    _draw_path(draw, [((p.x - box.x0) * scale, (box.y1 - p.y) * scale) for p in poses], poses, scale)
    draw.line((8, size[1] - 8, 8 + scale, size[1] - 8), fill=_TEXT, width=3)
    draw.text((8, size[1] - 12), "1 m", fill=_TEXT, font=writing_font(14), anchor="ld")
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return MapPicture(buffer.getvalue(), box)


def _draw_path(draw: ImageDraw.ImageDraw, pixels: list[tuple[float, float]], poses: list[Pose2],
               scale: float) -> None:
    if len(pixels) > 1:
        draw.line(pixels, fill=_PATH, width=3)
    if pixels:
        (x, y), yaw = pixels[-1], poses[-1].yaw
        length = _ROBOT_M * scale
        tips = [(x + math.cos(yaw + turn) * share * length, y - math.sin(yaw + turn) * share * length)
                for turn, share in _TIPS]
        draw.polygon([(float(u), float(v)) for u, v in tips], fill=_ROBOT)
