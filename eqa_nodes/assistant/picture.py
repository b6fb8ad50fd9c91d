"""The map as a picture for a model: floor, obstacles, the robot's path and the robot, with a scale bar."""

from __future__ import annotations

import io
from typing import NamedTuple

from eqa_nodes.bench.report.drawing import MapBox, extent
from eqa_nodes.bench.report.floor_picture import FloorPicture
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.geometry import Pose2

SIDE_PX = 768  # of the longer side


class MapPicture(NamedTuple):
    """png: x grows to the right, y upwards; box: what it shows, metres, map frame."""

    png: bytes
    box: MapBox


def map_picture(grid: GridMap, poses: list[Pose2]) -> MapPicture | None:
    """Return a picture of the map with the path and, at its end, the robot; None while nothing is known."""
    box = extent(grid, poses, None)
    if box is None:
        return None
    picture = FloorPicture(box, SIDE_PX)
    picture.floor(grid)
    picture.path(poses)
    picture.bar()
    buffer = io.BytesIO()
    picture.image.save(buffer, "PNG", optimize=True)
    return MapPicture(buffer.getvalue(), box)
