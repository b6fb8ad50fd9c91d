"""What every node can be told: one dataclass a node, for nodes, the chain without ROS, and parameter files."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqa_nodes.bags.options import RecordingConfig
from eqa_nodes.core import policies
from eqa_nodes.core.agent import AgentConfig
from eqa_nodes.core.config import MapperConfig, NavigatorConfig, ScanConfig
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.memory import MemoryConfig
from eqa_nodes.core.policies.config import PolicyConfig
from eqa_nodes.core.privacy import PrivacyConfig
from eqa_nodes.core.tracking import PerceiverConfig
from eqa_nodes.graph import LABELS, OBSERVERS, PERCEPTION
from eqa_nodes.parameters import build, read_file
from eqa_nodes.perception.config import PRIVILEGED, DetectorConfig
from eqa_nodes.vlm.config import ModelConfig
from sim_bridge.base import BaseConfig
from sim_bridge.simulator import Robot

ACTIONS, VELOCITIES = "actions", "velocities"  # what drives a simulated robot
ATOMIC, NAV2 = "atomic", "nav2"  # who sends that: our navigator, or Nav2, which is not ours
ODOMETRY = ("simulator", "topics")  # where the agent's counts and pose come from


@dataclass(frozen=True)
class NodeSettings:
    """What all nodes have in common."""

    reliable_camera: bool = True  # False: best effort, as camera drivers publish
    call_deadline_s: float = 60.0  # for a call to another node
    test_delay_s: float = 0.0  # waits before every callback: shows that lock-step does not depend on speed


@dataclass(frozen=True)
class MapperSettings:
    """Parameters of the mapper node."""

    node: NodeSettings = NodeSettings()
    map: MapperConfig = MapperConfig()


@dataclass(frozen=True)
class MemorySettings:
    """Parameters of the memory node."""

    node: NodeSettings = NodeSettings()
    memory: MemoryConfig = MemoryConfig()
    folder: str = "memory"
    file: str = ""  # in that folder, for all episodes, and none empties it; empty = one file an episode
    labels: bool = False  # take in what labels things:
    labels_from: str = "simulator"  # simulator (privileged) | detector (the perception node)
    pending: int = 30  # observations that may wait for their parts: more where a detector is slow and frames are many

    def __post_init__(self) -> None:
        _check_source("memory", self.labels_from)


@dataclass(frozen=True)
class PerceptionSettings:
    """Parameters of the perception node."""

    node: NodeSettings = NodeSettings()
    detector: DetectorConfig = DetectorConfig()
    perceiver: PerceiverConfig = PerceiverConfig()
    newest: bool = False  # look at the newest picture only, when the detector is free; False: at every one (lock-step)

    @property
    def labels(self) -> bool:
        """Say whether the detector reads the simulator's labels (privileged)."""
        return self.detector.name in PRIVILEGED


@dataclass(frozen=True)
class ExplorerSettings:
    """Parameters of the explorer node."""

    node: NodeSettings = NodeSettings()
    policy: str = policies.DEFAULT
    params: PolicyConfig = PolicyConfig()


@dataclass(frozen=True)
class NavigatorSettings:
    """Parameters of the navigator node."""

    node: NodeSettings = NodeSettings()
    navigator: NavigatorConfig = NavigatorConfig()
    leg_deadline_s: float = AgentConfig().leg_deadline_s  # in the clock of the stamps
    map_deadline_s: float = 10.0  # for the map of the newest observation


@dataclass(frozen=True)
class AnswererSettings:
    """Parameters of the answerer node."""

    node: NodeSettings = NodeSettings()
    answerer: str = "label"
    model: ModelConfig = ModelConfig()  # that the answerer asks, where it asks one
    max_images: int = 0  # that the model is shown in one call; 0 = the answerer's own default
    folder: str = ""  # keeps what a model said of pictures, so that none is paid for twice; "" = while the node runs


@dataclass(frozen=True)
class RecorderSettings:
    """Parameters of the recorder node."""

    node: NodeSettings = NodeSettings()
    folder: str = "bags"  # one bag an episode
    bag: RecordingConfig = RecordingConfig()
    privacy: PrivacyConfig = PrivacyConfig()  # the same as memory.privacy: bags hold memory's keyframes too
    labels_from: str = "simulator"  # what says where kinds of things are that are hidden: as memory's

    def __post_init__(self) -> None:
        _check_source("recorder", self.labels_from)


@dataclass(frozen=True)
class AgentSettings:
    """Parameters of the agent node."""

    node: NodeSettings = NodeSettings()
    agent: AgentConfig = AgentConfig()
    map_deadline_s: float = 10.0  # for the map of the newest observation to reach the explorer
    model_deadline_s: float = 300.0  # for one batched call of the answerer, its retries included
    observe_deadline_s: float = 60.0  # for the first observation of an episode, until every observer has it
    observers: tuple[str, ...] = OBSERVERS  # who is told that an episode begins
    odometry: str = "simulator"  # simulator: counts and pose from the service act | topics: odom and tf, as on a robot

    def __post_init__(self) -> None:
        if self.odometry not in ODOMETRY:
            raise ConfigError("agent: " + unknown("odometry", self.odometry, ODOMETRY))


@dataclass(frozen=True)
class LockstepSettings:
    """What shows observations in lock-step."""

    node: NodeSettings = NodeSettings()
    observers: tuple[str, ...] = OBSERVERS  # who must take in an observation before the next one; () = free running
    taken_deadline_s: float = 30.0
    repeat_s: float = 1.0  # publish again what was not taken in by then (a message can be lost while nodes still match)


