"""`eqa ask`: one question, to a graph of its own or to one that runs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import closing

from rich.console import Console

from eqa_nodes.bench.samples import Sample
from eqa_nodes.commands.chain import limits_of, open_runner, run_folder
from eqa_nodes.core.agent import Progress
from eqa_nodes.core.answering import check_question
from eqa_nodes.core.types import Answer, Question


def ask(arguments: argparse.Namespace) -> int:
    """Ask, show what happens, print the answer with its evidence and receipt; 1 when it ends in an error."""
    check_question(arguments.question)
    console = Console()
    with console.status("starting") as status:
        def show(p: Progress) -> None:
            status.update(f"{p.phase}, {p.steps} steps, {p.metres:.1f} m. {p.reason}")

        answer = _attached(arguments, show) if arguments.attach else _own_graph(arguments, show)
    print_answer(console, answer)
    return 1 if answer.error else 0


def _own_graph(arguments: argparse.Namespace, show: Callable[[Progress], None]) -> Answer:
    folder = run_folder(arguments)
    sample = Sample("question", arguments.question, "", scene=arguments.scene or "house:1000")
    with closing(open_runner(arguments, folder, show)) as runner:
        return runner.run(sample).answer


def _attached(arguments: argparse.Namespace, show: Callable[[Progress], None]) -> Answer:
    from eqa_nodes.in_graph import progress_of
    from eqa_nodes.ros.client import GraphClient
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    question = Question(arguments.question, may_explore=arguments.explore, limits=limits_of(arguments),
                        force_guess=arguments.force_guess)
    with GraphClient({"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}) as client:
        if arguments.scene:
            client.reset(arguments.scene, "question", None, 0)
        return client.ask(question, lambda feedback: show(progress_of(feedback)))


def print_answer(console: Console, answer: Answer) -> None:
    """Print an answer with its evidence and what it cost."""
    if answer.error:
        console.print(f"[red]{answer.error.name}[/red]: {answer.message}")
    console.print(f"[bold]{answer.text or 'I do not know.'}[/bold]  (confidence {answer.confidence:.2f})")
    for e in answer.evidence:
        console.print(f"  seen at {e.stamp_ns / 1e9:.1f} s from x {e.pose.x:.2f} m, y {e.pose.y:.2f} m "
                      f"(view {e.keyframe_id}): {e.note}")
    r = answer.receipt
    privileged = f"; privileged: {', '.join(r.privileged)}" if r.privileged else ""
    console.print(f"  {r.steps} steps, {r.metres:.1f} m, {r.seconds:.1f} s, {r.calls} calls, "
                  f"{r.tokens_in + r.tokens_out} tokens{privileged}", style="dim")
