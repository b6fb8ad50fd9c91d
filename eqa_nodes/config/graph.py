"""The parameters of a whole graph, merged from a file, a world and options, and checked against each other.

Format: {node, or SHARED: {dotted name: value}}. SHARED is the section of shared parameters, named /** as in a ROS
parameter file. A node declares those of the shared parameters that it uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError

from eqa_nodes.config.nodes import ATOMIC, NAV2, SETTINGS, VELOCITIES, GraphSettings, NodeSettings, Settings
from eqa_nodes.config.parameters import ROS_OWN, build, leaves, settings_of
from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.robot import RobotModel

SHARED = "/**"
REPLY_S = 60.0  # in addition to the calls of the model: images, parsing and transfer between the nodes
Parameters = dict[str, dict[str, Any]]
SettingsT = TypeVar("SettingsT", bound=Settings)
_NODES: dict[type, str] = {config: node for node, config in SETTINGS.items()}
# Parameters that must be equal for all nodes: wherever they are given, they are stored once, in the section SHARED.
_ONCE = ("robot.", "node.camera.", "node.second_camera.", "node.tf.", "memory.privacy.", "labels_from")


class GraphParameters(Mapping[str, Mapping[str, Any]]):
    """The checked parameters of a graph, {node, or SHARED: {dotted name: value}}, and the settings of its nodes.

    `merged` creates them and builds the settings of each node once.
    """

    def __init__(self, values: Mapping[str, Mapping[str, Any]], built: GraphSettings) -> None:
        self._values, self.settings = values, built

    def __getitem__(self, node: str) -> Mapping[str, Any]:
        return self._values[node]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return merged, (None, self._values)  # settings classes made for a policy cannot be pickled


def merged(path: Path | None, *overrides: Mapping[str, Mapping[str, Any]]) -> GraphParameters:
    """Return a parameter file with overrides on top; all names and types are checked (ConfigError).

    Perception is an observer if a detector is chosen, and the reconstructor if it is enabled. With a simulated robot
    that is driven by velocities, the agent's odometry is from topics. Unchanged checked parameters are returned as
    they are.
    """
    result: Parameters = read_file(path) if path is not None else {}
    for override in overrides:
        for node, values in shared_once(override).items():
            result.setdefault(node, {}).update(values)
    for override in overrides:
        if isinstance(override, GraphParameters) and override == result:
            return override
    built = graph_settings(result)
    built.bridge.check_senses()
    derived = _derived(built)
    _wait_for_the_model(built, result, derived)
    _map_what_the_scan_sees(built, result, derived)
    _check_money(built)
    if built.bridge.clock_start_ns:  # stamps are then dates, but not those of this computer
        result.setdefault(SHARED, {}).setdefault("use_sim_time", True)
    for node, values in derived.items():
        result.setdefault(node, {}).update(values)
    changed: dict[str, Any] = {node: settings(SETTINGS[node], result) for node in derived}
    return GraphParameters(result, replace(built, **changed))


def of_robot(robot: RobotModel) -> Parameters:
    """Return the parameters that describe a robot's body to all nodes."""
    return {SHARED: dict(leaves(robot, "robot."))}


def of_world(world: str) -> Parameters:
    """Return the parameters that differ from the defaults in a world: sim | robot | replay.

    A robot's camera has slightly different stamps and may be mounted on its side; there is no simulator that counts
    steps or begins episodes.
    """
    if world != "robot":
        return {}
    cameras = {f"node.{camera}.{name}": value for camera in ("camera", "second_camera")
               for name, value in (("tolerance_s", 0.02), ("upright", True))}
    shared = {**cameras, "node.tf.wait_s": 2.0}
    return {SHARED: shared, "agent": {"odometry": "topics", "simulator": False, "agent.answer_waiting": True}}


def driven_by(navigator: str) -> Parameters:
    """Return the parameters with which a navigator drives the simulated robot: atomic | nav2. Raises ConfigError."""
    if navigator not in (ATOMIC, NAV2):
        raise ConfigError(unknown("navigator", navigator, (ATOMIC, NAV2)))
    return {"bridge": {"drive": VELOCITIES}} if navigator == NAV2 else {}


def _derived(built: GraphSettings) -> Parameters:
    """Return the parameters that follow from others. Raises ConfigError.

    Bridge and replay wait for the observers that the settings choose, and the agent resets them.
    """
    derived: Parameters = {}
    for node, own in (("agent", built.agent), ("bridge", built.bridge), ("replay", built.replay)):
        missing = tuple(name for name in built.optional_observers if name not in own.observers)
        if own.observers and missing:
            derived[node] = {"observers": (*own.observers, *missing)}
    if not built.detecting and built.memory.labels and built.memory.labels_from == "detector":
        raise ConfigError("labels_from is detector, and no detector is chosen: give perception "
                          "detector.name, such as transformers, or set labels_from to simulator")
    if built.drives == NAV2 and built.agent.odometry != "topics":
        derived.setdefault("agent", {})["odometry"] = "topics"
    return derived


def _map_what_the_scan_sees(built: GraphSettings, given: Parameters, derived: Parameters) -> None:
    """For a simulated robot driven by Nav2, set the map's minimum obstacle height to that of its scan.

    Lower objects are in the scan only while the camera looks at them. Configured heights are kept.
    """
    seen = {"map.obstacle_min_m": built.bridge.scan.low_m, "map.tilt_error_deg": built.bridge.scan.tilt_error_deg}
    if built.drives == NAV2 and seen["map.obstacle_min_m"] > 0 and not seen.keys() & given.get("mapper", {}).keys():
        derived.setdefault("mapper", {}).update(seen)