@dataclass(frozen=True)
class BridgeSettings(LockstepSettings):
    """Parameters of the bridge node."""

    robot: Robot = field(default_factory=Robot)
    drive: str = ACTIONS  # actions: lock-step, through the service act | velocities: as a robot, by cmd_vel
    base: BaseConfig = BaseConfig()  # of velocities, as all below
    scan: ScanConfig = ScanConfig()
    stamped: bool = True  # cmd_vel is a TwistStamped (Nav2 from Kilted on), else a Twist (Nav2 up to Jazzy)
    physics_hz: float = 30.0  # of odometry and transforms, in simulated time
    camera_hz: float = 5.0  # of images and scans, in simulated time; rounded to a whole number of steps
    real_time_factor: float = 1.0  # simulated seconds a second, at most

    def __post_init__(self) -> None:
        if self.drive not in (ACTIONS, VELOCITIES):
            raise ConfigError("bridge: " + unknown("drive", self.drive, (ACTIONS, VELOCITIES)))
        if not 0 < self.camera_hz <= self.physics_hz <= 1000:
            raise ConfigError(f"bridge: rates must be 0 < camera_hz {self.camera_hz} <= physics_hz {self.physics_hz} "
                              "<= 1000")
        if not 0 < self.real_time_factor < math.inf:
            raise ConfigError(f"bridge: real_time_factor is {self.real_time_factor}: expected a positive number, such "
                              "as 1.0")


@dataclass(frozen=True)
class ReplaySettings(LockstepSettings):
    """Parameters of the replay node."""

    source: str = ""  # the history to begin with, by itself; "" = wait for reset_episode, whose scene names it
    rate: float = 0.0  # times real time, by the recorded stamps; 0 = lock-step: as fast as the observers take it
    labels: bool = False  # publish the history's labels (privileged)
    begin_deadline_s: float = 90.0  # for the graph to come up before an episode begins by itself

    def __post_init__(self) -> None:
        if not self.rate >= 0:
            raise ConfigError(f"rate is {self.rate}: expected a positive number, such as 2.0 for twice real time, or 0 "
                              "for lock-step")


SETTINGS: dict[str, type] = {
    "mapper": MapperSettings, "memory": MemorySettings, "perception": PerceptionSettings, "explorer": ExplorerSettings,
    "navigator": NavigatorSettings, "answerer": AnswererSettings, "recorder": RecorderSettings,
    "agent": AgentSettings, "bridge": BridgeSettings, "replay": ReplaySettings}

Parameters = dict[str, dict[str, Any]]  # {node: {dotted name: value}}


def merged(path: Path | None, *overrides: Mapping[str, Mapping[str, Any]]) -> Parameters:
    """Return a parameter file with overrides on top; all names and types are checked (ConfigError).

    So is that memory and recorder hide the same. With a detector, perception is an observer. With a simulated robot
    that takes velocities, the agent's odometry is that of topics.
    """
    result: Parameters = read_file(path, SETTINGS) if path is not None else {}
    for override in overrides:
        for node, values in override.items():
            result.setdefault(node, {}).update(values)
    for node in result:
        settings(node, result)
    _check_privacy(result)
    _with_perception(result)
    if navigator_of(result) == NAV2:
        result.setdefault("agent", {})["odometry"] = "topics"
    return result


def driven_by(navigator: str) -> Parameters:
    """Return the parameters with which a navigator drives the simulated robot: atomic | nav2. Raises ConfigError."""
    if navigator not in (ATOMIC, NAV2):
        raise ConfigError(unknown("navigator", navigator, (ATOMIC, NAV2)))
    return {"bridge": {"drive": VELOCITIES}} if navigator == NAV2 else {}


def navigator_of(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """Say who drives the simulated robot under these parameters."""
    return NAV2 if settings("bridge", parameters).drive == VELOCITIES else ATOMIC


def detecting(parameters: Mapping[str, Mapping[str, Any]]) -> bool:
    """Say whether the perception node runs under these parameters: a detector is chosen."""
    return bool(settings(PERCEPTION, parameters).detector.name)


def settings(node: str, parameters: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the settings of one node under these parameters."""
    return build(SETTINGS[node], parameters.get(node, {}), node)


def _check_source(node: str, labels_from: str) -> None:
    if labels_from not in LABELS:
        raise ConfigError(f"{node}: " + unknown("source labels_from", labels_from, LABELS))


def _with_perception(parameters: Parameters) -> None:
    """Let who shows observations wait for perception, and the agent reset it, where it runs."""
    memory = settings("memory", parameters)
    if not detecting(parameters):
        if memory.labels and memory.labels_from == "detector":
            raise ConfigError("memory.labels_from is detector, and no detector is chosen: give perception "
                              "detector.name, such as transformers, or set labels_from to simulator")
        return
    for node in ("agent", "bridge", "replay"):
        observers = settings(node, parameters).observers
        if observers and PERCEPTION not in observers:
            parameters.setdefault(node, {})["observers"] = (*observers, PERCEPTION)


def _check_privacy(parameters: Parameters) -> None:
    memory, recorder = settings("memory", parameters).memory.privacy, settings("recorder", parameters).privacy
    if memory != recorder:
        raise ConfigError(f"memory and recorder hide different things, and both keep images: memory.privacy is "
                          f"{memory}, the recorder's privacy is {recorder}; give memory.privacy.* of /**/memory and "
                          "privacy.* of /**/recorder the same values")
