"""`eqa replay`: an episode history through the whole graph, and questions about it."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from eqa_nodes.cli.ask import print_answer
from eqa_nodes.cli.chain import parameters_of, run_folder
from eqa_nodes.cli.history import frames_bar
from eqa_nodes.cli.ready import check_asks
from eqa_nodes.config.graph import Parameters, detecting, merged, settings
from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.types.questions import Answer, Question
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.registry import ANSWERERS, DEFAULT_POLICY
from eqa_nodes.registry.agents import refuse_function
from eqa_nodes.ros.graph import OBSERVERS, TOPICS, nodes_of

QUIET_S = 60.0  # a replay that reports nothing for as long is stuck: lock-step gives up earlier, with a reason
VIEW = "it shows on ROS_DOMAIN_ID={domain}: rviz2 -d launch/rviz/eqa.rviz"


def replay(arguments: argparse.Namespace) -> int:
    """Show the history to a graph of its own, ask, and print the answers; 1 when the replay or a question failed."""
    for question in arguments.ask:
        check_question(question)
    refuse_function(arguments.agent)
    history = open_history(arguments.source)
    folder, console = run_folder(arguments), Console()
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    from eqa_nodes.ros.client import CALL_S, GraphClient
    from eqa_nodes.ros.runner import RunningGraph

    parameters = replay_parameters(arguments, folder, bool(history.labels))
    check_asks(settings("answerer", parameters))
    with RunningGraph(folder, parameters, nodes=nodes_of("replay", arguments.record, detecting(parameters))) as graph, \
            GraphClient(graph.environment) as client:
        console.print(VIEW.format(domain=graph.domain), style="dim", highlight=False)
        watch = Watch(client.node)
        client.reset(str(arguments.source.resolve()), arguments.source.stem, None, 0)
        with frames_bar(history) as show:
            status = watch.until_end(show)
        _print_status(console, status)
        act = client.services["act"]
        act.call(CALL_S, action=act.Request.OBSERVE)  # at a rate, nodes may be behind
        answers = [_ask(client, console, question) for question in arguments.ask]
        if arguments.record:
            client.end_episode()
            console.print(f"recorded: {folder / 'bags'}", soft_wrap=True, highlight=False)
    return 1 if any(answer.error for answer in answers) else 0


def replay_parameters(arguments: argparse.Namespace, folder: Path, labels: bool) -> Parameters:
    """Return the parameters of all nodes. labels: the history has some; the rules of the label answerer take them.

    Raises ConfigError for wrong ones.
    """
    chosen = argparse.Namespace(**{"image": "640x480", "policy": DEFAULT_POLICY, **vars(arguments)})
    labels = labels and ANSWERERS.traits(arguments.answerer).labels  # of the history; a detector's come from perception
    observers = tuple(name for name in OBSERVERS if name in nodes_of("replay", arguments.record))
    parameters = parameters_of(chosen, folder)
    return merged(None, parameters, {
        "memory": {"labels": labels or detecting(parameters)}, "recorder": {"labels": labels},
        "agent": {"observers": observers},
        "replay": {"labels": labels, "observers": observers, "rate": arguments.rate}})


class Watch:
    """Hears how far a replay is."""

    def __init__(self, node: Any) -> None:
        from eqa_nodes.ros.interfaces import interface, qos

        topic = TOPICS["replay_status"]
        self._status: Any = None
        self._heard = threading.Event()
        node.create_subscription(interface(topic.type), topic.name, self._on_status, qos(topic.qos))

    def _on_status(self, status: Any) -> None:
        self._status = status
        self._heard.set()

    def until_end(self, show: Callable[[int], None]) -> Any:
        """Return the last report of the replay; raises NodeLost when there is none, or it failed."""
        while True:
            if not self._heard.wait(QUIET_S):
                raise NodeLost(f"the replay has reported nothing for {QUIET_S:g} s: does it run?")
            self._heard.clear()
            status = self._status
            show(next((int(v.value) for v in status.values if v.key == "shown"), 0))
            if status.message.startswith("failed"):
                raise NodeLost(f"the replay {status.message}")
            if status.message == "finished":
                return status


def _ask(client: Any, console: Console, text: str) -> Answer:
    answer = client.ask(Question(text, may_explore=False))
    console.print(text, style="dim", markup=False)
    print_answer(console, answer)
    return answer


def _print_status(console: Console, status: Any) -> None:
    facts = {v.key: int(v.value) for v in status.values}
    console.print(f"{facts.pop('shown')} of {facts.pop('frames')} frames shown", highlight=False)
    for reason, count in sorted(facts.items()):
        console.print(f"not shown: {count} x {reason}", soft_wrap=True, markup=False, highlight=False)
