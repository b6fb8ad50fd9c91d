"""From a run's configuration to what carries its episodes out: the graph, this process, a function, or a history."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from eqa_nodes.config.named_agents import is_function
from eqa_nodes.config.nodes import PerceptionSettings
from eqa_nodes.config.run import ATTACHED, ISOLATED, PROCESS, RunConfig
from eqa_nodes.core.agent.person import Replies
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import encode
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.samples import EpisodeRunner, Sample
from eqa_nodes.perception import open_perceiver
from eqa_nodes.recordings.detected_history import DetectedHistory
from eqa_nodes.recordings.history_views import ViewSelection
from eqa_nodes.runners.answerers import answerer_of
from eqa_nodes.runners.history import HistorySource
from eqa_nodes.runners.navqa import NavqaRunner


def open_runner(config: RunConfig, listener: Callable[[Progress], None] = lambda progress: None,
                own: Path | None = None, replies: Replies | None = None) -> EpisodeRunner:
    """Return what runs episodes: a graph of ours or one that runs already, the chain without ROS, or a function.

    own: where this one of several workers keeps its logs (default: the folder of the run). replies: of a person, for
    the chain without ROS; a graph takes them by a service. Raises ConfigError.
    """
    built, limits = config.settings, config.question_limits
    if built.reconstructor.enabled and (is_function(config.agent) or config.through == PROCESS):
        raise ConfigError("the reconstructor is a node, and no graph runs here: leave out --reconstruct and "
                          "reconstructor.enabled, or run through the graph")
    if is_function(config.agent):
        from eqa_nodes.runners.function import ActiveFunctionRunner, load_function

        return ActiveFunctionRunner(load_function(config.agent), built.bridge.robot, answerer_of(built.answerer),
                                    limits, config.force_guess)
    if config.through == PROCESS:
        from eqa_nodes.runners.in_process import InProcessRunner

        return InProcessRunner(config.parameters, limits, config.force_guess, listener, show=config.show,
                               replies=replies)
    if config.through == ATTACHED:
        from eqa_nodes.runners.attached import AttachedRunner

        return AttachedRunner(config.namespace, limits, config.force_guess, listener, config.show)
    from eqa_nodes.runners.in_graph import GraphRunner

    return GraphRunner(config.folder, config.parameters, limits, config.force_guess, listener,
                       isolate=config.through == ISOLATED, own=own, show=config.show)


def selection_of(config: RunConfig) -> ViewSelection:
    """Return which views of a history an answer is made from."""
    memory, agent = config.settings.memory, config.named
    return ViewSelection(agent.frames, agent.k, memory.labels, memory.memory)


def open_history_runner(config: RunConfig, source_of: Callable[[Sample], HistorySource], cache_folder: Path,
                        listener: Callable[[str], None] = lambda text: None) -> EpisodeRunner:
    """Return what answers from histories: a function, or the answerer and the memory of the configuration.

    cache_folder: keeps what was made of histories.
    """
    built = config.settings
    if built.detecting:
        source_of = _detected(source_of, built.perception)
    if is_function(config.agent):
        from eqa_nodes.runners.function import EmFunctionRunner, load_function

        return EmFunctionRunner(load_function(config.agent), source_of, config.named.k, answerer_of(built.answerer),
                                config.force_guess, listener)
    return NavqaRunner(source_of, built.answerer, selection_of(config), cache_folder, config.force_guess, listener)


def _detected(source_of: Callable[[Sample], HistorySource],
              own: PerceptionSettings) -> Callable[[Sample], HistorySource]:
    """Return the same histories as a detector sees them; its models are loaded when the first one is read."""
    perceiver = cache(lambda: open_perceiver(own.detector, own.perceiver))

    def seen(sample: Sample) -> HistorySource:
        source = source_of(sample)
        identity = {**source.identity, "perception": encode((own.detector, own.perceiver))}
        return HistorySource(source.name, identity, lambda: DetectedHistory(source.open(), perceiver()))

    return seen
