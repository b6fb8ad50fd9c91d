"""Options of a judge, which several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import ModelOptions
from eqa_nodes.cli.limits import whole
from eqa_nodes.cli.options import flag, group, option

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.bench.judges.official import OfficialScorer
    from eqa_nodes.bench.judges.options import JudgeOptions


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """How a judge marks, beside its name."""

    judging: str = option("own", "own: this project's prompts and parser; official: messages, parser and settings of "
                          "the published scorer, whose checkout --prompts names", choices=("own", "official"))
    prompts: Path | None = option(None, "with --judging official: checkout of open-eqa (llm-match) or EXPRESS-Bench "
                                  "(eac)", metavar="DIR")
    judge_prompt: Path | None = option(
        None, "prompt in place of the built-in one, with {question}, {answer}, {prediction} and, where it shows them, "
        "{extra_answers} (default: built-in)", metavar="FILE")
    judge_prompt_extra: Path | None = option(
        None, "with --judge-prompt: another prompt for questions with further accepted answers (default: the same)",
        metavar="FILE")
    extra_answers: bool = flag("do not show the model further accepted answers", "--no-extra-answers", default=True)
    until_last_full_stop: bool = flag("drop the text after an answer's last full stop, as OpenEQA's scorer does")
    judge_threads: int = option(8, "parallel calls", type=whole, metavar="N")


@dataclass(frozen=True, kw_only=True)
class JudgeChoice:
    """A judge's settings and its model."""

    settings: JudgeSettings = group(JudgeSettings, "the judge")
    model: ModelOptions = group(ModelOptions, "the judge's model", prefix="judge")

    def options(self) -> JudgeOptions:
        """Return what decides the judge's marks. Raises ConfigError."""
        from eqa_nodes.bench.judges.options import JudgeOptions

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
