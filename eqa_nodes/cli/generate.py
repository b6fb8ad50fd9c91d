"""`eqa generate express | exploraqa | finish`: question-answer data out of a simulator."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import PLACES, ModelOptions, ScanOptions
from eqa_nodes.cli.limits import from_zero, whole
from eqa_nodes.cli.options import FOLDER, argument, flag, group, option

if TYPE_CHECKING:
    from eqa_nodes.generate.pipeline import Job

LABEL, MODEL = "label", "model"


def _share(text: str) -> tuple[int, int]:
    needed, _, times = text.partition("/")
    if not (needed.isdecimal() and times.isdecimal() and 0 < int(needed) <= int(times)):
        raise argparse.ArgumentTypeError(f"{text!r} is no share such as 2/3")
    return int(needed), int(times)


@dataclass(frozen=True, kw_only=True)
class Generate:
    """Makes questions with answers in a simulator, with their whole history. The same command resumes after a kill, and
    pays for nothing twice; a larger --count adds to what is there.
    """

    scene: tuple[str, ...] = option(("house:3",), f"scenes, used in turn: {PLACES}", metavar="SCENE")
    count: int = option(5, "accepted questions", type=whole, metavar="N")
    out: Path | None = option(None, "output folder (default: runs/<time>)", metavar="DIR", writes=FOLDER)
    seed: int = option(0, "seed of the paths and of the models (default: 0)")
    per_path: int = option(3, "attempts at the end of each path", type=whole, metavar="N")
    tries: int = option(12, "maximum attempts for each wanted question", type=whole, metavar="N")
    rounds: int = option(3, "maximum proposals of an attempt", type=whole, metavar="N")
    elsewhere: int = option(3, "number of views of other parts of the scene at which each question is asked as a check",
                            type=from_zero, metavar="N")
    reproduce: tuple[int, int] = option((2, 3), "how many of N answers must be right (default: 2/3)", type=_share,
                                        metavar="K/N")
    examples: Path | None = option(None, "example pairs for the generator: a JSON list of {question, answer} (default: "
                                   "express: one of each kind, in this project's wording; exploraqa: none)",
                                   metavar="FILE")
    keep_guessed: bool = flag("keep questions that are answered right without any view, as EXPRESS-Bench does")
    generator: str = option("", "label: the built-in house's own questions, privileged, no model; model: see below "
                            "(default: model where --model is given, else label)", choices=(LABEL, MODEL))
    scans: ScanOptions = group(ScanOptions, "scans")
    model: ModelOptions = group(ModelOptions, "the answerer's model")
    evaluator: ModelOptions = group(ModelOptions, "the evaluator's model", prefix="evaluator")

    @property
    def labels(self) -> bool:
        """Whether the built-in house's own questions are taken, without a model."""
        return (self.generator or (MODEL if self.model.model else LABEL)) == LABEL

    def job(self) -> Job:
        """Return what the options ask for."""
        from eqa_nodes.generate.filters import FilterConfig
        from eqa_nodes.generate.pipeline import Job, read_examples

        needed, times = self.reproduce
        return Job(self.scene, self.count, self.seed, self.per_path, self.tries, self.rounds, self.elsewhere,
                   FilterConfig(times=times, needed=needed, blind=not self.keep_guessed),
                   read_examples(self.examples) if self.examples else ())

    def make(self, benchmark: str) -> int:
        """Make questions in the form of a benchmark."""
        from eqa_nodes.cli.generating import make

        self.scans.set_environment()
        return make(self, benchmark)


@dataclass(frozen=True, kw_only=True)
class Express(Generate):
    __doc__ = Generate.__doc__

    def run(self) -> int:
        """Make questions as EXPRESS-Bench did."""
        return self.make("express")


@dataclass(frozen=True, kw_only=True)
class Exploraqa(Generate):
    __doc__ = Generate.__doc__

    def run(self) -> int:
        """Make questions as ExploraQA did."""
        return self.make("exploraqa")


@dataclass(frozen=True, kw_only=True)
class Finish:
    """Writes the benchmark from the questions that people accepted."""

    out: Path = argument("folder written by eqa generate", metavar="DIR")
    verdicts: tuple[Path, ...] = option((), "verdicts exported from verify.html, one file per reviewer", required=True,
                                        metavar="FILE")

    answers: tuple[Path, ...] = option((), "answers exported from answer.html, one file per validator, at least two: a "
                                       "question that one of them marked invalid is removed, and their answers become "
                                       "further accepted answers", metavar="FILE")

    def run(self) -> int:
        """Write them."""
        from rich.console import Console

        from eqa_nodes.generate.results import finish
        from eqa_nodes.generate.values import ACCEPTED

        file, records = finish(self.out, self.verdicts, self.answers)
        passed = sum(record.status == ACCEPTED for record in records)
        by = f"{len(self.verdicts)} reviewers" + (f" and {len(self.answers)} validators" if self.answers else "")
        lines = [f"{passed} of {len(records)} questions passed {by}: {file}"]
        disputed = [record for record in records if record.disputed]
        if disputed:
            lines.append("These answers of validators differ from the reference. Where the reference is wrong, reject "
                         "the question or change its answer in verify.html, export the verdicts and finish again:")
        lines += [f"{record.id}  {record.pair.question} {record.pair.answer}  {'; '.join(record.disputed)}"
                  for record in disputed if record.pair]
        Console().print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)
        return 0
