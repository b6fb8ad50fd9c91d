"""Runs episodes through the ROS graph: one started here, or one that is already running.

The trace of our own graph is read from the bag that it recorded; that of another graph, from its topics.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqa_nodes.config.graph import merged
from eqa_nodes.config.parameters import leaves
from eqa_nodes.config.run import ATTACHED, RunConfig
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.text import file_name
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.recordings.bags import poses, trace
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.recordings.bags.writer import free_name
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.live_history import LiveMessages
from eqa_nodes.ros.parameters import graph_parameters
from eqa_nodes.ros.runner import RunningGraph
from eqa_nodes.wire.graph import own_world


class GraphRunner:
    """Runs episodes through one graph, in one process or one process per node; use `close` at the end.

    Gives the same poses, goals and answers as InProcessRunner with the same parameters. folder: for bags and memories,
    which several runners may share; own: for its logs and its parameter file, None = folder; show: the robot drives to
    the evidence after each answer.
    """

    def __init__(self, folder: Path, parameters: Mapping[str, Mapping[str, Any]], limits: Limits = Limits(),
                 force_guess: bool = False, listener: Callable[[Progress], None] = lambda progress: None,
                 isolate: bool = False, own: Path | None = None, show: bool = False) -> None:
        self.folder, self._bags = folder, folder / "bags"
        folders = {"recorder": {"folder": str(self._bags.resolve())}}
        if not parameters.get("memory", {}).get("file"):  # one file for all runs has its own place
            folders["memory"] = {"folder": str((folder / "memory").resolve())}
        self._limits, self._force_guess, self._listener, self._show = limits, force_guess, listener, show
        self._exit = contextlib.ExitStack()
        self.graph = self._exit.enter_context(RunningGraph(own or folder, merged(None, parameters, folders),
                                                            isolate=isolate))
        self.client = self._exit.enter_context(GraphClient(self.graph.environment, listener=listener))

    def run(self, sample: Sample) -> EpisodeResult:
        """Run one episode. Raises the error that the graph reports."""
        bag = free_name(self._bags / file_name(sample.id))  # keeps the bag of an interrupted attempt
        self.client.reset(sample.scene, bag.name, sample.start, sample.seed,
                          start_height_m=sample.start_height_m or 0.0)
        question = sample.as_question(self._limits, self._force_guess)._replace(show=self._show)
        answer = self.client.ask(question, self._listener)
        pose = self.client.pose()
        self.client.end_episode()
        return EpisodeResult(sample.id, answer, pose, _trace(bag), bag)

    def blind(self, sample: Sample) -> Answer:
        """Answer without any view."""
        return self.client.blind(sample.as_question(self._limits, force_guess=True))

    def reply(self, inquiry: str, option: int) -> None:
        """Reply to an inquiry of the agent. Raises EqaError if it is too late."""
        self.client.reply(inquiry, option)

    def close(self) -> None:
        """End the graph; a second call does nothing."""
        self._exit.close()


def _trace(bag: Path) -> EpisodeTrace:
    """Read the trace from a bag; a bag whose recorder died is repaired first."""
    try:
        return trace_of(bag)
    except StorageError:
        recover(bag)
        return trace_of(bag)


FOUND_S = 30.0  # deadline for the nodes to be discovered and to report their parameters
SHOWN_S = 10.0  # deadline for the last messages of an episode to arrive
KEYS = (*trace.KEYS, *poses.KEYS)


class AttachedRunner:
    """Asks a running simulated graph, on this machine or on another one in the same ROS domain.

    Poses, decisions and answers are those of GraphRunner with the same parameters: the graph is in lock-step, and the
    trace is made from its topics. Bags stay where the graph's recorder writes them.
    """

    def __init__(self, namespace: str = "", limits: Limits = Limits(), force_guess: bool = False,
                 listener: Callable[[Progress], None] = lambda progress: None, show: bool = False) -> None:
        """Raises NodeLost if no graph is running."""
        self._limits, self._force_guess, self._listener, self._show = limits, force_guess, listener, show
        self._messages = LiveMessages(KEYS)
        self._client = GraphClient(_environment(), self._messages.listen, listener=listener, namespace=namespace,
                                   remap=own_world(namespace))
        self._recorder = "recorder" in _found(self._client)

    def run(self, sample: Sample) -> EpisodeResult:
        """Run one episode. Raises the error that the graph reports, and StaleData if its topics do not arrive here."""
        begin_ns = self._client.reset(sample.scene, file_name(sample.id), sample.start, sample.seed,
                                      start_height_m=sample.start_height_m or 0.0)
        self._messages.begin(begin_ns)
        question = sample.as_question(self._limits, self._force_guess)._replace(show=self._show)
        answer = self._client.ask(question, self._listener)
        last_ns, pose = self._client.state()
        self._messages.await_message("tf", last_ns, SHOWN_S)
        self._messages.await_message("answer", -1, SHOWN_S)
        if self._recorder:
            self._client.end_episode()
        return EpisodeResult(sample.id, answer, pose, trace.trace_from(self._messages))

    def blind(self, sample: Sample) -> Answer:
        """Answer without any view."""
        return self._client.blind(sample.as_question(self._limits, force_guess=True))

    def close(self) -> None:
        """Leave the graph, which keeps running; a second call does nothing."""
        self._client.close()


def attached_config(config: RunConfig) -> RunConfig:
    """Return the configuration with the parameters of the running graph. Raises NodeLost."""
    with GraphClient(_environment(), namespace=config.namespace) as client:
        found = _found(client)
    return replace(config, through=ATTACHED, answerer=found["answerer"]["answerer"],
                   policy=found["explorer"]["policy"], overrides=found)


def other_robot(config: RunConfig) -> str:
    """Return a description of how the graph's robot differs from the data set's own, "" if it does not."""
    own, graph = dict(leaves(config.robot_body, "robot.")), config.overrides["bridge"]
    return ", ".join(f"{name} is {graph[name]}, and {value} in {config.dataset}" for name, value in own.items()
                     if graph.get(name, value) != value)


def _found(client: GraphClient) -> dict[str, dict[str, Any]]:
    return graph_parameters(client.node, FOUND_S)


def _environment() -> dict[str, str]:
    return {"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}
