"""Derives nodes, parameters and remappings from a launch file's arguments, without importing ROS or launch."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from eqa_nodes.config.graph import SHARED, GraphParameters, Parameters, write_file
from eqa_nodes.config.nodes import ATOMIC, NAV2, BridgeSettings
from eqa_nodes.config.profiles import Profile, profile
from eqa_nodes.config.run import REPLAY, ROBOT, SIM, Replayed, RunConfig, sees
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.launching.arguments import BRINGUP, FRAMES, NONE, REMAPPED, RESTART
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.options import ReadingConfig
from eqa_nodes.runners.opening import check_memory
from eqa_nodes.wire.graph import OBSERVERS, TOPICS, nodes_of, own_world
from sim_bridge.registry import is_scan
from sim_bridge.scans import HABITAT_VARIABLE, SCENES_VARIABLE, check_labels, find_scan

ALL_UP, WAIT_FOR_ROBOT = "--up", ("--robot",)  # options of the program `ready`
Chosen = Mapping[str, str]  # argument -> its value, given or default


@dataclass(frozen=True)
class LaunchPlan:
    """The processes and parameters that a launch file starts.

    begin: options of the program `ready` that begin an episode or wait for one, () = neither. nav2: nav2_bringup starts
    Nav2 with nav2_params, None = its own. remappings: names of the graph -> names of the robot. enclave: path of the
    SROS 2 enclaves, "" = none. variables: environment variables of all processes.
    """

    chosen: Chosen
    folder: Path
    nodes: list[str]
    parameters: Mapping[str, Mapping[str, Any]]
    remappings: list[tuple[str, str]] = field(default_factory=list)
    begin: tuple[str, ...] = ()
    nav2: bool = False
    nav2_params: Path | None = None
    rviz: bool = False
    enclave: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def restart(self) -> bool:
        """Return whether dead processes are restarted."""
        return self.chosen["on_exit"] == RESTART

    @property
    def sim_time(self) -> bool:
        """Return whether the nodes use the time of /clock."""
        return any(values.get("use_sim_time") for values in self.parameters.values())

    @property
    def map_frame(self) -> str:
        """Return the name of the map frame."""
        return str(self.parameters.get(SHARED, {}).get("node.tf.map_frame", FRAMES["map_frame"]))


def robot(chosen: Chosen, files: Path) -> LaunchPlan:
    """Return the plan of a physical robot. Raises ConfigError for wrong or unsupported arguments and parameters."""
    driver = profile(chosen["driver"])
    chosen = _of_driver(chosen, driver)
    config = _config(chosen, ROBOT)
    record, use_sim_time = _yes(chosen, "record"), _yes(chosen, "use_sim_time")
    parameters = config.parameters
    left_out = ("recorder",) * (not record) + ("navigator",) * (chosen["nav2"] == NONE)
    nodes = [name for name in config.nodes if name not in left_out]
    said: Parameters = {SHARED: {"use_sim_time": use_sim_time},
                        "agent": {"observers": tuple(name for name in OBSERVERS if name in nodes)}}
    parameters = config.with_overrides(driver.parameters(Path(chosen["params_file"])), said, *(
        _said(SHARED, f"node.tf.{name}", chosen[name], default)
        for name, default in FRAMES.items()), _autostart(chosen),
        _said("agent", "map_name", chosen["map_name"], "")).parameters
    _refuse_labels(parameters)
    if chosen["enclave"] and _yes(chosen, "composed"):
        raise ConfigError("composed:=true puts all nodes into one process, and a process has one enclave: leave out "
                          "composed or enclave")
    own = {name: values for name, values in parameters.items() if name in (SHARED, *nodes)}
    return LaunchPlan(chosen, config.folder, nodes, own, _remappings(chosen),
                begin=WAIT_FOR_ROBOT, nav2=chosen["nav2"] == BRINGUP, nav2_params=_nav2_params(chosen),
                rviz=_yes(chosen, "rviz"), enclave=chosen["enclave"].rstrip("/"))


def sim(chosen: Chosen, files: Path) -> LaunchPlan:
    """Return the plan of a simulated robot; write the parameters of its Nav2 to its folder.

    Raises ConfigError for wrong arguments and parameters, and for a scan without the required labels.
    """
    config = _config(chosen, SIM)
    folder, parameters = config.folder, config.parameters
    check_memory(parameters.settings)
    navigator = parameters.settings.drives
    if chosen["nav2"] == BRINGUP and (navigator != NAV2 or not chosen["scene"]):
        raise ConfigError("nav2:=bringup wants navigator:=nav2 and a scene: Nav2 does not start without the time and "
                          "the transforms of an episode")
    left_out = ("recorder",) * (not _yes(chosen, "record"))
    nodes = [name for name in nodes_of(SIM, navigator=navigator, optional=parameters.settings.optional_observers)
             if name not in left_out]
    observers = {"observers": tuple(name for name in OBSERVERS if name in nodes)}
    said: Parameters = {"agent": observers, "bridge": observers} if left_out else {}
    parameters = config.with_overrides(said, _autostart(chosen)).parameters
    begin = ("--episode", folder.name, "--scene", chosen["scene"], "--seed", str(_whole(chosen, "seed")))
    simulator, _, place = chosen["scene"].partition(":")
    if is_scan(chosen["scene"]) and parameters.settings.memory.reads_simulator:
        scans = _scans(chosen).get(SCENES_VARIABLE)
        check_labels(simulator, find_scan(place, Path(scans) if scans else None))
    own = folder / "nav2.yaml"
    if navigator == NAV2:
        folder.mkdir(parents=True, exist_ok=True)
        write_nav2(files / "nav2" / "nav2.yaml", parameters.settings.bridge, own)
    return LaunchPlan(chosen, folder, nodes, parameters, _own_world(chosen), begin=begin if chosen["scene"] else (),
                nav2=chosen["nav2"] == BRINGUP, nav2_params=_nav2_params(chosen) or own,
                rviz=not _yes(chosen, "headless"), variables=_scans(chosen))


def replay(chosen: Chosen, files: Path) -> LaunchPlan:
    """Return the plan of a recording that replaces the robot.

    Raises ConfigError for wrong arguments and parameters, StorageError for a source without a history.
    """
    source = Path(chosen["source"]).resolve()
    reading = ReadingConfig(tuple(f"{key}:={chosen[key]}" for key in REMAPPED if chosen[key]),
                            chosen["bag_namespace"], chosen["map_frame"], chosen["base_frame"])
    labels = bool(open_history(source, options=BagOptions.of(reading)).labels)
    replayed = Replayed(labels, _yes(chosen, "record"), _number(chosen, "rate"), reading)
    config = replace(_config(chosen, REPLAY), replayed=replayed)
    nodes = config.nodes
    return LaunchPlan(chosen, config.folder, nodes, config.with_overrides(_autostart(chosen)).parameters,
                _own_world(chosen), begin=("--episode", source.stem, "--scene", str(source)), rviz=_yes(chosen, "rviz"))


PLANS: dict[str, Callable[[Chosen, Path], LaunchPlan]] = {"robot": robot, "sim": sim, "replay": replay}


def planned(world: str, chosen: Chosen, files: Path) -> LaunchPlan:
    """Return the plan of a launch file, and write its parameters to FOLDER/params.yaml. files: the folder launch/.

    Raises ConfigError for wrong arguments and parameters, StorageError for a source without a history.
    """
    ready_s = _number(chosen, "ready_s")
    if not ready_s > 0:
        raise ConfigError(f"ready_s is {ready_s:g}: expected seconds, more than 0")
    plan = PLANS[world](chosen, files)
    plan.folder.mkdir(parents=True, exist_ok=True)
    write_file(plan.folder / "params.yaml", plan.parameters)
    return plan


def _config(chosen: Chosen, world: str) -> RunConfig:
    """Return the run configuration for the arguments. Raises ConfigError."""
    return RunConfig(
        agent=chosen["agent"], answerer=chosen["answerer"], policy=chosen["policy"],
        model=ModelConfig(model=chosen["model"], base_url=chosen["model_url"]),
        detector=DetectorConfig(name=chosen["detector"]), world=world,
        sees=sees(chosen["scene"], _yes(chosen, "labels"), chosen["detector"]) if world == SIM else "",
        robot=chosen.get("robot", ""),
        reconstruct=_yes(chosen, "reconstruct"),
        dataset=chosen.get("dataset", ""), scene=chosen.get("scene", ""), image=chosen.get("image", ""),
        navigator=chosen.get("navigator", ATOMIC), clock_start=chosen.get("start", ""),
        memory_file=Path(chosen["memory_file"]) if chosen.get("memory_file") else None,
        drive=chosen.get("drive", ""), ask_back=chosen.get("ask_back") == "true",
        params=Path(chosen["params_file"]), folder=_folder(chosen))


def _folder(chosen: Chosen) -> Path:
    """Return the folder of a run: by default a new one, so that no two runs write the same files."""
    own = f"runs/launch/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    return Path(chosen["folder"] or own).resolve()


def _yes(chosen: Chosen, name: str) -> bool:
    return chosen[name] == "true"


def _number(chosen: Chosen, name: str) -> float:
    try:
        return float(chosen[name])
    except ValueError:
        raise ConfigError(f"{name} is {chosen[name]!r}: expected a number, such as 1.0") from None


def _whole(chosen: Chosen, name: str) -> int:
    if not chosen[name].isdecimal():
        raise ConfigError(f"{name} is {chosen[name]!r}: expected a whole number, 0 or more")
    return int(chosen[name])


def _scans(chosen: Chosen) -> dict[str, str]:
    """Return the locations of scans and Habitat's Python as environment variables. Raises ConfigError."""
    found: dict[str, str] = {}
    if chosen["scenes"]:
        if not (folder := Path(chosen["scenes"]).expanduser().resolve()).is_dir():
            raise ConfigError(f"scenes is {chosen['scenes']!r}: the folder does not exist")
        found[SCENES_VARIABLE] = str(folder)
    if name := chosen["habitat_python"]:
        found[HABITAT_VARIABLE] = name if "/" not in name else str(Path(name).expanduser().absolute())
    return found


