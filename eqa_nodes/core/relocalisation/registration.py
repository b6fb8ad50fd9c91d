"""Registration of two maps: the pose of one map in another, or why no pose is certain.

Maps are upright and the floor's height is known, so that only x, y and yaw are searched: a correlation over all of them
gives candidates, ICP refines each, and the views of each map check the surfaces of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.kernels import njit
from eqa_nodes.core.relocalisation.place import KnownStorey, at, turn
from eqa_nodes.core.relocalisation.search import candidates
from eqa_nodes.core.types.geometry import Pose2, Transform, pose2_of
from eqa_nodes.core.types.geometry import inverse as inverse_transform

REACHES_M = (0.5, 0.5, 0.4, 0.3, 0.2, 0.2, 0.15, 0.15)  # maximum distance of a match in each iteration
_UPRIGHT = 0.5  # maximum |z| of a normal: tables and floors do not constrain x, y and yaw
TOLERANCE_M = 0.1  # a view confirms a surface within this distance of its depth
THROUGH_M = 0.25  # a view whose depth is farther by more than this sees through the surface
CONFIRMED, THROUGH = 1, 2
_FARTHEST_M = 7.0  # maximum distance at which a view is used
_CANDIDATES = 16  # number of poses that are refined and scored
_FEW, _SOME = 600, 3000  # numbers of points to refine and to score a candidate
_LAST_REACHES_M = (0.2, 0.15, 0.1, 0.1)
_OTHER_M, _OTHER_RAD = 0.5, math.radians(10.0)  # poses that differ by more are different
_THROUGH_COST = 2.0  # number of confirmed points that a point seen through cancels
_HIGH_M = 1.3  # above it are walls, doorways and tall furniture, which are rarely moved
_LIES_M = 0.05  # maximum distance from a known surface, along its normal
_FACING = 0.8  # minimum cosine between the normals of matching surfaces


class Walls:
    """The upright surfaces of a map with a search tree. points, normals: (n, 3)."""

    def __init__(self, points: np.ndarray, normals: np.ndarray) -> None:
        from scipy.spatial import cKDTree  # takes a third of a node's start, and most nodes never search

        kept = np.abs(normals[:, 2]) < _UPRIGHT
        self.points, self.normals = points[kept].astype(np.float64), normals[kept].astype(np.float64)
        self.tree = cKDTree(self.points)


def refined(points: np.ndarray, normals: np.ndarray, known: Walls, start: Pose2,
            reaches_m: tuple[float, ...] = REACHES_M) -> Pose2:
    """Return the pose near `start` that fits upright surfaces (n, 3) best to the known ones, by point-to-plane ICP."""
    pose = start
    for reach_m in reaches_m:
        here, facing = at(pose, points), turn(pose.yaw, normals)
        far, index = known.tree.query(here, distance_upper_bound=reach_m)
        met = np.isfinite(far)
        if np.count_nonzero(met) < 20:
            return pose
        partner = index[met]
        plane, here, facing = known.normals[partner], here[met], facing[met]
        weight = ((plane * facing).sum(axis=1) > _FACING).astype(float)
        gap = ((known.points[partner] - here) * plane).sum(axis=1)
        weight /= 1.0 + (gap / 0.05) ** 2  # Cauchy weight, so that moved objects have little influence
        step = _solved(here[:, :2], plane[:, :2], gap, weight)
        if step is None:
            return pose
        pose = _stepped(pose, step, here[:, :2].mean(axis=0))
    return pose


def _solved(here: np.ndarray, plane: np.ndarray, gap: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Return dx, dy and dyaw about the mean of the points that minimise the gaps along the normals."""
    arm = here - here.mean(axis=0)
    rows = np.column_stack((plane, plane[:, 1] * arm[:, 0] - plane[:, 0] * arm[:, 1]))
    matrix = (rows * weight[:, None]).T @ rows
    if np.linalg.cond(matrix) > 1e6:
        return None  # walls of one direction only: the position along them is undetermined
    step: np.ndarray = np.linalg.solve(matrix, (rows * (weight * gap)[:, None]).sum(axis=0))
    return step


def _stepped(pose: Pose2, step: np.ndarray, centre: np.ndarray) -> Pose2:
    dx, dy, turned = step.tolist()
    c, s = math.cos(turned), math.sin(turned)
    x, y = pose.x - centre[0], pose.y - centre[1]
    return Pose2(float(centre[0] + c * x - s * y + dx), float(centre[1] + s * x + c * y + dy),
                 math.remainder(pose.yaw + turned, 2 * math.pi))


class SurfaceFit(NamedTuple):
    """Numbers of surface points (of `place.VOXEL_M`) that views of the other map confirm and see through."""

    confirmed: int
    through: int


def fit(points: np.ndarray, normals: np.ndarray, known: KnownStorey, known_from_seen: Pose2) -> SurfaceFit:
    """Return how surface points and normals (n, 3) float32 of one map fit the views of another."""
    states = counts(points, normals, known, known_from_seen)
    return SurfaceFit(int((states == CONFIRMED).sum()), int((states == THROUGH).sum()))


def counts(points: np.ndarray, normals: np.ndarray, known: KnownStorey, known_from_seen: Pose2) -> np.ndarray:
    """Return the state (n,) of surface points and normals (n, 3) of one map in the other: CONFIRMED, THROUGH, 0 =
    unseen."""
    states: np.ndarray = look(at(known_from_seen, points), turn(known_from_seen.yaw, normals), *known.views)
    return states


