"""The progress of a benchmark run in a terminal: how far, how long still, what it cost so far and will have cost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from eqa_nodes.bench.running.estimate import RunEstimate, RunEstimator, in_short, in_words
from eqa_nodes.bench.running.predictions import Prediction
from eqa_nodes.bench.running.progress import RunProgress
from eqa_nodes.cli.asked_progress import doing
from eqa_nodes.cli.printing import shown
from eqa_nodes.core.types.progress import Progress as Searching
from eqa_nodes.core.types.samples import Sample


class RunBar:
    """One line that says how the run stands and what the robot is doing; one line for each question that has ended."""

    def __init__(self, console: Console, samples: Sequence[Sample]) -> None:
        self._console = console
        self._samples = {sample.id: sample for sample in samples}
        self._meter = RunEstimator(len(samples))
        self._progress = Progress(SpinnerColumn(), BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(),
                                  TextColumn("{task.fields[outlook]}{task.description}", table_column=Column(
                                      ratio=1, no_wrap=True, overflow="ellipsis")), console=console, expand=True)
        self._task = self._progress.add_task("", total=len(samples), outlook="")

    def __enter__(self) -> RunBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Show what is going on."""
        self._progress.update(self._task, description=shown(text[:100]))

    def searching(self, now: Searching) -> None:
        """Show what the agent is doing."""
        self.say(doing(now))

    def asked(self, now: RunProgress) -> None:
        """Show a question that has ended."""
        self._meter.before(now.before)
        if now.prediction is not None:
            self._meter.add(now.prediction)
        self._progress.update(self._task, completed=now.done, outlook=outlook_text(self._meter.outlook()))
        if now.note:
            self._console.print(shown(now.note))
        if now.prediction is not None:
            self._console.print(self._line(now.prediction), soft_wrap=True, highlight=False)

    def _line(self, prediction: Prediction) -> str:
        sample, answer = self._samples[prediction.id], prediction.answer
        said = shown(answer.text) or "I don't know"
        if answer.error:
            said = f"[red]{answer.error.name}[/red] {shown(answer.message)}"
        return f"[bold]{shown(sample.question)}[/bold] {said}  [dim](reference: {shown(sample.answer)})[/dim]"


def outlook_text(outlook: RunEstimate) -> str:
    """Return "4 min left, 310 of about 1.2 k calls, 2.1 M of about 8.4 M tokens, "; "" while nothing is known."""
    left = [] if outlook.remaining_s is None else [f"{in_words(outlook.remaining_s)} left"]
    costs = [f"{in_short(spent)} of about {in_short(total)} {unit}" for spent, total, unit in
             ((outlook.spent.calls, outlook.total.calls, "calls"), (outlook.spent.tokens, outlook.total.tokens,
                                                                     "tokens")) if spent]
    if outlook.spent.money:
        costs.append(f"{outlook.spent.money:.3g} of about {outlook.total.money:.3g} by the model's prices")
    return "".join(f"{part}, " for part in left + costs)