def _said(node: str, name: str, value: Any, default: Any) -> Parameters:
    """Return a parameter of a node, or of SHARED, that differs from its default."""
    return {} if value == default else {node: {name: value}}


def _autostart(chosen: Chosen) -> Parameters:
    return _said(SHARED, "node.autostart", _yes(chosen, "autostart"), True)


def _of_driver(chosen: Chosen, driver: Profile) -> Chosen:
    """Return the arguments; those with their default value are replaced by the driver's."""
    usual = {**{key: TOPICS[key].name for key in REMAPPED}, **FRAMES}
    return {**chosen, **{name: value for name, value in {**driver.topics, **driver.frames}.items()
                         if chosen[name] == usual[name]}}


def _remappings(chosen: Chosen) -> list[tuple[str, str]]:
    return [(TOPICS[key].name, chosen[key]) for key in REMAPPED if chosen[key] != TOPICS[key].name]


def _own_world(chosen: Chosen) -> list[tuple[str, str]]:
    """Return the remappings of a simulation's or a recording's transforms and clock into its namespace."""
    return [(TOPICS[key].name, name) for key, name in own_world(chosen["namespace"]).items()]


def _nav2_params(chosen: Chosen) -> Path | None:
    """Return the given file of Nav2's parameters, None if none is given. Raises ConfigError if it does not exist."""
    if not chosen["nav2_params_file"]:
        return None
    if not (path := Path(chosen["nav2_params_file"]).resolve()).is_file():
        raise ConfigError(f"nav2_params_file is {chosen['nav2_params_file']!r}: the file does not exist")
    return path


