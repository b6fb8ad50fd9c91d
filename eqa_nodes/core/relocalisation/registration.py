"""Registration of two places: the pose of one map in another, or why there is none that is certain.

Maps are upright and the floor's height is known, so that x, y and yaw are searched for: a correlation over all of them
gives candidates, ICP settles each, and the views of either map judge the surfaces of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.relocalisation.place import KnownStorey, at, turn
from eqa_nodes.core.relocalisation.refine import Walls, refined
from eqa_nodes.core.relocalisation.search import candidates
from eqa_nodes.core.relocalisation.verify import CONFIRMED, THROUGH, counts, fit
from eqa_nodes.core.types.geometry import Pose2, Transform, pose2_of
from eqa_nodes.core.types.geometry import inverse as inverse_transform

_CANDIDATES = 16  # poses that are settled and judged
_FEW, _SOME = 600, 3000  # points that settle and judge a candidate
_LAST_REACHES_M = (0.2, 0.15, 0.1, 0.1)
_OTHER_M, _OTHER_RAD = 0.5, math.radians(10.0)  # a pose that differs by more is another one
_THROUGH_COST = 2.0  # confirmed points that one that is seen through takes back
_HIGH_M = 1.3  # above it are walls, doorways and tall furniture, which nobody moves in a week
_LIES_M = 0.05  # from a known surface, along its normal
_FACING = 0.8


@dataclass(frozen=True)
class Acceptance:
    """What a registration has to reach. The figures that decided are in docs/decisions.md."""

    min_points: int = 1500  # confirmed, one of each 8 cm voxel: 10 square metres of surfaces
    min_views: int = 4
    min_overlap: float = 0.4  # share of what is seen now that is known
    min_agreement: float = 0.85  # of what both saw: the share that neither sees through
    min_structure: float = 0.90  # the same above 1.3 m, where nothing is moved
    min_lying: float = 0.70  # upright surfaces that both saw: the share that lies on known ones
    max_second: float = 0.75  # score of the best other pose, as a share of the best


class Registration(NamedTuple):
    """How two maps fit at the best pose.

    pose: of the one in the other, metres and radians; z_m: height of its origin there; refused: why it is not certain,
    "" = it is accepted; the others as in Acceptance.
    """

    pose: Pose2
    z_m: float
    refused: str
    points: int = 0
    overlap: float = 0.0
    agreement: float = 0.0
    structure: float = 0.0
    lying: float = 0.0
    second: float = 1.0

    def transform(self) -> Transform:
        """Return known_from_seen, level."""
        return self.pose.transform(self.z_m)


class _Hypothesis(NamedTuple):
    pose: Pose2
    score: float


def register(seen: Sequence[KnownStorey], known: Sequence[KnownStorey],
             rules: Acceptance | None = None) -> Registration:
    """Return the pose of the storey seen most of one map in the storey of the other that it fits best.

    seen, known: storeys, as `places_of` returns them, those with the most views first.
    """
    found = [register_storey(seen[0], storey, rules) for storey in known]
    return max(found, key=lambda r: (not r.refused, r.points * r.agreement))


def register_storey(seen: KnownStorey, known: KnownStorey, rules: Acceptance | None = None) -> Registration:
    """Return the pose of one storey in another."""
    rules = rules or Acceptance()
    too_little = _too_little(seen, known, rules)
    z_m = known.floor_m - seen.floor_m
    if too_little:
        return Registration(Pose2(0.0, 0.0, 0.0), z_m, too_little)
    walls = Walls(known.points, known.normals)
    hypotheses = _hypotheses(seen, known, walls)
    if not hypotheses or hypotheses[0].score <= 0.0:
        return Registration(Pose2(0.0, 0.0, 0.0), z_m, "no pose at which the two fit")
    best = hypotheses[0]
    others = [h.score for h in hypotheses if _is_other(h.pose, best.pose)]
    judged = _judged(seen, known, walls, best.pose)._replace(
        z_m=z_m, second=max(0.0, max(others, default=0.0)) / best.score)
    return judged._replace(refused=_refusal(judged, rules))


def _too_little(seen: KnownStorey, known: KnownStorey, rules: Acceptance) -> str:
    for name, place in (("now", seen), ("before", known)):
        if len(place.points) < rules.min_points or len(place.views.position) < rules.min_views:
            return (f"too little was seen {name}: {len(place.views.position)} views with {len(place.points)} points of "
                    f"surfaces, at least {rules.min_views} and {rules.min_points} are needed")
    return ""


def _hypotheses(seen: KnownStorey, known: KnownStorey, walls: Walls) -> list[_Hypothesis]:
    """Return settled poses with their scores, the best first."""
    upright = Walls(seen.points, seen.normals)
    few = slice(None, None, max(1, len(upright.points) // _FEW))
    found = []
    for candidate in candidates(seen, known, _CANDIDATES):
        pose = refined(upright.points[few], upright.normals[few], walls, candidate.pose)
        found.append(_Hypothesis(pose, _score(seen, known, pose)))
    return sorted(found, key=lambda h: -h.score)


def _score(seen: KnownStorey, known: KnownStorey, pose: Pose2) -> float:
    """Return how many points are confirmed, less those that are seen through, of both maps."""
    score = 0.0
    for one, other, there in ((seen, known, pose), (known, seen, inverse_of(pose))):
        step = max(1, len(one.points) // (_SOME * (1 if one is seen else 4)))
        fits = fit(one.points[::step], one.normals[::step], other, there)
        score += step * (fits.confirmed - _THROUGH_COST * fits.through)
    return score


def _judged(seen: KnownStorey, known: KnownStorey, walls: Walls, pose: Pose2) -> Registration:
    """Settle the best pose with all points, and measure how it fits."""
    upright = Walls(seen.points, seen.normals)
    few = slice(None, None, max(1, len(upright.points) // _SOME))
    pose = refined(upright.points[few], upright.normals[few], walls, pose, _LAST_REACHES_M)
    there = counts(seen.points, seen.normals, known, pose)
    back = counts(known.points, known.normals, seen, inverse_of(pose))
    high = (_agreement(there[seen.points[:, 2] > _HIGH_M]), _agreement(back[known.points[:, 2] > _HIGH_M]))
    return Registration(pose, 0.0, "", int((there == CONFIRMED).sum()), float((there == CONFIRMED).mean()),
                        min(_agreement(there), _agreement(back)), min(high), _lying(seen, there, walls, pose))


def _agreement(states: np.ndarray) -> float:
    """Return the share of the points that were seen which are confirmed; 0 where none was."""
    return float((states == CONFIRMED).sum() / max(1, (states == CONFIRMED).sum() + (states == THROUGH).sum()))


def _lying(seen: KnownStorey, states: np.ndarray, walls: Walls, pose: Pose2) -> float:
    """Return the share of the upright points that both maps saw which lie on a known surface that faces their way."""
    kept = (np.abs(seen.normals[:, 2]) < 0.5) & ((states == CONFIRMED) | (states == THROUGH))
    if not kept.any():
        return 0.0
    here, facing = at(pose, seen.points[kept]), turn(pose.yaw, seen.normals[kept])
    far, index = walls.tree.query(here, distance_upper_bound=0.3)
    met = np.isfinite(far)
    plane = walls.normals[index[met]]
    gap = np.abs(((walls.points[index[met]] - here[met]) * plane).sum(axis=1))
    lies = (gap < _LIES_M) & ((plane * facing[met]).sum(axis=1) > _FACING)
    return float(lies.sum() / len(here))


def _refusal(r: Registration, rules: Acceptance) -> str:
    """Return the first reason for which a registration is not certain, "" for one that is."""
    if r.points < rules.min_points:
        return f"too little of what is seen now is known: {r.points} points, at least {rules.min_points} are needed"
    if r.second > rules.max_second:
        return (f"ambiguous: another pose fits {r.second:.2f} times as well, at most {rules.max_second:.2f} is "
                "accepted; the robot has to see more")
    for what, value, least in (
            ("overlap", r.overlap, rules.min_overlap), ("agreement", r.agreement, rules.min_agreement),
            ("agreement of walls", r.structure, rules.min_structure),
            ("share of surfaces that lie on known ones", r.lying, rules.min_lying)):
        if value < least:
            return f"another place: {what} {value:.2f}, at least {least:.2f} is needed"
    return ""


def _is_other(pose: Pose2, than: Pose2) -> bool:
    return pose.distance(than) > _OTHER_M or abs(math.remainder(pose.yaw - than.yaw, 2 * math.pi)) > _OTHER_RAD


def inverse_of(pose: Pose2) -> Pose2:
    """Return b_from_a of a_from_b."""
    return pose2_of(inverse_transform(pose.transform()))
