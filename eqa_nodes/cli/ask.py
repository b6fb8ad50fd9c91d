"""`eqa ask`: one question, to a graph of its own, to a running one, or about an episode history."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import PLACES, ChainOptions, HistoryOptions, KeepsMemory, ScanOptions, Sees
from eqa_nodes.cli.options import FILE, FOLDER, argument, flag, group, option
from eqa_nodes.core.types.inquiries import DRIVE_MODES
from eqa_nodes.recordings.options import renamed

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.cli.printing import TerminalPerson
    from eqa_nodes.config.run import RunConfig
    from eqa_nodes.core.types.progress import Progress
    from eqa_nodes.core.types.questions import Answer
    from eqa_nodes.core.types.samples import EpisodeResult

SCENE = "house:1000"
DRIVE = ("go: the robot drives without asking; confirm: you are asked before each drive; dry: nothing moves (default: "
         "the parameter file's, else go)")
AREA = "no goal is outside this polygon: corners x,y in metres, map frame, as in \"0,0 4,0 4,3\" (default: no bounds)"


@dataclass(frozen=True, kw_only=True)
class Asking(KeepsMemory, Sees):
    """How a question is asked, and where its answer is written."""

    scene: str = option("", f"where: {PLACES} (default: {SCENE}; with --attach: the running episode continues)")
    attach: bool = flag("ask the graph that runs in this ROS_DOMAIN_ID, such as a robot's")
    keep_memory: bool = flag("with --attach and --scene: keep the graph's memory when the episode begins", rare=True)
    explore: bool = flag("answer from memory only", "--no-explore", default=True)
    show: bool = flag("drive to the best evidence after the answer")
    reconstruct: bool = flag("publish the coloured surfaces of the place on the topic reconstruction; needs Open3D",
                             rare=True)
    drive: str = option("", DRIVE, choices=DRIVE_MODES)
    area: str = option("", AREA, metavar="CORNERS", rare=True)
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    evidence: Path | None = option(None, "folder for the images that support the answer (default: evidence in --out)",
                                   metavar="DIR", writes=FOLDER, rare=True)
    clip: Path | None = option(None, "file of a short film of the episode to share: .gif, or .mp4 with the "
                               "extra video (default: none)", metavar="FILE", writes=FILE)
    json: bool = flag("print the answer, its cost and the model's name as JSON")
    recording: HistoryOptions = group(HistoryOptions)
    scans: ScanOptions = group(ScanOptions, "scans")
    chain: ChainOptions = group(ChainOptions)

    def ask(self, text: str) -> Answer:
        """Ask, show what happens, print the answer with its evidence and receipt, and return it. Raises EqaError."""
        from rich.console import Console

        from eqa_nodes.cli.printing import CallPrinter, TerminalPerson, print_answer, progress_line, words_of
        from eqa_nodes.core.answerers.common import check_question
        from eqa_nodes.core.storage.codec import dumps
        from eqa_nodes.core.types.samples import EpisodeResult

        check_question(text)
        self.check()
        self.scans.set_environment()
        console = Console(stderr=self.json)
        calls = CallPrinter(console)
        with progress_line(console) as say:
            person = TerminalPerson(console, say)

            def show(p: Progress) -> None:
                if not calls.printed(p) and not person.show(p):
                    say(*words_of(p))

            if self.attach:
                result = EpisodeResult("question", self._attached(text, show, person))
            elif self.recording.history:
                result = self._about_history(text, lambda step: say(step.partition(":")[0], step))
            else:
                result = self._own_graph(text, show, person, say)
        if self.json:  # the name of a running graph's model is unknown
            model = "" if self.attach else self.config.model_name
            print(dumps({"question": text, "model": model, "answer": result.answer}))
        else:
            print_answer(console, result.answer)
        if not self.attach:
            self._write(text, result, console)
        return result.answer

    def _write(self, text: str, result: EpisodeResult, console: Console) -> None:
        """Write the report of the question and the images that prove its answer, and print where they are."""
        from eqa_nodes.bench.report.page import write_report
        from eqa_nodes.bench.running.runner import KeptRun
        from eqa_nodes.cli.printing import progress_line

        place = "" if self.recording.history else self.scene or SCENE
        with progress_line(console) as say:
            say("writing", "writing the report")
            with KeptRun(self.config.folder, self.config.model_name, self.config.found_by) as kept:
                kept.keep(text, place, result)
            written = [*_write_evidence(result, self.evidence or self.config.folder / "evidence"),
                       write_report(self.config.folder), *self._write_clip(result)]
        for path in written:
            console.print(f"  written: {path}", soft_wrap=True, highlight=False, markup=False)

    def _write_clip(self, result: EpisodeResult) -> Iterator[Path]:
        if self.clip is not None and result.trace is not None:
            from eqa_nodes.bench.report.clip import write_clip

            write_clip(self.clip, result.trace)
            yield self.clip

    @cached_property
    def config(self) -> RunConfig:
        """The configuration of the run; its folder is created when something is written to it."""
        from eqa_nodes.cli.options import run_folder

        return self.chain.config(self.area, frames=self.recording.views.frames, k=self.recording.views.k,
                                 show=self.show, drive=self.drive, ask_back=not self.json and sys.stdin.isatty(),
                                 reconstruct=self.reconstruct, scene=self.scene or SCENE, memory_file=self.memory_file,
                                 sees="" if self.recording.history else self.sees(self.scene or SCENE, self.chain),
                                 folder=Path() if self.attach else run_folder(self.out))

    def check(self) -> None:
        """Raise EqaError for options that exclude each other, before anything starts."""
        from eqa_nodes.core.errors import ConfigError

        self.recording.check()
        recorded = self.recording.history
        if recorded and (self.show or self.area or self.drive):
            raise ConfigError("nothing drives in a recording: leave out --show, --area and --drive")
        if recorded and (self.chain.chain.clock_start or self.memory_file or self.labels):
            raise ConfigError("a recording has its own times, memory and labels: leave out --start, --memory-file and "
                              "--labels")
        if self.attach and (self.evidence or recorded):
            raise ConfigError("--attach asks a graph that keeps its own images and memory: leave out --history and "
                              "--evidence")
        if self.clip is not None:
            from eqa_nodes.media.animation import check_kind

            if self.attach:
                raise ConfigError("--attach asks a graph that writes its own bag: leave out --clip, and run "
                                  "eqa clip BAG on that bag")
            check_kind(self.clip)
        if self.reconstruct and recorded:
            raise ConfigError("--reconstruct needs a graph: leave it out here; eqa scan makes the surfaces of a "
                              "recording")
        check_own_graph(self.attach, {"drive": self.drive, "reconstruct": self.reconstruct,
                                      "start": self.chain.chain.clock_start, "memory_file": self.memory_file,
                                      "labels": self.labels})
        bag = self.recording.bag
        if not recorded and not self.attach and (bag.namespace or bag.remap):
            raise ConfigError("--namespace and --remap describe a running graph or a recording: they need --attach or "
                              "--history")

    def _about_history(self, text: str, say: Callable[[str], None]) -> EpisodeResult:
        from eqa_nodes.core.storage.checks import check_folder
        from eqa_nodes.core.types.samples import Sample
        from eqa_nodes.runners.opening import check_answerer, open_history_runner
        from eqa_nodes.runners.sources import cache_folder

        source = self.recording.source()
        check_answerer(self.config)
        cache = cache_folder(self.recording.views.cache)
        check_folder(cache)
        say("opening the recording")
        config = replace(self.config, folder=cache)  # the next question can use the captions, too
        with closing(open_history_runner(config, lambda sample: source, cache, say)) as runner:
            return runner.run(Sample("question", text, ""))

    def _own_graph(self, text: str, show: Callable[[Progress], None], person: TerminalPerson,
                   say: Callable[[str, str], None]) -> EpisodeResult:
        from eqa_nodes.core.agent.person import Replies
        from eqa_nodes.core.types.samples import Sample
        from eqa_nodes.runners.opening import check_chain, open_runner

        scene = self.scene or SCENE
        check_chain(self.config, scene)
        say("starting", "starting the robot's programs")
        with closing(open_runner(self.config, show, replies=Replies())) as runner:
            person.reply = getattr(runner, "reply", None)  # the runner of a user's function has none
            say("entering", f"entering {scene}")
            return runner.run(Sample("question", text, "", scene=scene))

    def _attached(self, text: str, show: Callable[[Progress], None], person: TerminalPerson) -> Answer:
        from eqa_nodes.core.types.questions import Question
        from eqa_nodes.ros.environment import ensure_ros

        ensure_ros()
        from eqa_nodes.ros.client import GraphClient

        question = Question(text, may_explore=self.explore, limits=self.config.limits,
                            force_guess=self.config.force_guess, show=self.show)
        with GraphClient({"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}, listener=show,
                         namespace=self.recording.bag.namespace,
                         remap=renamed(self.recording.bag.remap)) as client:
            person.reply = client.reply
            if self.scene:
                client.reset(self.scene, "question", None, 0, self.keep_memory)
            try:
                return client.ask(question, show)
            except KeyboardInterrupt:  # the client has cancelled the question
                print("eqa: the question and the robot's drive were cancelled", file=sys.stderr)
                raise


@dataclass(frozen=True, kw_only=True)
class Ask(Asking):
    """Asks one question, prints the answer with its evidence and its cost, and writes a report of one page."""

    question: str = argument("the question, in plain English")

    def run(self) -> int:
        """Ask; return 1 if the question ends in an error."""
        return 1 if self.ask(self.question).error else 0


def check_own_graph(attach: bool, given: Mapping[str, object]) -> None:
    """Raise ConfigError for options of a graph that this command starts, if it joins a running one.

    given: the values by the names of launch arguments, which the options share.
    """
    from eqa_nodes.core.errors import ConfigError

    for name, value in given.items():
        if attach and value:
            raise ConfigError(f"--{name.replace('_', '-')} applies to a graph that this command starts: launch the "
                              f"running graph with {name}:={'true' if value is True else value} instead")


def _write_evidence(result: EpisodeResult, folder: Path) -> Iterator[Path]:
    """Write the images that prove the answer, and the map if something was measured; yield the paths.

    A view that is no longer stored has no image.
    """
    from eqa_nodes.bench.report.drawing import map_css, map_svg
    from eqa_nodes.bench.report.pictures import proof_picture
    from eqa_nodes.core.storage.codec import write_bytes
    from eqa_nodes.core.types.measures import measures_of

    images = {k.id: k for k in result.trace.keyframes} if result.trace is not None else {}
    calls = result.trace.calls if result.trace is not None else ()
    for rank, e in enumerate(result.answer.evidence, start=1):
        path = folder / (f"{rank}-frame-{e.frame:06d}.jpg" if e.frame >= 0 else f"{rank}-view-{e.keyframe_id:06d}.jpg")
        if e.keyframe_id in images:
            write_bytes(path, proof_picture(images[e.keyframe_id], e.note, calls))
            yield path
    if result.trace is not None and any(measures_of(e.note) for e in result.answer.evidence):
        path = folder / "measured-from-above.svg"
        write_bytes(path, map_svg(result.trace, None, None, css=map_css()).encode())
        yield path
