"""One typed configuration of a run: the agent, the robot, the scene, the limits, and the folder of results.

Command line, launch files, workers, replay and the Python library all create a `RunConfig`; only
`RunConfig.parameters`, which is computed once, decides which setting takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from eqa_nodes.config.graph import SHARED, GraphParameters, Parameters, driven_by, merged, of_robot, of_world, read_file
from eqa_nodes.config.named_agents import NamedAgent, agent_of, agent_parameters, stopping_parameters
from eqa_nodes.config.nodes import ATOMIC, GraphSettings
from eqa_nodes.config.parameters import leaves
from eqa_nodes.core.components import ANSWERERS, BACKENDS, READERS
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.traits import BackendTraits
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.models.config import ModelConfig, named_model
from eqa_nodes.recordings.options import ReadingConfig
from eqa_nodes.wire.graph import OBSERVERS, nodes_of
from sim_bridge.registry import usual_detector
from sim_bridge.robots import DEFAULT, robot_of, usual_robot

SIM, ROBOT, REPLAY = "sim", "robot", "replay"  # worlds
# What runs the episodes; ATTACHED is a graph that is already running.
GRAPH, ISOLATED, PROCESS, ATTACHED = "graph", "isolated", "process", "attached"
_IMAGE = re.compile(r"(\d+)x(\d+)")


@dataclass(frozen=True)
class Replayed:
    """A recording instead of a robot. labels: it has the simulator's labels; rate: factor of real time, 0 = lock-step.

    record: write a bag of the shown frames and the graph's results; bag: options for reading a bag.
    """

    labels: bool = False
    record: bool = False
    rate: float = 0.0
    bag: ReadingConfig = ReadingConfig()


@dataclass(frozen=True)
class RunConfig:
    """The complete configuration of a run. It can be pickled, and `core.storage.codec` writes it as JSON.

    agent: a name of the registry, or module:function; "" = rules over labels.
    answerer, policy: override those of the parameter file, which override the agent's; "" = no override.
    frames, k: override the agent's. k: number of views for an answer, None = the agent's own.
    model, detector: fields that differ from the defaults override the parameter file; model_for: models of single
    roles, as in models/roles.py.
    sees: the detector of an answerer that reads labels, if options and parameter file choose none; "" = the simulator's
    labels. The function `sees` gives the usual one of a scene.
    reconstruct: run the reconstructor node.
    world: sim | robot | replay. robot, dataset, scene: select the robot's body: by name, else the data set's own, else
    the usual one of the scene, if all questions are about that scene.
    body: the body itself, instead of a name. image: WIDTHxHEIGHT in pixels, "" = the body's. clock_start: date and time
    at which the simulator's clock starts, "" = at 0 s. memory_file: the memory of all runs. navigator: atomic | nav2.
    through: graph (one process) | isolated (one process per node) | process (no ROS) | attached (a running graph, in
    `namespace`).
    drive: go | confirm | dry, as node.drive; "" = as in the parameter file. ask_back: ask a person which of several
    objects a question means; the parameter file overrides it.
    limits: limits of one question, 0 = no limit. show: drive to the evidence after the answer.
    params: ROS parameter file. overrides: {node: {parameter: value}}, which override everything else.
    folder: folder of the run, with its bags, memories and captions.
    """

    agent: str = ""
    answerer: str = ""
    policy: str = ""
    frames: str = ""
    k: int | None = None
    model: ModelConfig = ModelConfig()
    model_for: tuple[str, ...] = ()
    detector: DetectorConfig = DetectorConfig()
    sees: str = ""
    reconstruct: bool = False
    world: str = SIM
    robot: str = ""
    dataset: str = ""
    scene: str = ""
    image: str = ""
    clock_start: str = ""
    body: RobotModel | None = None
    navigator: str = ATOMIC
    replayed: Replayed | None = None
    through: str = GRAPH
    namespace: str = ""
    memory_file: Path | None = None
    drive: str = ""
    ask_back: bool = False
    limits: Limits = Limits()
    force_guess: bool = False
    show: bool = False
    params: Path | None = None
    overrides: Parameters = field(default_factory=dict)
    folder: Path = Path()

    @cached_property
    def from_file(self) -> Parameters:
        """The contents of the parameter file. Raises ConfigError."""
        return read_file(self.params) if self.params else {}

    @cached_property
    def named(self) -> NamedAgent:
        """The agent, with the overrides by options and the parameter file. Raises ConfigError."""
        agent, file = agent_of(self.agent), self.from_file
        answerer = file.get("answerer", {}).get("answerer", agent.answerer)
        policy = file.get("explorer", {}).get("policy", agent.policy)
        return replace(agent, answerer=self.answerer or answerer, policy=self.policy or policy,
                       frames=self.frames or agent.frames, k=agent.k if self.k is None else self.k,
                       k_active=agent.k_active if self.k is None else self.k)

    @property
    def model_name(self) -> str:
        """Name of the model, from options, file or environment; "" if the answerer uses none. Raises ConfigError."""
        if not ANSWERERS.traits(self.named.answerer).asks_model:
            return ""
        return named_model(self.settings.answerer.model)

    @property
    def found_by(self) -> str:
        """Name of the detector, from options, file or scene; "" if none is used. Raises ConfigError."""
        return self.settings.perception.detector.name

    @property
    def robot_body(self) -> RobotModel:
        """The simulated robot. Raises ConfigError for an unknown name and for an invalid image size."""
        lone = usual_robot(self.scene) if self.navigator == ATOMIC else DEFAULT  # Nav2 does not plan over stairs
        usual = READERS.traits(self.dataset).robot if self.dataset else lone
        return with_image(robot_of(self.robot, usual) if self.body is None else self.body, self.image)

    @property
    def question_limits(self) -> Limits:
        """The limits that are sent with a question; tokens and money are settings of the agent."""
        return self.limits._replace(tokens=0, money=0.0)

    @property
    def nodes(self) -> list[str]:
        """The nodes that run in this world."""
        recording = self.replayed is not None and self.replayed.record
        return nodes_of(self.world, recording, self.navigator, self.settings.optional_observers)

    @property
    def settings(self) -> GraphSettings:
        """The settings of all nodes. Raises ConfigError for invalid ones."""
        return self.parameters.settings

    @cached_property
    def parameters(self) -> GraphParameters:
        """The parameters of all nodes; each line overrides the ones above it. Raises ConfigError."""
        agent, file_detects = self.named, bool(self.from_file.get("perception", {}).get("detector.name"))
        detector = self._detector(agent, file_detects)
        return merged(
            None,
            self._of_world(),
            stopping_parameters(agent.answerer, file_detects or bool(detector.name)),
            agent_parameters(self.agent, agent.answerer, agent.k_active),
            self.from_file,
            self._of_options(agent, detector, file_detects),
            self._of_replay(agent, file_detects or bool(detector.name)),
            self.overrides)

    def with_overrides(self, *overrides: Mapping[str, Mapping[str, Any]]) -> RunConfig:
        """Return the configuration with further parameters that override everything else."""
        more: Parameters = {node: dict(values) for node, values in self.overrides.items()}
        for override in overrides:
            for node, values in override.items():
                more.setdefault(node, {}).update(values)
        return replace(self, overrides=more)

    def _of_world(self) -> Parameters:
        if self.world == ROBOT:
            return {**of_world(ROBOT), "perception": {"newest": True}}
        if self.world not in (SIM, REPLAY):
            raise ConfigError(unknown("world", self.world, (SIM, ROBOT, REPLAY)))
        return of_robot(self.robot_body)

    def _of_options(self, agent: NamedAgent, detector: DetectorConfig, file_detects: bool) -> Parameters:
        folder, detects = self.folder.resolve(), bool(detector.name)
        shown = self._model_reads_labels(agent)
        labels = ANSWERERS.traits(agent.answerer).labels or shown or file_detects
        spending = {f"agent.max_{name}": value for name, value in
                    (("tokens", self.limits.tokens), ("money", self.limits.money)) if value}
        kept = {"folder": str(self.memory_file.resolve().parent), "file": self.memory_file.name} if (
            self.memory_file is not None) else {}
        own: Parameters = {
            "explorer": {"policy": agent.policy},
            "answerer": {"answerer": agent.answerer, "folder": str(folder), **_changed("model", self.model),
                         **({"model_for": list(self.model_for)} if self.model_for else {}),
                         **({"embedder": self.detector.embedder} if self.detector.embedder else {})},
            "memory": {"labels": labels or detects, "folder": str(folder / "memory"), **kept,
                       **({"memory.perception.caption_items": 0} if shown else {})},  # captions would repeat the labels
            "perception": _changed("detector", detector),
            **({"reconstructor": {"enabled": True}} if self.reconstruct else {}),
            "recorder": {"folder": str(folder / "bags"), "labels": labels and not (file_detects or detects)},
            SHARED: {**({"labels_from": "detector"} if detects else {}),
                     **({"node.drive": self.drive} if self.drive else {})},
            **driven_by(self.navigator)}
        if self.clock_start:
            own.setdefault("bridge", {})["clock_start"] = self.clock_start
        asks = {"agent.ask_back": True} if self.ask_back and not self._file_says("agent", "agent.ask_back") else {}
        return {**own, "agent": {**spending, **asks}} if spending or asks else own

    def _detector(self, agent: NamedAgent, file_detects: bool) -> DetectorConfig:
        """Return the detector that the options choose, or else the run itself."""
        usual = "" if file_detects or not ANSWERERS.traits(agent.answerer).labels else self.sees
        return replace(self.detector, name=self.detector.name or usual)

    def _file_says(self, node: str, name: str) -> bool:
        return name in self.from_file.get(node, {})

    def _model_reads_labels(self, agent: NamedAgent) -> bool:
        """Return whether the answerer asks a model that reads the labels of views instead of their images."""
        if not ANSWERERS.traits(agent.answerer).asks_model:
            return False
        said = (given.get("answerer", {}).get("model.backend") for given in (self.overrides, self.from_file))
        traits = BACKENDS.traits(next((str(name) for name in said if name), self.model.backend))
        return isinstance(traits, BackendTraits) and traits.labels

    def _of_replay(self, agent: NamedAgent, detects: bool) -> Parameters:
        """Return the parameters that differ if a recording replaces the robot."""
        if self.replayed is None:
            return {}
        reads = ANSWERERS.traits(agent.answerer).labels or self._model_reads_labels(agent)
        labels = self.replayed.labels and reads
        observers = tuple(name for name in OBSERVERS if name in nodes_of(REPLAY, self.replayed.record))
        return {"memory": {"labels": labels or detects}, "recorder": {"labels": labels},
                "agent": {"observers": observers},
                "replay": {"labels": labels, "observers": observers, "rate": self.replayed.rate,
                           **dict(leaves(self.replayed.bag, "bag."))}}


def sees(scene: str, labels: bool, detector: str) -> str:
    """Return RunConfig.sees for one scene. labels: the simulator's are wanted; detector: the chosen one, "" = none.

    Raises ConfigError if both are chosen, UnknownScene.
    """
    if labels and detector:
        raise ConfigError("--labels and --detector exclude each other (labels and detector in a launch file or in "
                          "Python): choose one")
    return "" if labels else usual_detector(scene)


def image_size(image: str) -> tuple[int, int]:
    """Parse width and height, pixels, from a text such as 640x480. Raises ConfigError."""
    match = _IMAGE.fullmatch(image)
    if not match or not all(16 <= int(side) <= 4096 for side in match.groups()):
        raise ConfigError(f"--image is {image!r}: expected WIDTHxHEIGHT in pixels, 16 to 4096, such as 640x480")
    return int(match[1]), int(match[2])


def with_image(robot: RobotModel, image: str) -> RobotModel:
    """Return the robot with another image size; "" = unchanged. Raises ConfigError."""
    if not image:
        return robot
    width, height = image_size(image)
    return replace(robot, camera=replace(robot.camera, width=width, height=height))


def share_of(config: RunConfig, number: int, workers: int) -> RunConfig:
    """Return the configuration of worker `number`, with its part of the model's budgets of the run.

    Raises ConfigError for a budget smaller than the number of workers.
    """
    shares: dict[str, Any] = {}
    model = config.settings.answerer.model
    for name in ("budget_calls", "budget_tokens", "budget_money"):
        if not (budget := getattr(model, name)):
            continue
        if not isinstance(budget, int):
            shares[f"model.{name}"] = budget / workers
            continue
        if budget < workers:
            raise ConfigError(f"--{name.replace('_', '-')} {budget} is less than one for each of {workers} workers: "
                              "raise it, or use fewer workers")
        whole, rest = divmod(budget, workers)
        shares[f"model.{name}"] = whole + (number < rest)
    return config.with_overrides({"answerer": shares}) if shares else config


def _changed(prefix: str, value: Any) -> dict[str, Any]:
    """Return the parameters of a settings object that differ from its defaults."""
    default = dict(leaves(type(value)()))
    return {f"{prefix}.{name}": item for name, item in leaves(value) if item != default[name]}
