"""Checks before the first episode: missing requirements, each kind of problem once, and the expected cost."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.bench.running.predictions import Prediction, read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.components import ANSWERERS, POLICIES, SIMULATORS
from eqa_nodes.core.errors import ConfigError, EqaError, StorageError
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.core.types.samples import ACTIVE, EM, Sample, history_of
from eqa_nodes.runners.sources import Problem
from sim_bridge.registry import has_simulator, simulator_of

Check = Callable[[], object]  # raises EqaError


def scene_problems(samples: Sequence[Sample], task: str) -> list[Problem]:
    """Return the problems of simulators whose requirements are missing."""
    if task != ACTIVE:
        return []
    lost: dict[str, list[Sample]] = {}
    for sample in samples:
        if sample.scene and not has_simulator(sample.scene):
            lost.setdefault(simulator_of(sample.scene), []).append(sample)
    return [Problem(f"simulator {name} is not built in" if name else "no simulator opens their scenes", len(group),
                    f"{len({s.scene for s in group})} scenes, the first {group[0].scene!r}",
                    f"run a data set of {', '.join(sorted(SIMULATORS))}, or --task em on recorded histories")
            for name, group in lost.items()]


def history_problems(samples: Sequence[Sample], source_of: Callable[[Sample], object]) -> list[Problem]:
    """Return the problems of missing or unreadable histories, by data set and kind of error."""
    lost: dict[str, list[tuple[Sample, EqaError]]] = {}
    for sample in samples:
        error = _raised(lambda sample=sample: source_of(sample))  # type: ignore[misc]
        if error is not None:
            family = history_of(sample).split("/", 1)[0]
            lost.setdefault(f"histories of {family} ({type(error).__name__})", []).append((sample, error))
    return [Problem(kind, len(group), f"{len({history_of(s) for s, _ in group})} histories, the first: {group[0][1]}")
            for kind, group in lost.items()]


def setting_problems(checks: Iterable[tuple[str, Check]], questions: int) -> list[Problem]:
    """Return the problems of settings that cannot work; each affects all questions."""
    return [Problem(kind, questions, str(error)) for kind, check in checks if (error := _raised(check)) is not None]


def check_unattended(config: RunConfig) -> None:
    """Raise ConfigError for settings with which the agent waits for a person, who cannot reply in a benchmark."""
    drive, ask_back = config.settings.agent.node.drive, config.settings.agent.agent.ask_back
    if drive != GO or ask_back:
        raise ConfigError(f"node.drive is {drive} and agent.ask_back is {str(ask_back).lower()}: in a "
                          "benchmark no person can reply, so set them to go and false")


def refuse_if_hopeless(problems: Sequence[Problem], questions: int) -> None:
    """Raise ConfigError that lists all problems if no question can be asked."""
    if sum(p.questions for p in problems) >= questions:
        lines = "; ".join(p.line for p in problems)
        raise ConfigError(f"none of the {questions} questions can be asked. {lines}")


def _raised(check: Check) -> EqaError | None:
    try:
        check()
    except EqaError as error:
        return error
    return None


VIEWS = 6.0  # per batch: 13 of the first look, a few after each leg, none for ranking regions
TOKENS_OF_IMAGE, TOKENS_OF_TEXT, TOKENS_OF_REPLY = 1000.0, 700.0, 110.0  # 640 x 480; a prompt; one judged view
ACTION_S, CALL_S, HISTORY_S = 0.12, 3.0, 1.0  # seconds per action in the graph; per model reply; per choice of views


class Cost(NamedTuple):
    """Calls and tokens of a model, seconds, and money if prices are known; for one or several questions."""

    calls: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    money: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Return the sum."""
        return Cost(*(x + y for x, y in zip(self, other, strict=True)))

    def times(self, factor: float) -> Cost:
        """Return this cost multiplied by a factor."""
        return Cost(*(factor * x for x in self))


class Estimate(NamedTuple):
    """Expected cost of a run. seconds of `cost`: with all its workers; basis: its source in one line."""

    questions: int
    cost: Cost
    basis: str


def cost_of(prediction: Prediction) -> Cost:
    """Return the cost of a question, including its blind answer."""
    receipts = [prediction.answer.receipt, *([prediction.blind.receipt] if prediction.blind else [])]
    return Cost(sum(r.calls for r in receipts), sum(r.tokens_in + r.tokens_out for r in receipts),
                sum(r.seconds for r in receipts), sum(r.money for r in receipts))


