"""A stand-in for the package habitat_sim, as far as the worker uses it: an endless floor, with habitat_sim's own traps.

Its traps are those of 0.3.4: `Simulator.reconfigure` does nothing for an equal configuration, and two sensors are equal
that differ in size and field of view alone; textures cannot be asked for once there were none; a navigation mesh that
is not loaded ends the process.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

__version__ = "0.3.4"
SensorType = enum.Enum("SensorType", "COLOR DEPTH SEMANTIC")


@dataclass
class SimulatorConfiguration:
    """Equal when all of it is, as the C++ class."""

    scene_id: str = "default"
    scene_dataset_config_file: str = "default"
    gpu_device_id: int = 0
    enable_physics: bool = False
    load_semantic_mesh: bool = False
    requires_textures: bool = True
    create_renderer: bool = True


class CameraSensorSpec:
    """The comparison is bound for the base class, which knows neither resolution nor field of view."""

    def __init__(self) -> None:
        self.uuid, self.sensor_type, self.resolution, self.hfov = "", SensorType.COLOR, [128, 128], 90.0
        self.position, self.orientation = np.array([0, 1.5, 0], np.float32), np.zeros(3, np.float32)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CameraSensorSpec) and (self.uuid, self.sensor_type, *self.position, *self.orientation
                                                        ) == (other.uuid, other.sensor_type, *other.position,
                                                              *other.orientation)

    __hash__ = None  # type: ignore[assignment]


@dataclass
class AgentConfiguration:
    """The body is the default one."""

    sensor_specifications: list[CameraSensorSpec] = field(default_factory=list)


@dataclass
class Configuration:
    """Compared by all that it holds."""

    sim_cfg: SimulatorConfiguration
    agents: list[AgentConfiguration]
    metadata_mediator: Any = None


@dataclass
class AgentState:
    """Where an agent is."""

    position: np.ndarray
    rotation: list[float]


class _Agent:
    def __init__(self, config: AgentConfiguration) -> None:
        self.sensors = [(s.uuid, s.sensor_type, tuple(s.resolution), s.hfov) for s in config.sensor_specifications]
        self.state = AgentState(np.zeros(3, np.float32), [0.0, 0.0, 0.0, 1.0])

    def set_state(self, state: AgentState, reset_sensors: bool) -> None:
        self.state = state

    def sees(self) -> dict[str, np.ndarray]:
        x, y, z = map(float, self.state.position)
        seen = {}
        for uuid, kind, size, hfov in self.sensors:
            if kind is SensorType.DEPTH:  # the probe looks down at the floor
                seen[uuid] = np.full(size, y if uuid == "floor" else math.hypot(x, y, z), np.float32)
            elif kind is SensorType.COLOR:
                colour = round(10 * (x + y + z + sum(self.state.rotation)) + hfov) % 256
                seen[uuid] = np.full((*size, 4), colour, np.uint8)
            else:
                seen[uuid] = np.zeros(size, np.uint32)
        return seen


class Simulator:
    """Sets itself up anew when it is reconfigured with what is not equal."""

    semantic_scene = None

    def __init__(self, config: Configuration) -> None:
        self.config, self.opened = config, 0
        self._textures = self._sanitized(config).requires_textures
        self._set(config)

    def reconfigure(self, config: Configuration) -> None:
        self._sanitized(config)
        if self.config != config:
            self._set(config)
            self.config = config

    def get_agent(self, number: int) -> _Agent:
        return self._agents[number]

    def get_sensor_observations(self, number: int) -> dict[str, np.ndarray]:
        return self._agents[number].sees()

    def recompute_navmesh(self, finder: PathFinder, settings: Any) -> bool:
        finder.is_loaded, finder.nav_mesh_settings = True, settings
        return True

    def close(self) -> None:
        self._agents = []

    @staticmethod
    def _sanitized(config: Configuration) -> SimulatorConfiguration:
        kinds = [s.sensor_type for agent in config.agents for s in agent.sensor_specifications]
        config.sim_cfg.requires_textures = SensorType.COLOR in kinds
        config.sim_cfg.load_semantic_mesh |= SensorType.SEMANTIC in kinds
        return config.sim_cfg

    def _set(self, config: Configuration) -> None:
        if config.sim_cfg.requires_textures and not self._textures:
            raise RuntimeError("requiresTextures was changed to True from False.  Must call close() before changing "
                               "this value.")
        self.opened += 1
        self._agents = [_Agent(agent) for agent in config.agents]


class NavMeshSettings:
    """Takes what is set."""

    def set_defaults(self) -> None:
        self.cell_size, self.cell_height = 0.05, 0.2


class ShortestPath:
    """What find_path fills."""

    geodesic_distance = math.inf


class PathFinder:
    """One island without an edge."""

    num_islands = 1

    def __init__(self) -> None:
        self.is_loaded, self.nav_mesh_settings, self._seed = False, None, 0

    def load_nav_mesh(self, file: str) -> bool:
        return False

    def island_area(self, island: int) -> float:
        return 100.0 if self._there() else 0.0

    def get_bounds(self) -> tuple[list[float], list[float]]:
        return [-50.0, 0.0, -50.0], [50.0, 0.0, 50.0]

    def snap_point(self, point: np.ndarray, island: int) -> np.ndarray:
        return self._there() * np.array([point[0], 0.0, point[2]], np.float32)

    def get_island(self, point: np.ndarray) -> int:
        return 0

    def seed(self, seed: int) -> None:
        self._seed = seed

    def get_random_navigable_point(self, island_index: int) -> list[float]:
        return [float(self._seed), 0.0, 0.0]

    def try_step(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self._there() * end

    try_step_no_sliding = try_step

    def find_path(self, way: Any) -> bool:
        way.geodesic_distance = math.dist(way.requested_start, way.requested_end)
        way.points = [way.requested_start, way.requested_end]
        return bool(self._there())

    def _there(self) -> int:
        if not self.is_loaded:
            raise SystemExit("habitat_sim ends the process: the navigation mesh is not loaded")
        return 1


class _Mediator:
    def __init__(self, settings: SimulatorConfiguration) -> None:
        self.stage_template_manager = SimpleNamespace(create_new_template=lambda file, register: SimpleNamespace(),
                                                      register_template=lambda template, file: 0)


metadata = SimpleNamespace(MetadataMediator=_Mediator)
agent = SimpleNamespace(AgentConfiguration=AgentConfiguration)
