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

    from eqa_nodes.bench.judges.options import JudgeOptions


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """How a judge marks, beside its name."""

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

        own = self.settings
        return JudgeOptions(own.until_last_full_stop, own.extra_answers, own.judge_prompt, own.judge_prompt_extra,
                            model=self.model.config())


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
