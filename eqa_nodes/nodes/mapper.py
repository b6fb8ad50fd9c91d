"""Computes grid, explored area, frontiers and stairs from depth frames, each with the observation's stamp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eqa_nodes.config.nodes import KEEP, MapperSettings
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.ros import convert
from eqa_nodes.ros.observer import ObserverNode
from eqa_nodes.ros.process import run_node


class MapperNode(ObserverNode[MapperSettings]):
    """Publishes map, explored, frontiers and stairs of the robot's current floor for every observation."""

    row = "mapper"

    def configure(self) -> None:
        super().configure()
        self.mapper = MultiFloorMapper(self.config.map, self.config.robot)

    def begin(self, episode: Any, late: bool) -> None:
        self.mapper = MultiFloorMapper(self.config.map, self.config.robot)

    def set_back(self, stamp_ns: int) -> None:
        self.mapper.set_back(stamp_ns)

    def relocated(self) -> str:
        if self.config.relocated == KEEP:
            return "the map is kept"
        self.mapper.reset()
        return "the map begins anew"

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> None:
        bad, between = self.mapper.bad_pixels, self.mapper.between
        self.mapper.integrate(frame)
        if self.mapper.bad_pixels > bad:
            self.count("observations with depth pixels that are NaN, infinite, negative or out of reach")
        if self.mapper.between > between:
            self.count("observations between two floors, which are in no map")
        self.republish()

    def republish(self) -> None:
        grid = self.mapper.grid()
        self.send("map", convert.grid_msg(grid.cells, grid))
        self.send("explored", convert.explored_msg(grid))
        self.send("stairs", convert.staircases_msg(self.mapper.staircases, grid.stamp_ns))
        self.send("frontiers", convert.frontiers_msg(self.mapper.frontiers(), grid.stamp_ns))


def main() -> int:
    """Run the node."""
    return run_node(MapperNode)
