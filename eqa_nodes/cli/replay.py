"""`eqa replay`: an episode history through the whole graph, and questions about it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqa_nodes.cli.groups import SOURCES, BagReading, DetectorOptions, ModelOptions, overrides
from eqa_nodes.cli.options import FOLDER, argument, flag, group, listed, option
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.wire.graph import TOPICS

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.config.run import RunConfig
    from eqa_nodes.core.types.questions import Answer

VIEW = "it shows on ROS_DOMAIN_ID={domain}: rviz2 -d launch/rviz/eqa.rviz"


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Starts the graph with a replay instead of a robot, plays the history and asks the questions at the end. The robot
    cannot drive: answers use only what was recorded.
    """

    source: Path = argument(SOURCES, metavar="SOURCE")
    rate: float = option(0.0, "speed relative to real time, by the recorded stamps (default: --lock-step)",
                         alone="pace", metavar="R")
    lock_step: bool = flag("play as fast as the nodes process the frames, without losing any (default)", alone="pace")
    ask: tuple[str, ...] = option((), "questions, in plain English (default: none)", metavar="QUESTION")
    record: bool = flag("record the replayed topics and what the graph publishes")
    reconstruct: bool = flag("publish the coloured surfaces of the place on the topic reconstruction; needs Open3D")
    agent: str = option("", "named agent that answers (docs/agents.md; default: rules over labels)", metavar="NAME",
                        complete=listed("AGENTS"))
    answerer: str = option("", "label: rules over the history's labels, privileged, no model; vlm: a model, see below; "
                           "its key is read from EQA_VLM_API_KEY (default: the agent's, else label)",
                           complete=listed("ANSWERERS"))
    params: Path | None = option(None, "ROS parameter file; the options above win over it (default: none)",
                                 metavar="FILE")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    bag: BagReading = group(BagReading, "a bag of another robot")
    detector: DetectorOptions = group(DetectorOptions, "the detector")
    model: ModelOptions = group(ModelOptions, "the answerer's model")

    def config(self, folder: Path, labels: bool) -> RunConfig:
        """Return the configuration of the run. labels: the history has some. Raises ConfigError."""
        from eqa_nodes.config.named_agents import refuse_function
        from eqa_nodes.config.run import REPLAY, Replayed, RunConfig

        refuse_function(self.agent)
        return RunConfig(agent=self.agent, answerer=self.answerer, model=self.model.config(),
                         detector=self.detector.config(), overrides=overrides(self.model, self.detector), world=REPLAY,
                         params=self.params, folder=folder, reconstruct=self.reconstruct,
                         replayed=Replayed(labels, self.record, self.rate, self.bag.reading()))

    def run(self) -> int:
        """Show the history to a graph of its own, ask, and print the answers; 1 when a question failed."""
        from eqa_nodes.cli.options import run_folder
        from eqa_nodes.config.named_agents import refuse_function
        from eqa_nodes.core.answerers.common import check_question
        from eqa_nodes.recordings.histories import open_history
        from eqa_nodes.runners.opening import check_asks

        for question in self.ask:
            check_question(question)
        refuse_function(self.agent)
        history = open_history(self.source, options=self.bag.chosen())
        from eqa_nodes.ros.environment import ensure_ros

        config = self.config(run_folder(self.out), bool(history.labels))
        ensure_ros()
        check_asks(config.settings.answerer)
        answers = self._replayed(config, history)
        return 1 if any(answer.error for answer in answers) else 0

    def _replayed(self, config: RunConfig, history: Any) -> list[Answer]:
        from rich.console import Console

        from eqa_nodes.cli.printing import frames_bar
        from eqa_nodes.ros.client import CALL_S, GraphClient
        from eqa_nodes.ros.runner import RunningGraph

        console = Console()
        with RunningGraph(config.folder, config.parameters, nodes=config.nodes) as graph, \
                GraphClient(graph.environment) as client:
            console.print(VIEW.format(domain=graph.domain), style="dim", highlight=False)
            watch = Watch(client.node)
            client.reset(str(self.source.resolve()), self.source.stem, None, 0)
            with frames_bar(history) as show:
                status = watch.until_end(show)
            _print_status(console, status)
            act = client.services["act"]
            act.call(CALL_S, action=act.Request.OBSERVE)  # at a rate, nodes may be behind
            answers = [_ask(client, console, question) for question in self.ask]
            if self.record:
                client.end_episode()
                console.print(f"recorded: {config.folder / 'bags'}", soft_wrap=True, highlight=False, markup=False)
        return answers


def _ask(client: Any, console: Console, text: str) -> Answer:
    from eqa_nodes.cli.printing import print_answer
    from eqa_nodes.core.types.questions import Question

    answer: Answer = client.ask(Question(text, may_explore=False))
    console.print(text, style="dim", markup=False)
    print_answer(console, answer)
    return answer


def _print_status(console: Console, status: Any) -> None:
    facts = {v.key: int(v.value) for v in status.values}
    console.print(f"{facts.pop('shown')} of {facts.pop('frames')} frames shown", highlight=False)
    for reason, count in sorted(facts.items()):
        console.print(f"not shown: {count} x {reason}", soft_wrap=True, markup=False, highlight=False)


QUIET_S = 60.0  # a replay that reports nothing for as long is stuck: lock-step gives up earlier, with a reason


class Watch:
    """Hears how far a replay is."""

    def __init__(self, node: Any) -> None:
        from eqa_nodes.ros.interfaces import interface, qos

        topic = TOPICS["replay_status"]
        self._status: Any = None
        self._received = threading.Event()
        node.create_subscription(interface(topic.type), topic.name, self._on_status, qos(topic.qos))

    def _on_status(self, status: Any) -> None:
        self._status = status
        self._received.set()

    def until_end(self, show: Callable[[int], None]) -> Any:
        """Return the last report of the replay; raises NodeLost when there is none, or it failed."""
        while True:
            if not self._received.wait(QUIET_S):
                raise NodeLost(f"the replay has reported nothing for {QUIET_S:g} s: does it run?")
            self._received.clear()
            status = self._status
            show(next((int(v.value) for v in status.values if v.key == "shown"), 0))
            if status.message.startswith("failed"):
                raise NodeLost(f"the replay {status.message}")
            if status.message == "finished":
                return status