def _wait_for_the_model(built: GraphSettings, given: Parameters, derived: Parameters) -> None:
    """Set the agent's deadline to the time that its answerer may need: a call of the model, and a repeated call after
    an invalid reply. A configured deadline is kept."""
    needed_s = 2 * built.answerer.model.deadline_s + REPLY_S
    name = "model_deadline_s"
    if needed_s > built.agent.model_deadline_s and not any(name in given.get(node, {}) for node in (SHARED, "agent")):
        derived.setdefault("agent", {})[name] = needed_s


def _check_money(built: GraphSettings) -> None:
    """Raise ConfigError for a limit of money if the model's prices are not set."""
    limit, model = built.agent.agent.max_money, built.answerer.model
    if limit and not (model.price_in or model.price_out):
        raise ConfigError(f"agent.max_money is {limit:g}, but no prices are known: set model.price_in and "
                          "model.price_out of the answerer (--price-in, --price-out), in money per million tokens")


def shared_once(parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> Parameters:
    """Return the parameters with those that must be equal for all nodes moved to the section SHARED.

    source: prefix of error messages. Raises ConfigError for two values of one setting, and for an unknown node.
    """
    result: Parameters = {SHARED: {}}
    for node, values in parameters.items():
        if node != SHARED and node not in SETTINGS:
            raise ConfigError(f"{source}: {unknown('node', node, SETTINGS)}".strip(": "))
        own = result.setdefault(node, {})
        for name, value in values.items():
            if node == SHARED or not name.startswith(_ONCE):
                own[name] = value
                continue
            value = tuple(value) if isinstance(value, list) else value  # a list in a file is a tuple in the settings
            if (before := result[SHARED].setdefault(name, value)) != value:
                raise ConfigError(f"{source}: two values for {name}, {before} and {value}: set it once, under "
                                  f"{SHARED}".strip(": "))
    return {node: values for node, values in result.items() if values}


@cache
def shared_names() -> frozenset[str]:
    """Return the names allowed in the section SHARED; a node declares those of them that it uses."""
    groups: dict[str, type] = {"node": NodeSettings, "robot": RobotModel, "memory.privacy": PrivacyConfig}
    return frozenset({"labels_from"} | {
        f"{group}.{p.name}" for group, config in groups.items() for p in settings_of(config)})


def used_by(node: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without the shared ones that a node does not use."""
    known = {setting.name for setting in settings_of(SETTINGS[node])}
    return {name: value for name, value in values.items() if name in known or name not in shared_names()}


def settings(config: type[SettingsT], parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> SettingsT:
    """Build the settings of one node: its own section overrides the shared one. Raises ConfigError.

    source: prefix of error messages.
    """
    node = _NODES[config]
    values = {**parameters.get(SHARED, {}), **parameters.get(node, {})}
    return build(config, used_by(node, values), f"{source}{node}")


def graph_settings(parameters: Mapping[str, Mapping[str, Any]], source: str = "") -> GraphSettings:
    """Build the settings of all nodes. Raises ConfigError for a wrong name or value.

    source: prefix of error messages. A shared parameter may be invalid for any node.
    """
    for name in parameters.get(SHARED, {}):
        if name not in shared_names() and name not in ROS_OWN:
            raise ConfigError(f"{source}{SHARED}: " + unknown("parameter", name, shared_names() | set(ROS_OWN)))
    built: dict[str, Any] = {node: settings(config, parameters, source) for node, config in SETTINGS.items()}
    return GraphSettings(**built)


def read_file(path: Path) -> Parameters:
    """Read a ROS parameter file: {node or SHARED: {dotted name: value}}.

    Names and types are checked. Raises ConfigError naming the file and the error in it.
    """
    found: Parameters = {}
    for key, body in _document(path).items():
        if not isinstance(body, dict) or set(body) != {"ros__parameters"}:
            raise ConfigError(f"{path}: {key!r} must hold one key, ros__parameters")
        found.setdefault(_node_of(key), {}).update(_flat(body["ros__parameters"] or {}, ""))
    result = shared_once(found, str(path))
    graph_settings(result, f"{path}: ")
    return result


class _Strict(yaml.SafeLoader):
    """YAML as rcl reads it, without aliases. A duplicate key is an error, since its first value would be lost."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()
            raise ComposerError(None, None, f"the alias *{event.anchor} is not read by ROS: write the value out",
                                event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set[str]()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise ConstructorError(None, None, f"the key {name!r} occurs twice: remove one", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


def _document(path: Path) -> Mapping[Any, Any]:
    """Return the contents of a YAML file. Raises ConfigError with a message of one line."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError(f"{path} is a folder, pipe or device: name a plain file of parameters")
        loader = _Strict(path.read_text(encoding="utf-8"))
        document = loader.get_single_data() or {}
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is nested too deep: parameters are names and values") from error
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path}: {' '.join(str(error).split())}") from error
    if not isinstance(document, Mapping):
        raise ConfigError(f"{path} holds a {type(document).__name__}, not nodes with their ros__parameters")
    return document


def _node_of(key: object) -> str:
    name = str(key).strip("/").split("/")[-1]
    return SHARED if name == "**" else name


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def write_file(path: Path, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Write {node: {dotted name: value}} as a ROS parameter file."""
    body = {SHARED if node == SHARED else f"/**/{node}": {
                "ros__parameters": {name: _copied(value) for name, value in own.items()}}
            for node, own in values.items() if own}
    path.write_text(yaml.safe_dump(body, sort_keys=True))


def _copied(value: Any) -> Any:
    """Copy a list: YAML writes an object that occurs twice as an alias, which rcl does not read."""
    return list(value) if isinstance(value, (list, tuple)) else value