def _refuse_labels(parameters: GraphParameters) -> None:
    """Raise ConfigError if memory would wait for a simulator's labels, which a robot does not have."""
    if parameters.settings.memory.reads_simulator:
        raise ConfigError(f"the answerer {parameters['answerer']['answerer']!r} reads labels, and a robot has none: "
                          "let a detector give them (detector:=transformers), or choose another agent or answerer")


INFLATED_M = 0.22  # inflation beyond the robot's radius: preferred distance of paths from obstacles, metres
MOST_BLIND_M = 1.1  # a scan always clears from this distance on, so that marks of people walking by disappear
CRUISE = 0.9  # share of the top speed that a controller requests: the rest is reserve for path corrections


def fitted(parameters: dict[str, Any], bridge: BridgeSettings) -> dict[str, Any]:
    """Fit parameters of Nav2, in the form of its YAML file, to a simulated robot; return the same object."""
    base = bridge.robot.base

    def of(*path: str) -> Any:
        value: Any = parameters
        for key in path:
            value = value[key]
        return value["ros__parameters"]

    of("/**")["enable_stamped_cmd_vel"] = bridge.stamped
    for costmap in ("local_costmap", "global_costmap"):
        of(costmap, costmap)["robot_radius"] = bridge.robot.radius_m
        of(costmap, costmap)["inflation_layer"]["inflation_radius"] = round(bridge.robot.radius_m + INFLATED_M, 3)
    of("local_costmap", "local_costmap")["obstacle_layer"]["scan"]["raytrace_min_range"] = _blind_m(bridge)
    of("controller_server")["FollowPath"] |= {
        "desired_linear_vel": CRUISE * base.forward_m_s, "max_angular_accel": base.accelerate_rad_s2,
        "rotate_to_heading_angular_vel": CRUISE * base.turn_rad_s}
    of("behavior_server")["max_rotational_vel"] = CRUISE * base.turn_rad_s
    of("behavior_server")["rotational_acc_lim"] = base.accelerate_rad_s2
    of("velocity_smoother").update(
        max_velocity=[base.forward_m_s, 0.0, base.turn_rad_s],
        min_velocity=[-base.backward_m_s, 0.0, -base.turn_rad_s],
        max_accel=[base.accelerate_m_s2, 0.0, base.accelerate_rad_s2],
        max_decel=[-base.accelerate_m_s2, 0.0, -base.accelerate_rad_s2])
    return parameters


def _blind_m(bridge: BridgeSettings) -> float:
    """Return the distance in metres below which a scan made from depth misses its lowest obstacles."""
    return round(max(0.0, min(bridge.robot.camera.sees_from_m(bridge.scan.low_m), MOST_BLIND_M)), 2)


def write_nav2(template: Path, bridge: BridgeSettings, path: Path) -> None:
    """Write the parameters in `template`, fitted to a simulated robot."""
    path.write_text(yaml.safe_dump(fitted(yaml.safe_load(template.read_text()), bridge), sort_keys=False))
