"""What every data set of questions over houses needs: houses in turn, and the shortest path past several views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, permutations
from typing import TypeVar

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.physics import path_length
from sim_bridge.house.questions.grounding import Grounding
from sim_bridge.house.world import HouseWorld, world

Question = TypeVar("Question")


def over_houses(seeds: Iterable[int], n: int, per_house: int,
                of_house: Callable[[Grounding, int, int, Counter[str]], list[Question]],
                world_of: Callable[[int], HouseWorld] = world) -> Iterator[Question]:
    """Yield n questions, fewer where the houses run out.

    of_house: gets the house, its seed, how many questions are wanted of it, and a count of what was used so far, to
    which it adds. world_of: the house of a seed.
    """
    left, used = n, Counter[str]()
    for seed in seeds:
        place = world_of(seed)
        for question in of_house(Grounding(place.house, place), seed, min(per_house, left), used):
            left -= 1
            yield question
        if left <= 0:
            return


def start_past(grounding: Grounding, targets: Sequence[int], views: Sequence[Pose2]
               ) -> tuple[Pose2, int, float] | None:
    """Return a start from where no target is visible, with the atomic actions and metres of the shortest path from it.

    The path leads past all views, in the best order. None where there is no such start, or no view.
    """
    for start in grounding.starts if views else ():
        if grounding.hidden(start, targets) and (length := _shortest_past(grounding, start, views)):
            return start, *length
    return None


def _shortest_past(grounding: Grounding, start: Pose2, views: Sequence[Pose2]) -> tuple[int, float] | None:
    lengths = [_length(grounding, (start, *order)) for order in permutations(views)]
    return min(filter(None, lengths), key=lambda length: length[1], default=None)


def _length(grounding: Grounding, poses: Sequence[Pose2]) -> tuple[int, float] | None:
    place, steps, metres = grounding.world, 0, 0.0
    for a, b in pairwise(poses):
        path = place.shortest_path((a.x, a.y), (b.x, b.y), grounding.robot)
        if not path:
            return None
        steps += place.steps_along(path, a.yaw, b.yaw, grounding.robot)
        metres += path_length(path)
    return steps, round(metres, 3)
