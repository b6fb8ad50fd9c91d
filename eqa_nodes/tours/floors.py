"""The floors of a scene: found by asking the simulator where a robot stands, as no robot could.

A start stands on the floor that is nearest to a given height (EpisodeSetup), and the first frame says how high that
floor is. So places are asked for from far above, from far below, and from between two floors that were found. A
simulator that always starts on the lowest floor has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from itertools import pairwise

import numpy as np

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.tours.tours import Place, first_frame, spread_points
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup, Simulator

_FAR_M = 100.0  # above and below: no home is so high
_STOREY_M = 1.0  # floors lie at least so far apart; what is nearer to a floor belongs to it
_EVIDENCE = 3  # places at about the same height make a floor; the steps of stairs lie at heights of their own


@lru_cache(maxsize=16)
def floors_of(scene: str, robot: RobotModel) -> tuple[Place | None, ...]:
    """Return a place on each floor that has room for the robot: x, y and the floor's height, metres, the lowest first.

    None stands for the floor of the scene's own start. Raises UnknownScene, SimulatorError.
    """
    with closing(open_simulator(scene)) as simulator:
        first = simulator.reset(EpisodeSetup(scene, robot=robot)).frame
        found: dict[float, Place | None] = {first.map_from_base.xyz[2]: None}
        new = [first]
        while new:
            places = spread_points(simulator, new.pop(), np.random.default_rng(0))
            stood = [stacked for place in places for stacked in _stacked(simulator, scene, robot, place)]
            for x, y, z in _levels(stood):
                if all(abs(z - height) > _STOREY_M for height in found):
                    found[z] = (x, y, z)
                    new.append(first_frame(simulator, scene, robot, (x, y, z)))
        return tuple(found[height] for height in sorted(found))


def _levels(stood: list[Place]) -> Iterator[Place]:
    """Yield a place of each height at which several lie, of the height with most places first."""
    def beside(place: Place) -> int:
        return sum(abs(other[2] - place[2]) < _STOREY_M / 4 for other in stood)

    yield from sorted((place for place in stood if beside(place) >= _EVIDENCE), key=beside, reverse=True)


def _stacked(simulator: Simulator, scene: str, robot: RobotModel, place: Place) -> list[Place]:
    """Return where the robot can stand above and below a place, and at it where that is the highest or lowest."""
    x, y, z = place

    def height(near_m: float) -> float | None:
        try:
            return first_frame(simulator, scene, robot, (x, y, near_m)).map_from_base.xyz[2]
        except BadPose:
            return None

    known = [found for near in (z - _FAR_M, z + _FAR_M) if (found := height(near)) is not None]
    levels = sorted({z, *known})
    gaps = [(a, b) for a, b in pairwise(levels) if b - a > 2 * _STOREY_M]
    while gaps:
        low, high = gaps.pop()
        between = height((low + high) / 2)
        if between is not None and low + _STOREY_M < between < high - _STOREY_M:
            known.append(between)
            gaps += [(a, b) for a, b in ((low, between), (between, high)) if b - a > 2 * _STOREY_M]
    return [(x, y, found) for found in known]
