"""Episodes through a graph that somebody else started, such as `ros2 launch eqa_nodes sim.launch.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from eqa_nodes.config.parameters import leaves
from eqa_nodes.config.run import ATTACHED, RunConfig
from eqa_nodes.core.storage.text import file_name
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.recordings.bags import poses, trace
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.graph_parameters import graph_parameters
from eqa_nodes.ros.live_messages import LiveMessages
from eqa_nodes.runners.in_graph import progress_of, told_to
from eqa_nodes.wire.graph import own_world

FOUND_S = 30.0  # for the nodes to be discovered and to report their parameters
SHOWN_S = 10.0  # for the last messages of an episode to arrive
KEYS = (*trace.KEYS, *poses.KEYS)


class AttachedRunner:
    """Asks a running simulated graph, on this machine or on another one in the same ROS domain.

    Poses, decisions and answers are those of GraphRunner under the same parameters: the graph is in lock-step, and the
    trace is made from what it publishes. Bags stay where the graph's recorder writes them.
    """

    def __init__(self, namespace: str = "", limits: Limits = Limits(), force_guess: bool = False,
                 listener: Callable[[Progress], None] = lambda progress: None, show: bool = False) -> None:
        """Raises NodeLost where no graph runs."""
        self._limits, self._force_guess, self._listener, self._show = limits, force_guess, listener, show
        self._messages = LiveMessages(KEYS)
        tell = told_to(listener)

        def listen(node: Any) -> None:
            tell(node)
            self._messages.listen(node)

        self._client = GraphClient(_environment(), listen, namespace=namespace, remap=own_world(namespace))
        self._recorder = "recorder" in _found(self._client)

    def run(self, sample: Sample) -> EpisodeResult:
        """Carry out one episode. Raises what the graph reports, and StaleData where its topics do not arrive here."""
        begin_ns = self._client.reset(sample.scene, file_name(sample.id), sample.start, sample.seed,
                                      start_height_m=sample.start_height_m or 0.0)
        self._messages.begin(begin_ns)
        question = sample.as_question(self._limits, self._force_guess)._replace(show=self._show)
        answer = self._client.ask(question, lambda feedback: self._listener(progress_of(feedback)))
        last_ns, pose = self._client.state()
        self._messages.await_message("tf", last_ns, SHOWN_S)
        self._messages.await_message("answer", -1, SHOWN_S)
        if self._recorder:
            self._client.end_episode()
        return EpisodeResult(sample.id, answer, pose, trace.trace_from(self._messages))

    def blind(self, sample: Sample) -> Answer:
        """Answer without having seen anything."""
        return self._client.blind(sample.as_question(self._limits, force_guess=True))

    def close(self) -> None:
        """Leave the graph, which goes on; a second call does nothing."""
        self._client.close()


def attached_config(config: RunConfig) -> RunConfig:
    """Return the configuration of a run whose parameters are those of the running graph. Raises NodeLost."""
    with GraphClient(_environment(), namespace=config.namespace) as client:
        found = _found(client)
    return replace(config, through=ATTACHED, answerer=found["answerer"]["answerer"],
                   policy=found["explorer"]["policy"], overrides=found)


def other_robot(config: RunConfig) -> str:
    """Return in words how the graph's robot differs from the data set's own, "" where it is that one."""
    own, graph = dict(leaves(config.robot_body, "robot.")), config.overrides["bridge"]
    return ", ".join(f"{name} is {graph[name]}, and {value} in {config.dataset}" for name, value in own.items()
                     if graph.get(name, value) != value)


def _found(client: GraphClient) -> dict[str, dict[str, Any]]:
    return graph_parameters(client.node, FOUND_S)


def _environment() -> dict[str, str]:
    return {"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}
