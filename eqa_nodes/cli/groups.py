"""Options that several verbs share, each group with the value of the package that it stands for."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.options import (
    FILE,
    FOLDER,
    NONE,
    UNLIMITED,
    flag,
    group,
    listed,
    measure_or_none,
    option,
    whole_or_none,
)
from eqa_nodes.models.config import CASSETTE_MODES, DETAILS, ModelConfig

if TYPE_CHECKING:
    from eqa_nodes.config.run import RunConfig
    from eqa_nodes.core.perception.detection import DetectorConfig
    from eqa_nodes.core.types.questions import Limits
    from eqa_nodes.recordings.bags.history import BagOptions
    from eqa_nodes.recordings.options import ReadingConfig
    from eqa_nodes.runners.history import HistorySource

PLACES = "house:7, or of a scan habitat:PLACE or mesh:PLACE (docs/scenes.md)"
SOURCES = "recording: a bag, an OpenEQA folder, or another format of docs/histories.md"
FORMAT = "format of the recording (default: detected)"
CLOCK_START = ("date and time at which the simulator's clock starts, in local time or with a zone, such as "
               "2026-11-12T08:30 (default: 0 s, without a date)")
HABITAT, MESH = "habitat", "mesh"
STEPS = 300  # default limit of a question
_FIELDS = {"sample_seed": "seed", "image_side": "image_side_px", "timeout": "timeout_s", "deadline": "deadline_s"}


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """A model and its budgets. None: not given, so that a parameter file may set it."""

    backend: str | None = option(None, "how the model is asked: openai, transformers, scripted, simulated (default: "
                               "openai)", complete=listed("BACKENDS"))
    model: str | None = option(None, "name, folder, or script of the model (default: EQA_VLM_MODEL)")
    base_url: str | None = option(None, "URL of the endpoint (default: EQA_VLM_BASE_URL)")
    temperature: float | None = option(None, "sampling temperature; a value below 0 is not sent (default: 0)",
                                       metavar="N", rare=True)
    sample_seed: int | None = option(None, "random seed of the model; the number of the call is added (default: 0)",
                                    metavar="N", rare=True)
    image_side: int | None = option(None, "longest side of a picture for the model, pixels; 0 = as stored (default: "
                                    "512)", metavar="N", rare=True)
    image_detail: str | None = option(None, "how closely the server looks at pictures: low, high, auto (default: not "
                                      "sent)", choices=DETAILS[1:], rare=True)
    timeout: float | None = option(None, "timeout of one request to the model, seconds (default: 60)", metavar="S",
                                  rare=True)
    deadline: float | None = option(None, "deadline of one call to the model with its retries, seconds (default: 180)",
                                    metavar="S", rare=True)
    hosts: str | None = option(None, "hosts that pictures may be sent to, comma-separated (default: that of the URL)",
                               metavar="HOSTS", rare=True)
    allow_http: bool = flag("send pictures and key unencrypted to hosts outside private networks too", rare=True)
    price_in: float | None = option(None, "price per million input tokens (default: unknown)", metavar="N", rare=True)
    price_cached: float | None = option(None, "price per million input tokens from the server's cache; 0 = as "
                                        "price-in (default: 0)", metavar="N", rare=True)
    price_out: float | None = option(None, "price per million output tokens (default: unknown)", metavar="N", rare=True)
    budget_calls: int | None = option(None, "maximum calls of the run (default: no limit)", metavar="N", rare=True)
    budget_tokens: int | None = option(None, "maximum tokens of the run (default: no limit)", metavar="N", rare=True)
    budget_money: float | None = option(None, "maximum cost of the run, by the prices (default: no limit)", metavar="N",
                                        rare=True)
    device: str | None = option(None, "device of a local model: cuda, mps, cpu (default: the first available)",
                                rare=True)
    dtype: str | None = option(None, "number format of a local model: float32, float16, bfloat16 (default: by the "
                               "device)", rare=True)
    cassette: Path | None = option(None, "file that replies are recorded to and played from (default: none)",
                                   metavar="FILE", rare=True)
    cassette_mode: str | None = option(None, "auto: play, and record what is missing; record: ask each time; replay: "
                                       "never ask (default: auto)", choices=CASSETTE_MODES, rare=True)

    def named(self) -> dict[str, Any]:
        """Return the fields of ModelConfig that options set, with their values."""
        values = {_FIELDS.get(name, name): value for name, value in vars(self).items()
                  if value is not None and value is not False}
        if self.cassette is not None:
            values["cassette"] = str(self.cassette.resolve())  # nodes run in other folders
        return values

    def config(self) -> ModelConfig:
        """Return the configuration of the model. Raises ConfigError."""
        return ModelConfig(**self.named())


@dataclass(frozen=True, kw_only=True)
class DetectorModels:
    """The models of a detector."""

    detector_model: str = option("", "name or folder of the detector's model, or ONNX file (default: for transformers "
                                 "google/owlv2-base-patch16-ensemble, for perceiver the weights in the package)",
                                 metavar="MODEL", rare=True)
    detector_names: str = option("", "file with the class names of an ONNX model (default: those in its metadata)",
                                 metavar="FILE", rare=True)
    segmenter: str = option("", "model that gives masks, such as facebook/sam-vit-base (default: none)",
                            metavar="MODEL", rare=True)
    embedder: str = option("", "model that distinguishes objects, such as openai/clip-vit-base-patch32 (default: none)",
                           metavar="MODEL", rare=True)

    def named(self) -> dict[str, Any]:
        """Return the fields of DetectorConfig that options set, with their values."""
        values = {"model": _absolute(self.detector_model), "segmenter": self.segmenter,
                  "names": _absolute(self.detector_names), "embedder": self.embedder}
        return {name: value for name, value in values.items() if value}


@dataclass(frozen=True, kw_only=True)
class DetectorOptions(DetectorModels):
    """A detector and its models."""

    detector: str = option("", "detector that gives memory its labels: perceiver (for the built-in houses), "
                           "transformers, onnx, or labels (the simulator's, kinds only) (default: perceiver for "
                           "rules in a built-in house)",
                           metavar="NAME", complete=listed("DETECTORS"))
    text: str = option("", "detector that reads the text in the views that memory keeps: ocr (default: none)",
                       metavar="NAME", complete=listed("DETECTORS"), rare=True)

    def named(self) -> dict[str, Any]:
        """Return the fields of DetectorConfig that options set, with their values."""
        return {**({"name": self.detector} if self.detector else {}), **super().named()}

    def config(self) -> DetectorConfig:
        """Return the configuration of the detector; other fields keep their defaults."""
        from eqa_nodes.core.perception.detection import DetectorConfig

        return replace(DetectorConfig(), **self.named())


def _absolute(path: str) -> str:
    """Return the absolute path of a present file or folder, since nodes run in other folders; else the name itself."""
    return str(Path(path).resolve()) if path and Path(path).exists() else path


def overrides(model: ModelOptions, detector: DetectorOptions) -> dict[str, dict[str, Any]]:
    """Return the parameters that options set, including those equal to a default: they override a parameter file."""
    return {"answerer": {f"model.{name}": value for name, value in model.named().items()},
            "memory": {"text": detector.text} if detector.text else {},
            "perception": {f"detector.{name}": value for name, value in detector.named().items()}}


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """Limits of one question."""

    max_steps: int | None = option(None, f"maximum atomic actions (default: {STEPS}; none if the agent or the data set "
                                   "ends exploration itself)", type=whole_or_none, metavar="N")
    max_metres: float = option(UNLIMITED, "maximum distance driven, metres (default: none)", type=measure_or_none,
                               metavar="M")
    max_seconds: float = option(UNLIMITED, "maximum time spent on the question, seconds (default: none)",
                                type=measure_or_none, metavar="S")
    max_calls: int = option(UNLIMITED, "maximum model calls; the last one is reserved for the answer (default: none)",
                            rare=True, type=whole_or_none, metavar="N")
    max_tokens: int = option(UNLIMITED, "maximum tokens that the model reads and writes (default: none)",
                             type=whole_or_none, metavar="N")
    max_money: float = option(UNLIMITED, "maximum cost of the model, by --price-in and --price-out (default: none)",
                              rare=True, type=measure_or_none, metavar="X")
    max_poses: int = option(UNLIMITED, "maximum poses as HM-EQA counts them, one for 3 m of a drive or a part of it "
                            "(default: what the data set allows)", type=whole_or_none,
                            metavar="N", rare=True)
    force_guess: bool = flag("guess instead of answering that nothing was found")

    def config(self, area: str = "", steps: int = STEPS) -> Limits:
        """Return the limits. area: as in --area; steps: limit of steps without --max-steps.

        Raises ConfigError, BadQuestion.
        """
        from eqa_nodes.core.types.questions import Limits

        most = steps if self.max_steps is None else self.max_steps
        return Limits(most, self.max_metres, self.max_seconds, self.max_calls, area_of(area),
                      self.max_tokens, self.max_money, self.max_poses)


def area_of(text: str) -> tuple[tuple[float, float], ...]:
    """Return the corners of a text such as "0,0 4,0 4,3". Raises ConfigError, BadQuestion."""
    from eqa_nodes.core.errors import ConfigError
    from eqa_nodes.core.mapping.area import check_area

    try:
        area = tuple((float(x), float(y)) for x, y in (corner.split(",") for corner in text.split()))
    except ValueError as error:
        raise ConfigError(f"--area is {text!r}: expected corners x,y in metres, as in \"0,0 4,0 4,3\"") from error
    check_area(area)
    return area


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """The agent, its parts, and what runs it."""

    through: str = option("graph", "graph: the ROS graph in one process; isolated: one process per node; process: the "
                          "same chain without ROS", choices=("graph", "isolated", "process"))
    agent: str = option("", "named agent of docs/agents.md, or module:function; the options below override it",
                        metavar="NAME", complete=listed("AGENTS"))
    model_for: tuple[str, ...] = option((), "models of single roles: caption=llava-13b, blind.prompt=FILE, "
                                        "stop.how=choose; docs/models.md lists roles and fields (default: the model "
                                        "below for all)", metavar="ROLE=MODEL", rare=True)
    policy: str = option("", "exploration policy (default: the agent's)", complete=listed("POLICIES"))
    answerer: str = option("", "label: rules over the labels of objects, no model; vlm: the model below, whose "
                           "key comes from EQA_VLM_API_KEY (default: the agent's, else label)",
                           complete=listed("ANSWERERS"))
    robot: str = option("", "body, camera and steps, such as openeqa or climber (default: the data set's own; climber "
                        "in house:N@2; else default)", metavar="NAME",
                        complete=listed("ROBOTS"))
    image: str = option("", "size of the camera image in pixels (default: the robot's)", metavar="WxH", rare=True)
    clock_start: str = option("", CLOCK_START, "--start", metavar="TIME", rare=True)
    params: Path | None = option(None, "ROS parameter file; the options above override it", metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class ChainOptions:
    """The whole chain from the robot to the answer."""

    chain: AgentOptions = group(AgentOptions, "the chain")
    detector: DetectorOptions = group(DetectorOptions, "the detector")
    model: ModelOptions = group(ModelOptions, "the answerer's model")
    limits: LimitOptions = group(LimitOptions, f"limits of a question; none of them is exceeded ({NONE} = no limit)")

    def config(self, area: str = "", **more: Any) -> RunConfig:
        """Return the configuration of a run. more: further fields of RunConfig. Raises ConfigError, BadQuestion."""
        from eqa_nodes.config.named_agents import agent_of
        from eqa_nodes.config.run import RunConfig
        from eqa_nodes.core.components import READERS
        from eqa_nodes.models.roles import absolute

        dataset = more.get("dataset", "")
        ends = agent_of(self.chain.agent).ends_by_itself or (dataset and READERS.traits(dataset).limits_poses)
        steps = UNLIMITED if ends else STEPS
        chain = {name: getattr(self.chain, name) for name in self.chain.__dataclass_fields__}
        chain["model_for"] = absolute(self.chain.model_for)
        return RunConfig(**chain, model=self.model.config(), detector=self.detector.config(),
                         overrides=overrides(self.model, self.detector), limits=self.limits.config(area, steps),
                         force_guess=self.limits.force_guess, **more)


@dataclass(frozen=True, kw_only=True)
class KeepsMemory:
    """The memory of a graph or an agent that the command starts."""

    memory_file: Path | None = option(None, "memory of all runs that name this file, such as home.sqlite (default: "
                                      "each run has its own)", metavar="FILE", writes=FILE, rare=True)


@dataclass(frozen=True, kw_only=True)
class Sees:
    """How rules find the objects in a simulator's images."""

    labels: bool = flag("rules read the simulator's labels, which is privileged (default: see --detector)")

    def sees(self, scene: str, chain: ChainOptions) -> str:
        """Return RunConfig.sees for a scene. Raises ConfigError."""
        from eqa_nodes.config.run import sees

        return sees(scene, self.labels, chain.detector.detector)


