"""Questions about homes of two storeys: each is asked from its own floor and from the other one.

They are a data set of their own (`house-floors`); the data set `house` contains none of them.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.physics import path_length
from sim_bridge.house.questions import CATEGORIES, QuestionCandidate, candidates
from sim_bridge.house.questions.grounding import Grounding
from sim_bridge.house.world import PREFIX, StoreyedWorld, storeyed

_TRIES = 12


class FloorStart(NamedTuple):
    """The start of an episode, the height of its floor, and the shortest path to the view of the target."""

    pose: Pose2
    height_m: float
    l_steps: int
    l_metres: float


class FloorsQuestion(NamedTuple):
    """A question of a home with two storeys; its targets (instance ids) lie on one of them.

    view_m: height of the floor under the view. near: a start on that floor from which no target is visible; far: a
    start on the other floor.
    """

    id: str
    scene: str
    category: str
    question: str
    answer: str
    alternatives: tuple[str, ...]
    targets: tuple[int, ...]
    view: Pose2
    view_m: float
    near: FloorStart
    far: FloorStart


def floors_questions(seeds: Iterable[int], n: int, per_house: int = 4) -> Iterator[FloorsQuestion]:
    """Yield n questions, fewer if the homes run out: half of them about the upper storey; categories alternate."""
    left, used, turn = n, Counter[str](), 0
    for seed in seeds:
        if left <= 0:
            return
        home = _Home(seed)
        for number in range(min(per_house, left)):
            question = home.next(CATEGORIES[turn % len(CATEGORIES)], number % 2, used)
            turn += 1
            if question is not None:
                left -= 1
                yield question


class _Home:
    """The questions of one home, by the storey that their targets lie on."""

    def __init__(self, seed: int) -> None:
        self._seed, self._world = seed, storeyed(seed)
        self._groundings = [Grounding(storey.house, storey) for storey in self._world.storeys]
        upper = {t.id for t in self._world.storeys[1].house.objects}
        self._left: dict[tuple[str, int], dict[int, QuestionCandidate]] = {}
        for category, found in candidates(self._world.side_by_side()).items():
            for number, candidate in enumerate(found):
                storeys = {int(t in upper) for t in (*candidate.targets, *candidate.clues)}
                if len(storeys) == 1:
                    self._left.setdefault((category, storeys.pop()), {})[number] = candidate

    def next(self, category: str, storey: int, used: Counter[str]) -> FloorsQuestion | None:
        """Return a new question about a storey with the least used answer; None if none is left."""
        left = self._left.get((category, storey), {})
        for _ in range(min(_TRIES, len(left))):
            number = min(left, key=lambda i: (used[left[i].answer],
                                              zlib.crc32(f"{self._seed} {category} {i}".encode())))
            candidate = left.pop(number)
            question = self._question(number, candidate, storey)
            if question is not None:
                used[candidate.answer] += 1
                return question
        return None

    def _question(self, number: int, candidate: QuestionCandidate, storey: int) -> FloorsQuestion | None:
        grounding, home = self._groundings[storey], self._world
        grounded = grounding.ground(candidate)
        heights = (0.0, home.stairs.rise_m)
        far = None if grounded is None else _far(home, grounding, grounded.view, heights[storey],
                                                 home.storeys[1 - storey].house.start, heights[1 - storey])
        if grounded is None or far is None:
            return None
        near = FloorStart(grounded.start, heights[storey], grounded.l_steps, grounded.l_metres)
        name = candidate.category.replace(" ", "-")
        return FloorsQuestion(f"house-{self._seed}@2-{name}-{number}", f"{PREFIX}{self._seed}@2", candidate.category,
                              candidate.question, candidate.answer, _others(candidate), candidate.targets,
                              grounded.view, heights[storey], near, far)


def _others(candidate: QuestionCandidate) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in candidate.alternatives if text != candidate.answer))


def _far(home: StoreyedWorld, grounding: Grounding, view: Pose2, view_m: float, start: Pose2, height_m: float
         ) -> FloorStart | None:
    """Return a start on the other floor with the shortest path over the stairs; None if there is none."""
    path: Sequence[tuple[float, float]] = home.path((start.x, start.y, height_m), (view.x, view.y, view_m),
                                                    grounding.robot)
    if not path:
        return None
    steps = home.steps_along(list(path), start.yaw, view.yaw, grounding.robot)
    return FloorStart(start, height_m, steps, round(path_length(list(path)), 3))
