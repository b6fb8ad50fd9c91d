"""Finds the floors of a scene by querying the simulator for start poses (privileged).

A start is on the floor nearest to a given height (EpisodeSetup), and the first frame gives the height of that floor.
So starts are requested from far above, from far below, and from between two floors that were found. A simulator that
always starts on the lowest floor has a single floor.
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

_FAR_M = 100.0  # height of requests from above and below: homes are lower
_STOREY_M = 1.0  # minimum distance between floors; places nearer to a floor belong to it
_EVIDENCE = 3  # number of places at about the same height that make a floor; steps of stairs differ in height


@lru_cache(maxsize=16)
def floors_of(scene: str, robot: RobotModel) -> tuple[Place | None, ...]:
    """Return a place on each floor with space for the robot: x, y and the floor's height, metres, lowest floor first.

    None means the floor of the scene's default start. Raises UnknownScene, SimulatorError.
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
    """Yield a place for each height with several places, starting with the height that has the most."""
    def beside(place: Place) -> int:
        return sum(abs(other[2] - place[2]) < _STOREY_M / 4 for other in stood)

    yield from sorted((place for place in stood if beside(place) >= _EVIDENCE), key=beside, reverse=True)


def _stacked(simulator: Simulator, scene: str, robot: RobotModel, place: Place) -> list[Place]:
    """Return places for the robot above and below a place, and the place itself if it is the highest or lowest."""
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
