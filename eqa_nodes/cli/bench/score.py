"""`eqa bench score`: pass 2 of a benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import ModelOptions
from eqa_nodes.cli.options import argument, flag, group, listed, option, whole

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.bench.judges.base import Judge, JudgeOptions
    from eqa_nodes.bench.judges.official import OfficialScorer

@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """How a judge marks, beside its name."""

    judging: str = option("own", "own: this project's prompts and parser; official: messages, parser and settings of "
                          "the published scorer, whose checkout --prompts names", choices=("own", "official"),
                          rare=True)
    prompts: Path | None = option(None, "with --judging official: checkout of open-eqa (llm-match) or EXPRESS-Bench "
                                  "(eac)", metavar="DIR", rare=True)
    judge_prompt: Path | None = option(
        None, "prompt in place of the built-in one, with {question}, {answer}, {prediction} and, where it shows them, "
        "{extra_answers} (default: built-in)", metavar="FILE", rare=True)
    judge_prompt_extra: Path | None = option(
        None, "with --judge-prompt: another prompt for questions with further accepted answers (default: the same)",
        metavar="FILE", rare=True)
    extra_answers: bool = flag("do not show the model further accepted answers", "--no-extra-answers", default=True,
                               rare=True)
    until_last_full_stop: bool = flag("drop the text after an answer's last full stop, as OpenEQA's scorer does",
                                      rare=True)
    judge_threads: int = option(8, "parallel calls", type=whole, metavar="N")


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """A judge's settings and its model."""

    settings: JudgeSettings = group(JudgeSettings, "the judge")
    model: ModelOptions = group(ModelOptions, "the judge's model", prefix="judge")

    def options(self) -> JudgeOptions:
        """Return what decides the judge's marks. Raises ConfigError."""
        from eqa_nodes.bench.judges.base import JudgeOptions

        own, scorer = self.settings, self.official()
        model = self.model.config() if scorer is None else scorer.model(self.model.named())
        return JudgeOptions(own.until_last_full_stop, own.extra_answers, own.judge_prompt, own.judge_prompt_extra,
                            official=own.prompts, model=model)

    def official(self) -> OfficialScorer | None:
        """Return the published scorer that judges, None where this project's own does. Raises ConfigError."""
        from eqa_nodes.bench.judges.official import find_scorer
        from eqa_nodes.core.errors import ConfigError

        own = self.settings
        if (own.judging == "official") != (own.prompts is not None):
            raise ConfigError("--judging official and --prompts DIR belong together: DIR is a checkout of open-eqa or "
                              "EXPRESS-Bench")
        if own.prompts is None:
            return None
        if own.judge_prompt or own.judge_prompt_extra or own.until_last_full_stop or not own.extra_answers:
            raise ConfigError("--judging official has its own prompts and treatment of answers: leave --judge-prompt, "
                              "--judge-prompt-extra, --until-last-full-stop and --no-extra-answers out")
        return find_scorer(own.prompts)


@contextmanager
def marking_bar(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar while a model marks; yields the progress callback."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
                  TextColumn("{task.description}", markup=False), console=console) as progress:
        task = progress.add_task("marking", total=None)
        yield lambda what, done, total: progress.update(task, description=what[:80], completed=done, total=total)


CONFIDENCE = "confidence.jsonl"  # in the run directory


@dataclass(frozen=True, kw_only=True)
class PublishedOptions:
    """Results that another project published; RUN is the directory that is made of them."""

    predictions: Path | None = option(None, "OpenEQA's [{question_id, answer}], a result folder of 3D-Mem with its "
                                      "path lengths, EXPRESS-Bench's results.pkl with its marks, or a folder of "
                                      "EmbodiedEval's trajectories", metavar="PATH")
    marks: Path | None = option(None, "{question_id: mark} in a judge's place; of RUN itself, or of a published file",
                                metavar="FILE")
    blind_marks: Path | None = option(None, "the same of blind answers", metavar="FILE")
    lengths: Path | None = option(None, "{question_id: metres} of the reference paths (gt_path_length.json), or a "
                                  "folder of people's trajectories for EmbodiedEval (default: the data set's)",
                                  metavar="PATH")
    dataset: str = option("", "data set that was asked, with --predictions, or --marks alone",
                          complete=listed("READERS"))
    data: Path | None = option(None, "folder of a published data set's files (default: EQA_DATA)", metavar="DIR")
    split: str = option("", "part of the data set (openeqa: aeqa-184, aeqa-41 ...)")

    def write(self, out: Path) -> Judge | None:
        """Make a run directory of what was published; without a data set nothing is made. Raises ConfigError.

        Return the marks that the results themselves hold, None without any.
        """
        from rich.console import Console

        from eqa_nodes.bench.datasets import open_dataset
        from eqa_nodes.bench.judges.base import GivenMarks
        from eqa_nodes.bench.published import PublishedRun, read_lengths, read_numbers, read_published, write_run
        from eqa_nodes.core.components import READERS
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.core.types.samples import ACTIVE, TASKS

        source = self.predictions or self.marks
        if not self.dataset:
            if self.predictions or self.lengths:
                raise ConfigError("--predictions and --lengths need --dataset: the questions that were asked")
            return None
        if source is None:
            raise ConfigError("--dataset needs --predictions or --marks: the results that are to be scored")
        task = TASKS if self.dataset in READERS and READERS.traits(self.dataset).task == TASKS else ACTIVE
        samples = open_dataset(self.dataset, folder=self.data, split=self.split, task=task)
        marked = read_numbers(self.marks) if self.marks else None
        found = read_published(source, samples) if self.predictions else PublishedRun(dict.fromkeys(marked or {}, ""))
        if marked is not None and self.predictions:  # their scorers mark no absent answers, and we count them as chosen
            found = replace(found, answers={name: text for name, text in found.answers.items() if name in marked})
        lost = write_run(out, self.dataset, samples, found, read_lengths(self.lengths) if self.lengths else {},
                         source.name)
        Console().print(f"{len(found.answers)} answers of {source} are in {out}, {len(lost)} questions have none",
                        soft_wrap=True, markup=False)
        return GivenMarks(found.marks, source.name) if found.marks and self.marks is None else None

    def given(self, path: Path | None) -> Judge | None:
        """Return the judge that holds a file's marks, None without one. Raises ConfigError."""
        from eqa_nodes.bench.judges.base import GivenMarks
        from eqa_nodes.bench.published import read_numbers

        return None if path is None else GivenMarks(read_numbers(path), path.name)