@dataclass(frozen=True, kw_only=True)
class ScanOptions:
    """Where scanned scenes are."""

    scenes: Path | None = option(None, "folder of scanned scenes, as their downloaders leave it (default: EQA_SCENES)",
                                 metavar="DIR", rare=True)
    habitat_python: Path | None = option(None, "a Python that has habitat_sim (default: EQA_HABITAT_PYTHON)",
                                         metavar="PATH", rare=True)

    def set_environment(self) -> None:
        """Set the environment variables of the scans and of Habitat's Python, if the options are given."""
        from sim_bridge.scans import HABITAT_VARIABLE, SCENES_VARIABLE  # here: help texts load no numpy

        for path, variable in ((self.scenes, SCENES_VARIABLE), (self.habitat_python, HABITAT_VARIABLE)):
            if path is not None:
                path = path.expanduser()
                command = variable == HABITAT_VARIABLE and path.name == str(path)  # found on the PATH
                os.environ[variable] = str(path if command else path.absolute())


@dataclass(frozen=True, kw_only=True)
class SimulatorOptions(ScanOptions):
    """Where the scanned scenes of a data set are, and which simulator opens them."""

    simulator: str = option(HABITAT, "simulator that opens the scans of a data set: habitat, or mesh, which needs no "
                            "Habitat", choices=(HABITAT, MESH))


