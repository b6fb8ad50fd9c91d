"""The settings of a whole graph: those of each node, by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_type_hints

from eqa_nodes.config.nodes import (
    ATOMIC,
    NAV2,
    VELOCITIES,
    AgentSettings,
    AnswererSettings,
    BridgeSettings,
    ExplorerSettings,
    MapperSettings,
    MemorySettings,
    Nav2NavigatorSettings,
    NavigatorSettings,
    PerceptionSettings,
    ReconstructorSettings,
    RecorderSettings,
    ReplaySettings,
    Settings,
)
from eqa_nodes.wire.graph import PERCEPTION, RECONSTRUCTOR


@dataclass(frozen=True)
class GraphSettings:
    """The settings of all nodes, by their names in the graph."""

    mapper: MapperSettings
    memory: MemorySettings
    perception: PerceptionSettings
    reconstructor: ReconstructorSettings
    explorer: ExplorerSettings
    navigator: NavigatorSettings
    nav2_navigator: Nav2NavigatorSettings
    answerer: AnswererSettings
    recorder: RecorderSettings
    agent: AgentSettings
    bridge: BridgeSettings
    replay: ReplaySettings

    @property
    def drives(self) -> str:
        """Return who drives the simulated robot: atomic | nav2."""
        return NAV2 if self.bridge.drive == VELOCITIES else ATOMIC

    @property
    def detecting(self) -> bool:
        """Return whether the perception node runs: a detector is chosen."""
        return bool(self.perception.detector.name)

    @property
    def optional_observers(self) -> tuple[str, ...]:
        """Return the observers that run because settings choose them."""
        return (PERCEPTION,) * self.detecting + (RECONSTRUCTOR,) * self.reconstructor.enabled


SETTINGS: dict[str, type[Settings]] = get_type_hints(GraphSettings)
