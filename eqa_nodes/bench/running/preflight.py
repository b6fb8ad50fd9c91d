"""Finds what a run lacks before its first episode: each kind of problem once, with its count and its remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.components import SIMULATORS
from eqa_nodes.core.errors import ConfigError, EqaError
from eqa_nodes.core.types.inquiries import GO
from eqa_nodes.core.types.samples import ACTIVE, Sample, history_of
from eqa_nodes.runners.sources import Problem
from sim_bridge.registry import has_simulator, simulator_of

Check = Callable[[], object]  # raises EqaError


def scene_problems(samples: Sequence[Sample], task: str) -> list[Problem]:
    """Return the simulators whose requirements are missing, with the problem."""
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
    """Return which histories are missing or unreadable, by the data set they belong to and the kind of error."""
    lost: dict[str, list[tuple[Sample, EqaError]]] = {}
    for sample in samples:
        error = _raised(lambda sample=sample: source_of(sample))  # type: ignore[misc]
        if error is not None:
            family = history_of(sample).split("/", 1)[0]
            lost.setdefault(f"histories of {family} ({type(error).__name__})", []).append((sample, error))
    return [Problem(kind, len(group), f"{len({history_of(s) for s, _ in group})} histories, the first: {group[0][1]}")
            for kind, group in lost.items()]


def setting_problems(checks: Iterable[tuple[str, Check]], questions: int) -> list[Problem]:
    """Return which settings cannot work; each stops every question."""
    return [Problem(kind, questions, str(error)) for kind, check in checks if (error := _raised(check)) is not None]


def check_unattended(config: RunConfig) -> None:
    """Raise ConfigError for settings with which the agent would wait for a person: nobody replies in a benchmark."""
    drive, ask_back = config.settings.agent.node.drive, config.settings.agent.agent.ask_back
    if drive != GO or ask_back:
        raise ConfigError(f"node.drive is {drive} and agent.ask_back is {str(ask_back).lower()}: a benchmark asks "
                          "nobody, set them to go and false")


def refuse_if_hopeless(problems: Sequence[Problem], questions: int) -> None:
    """Raise ConfigError with every problem when no question can be asked."""
    if sum(p.questions for p in problems) >= questions:
        lines = "; ".join(p.line for p in problems)
        raise ConfigError(f"none of the {questions} questions can be asked. {lines}")


def _raised(check: Check) -> EqaError | None:
    try:
        check()
    except EqaError as error:
        return error
    return None