@dataclass(frozen=True, kw_only=True)
class BagReading:
    """How a bag of any robot is read."""

    remap: tuple[str, ...] = option((), "topics of a bag or a robot, such as depth:=/cam/depth (default: detected); "
                                    "for a running graph any name", metavar="ROLE:=TOPIC")
    namespace: str = option("", "namespace of the robot in a bag, or of a running graph (default: detected, or none)",
                            metavar="NS")
    map_frame: str = option("", "map frame of the bag or of the running graph (default: of a bag map, odom or world, "
                            "of a graph map)", metavar="FRAME", rare=True)
    base_frame: str = option("", "base frame of the bag or of the running graph (default: of a bag base_link, "
                             "base_footprint or base, of a graph base_link)", metavar="FRAME", rare=True)
    tolerance: float = option(0.02, "maximum difference between the stamps of color and depth, seconds", metavar="S",
                              rare=True)
    depth_unit: float = option(0.0, "metres of one unit of depth, as 0.00025 (default: by the encoding)", metavar="M",
                               rare=True)

    def reading(self) -> ReadingConfig:
        """Return these options as parameters. Raises ConfigError."""
        from eqa_nodes.recordings.options import ReadingConfig

        return ReadingConfig(self.remap, self.namespace, self.map_frame, self.base_frame, self.tolerance,
                             self.depth_unit)

    def options(self) -> BagOptions:
        """Return these options for the reader of bags. Raises ConfigError."""
        from eqa_nodes.recordings.bags.history import BagOptions

        return self.chosen() or BagOptions()

    def chosen(self) -> BagOptions | None:
        """Return these options for the reader of bags, None if none is given. Raises ConfigError."""
        from eqa_nodes.recordings.bags.history import BagOptions

        return BagOptions.of(self.reading())


