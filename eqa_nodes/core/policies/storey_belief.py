"""On which floor of a home an answer is: where rooms usually are, which rooms were seen, and what was explored."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from eqa_nodes.core.policies.belief import rank_of
from eqa_nodes.core.types.questions import RankedRegion

_EVEN = 0.5
# How often a room of a home with two storeys is on the upper one, by common sense; _EVEN for all others.
_ABOVE = {"bedroom": 0.85, "closet": 0.75, "nursery": 0.9, "living room": 0.1, "family room": 0.15, "kitchen": 0.05,
          "dining room": 0.05, "entryway": 0.05, "foyer": 0.05, "pantry": 0.05, "garage": 0.02, "porch": 0.05,
          "laundry room": 0.25}
_SECOND = 0.3  # of that chance remains for a floor, once such a room was seen on the other one: there may be two
_SEARCHED_M2 = 40.0  # floor on whose exploration an answer that is there was found in 63 of 100 cases


_STAIRS = ("stairs", "staircase", "stairwell", "stairway")  # what views call a place with stairs


def shows_stairs(name: str) -> bool:
    """Return whether a view calls a place so where stairs are."""
    return any(name.lower().endswith(word) for word in _STAIRS)


def chance_elsewhere(regions: Sequence[RankedRegion], here: Collection[str], here_m2: float) -> float:
    """Return the chance that the answer is on another floor, where it is not known whether stairs lead up or down.

    The rooms that were seen on this floor tell which of two storeys it probably is. See chance_there.
    """
    odds = math.prod(above / (1.0 - above) for kind, above in _ABOVE.items() if _seen(RankedRegion(kind, 1.0), here))
    lower = 1.0 / (1.0 + odds)
    up, down = (chance_there(regions, way, here, (), here_m2, 0.0) for way in (True, False))
    return lower * up + (1.0 - lower) * down


def chance_there(regions: Sequence[RankedRegion], up: bool, here: Collection[str], there: Collection[str],
                 here_m2: float, there_m2: float) -> float:
    """Return the chance that an answer, which was not found yet, is on the floor at the other end of stairs.

    regions: rooms where the answer may be; here, there: names of the rooms that were seen on this floor and on that
    one; here_m2, there_m2: explored floor in square metres. Bayes' rule: what was explored without an answer speaks
    for the other floor.
    """
    total = sum(r.weight for r in regions)
    prior = _EVEN if total <= 0 else sum(r.weight * _prior(r, up, here, there) for r in regions) / total
    missed_there, missed_here = math.exp(-there_m2 / _SEARCHED_M2), math.exp(-here_m2 / _SEARCHED_M2)
    return prior * missed_there / (prior * missed_there + (1.0 - prior) * missed_here)


def _prior(region: RankedRegion, up: bool, here: Collection[str], there: Collection[str]) -> float:
    """Return the chance that a kind of room is at the other end of the stairs rather than on this floor."""
    above = next((share for kind, share in _ABOVE.items() if rank_of(region.name, [RankedRegion(kind, 1.0)])), _EVEN)
    chance = above if up else 1.0 - above
    seen_here, seen_there = _seen(region, here), _seen(region, there)
    if seen_here == seen_there:
        return chance
    return _SECOND * chance if seen_here else 1.0 - _SECOND * (1.0 - chance)


def _seen(region: RankedRegion, names: Collection[str]) -> bool:
    return any(rank_of(name, [region._replace(weight=1.0)]) > 0 for name in names)