@dataclass(frozen=True, kw_only=True)
class Score:
    """Marks the answers of a run and prints the table of its scores."""

    out: Path = argument("run directory", metavar="RUN")
    judge: str = option("", "offline: rules over words; choices: the right option; proved: the rule of each question "
                        "(house-weeks); llm-match, eac: a model, see below; its key comes from EQA_VLM_API_KEY "
                        "(default: proved for house-weeks, else offline; with --judging official that of its "
                        "checkout)", complete=listed("JUDGES"))
    retry_unscored: bool = flag("ask the model again for answers that have no mark")
    failed: str = option("leave-out", "failed questions and those without an answer: leave-out: in no mean; lowest: "
                         "mark 1; blind: the mark of the blind answer, and an infinite path",
                         choices=("leave-out", "lowest", "blind"))
    confidence_model: str = option("", "model that says how far the final view answers the question, for ACE and WCE; "
                                   "asked as the judge's model is (default: the agent's own confidence)",
                                   metavar="NAME")
    published: PublishedOptions = group(PublishedOptions, "published results")
    how: JudgeChoice = group(JudgeChoice)

    def run(self) -> int:
        """Mark and print the table."""
        from eqa_nodes.cli.bench.results import print_scores

        with self._judging(self.published.write(self.out)) as judge, self._confidence() as sure:
            print_scores(self.out, judge, self.failed, self.published.given(self.published.blind_marks), sure)
        return 0

    @contextmanager
    def _confidence(self) -> Iterator[Judge | None]:
        """Give the model of ACE and WCE, whose figures are kept in the run directory; None without one."""
        from eqa_nodes.bench.judges.cached import CachedJudge
        from eqa_nodes.bench.judges.model_judges import ViewConfidence
        from eqa_nodes.models import open_model

        if not self.confidence_model:
            yield None
            return
        backend = open_model(replace(self.how.model.config(), model=self.confidence_model))
        with CachedJudge(ViewConfidence(backend), self.out / CONFIDENCE) as judge:
            yield judge

    @contextmanager
    def _judging(self, found: Judge | None) -> Iterator[Judge]:
        """Give the judge, or the given marks; one that is a model has marked the run before, and keeps its marks.

        found: marks of the results themselves, which count unless a judge is named.
        """
        from rich.console import Console

        from eqa_nodes.bench.judges.cached import MARKS, CachedJudge
        from eqa_nodes.bench.judges.marking import mark_run, marks_at_once, open_judge, usual_judge

        given = self.published.given(self.published.marks)
        if given is None and not self.judge and self.how.official() is None:
            given = found
        if given is not None:
            yield given
            return
        options, scorer, console = self.how.options(), self.how.official(), Console()
        name = self.judge or (usual_judge(self.out) if scorer is None else scorer.kind)
        judge = open_judge(name, options)
        if marks_at_once(name):
            yield judge
            return
        with CachedJudge(judge, self.out / MARKS, self.retry_unscored) as cached:
            with marking_bar(console) as say:
                marked = mark_run(self.out, cached, self.how.settings.judge_threads, 0,
                                  lambda *done: say(cached.name, *done))
            for note in dict.fromkeys(q.note for q in marked if q.unscored):
                console.print(f"unscored: {note}", style="yellow", markup=False, soft_wrap=True)
            if any(q.unscored for q in marked):
                console.print("  the same command repeats calls that failed; --retry-unscored also asks again where a "
                              "reply could not be read", markup=False, soft_wrap=True)
            before = f", {cached.reused} marked before" if cached.reused else ""
            console.print(f"{cached.asked} answers marked, blind guesses included{before}: {self.out / MARKS}",
                          markup=False, soft_wrap=True)
            yield cached
