"""Which tasks can be done here: read, offered by the scene, with a scene file and a graph that leads to the goal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from eqa_nodes.bench.embodied.loop import graph_of
from eqa_nodes.bench.embodied.tasks import check_doable, lacking, task_in
from eqa_nodes.bench.embodied.world import SimulatedWorld
from eqa_nodes.core.errors import EqaError
from eqa_nodes.core.types.samples import Sample

READY = ""
UNREADABLE, NO_SCENE, NO_PATH = "the file cannot be read", "the scene file is missing", "the scene does not fit"
PEOPLE, OBJECTS = "there are people, whom a scan does not show", "objects must be handled, which a scan does not allow"


class SurveyedTask(NamedTuple):
    """Whether a task can be done. why: kind of reason why not, READY = it can; detail: the whole reason."""

    sample: Sample
    why: str = READY
    detail: str = ""


class FamilyCount(NamedTuple):
    """Counts of a family: tasks; those that were read; those that a scan offers; those that can be done here, now."""

    family: str
    tasks: int
    read: int
    offered: int
    ready: int


def survey(samples: Iterable[Sample], scene_of: Callable[[Sample], object],
           world: SimulatedWorld) -> Iterator[SurveyedTask]:
    """Yield the state of each task. scene_of: raises EqaError if the scene of a task cannot be opened."""
    for sample in samples:
        yield _state(sample, scene_of, world)


def _state(sample: Sample, scene_of: Callable[[Sample], object], world: SimulatedWorld) -> SurveyedTask:
    try:
        task = task_in(sample)
    except EqaError as error:
        return SurveyedTask(sample, UNREADABLE, str(error))
    if needs := lacking(task, sample.scene):
        return SurveyedTask(sample, PEOPLE if "people" in needs else OBJECTS, f"it needs {', '.join(needs)}")
    try:
        check_doable(sample)
        scene_of(sample)
    except EqaError as error:
        return SurveyedTask(sample, NO_SCENE, str(error))
    try:
        graph_of(task, world)
    except EqaError as error:
        return SurveyedTask(sample, NO_PATH, str(error))
    return SurveyedTask(sample)


def by_family(states: Sequence[SurveyedTask]) -> list[FamilyCount]:
    """Return the counts of each family in the order of their names, and of all."""
    families = sorted({state.sample.category for state in states})
    return [_counted(family, [s for s in states if s.sample.category == family]) for family in families] + [
        _counted("all", states)]


def _counted(family: str, states: Sequence[SurveyedTask]) -> FamilyCount:
    read = [state for state in states if state.why != UNREADABLE]
    offered = [state for state in read if state.why in (READY, NO_SCENE, NO_PATH)]
    return FamilyCount(family, len(states), len(read), len(offered), sum(state.why == READY for state in states))


def reasons(states: Sequence[SurveyedTask]) -> list[tuple[str, int, str]]:
    """Return each kind of reason with its count and its first instance, the most frequent first."""
    count: Counter[str] = Counter(state.why for state in states if state.why)
    first: dict[str, SurveyedTask] = {}
    for state in states:
        first.setdefault(state.why, state)
    return [(why, n, f"task {first[why].sample.id}: {first[why].detail}") for why, n in count.most_common()]
