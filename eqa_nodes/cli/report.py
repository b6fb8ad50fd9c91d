"""`eqa report`, `eqa demo` and `eqa clip`: the page of a run, a small run with its page, and an episode as a film."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eqa_nodes.cli.groups import SOURCES, ChainOptions, Sees
from eqa_nodes.cli.options import FILE, FOLDER, argument, flag, group, option


@dataclass(frozen=True, kw_only=True)
class WriteReport:
    """Writes report.html into the run directory."""

    out: Path = argument("run directory", metavar="RUN")
    scan: bool = flag("also show the place of each episode in three dimensions, put together from the depth images of "
                      "its bag, or else from the coarse depth of the remembered views; needs the extra map3d")

    def run(self) -> int:
        """Write the page."""
        write(self.out, self.scan)
        return 0


def write(out: Path, scan: bool = False) -> None:
    """Write the report of a run, and print where it is."""
    from rich.console import Console

    from eqa_nodes.bench.report.page import write_report

    Console().print(f"report: {write_report(out, scan)}", soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Demo(Sees):
    """Runs a few questions of the built-in houses, scores them and writes the report."""

    questions: int = option(5, "how many questions", metavar="N")
    seed: int = option(3, "seed of the choice of houses")
    out: Path | None = option(None, "run directory (default: runs/<time>)", writes=FOLDER)
    chain: ChainOptions = group(ChainOptions)

    def run(self) -> int:
        """Ask, score and report."""
        from eqa_nodes.bench.judges.marking import open_judge
        from eqa_nodes.cli.bench.asking import BenchmarkRun, ask_questions
        from eqa_nodes.cli.bench.results import print_scores
        from eqa_nodes.cli.options import run_folder

        out = run_folder(self.out)
        config = self.chain.config(dataset="house", folder=out, sees=self.sees("house:0", self.chain))
        code = ask_questions(BenchmarkRun(config, questions=self.questions, seed=self.seed))
        print_scores(out, open_judge())
        write(out)
        return code


@dataclass(frozen=True, kw_only=True)
class Clip:
    """Writes a short film of a question with captions: the camera, the growing map, each decision, the proof."""

    path: Path = argument(f"run directory, or {SOURCES}", metavar="RUN")
    out: Path | None = option(None, "output file (default: EPISODE.gif; one that ends in .mp4 needs the extra "
                              "video)", metavar="FILE", writes=FILE)
    episode: str = option("", "which episode, if the run has several", metavar="ID")
    namespace: str = option("", "namespace of the graph in a bag", metavar="NS")

    def run(self) -> int:
        """Write the file, and print what it holds."""
        from rich.console import Console

        from eqa_nodes.bench.report.clip import write_clip
        from eqa_nodes.bench.report.traces import trace_in
        from eqa_nodes.core.storage.checks import check_file
        from eqa_nodes.core.storage.text import file_name
        from eqa_nodes.media.animation import check_kind

        if self.out is not None:
            check_kind(self.out)
        name, trace = trace_in(self.path, self.episode, self.namespace)
        out = self.out or Path(f"{file_name(name)}.gif")
        check_file(out)
        images = write_clip(out, trace)
        Console().print(f"written: {out}, {out.stat().st_size / 1e6:.1f} MB: {images} images", soft_wrap=True,
                        markup=False, highlight=False)
        return 0