@njit(nogil=True)
def look(points: np.ndarray, normals: np.ndarray, rotation: np.ndarray, position: np.ndarray, lens: np.ndarray,
         depth_m: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Return the state (n,) int64 of points: 1 = a view confirms it, 2 = none does and one sees through it, 0 = unseen.

    Only views of the point's front count. Arguments as in Views.
    """
    states = np.zeros(len(points), np.int64)
    for i in range(len(points)):
        x, y, z = points[i]
        for j in range(len(position)):
            dx, dy, dz = x - position[j, 0], y - position[j, 1], z - position[j, 2]
            if dx * normals[i, 0] + dy * normals[i, 1] + dz * normals[i, 2] > -0.05:
                continue
            m = rotation[j]
            ahead = m[0, 2] * dx + m[1, 2] * dy + m[2, 2] * dz
            if ahead < 0.3 or ahead > _FARTHEST_M:
                continue
            right = m[0, 0] * dx + m[1, 0] * dy + m[2, 0] * dz
            down = m[0, 1] * dx + m[1, 1] * dy + m[2, 1] * dz
            column = int(np.floor(lens[j, 0] * right / ahead + lens[j, 2]))
            row = int(np.floor(lens[j, 1] * down / ahead + lens[j, 3]))
            if row < 1 or column < 1 or row >= shape[j, 0] - 1 or column >= shape[j, 1] - 1:
                continue
            nearest, farthest = 1e9, 0.0
            for v in range(row - 1, row + 2):
                for u in range(column - 1, column + 2):
                    d = depth_m[j, v, u]
                    if d == 0.0:
                        nearest = -1.0  # at the edge of the returns: not certain
                    else:
                        nearest, farthest = min(nearest, d), max(farthest, d)
            if nearest - TOLERANCE_M <= ahead <= farthest + TOLERANCE_M and farthest > 0.0 and (
                    nearest > 0.0 and farthest - nearest < 0.6):
                states[i] = 1
                break
            if ahead < nearest - THROUGH_M:
                states[i] = 2
    return states


@dataclass(frozen=True)
class Acceptance:
    """Thresholds for accepting a registration. The measurements behind them are in docs/decisions.md."""

    min_points: int = 1500  # confirmed points, one per 8 cm voxel: 10 square metres of surfaces
    min_views: int = 4
    min_overlap: float = 0.4  # confirmed share of the points seen now
    min_agreement: float = 0.85  # confirmed share of the points that both maps saw
    min_structure: float = 0.90  # the same above 1.3 m, where objects are rarely moved
    min_lying: float = 0.70  # share of the upright surfaces seen in both maps that lie on known ones
    max_second: float = 0.75  # score of the second-best pose as a share of the best one


class Registration(NamedTuple):
    """The best pose of one map in another, and how well they fit.

    pose: known_from_seen, metres and radians; z_m: height of the seen map's origin in the known one; refused: why the
    pose is not certain, "" = accepted; other fields as in Acceptance.
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
    """Register the storey with the most views of one map in the storey of the other that it fits best.

    seen, known: storeys as returned by `places_of`, those with the most views first.
    """
    found = [register_storey(seen[0], storey, rules) for storey in known]
    return max(found, key=lambda r: (not r.refused, r.points * r.agreement))


def register_storey(seen: KnownStorey, known: KnownStorey, rules: Acceptance | None = None) -> Registration:
    """Register one storey in another."""
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
    """Return refined poses with their scores, best first."""
    upright = Walls(seen.points, seen.normals)
    few = slice(None, None, max(1, len(upright.points) // _FEW))
    found = []
    for candidate in candidates(seen, known, _CANDIDATES):
        pose = refined(upright.points[few], upright.normals[few], walls, candidate.pose)
        found.append(_Hypothesis(pose, _score(seen, known, pose)))
    return sorted(found, key=lambda h: -h.score)


def _score(seen: KnownStorey, known: KnownStorey, pose: Pose2) -> float:
    """Return the number of confirmed points minus the weighted number of points seen through, over both maps."""
    score = 0.0
    for one, other, there in ((seen, known, pose), (known, seen, inverse_of(pose))):
        step = max(1, len(one.points) // (_SOME * (1 if one is seen else 4)))
        fits = fit(one.points[::step], one.normals[::step], other, there)
        score += step * (fits.confirmed - _THROUGH_COST * fits.through)
    return score


def _judged(seen: KnownStorey, known: KnownStorey, walls: Walls, pose: Pose2) -> Registration:
    """Refine the best pose with more points, and measure how well it fits."""
    upright = Walls(seen.points, seen.normals)
    few = slice(None, None, max(1, len(upright.points) // _SOME))
    pose = refined(upright.points[few], upright.normals[few], walls, pose, _LAST_REACHES_M)
    there = counts(seen.points, seen.normals, known, pose)
    back = counts(known.points, known.normals, seen, inverse_of(pose))
    high = (_agreement(there[seen.points[:, 2] > _HIGH_M]), _agreement(back[known.points[:, 2] > _HIGH_M]))
    return Registration(pose, 0.0, "", int((there == CONFIRMED).sum()), float((there == CONFIRMED).mean()),
                        min(_agreement(there), _agreement(back)), min(high), _lying(seen, there, walls, pose))


def _agreement(states: np.ndarray) -> float:
    """Return the confirmed share of the seen points; 0 if none was seen."""
    return float((states == CONFIRMED).sum() / max(1, (states == CONFIRMED).sum() + (states == THROUGH).sum()))


def _lying(seen: KnownStorey, states: np.ndarray, walls: Walls, pose: Pose2) -> float:
    """Return the share of the upright points seen in both maps that lie on a known surface with a similar normal."""
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
    """Return the first reason why a registration is not certain, "" if it is."""
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
    """Return the inverse of a pose: b_from_a for a_from_b."""
    return pose2_of(inverse_transform(pose.transform()))
