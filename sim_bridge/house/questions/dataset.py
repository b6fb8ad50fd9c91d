"""Question-answer pairs over the seeded houses: train seeds 0-999, test seeds 1000-1999."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.questions import CATEGORIES, QuestionCandidate, candidates
from sim_bridge.house.questions.grounding import Grounding
from sim_bridge.house.world import SEEDS, world

SPLITS = {"train": range(900), "validation": range(900, 1000), "test": range(1000, SEEDS)}
_SHORT = dict(zip(CATEGORIES, ("object", "attribute", "state", "place", "spatial", "function", "world"), strict=True))
_TRIES = 12
_TRIED = tuple(CATEGORIES[i] for i in (3, 1, 0, 2, 5, 4, 6))  # order of example questions for people


@dataclass(frozen=True)
class HouseQuestion:
    """A question about a house whose answer is known and can be seen.

    alternatives: other correct wordings; targets: instance ids; target_view: pose from which they are clearly visible;
    l_steps, l_metres: atomic actions (moves and turns) and metres of the shortest path from start to target_view;
    needs_exploration: no target is visible from the start, in any heading.
    """

    id: str
    scene: str
    split: str
    category: str
    question: str
    answer: str
    alternatives: tuple[str, ...]
    targets: tuple[int, ...]
    target_view: Pose2
    start: Pose2
    l_steps: int
    l_metres: float
    needs_exploration: bool


def house_questions(split: str, n: int, seed: int = 0, include_seen: bool = False,
                    per_house: int = len(CATEGORIES)) -> Iterator[HouseQuestion]:
    """Yield n questions (fewer if the split runs out), at most one of each category from each house.

    per_house: number of categories asked about each house, 1 to 7; the next house continues with the next category.
    `seed` decides the order of houses. Within a category the rarest answer so far is preferred, so that guessing the
    most frequent answer does not help. include_seen: begin at each house's own start, even if the target is
    visible from it.
    Raises ConfigError for an unknown split.
    """
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    seeds = np.random.default_rng(seed).permutation(SPLITS[split])
    used: dict[str, Counter[str]] = {category: Counter() for category in CATEGORIES}
    step = per_house % len(CATEGORIES) or 1
    found = (question for k, house_seed in enumerate(seeds) for question in _one_of_each(
        _Source(int(house_seed), split, include_seen), _categories(k * step, per_house), used))
    yield from islice(found, max(n, 0))


def questions_to_try(seed: int, count: int = 4) -> tuple[str, ...]:
    """Return questions about the house of a seed that a robot can answer from what it sees, each of a different
    category."""
    source, used = _Source(seed, "", True), Counter[str]()
    asked = (source.next(category, used) for category in _TRIED)
    return tuple(islice((question.question for question in asked if question is not None), count))


def _categories(first: int, count: int) -> list[str]:
    return [CATEGORIES[(first + i) % len(CATEGORIES)] for i in range(count)]


def _one_of_each(source: _Source, order: Sequence[str], used: dict[str, Counter[str]]) -> Iterator[HouseQuestion]:
    for category in order:
        question = source.next(category, used[category])
        if question is not None:
            yield question


class _Source:
    """The questions of one house, produced one at a time because rendering views for each of them is slow."""

    def __init__(self, seed: int, split: str, include_seen: bool) -> None:
        place = world(seed)
        self._seed, self._split, self._include_seen = seed, split, include_seen
        self._grounding = Grounding(place.house, place)
        self._asked: Counter[int] = Counter()
        self._left = {category: dict(enumerate(items)) for category, items in candidates(place.house).items()}

    def next(self, category: str, used: Counter[str]) -> HouseQuestion | None:
        """Return a new question with the least used answer and phrasing; None if no question is left."""
        left = self._left[category]
        for _ in range(min(_TRIES, len(left))):
            number = min(left, key=lambda i: (self._staleness(left[i], used), self._shuffle(category, i)))
            candidate = left.pop(number)
            question = self._question(number, candidate)
            if question is not None:
                used.update(_keys(candidate))
                self._asked.update(candidate.targets[:1])
                return question
        return None

    def _question(self, number: int, candidate: QuestionCandidate) -> HouseQuestion | None:
        grounded = self._grounding.ground(candidate, self._include_seen)
        if grounded is None:
            return None
        others = tuple(dict.fromkeys(text for text in candidate.alternatives if text != candidate.answer))
        name = f"house-{self._seed}-{_SHORT[candidate.category]}-{number}"
        return HouseQuestion(
            name, f"house:{self._seed}", self._split, candidate.category, candidate.question, candidate.answer,
            others, candidate.targets, grounded.view, grounded.start,
            grounded.l_steps, grounded.l_metres, grounded.needs_exploration)

    def _staleness(self, candidate: QuestionCandidate, used: Counter[str]) -> int:
        """Return how often the answer, the phrasing and, in this house, the object have been used."""
        return sum(used[key] for key in _keys(candidate)) + 3 * self._asked[candidate.targets[0]]

    def _shuffle(self, category: str, number: int) -> int:
        return zlib.crc32(f"{self._seed} {category} {number}".encode())


def _keys(candidate: QuestionCandidate) -> tuple[str, str, str]:
    """Return what should not repeat too often: the answer, the phrasing, and the pair of both."""
    form = _form(candidate.question)
    return candidate.answer, form, f"{form} ... {candidate.answer}"


def _form(question: str) -> str:
    """Return the phrasing without its object: "Is the mug red or blue?" has the same one as any "Is ... or"."""
    words = list(takewhile(lambda word: word not in ("the", "my"), question.replace("Are ", "Is ").split()))
    words = words[:2 if words[0] == "Did" else 3]
    return " ".join((*words, "or") if " or " in question else words)
