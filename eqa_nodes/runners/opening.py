"""Opens the runner of a configuration, and checks its requirements before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.config.named_agents import is_function
from eqa_nodes.config.nodes import AnswererSettings, GraphSettings, PerceptionSettings
from eqa_nodes.config.run import ATTACHED, ISOLATED, PROCESS, RunConfig
from eqa_nodes.core.agent.person import Replies
from eqa_nodes.core.components import ANSWERERS, BACKENDS, PERCEIVER
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.memory import open_file
from eqa_nodes.core.storage.checks import check_file
from eqa_nodes.core.storage.codec import encode
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.samples import EpisodeRunner, Sample
from eqa_nodes.models.cassette import recorded_calls
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.roles import role_configs
from eqa_nodes.perception import open_perceiver
from eqa_nodes.perception.perceiver import weights_folder
from eqa_nodes.runners.answerers import answerer_of
from sim_bridge.registry import check_simulator, is_scan, open_simulator

if TYPE_CHECKING:  # a question in a simulator reads no recordings, and would wait 0.2 s for their libraries
    from eqa_nodes.recordings.history_views import ViewSelection
    from eqa_nodes.runners.history import HistorySource


def check_chain(config: RunConfig, scene: str) -> None:
    """Raise EqaError for any error that would end an episode of this configuration before its first step."""
    check_scene(config, scene)  # first: it is fastest, and a wrong scene name is the most frequent mistake
    if config.through != PROCESS:
        from eqa_nodes.ros.environment import ensure_ros

        ensure_ros()
    check_answerer(config)
    check_memory(config.settings)
    detector = config.settings.perception.detector
    if detector.name == PERCEIVER:
        weights_folder(detector.model)


def check_memory(own: GraphSettings) -> None:
    """Raise EqaError if the memory file of all runs cannot be read, or if its looks are later than the clock's start.

    Times that pass twice would make "yesterday" and "usually" wrong.
    """
    path = own.memory.path_of("")
    if not (own.memory.file and own.bridge.clock_start_ns and path.exists()):
        return
    with closing(open_file(path)) as store:
        newest_ns = store.newest_ns
    if newest_ns >= own.bridge.clock_start_ns:
        raise ConfigError(f"the simulator's clock would start at {own.bridge.clock_start}, and the memory {path} has "
                          f"seen {datetime.fromtimestamp(newest_ns // 10**9).isoformat()} already: start it later, or "
                          "name another memory file")


def check_scene(config: RunConfig, scene: str) -> None:
    """Raise EqaError for a scene that does not exist or lacks required labels.

    For a scan only the existence of files is checked, because loading takes long.
    """
    if is_scan(scene):
        from eqa_nodes.runners.sources import ScenePreflight

        if (error := ScenePreflight(config.settings.memory.reads_simulator).state(scene).error) is not None:
            raise error
        return
    check_simulator(scene)
    open_simulator(scene).close()


def check_answerer(config: RunConfig) -> None:
    """Raise EqaError if the answerer of a run cannot use its model."""
    check_asks(config.settings.answerer)


def check_asks(own: AnswererSettings) -> None:
    """Raise EqaError if the answerer of a node's settings cannot use its model, or the model of a role."""
    if ANSWERERS.traits(own.answerer).asks_model:
        check_model(own.model)
        for role in role_configs(own.model, own.model_for).values():
            if role.model is not None:
                check_model(role.model)


def check_model(config: ModelConfig) -> None:
    """Raise EqaError for a model that cannot be used; a local model is not loaded for this check.

    With a cassette of recorded replies no model may be needed; it is then not checked.
    """
    if config.cassette:
        path = Path(config.cassette)
        if config.cassette_mode != "replay":
            check_file(path)
        if config.cassette_mode == "replay" or (config.cassette_mode == "auto" and recorded_calls(path)):
            return
    check = getattr(BACKENDS[config.backend], "check", None)
    if check is not None:
        check(config)


def open_runner(config: RunConfig, listener: Callable[[Progress], None] = lambda progress: None,
                own: Path | None = None, replies: Replies | None = None) -> EpisodeRunner:
    """Return the episode runner: our own graph or a running one, the in-process runner, or a function.

    own: folder for the logs of one of several workers, None = the folder of the run. replies: replies of a person for
    the in-process runner; a graph receives them by a service. Raises ConfigError.
    """
    built, limits = config.settings, config.question_limits
    if built.reconstructor.enabled and (is_function(config.agent) or config.through == PROCESS):
        raise ConfigError("the reconstructor is a node, and no graph runs here: leave out --reconstruct and "
                          "reconstructor.enabled, or run through the graph")
    if is_function(config.agent):
        if built.memory.file:
            raise ConfigError(f"the function {config.agent!r} keeps no memory: leave out the memory file")
        from eqa_nodes.runners.function import ActiveFunctionRunner, load_function

        return ActiveFunctionRunner(load_function(config.agent), built.bridge.robot, answerer_of(built.answerer),
                                    limits, config.force_guess, built.bridge.clock_start_ns)
    if config.through == PROCESS:
        from eqa_nodes.runners.in_process import InProcessRunner

        return InProcessRunner(config.parameters, limits, config.force_guess, listener, show=config.show,
                               replies=replies)
    if config.through == ATTACHED:
        from eqa_nodes.runners.in_graph import AttachedRunner

        return AttachedRunner(config.namespace, limits, config.force_guess, listener, config.show)
    from eqa_nodes.runners.in_graph import GraphRunner

    return GraphRunner(config.folder, config.parameters, limits, config.force_guess, listener,
                       isolate=config.through == ISOLATED, own=own, show=config.show)


def selection_of(config: RunConfig) -> ViewSelection:
    """Return the selection of views of a history for an answer."""
    from eqa_nodes.recordings.history_views import ViewSelection

    memory, agent = config.settings.memory, config.named
    return ViewSelection(agent.frames, agent.k, memory.labels, memory.memory)


def open_history_runner(config: RunConfig, source_of: Callable[[Sample], HistorySource], cache_folder: Path,
                        listener: Callable[[str], None] = lambda text: None) -> EpisodeRunner:
    """Return the runner for histories: a function, or the answerer and the memory of the configuration.

    cache_folder: folder for data computed from histories.
    """
    from eqa_nodes.runners.history import HistoryRunner

    built = config.settings
    if built.detecting:
        source_of = _detected(source_of, built.perception)
    if is_function(config.agent):
        from eqa_nodes.runners.function import EmFunctionRunner, load_function

        return EmFunctionRunner(load_function(config.agent), source_of, config.named.k, answerer_of(built.answerer),
                                config.force_guess, listener)
    return HistoryRunner(source_of, built.answerer, selection_of(config), cache_folder, config.force_guess, listener,
                         config.named.views_alone)


def _detected(source_of: Callable[[Sample], HistorySource],
              own: PerceptionSettings) -> Callable[[Sample], HistorySource]:
    """Return the same histories with a detector's labels; its models are loaded when the first one is read."""
    from eqa_nodes.recordings.detected_history import DetectedHistory
    from eqa_nodes.runners.history import HistorySource

    perceiver = cache(lambda: open_perceiver(own.detector, own.perceiver))

    def seen(sample: Sample) -> HistorySource:
        source = source_of(sample)
        identity = {**source.identity, "perception": encode((own.detector, own.perceiver))}
        return HistorySource(source.name, identity, lambda: DetectedHistory(source.open(), perceiver()))

    return seen