@dataclass(frozen=True, kw_only=True)
class ViewsOptions:
    """The views of a history that the answerer gets."""

    frames: str = option("", "which views the answerer gets: uniform, random, recalled (by the words of the question), "
                         "kept (by a memory), objects (the best view of each), retrieved (by captions with time and "
                         "place), days (by day, then area) or none (default: the agent's, else uniform)",
                         complete=lambda: ("uniform", "random", "recalled", "kept", "objects", "retrieved", "days",
                                           "none"))
    k: int | None = option(None, "number of views; 0 with random: the data set's (default: the agent's, else 50)",
                           "-k", metavar="K", rare=True)
    cache: Path | None = option(None, "cache of converted histories (default: EQA_CACHE, else "
                                "~/.cache/eqa)", metavar="DIR", writes=FOLDER, rare=True)


def names_of(text: str) -> tuple[str, ...]:
    """Return the names in a text such as a,b."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


@dataclass(frozen=True, kw_only=True)
class HistoryOptions:
    """A recording that a question is about, and how its topics are found."""

    history: Path | None = option(None, f"run directory with bags; or {SOURCES}", metavar="PATH")
    episode: str = option("", "with --history: the episode, if the run has several", metavar="ID", rare=True)
    format: str = option("", FORMAT, complete=listed("HISTORIES"), rare=True)
    views: ViewsOptions = group(ViewsOptions)
    bag: BagReading = group(BagReading)

    def check(self) -> None:
        """Raise ConfigError for options of a recording without --history: they would be ignored."""
        from eqa_nodes.core.errors import ConfigError

        if self.history is not None:
            return
        views = self.views
        given = {"--episode": self.episode, "--format": self.format, "--frames": views.frames,
                 "-k": views.k is not None, "--cache": views.cache is not None}
        if lost := [name for name, value in given.items() if value]:
            raise ConfigError(f"{' and '.join(lost)} {'need' if len(lost) > 1 else 'needs'} --history PATH")

    def source(self) -> HistorySource:
        """Return the recording. Raises EqaError."""
        from eqa_nodes.recordings.run_bags import history_path
        from eqa_nodes.runners.history import file_source

        assert self.history is not None
        return file_source(history_path(self.history, self.episode), self.format, self.bag.chosen())
