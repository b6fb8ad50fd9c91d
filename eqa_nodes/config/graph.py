"""The parameters of a whole graph: of a file, a world and options together, checked against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqa_nodes.config.files import read_file
from eqa_nodes.config.nodes import ATOMIC, NAV2, VELOCITIES
from eqa_nodes.config.parameters import leaves
from eqa_nodes.config.renamed import Parameters, renewed
from eqa_nodes.config.shared import SHARED, graph_settings, settings
from eqa_nodes.config.whole import SETTINGS, GraphSettings
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.robot import RobotModel

REPLY_S = 60.0  # beside the calls of the model: pictures, parsing and the way between the nodes


class GraphParameters(Mapping[str, Mapping[str, Any]]):
    """The checked parameters of a graph, {node, or SHARED: {dotted name: value}}, and the settings that nodes get.

    `merged` makes them, and builds the settings of each node once.
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
        return merged, (None, self._values)  # a class of settings that a policy brings does not pickle


def merged(path: Path | None, *overrides: Mapping[str, Mapping[str, Any]]) -> GraphParameters:
    """Return a parameter file with overrides on top; all names and types are checked (ConfigError).

    With a detector, perception is an observer, and where it is enabled the reconstructor. With a simulated robot that
    takes velocities, the agent's odometry is that of topics. Checked parameters that nothing changes are returned as
    they are.
    """
    result: Parameters = read_file(path) if path is not None else {}
    for override in overrides:
        for node, values in renewed(override).items():
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
    for node, values in derived.items():
        result.setdefault(node, {}).update(values)
    changed: dict[str, Any] = {node: settings(SETTINGS[node], result) for node in derived}
    return GraphParameters(result, replace(built, **changed))


def of_robot(robot: RobotModel) -> Parameters:
    """Return the parameters that describe a robot's body to all nodes."""
    return {SHARED: dict(leaves(robot, "robot."))}


def of_world(world: str) -> Parameters:
    """Return what is different in a world: sim | robot | replay.

    The stamps of a robot's camera differ a little, and it may lie on its side; no simulator counts or begins episodes.
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

    Who shows observations waits for the observers that settings choose, and the agent resets them.
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
    """Let the map of a simulated robot that Nav2 drives have obstacles from the height on from which its scan has them.

    What is low is in the scan only while the camera looks at it. Heights that somebody set stay.
    """
    seen = {"map.obstacle_min_m": built.bridge.scan.low_m, "map.tilt_error_deg": built.bridge.scan.tilt_error_deg}
    if built.drives == NAV2 and seen["map.obstacle_min_m"] > 0 and not seen.keys() & given.get("mapper", {}).keys():
        derived.setdefault("mapper", {}).update(seen)


def _wait_for_the_model(built: GraphSettings, given: Parameters, derived: Parameters) -> None:
    """Let the agent wait as long as its answerer may work: for a call of the model, and for the repeated call after a
    reply of the wrong form. A deadline that somebody set stays."""
    needed_s = 2 * built.answerer.model.deadline_s + REPLY_S
    name = "model_deadline_s"
    if needed_s > built.agent.model_deadline_s and not any(name in given.get(node, {}) for node in (SHARED, "agent")):
        derived.setdefault("agent", {})[name] = needed_s


def _check_money(built: GraphSettings) -> None:
    """Raise ConfigError for a limit of money where nothing says what the model costs."""
    limit, model = built.agent.agent.max_money, built.answerer.model
    if limit and not (model.price_in or model.price_out):
        raise ConfigError(f"agent.max_money is {limit:g}, but no prices are known: set model.price_in and "
                          "model.price_out of the answerer (--price-in, --price-out), in money per million tokens")
