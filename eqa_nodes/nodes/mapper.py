"""Depth frames -> occupancy grid, explored area and frontiers, each with the stamp of the observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eqa_nodes.core.mapping import Mapper
from eqa_nodes.core.types import Frame, Label
from eqa_nodes.ros import convert
from eqa_nodes.ros.node import run_node
from eqa_nodes.ros.observer import ObserverNode


class MapperNode(ObserverNode):
    """Publishes map, explored and frontiers for every observation."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("mapper", **kwargs)
        self.mapper = Mapper(self.config.map)

    def begin(self, episode: Any, late: bool) -> None:
        self.mapper.reset()
        self.frames.clear()

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        bad = self.mapper.bad_pixels
        self.mapper.integrate(frame)
        if self.mapper.bad_pixels > bad:
            self.count("observations with depth pixels that are NaN, infinite, negative or out of reach")
        self.again()

    def again(self) -> None:
        grid = self.mapper.grid()
        self.send("map", convert.grid_msg(grid.cells, grid))
        self.send("explored", convert.explored_msg(grid))
        self.send("frontiers", convert.frontiers_msg(self.mapper.frontiers(), grid.stamp_ns))


def main() -> int:
    """Run the node."""
    return run_node(MapperNode)
