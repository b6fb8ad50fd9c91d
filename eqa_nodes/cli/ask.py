"""`eqa ask`: one question, to a graph of its own, to one that runs, or about an episode history."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from rich.console import Console

from eqa_nodes.bench.running.runner import EpisodeResult
from eqa_nodes.bench.samples import Sample
from eqa_nodes.cli.bag import remapping
from eqa_nodes.cli.chain import limits_of, open_runner, run_folder
from eqa_nodes.cli.printing import shown
from eqa_nodes.cli.ready import check_answerer, check_chain
from eqa_nodes.core.agent.agent import Progress
from eqa_nodes.core.answerers.common import check_question
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.questions import Answer, Evidence, Question


def ask(arguments: argparse.Namespace) -> int:
    """Ask, show what happens, print the answer with its evidence and receipt; 1 when it ends in an error."""
    check_question(arguments.question)
    if arguments.history and (arguments.show or arguments.area):
        raise ConfigError("about a recording nothing is driven: leave out --show and --area")
    if arguments.attach and (arguments.evidence or arguments.history):
        raise ConfigError("--attach asks a graph that keeps its images and its memory: leave out --history and "
                          "--evidence")
    check_attached(arguments)
    console = Console()
    with console.status("starting") as status:
        def show(p: Progress) -> None:
            waits = f" at place {p.place}" if p.place else f", {p.steps} steps, {p.metres:.1f} m. {shown(p.reason)}"
            status.update(p.phase + waits)

        if arguments.attach:
            result = EpisodeResult("question", _attached(arguments, show))
        elif arguments.history:
            result = _about_history(arguments, lambda text: status.update(shown(text)))
        else:
            result = _own_graph(arguments, show)
    print_answer(console, result.answer)
    if arguments.evidence:
        _write_evidence(console, result, arguments.evidence)
    return 1 if result.answer.error else 0


def _about_history(arguments: argparse.Namespace, say: Callable[[str], None]) -> EpisodeResult:
    from eqa_nodes.cli.em import bag_options, open_history_runner
    from eqa_nodes.runners.history import file_source

    source = file_source(arguments.history, arguments.format, bag_options(arguments))
    check_answerer(arguments)
    with closing(open_history_runner(arguments, lambda sample: source, say)) as runner:
        return runner.run(Sample("question", arguments.question, ""))


def _own_graph(arguments: argparse.Namespace, show: Callable[[Progress], None]) -> EpisodeResult:
    folder = run_folder(arguments)
    check_chain(arguments)
    sample = Sample("question", arguments.question, "", scene=arguments.scene or "house:1000")
    with closing(open_runner(arguments, folder, show)) as runner:
        return runner.run(sample)


def check_attached(arguments: argparse.Namespace) -> None:
    """Raises ConfigError for options that need --attach, without it."""
    if not arguments.attach and (arguments.namespace or (arguments.remap and not getattr(arguments, "history", ""))):
        raise ConfigError("--namespace and --remap are of a graph that runs already: they need --attach")
    if arguments.attach and (arguments.max_tokens or arguments.max_money):
        raise ConfigError("--max-tokens and --max-money are settings of the agent of a graph that runs already: ros2 "
                          "param set /agent agent.max_tokens N, or agent.max_money X")


def _attached(arguments: argparse.Namespace, show: Callable[[Progress], None]) -> Answer:
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    from eqa_nodes.ros.client import GraphClient
    from eqa_nodes.runners.in_graph import progress_of

    question = Question(arguments.question, may_explore=arguments.explore, limits=limits_of(arguments),
                        force_guess=arguments.force_guess, show=arguments.show)
    with GraphClient({"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}, namespace=arguments.namespace,
                     remap=remapping(arguments.remap)) as client:
        if arguments.scene:
            client.reset(arguments.scene, "question", None, 0, arguments.keep_memory)
        return client.ask(question, lambda feedback: show(progress_of(feedback)))


def print_answer(console: Console, answer: Answer) -> None:
    """Print an answer with its evidence and what it cost."""
    if answer.error:
        console.print(f"[red]{answer.error.name}[/red]: {shown(answer.message)}")
    console.print(f"[bold]{shown(answer.text) or 'I do not know.'}[/bold]  (confidence {answer.confidence:.2f})")
    if answer.shown:
        console.print("  the robot stands where that was seen from")
    elif answer.message and not answer.error:
        console.print(f"  {shown(answer.message)}")
    for e in answer.evidence:
        console.print(f"  seen at {e.stamp_ns / 1e9:.1f} s from x {e.pose.x:.2f} m, y {e.pose.y:.2f} m "
                      f"({_place(e)}): {shown(e.note)}")
    r = answer.receipt
    privileged = f"; privileged: {', '.join(r.privileged)}" if r.privileged else ""
    money = f", {r.money:.4g} by its prices" if r.money else ""
    console.print(f"  {r.steps} steps, {r.metres:.1f} m, {r.seconds:.1f} s, {r.calls} calls, "
                  f"{r.tokens_in + r.tokens_out} tokens{money}{privileged}", style="dim")


def _place(e: Evidence) -> str:
    """Return where to find the image of a piece of evidence."""
    if e.frame < 0:
        return f"view {e.keyframe_id}"
    return f"frame {e.frame}" + (f", {e.offset_ns / 1e9:.2f} s into the bag" if e.offset_ns >= 0 else "")


def _write_evidence(console: Console, result: EpisodeResult, folder: Path) -> None:
    """Write the images that prove the answer, named by their rank and place."""
    images = {k.id: k.jpeg for k in result.trace.keyframes} if result.trace is not None else {}
    for rank, e in enumerate(result.answer.evidence, start=1):
        path = folder / (f"{rank}-frame-{e.frame:06d}.jpg" if e.frame >= 0 else f"{rank}-view-{e.keyframe_id:06d}.jpg")
        write_bytes(path, images[e.keyframe_id])
        console.print(f"  written: {path}", soft_wrap=True)