def estimate_like(run: Path, samples: Sequence[Sample], workers: int = 1) -> Estimate:
    """Estimate from another run's costs by category, for other categories from its mean.

    Raises StorageError if that run has no prediction.
    """
    category = {s.id: s.category for s in read_samples(run / SAMPLES)}
    costs: dict[str, list[Cost]] = defaultdict(list)
    for name, prediction in read_predictions(run).predictions.items():
        costs[category.get(name, "")].append(cost_of(prediction))
    every = [cost for group in costs.values() for cost in group]
    if not every:
        raise StorageError(f"{run} has no prediction yet: nothing to estimate from")
    means = {name: _mean(group) for name, group in costs.items()}
    total = _sum(means.get(sample.category, _mean(every)) for sample in samples)
    return Estimate(len(samples), total._replace(seconds=total.seconds / workers),
                    f"what the {len(every)} questions of {run} cost, by category")


def estimate_documented(samples: Sequence[Sample], answerer: str, policy: str, task: str, *, views: int = 50,
                        call_s: float = CALL_S, workers: int = 1) -> Estimate:
    """Estimate from documented means of a policy in the built-in houses, or of one call on `views` views (EM-EQA).

    call_s: duration of a model's reply, s. A blind answer is one more call without a view.
    """
    asks, traits = ANSWERERS.traits(answerer).asks_model, POLICIES.traits(policy)
    calls, steps = (1.0, 0.0) if task == EM else (traits.calls, traits.steps)
    shown = float(views) if task == EM else calls * VIEWS
    idle = HISTORY_S if task == EM else ACTION_S * steps
    replies = TOKENS_OF_REPLY * (1.0 if task == EM else shown)
    tokens = calls * TOKENS_OF_TEXT + shown * TOKENS_OF_IMAGE + replies
    one = Cost(calls + 1, tokens + TOKENS_OF_TEXT + TOKENS_OF_REPLY, idle + (calls + 1) * call_s) if asks \
        else Cost(seconds=idle)
    total = one.times(len(samples))
    basis = "documented means of time; no model is asked" if not asks else \
        f"documented means: {calls + 1:g} calls a question, {call_s:g} s a call (a run to estimate from: --like RUN)"
    return Estimate(len(samples), total._replace(seconds=total.seconds / workers), basis)


class RunEstimate(NamedTuple):
    """Estimate of a running run. spent: costs until now; total: at its end; remaining_s: None = too early."""

    spent: Cost
    total: Cost
    remaining_s: float | None


class RunEstimator:
    """Estimates the rest of a run from its predictions. Earlier sessions count for costs, but not for the pace."""

    def __init__(self, total: int, now: Callable[[], float] = time.monotonic) -> None:
        self._total, self._now, self._begin = total, now, now()
        self._asked, self._counted, self._spent = 0, 0, Cost()

    def before(self, predictions: Iterable[Prediction]) -> None:
        """Add the predictions of earlier sessions."""
        for prediction in predictions:
            self._counted += 1
            self._spent = self._spent.plus(cost_of(prediction))

    def add(self, prediction: Prediction) -> None:
        """Count a question that has just finished."""
        self._asked += 1
        self.before([prediction])

    def outlook(self) -> RunEstimate:
        """Return the cost so far and the estimate for the whole run."""
        left = self._total - self._counted
        pace = (self._now() - self._begin) / self._asked if self._asked else None
        whole = self._spent.times(self._total / self._counted) if self._counted else Cost()
        return RunEstimate(self._spent, whole, None if pace is None else pace * left)


def in_words(seconds: float) -> str:
    """Return a duration in a readable unit: 45 s, 12 min, 3.5 h, 2.1 days."""
    for unit, size, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 48)):
        if seconds / size < most:
            return f"{seconds / size:.{1 if unit == 'h' else 0}f} {unit}"
    return f"{seconds / 86400:.1f} days"


def in_short(count: float) -> str:
    """Return a count with at most three significant digits: 740, 12.3 k, 4.05 M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= 0.9995 * size:
            return f"{float(f'{count / size:.3g}'):g} {unit}"
    return f"{count:.0f}"


def _sum(costs: Iterable[Cost]) -> Cost:
    return Cost(*map(sum, zip(Cost(), *costs, strict=True)))


def _mean(costs: Sequence[Cost]) -> Cost:
    return _sum(costs).times(1 / len(costs))
