"""Cost of planning without the model: frontiers, path costs and whole decisions on a map of 40 m x 40 m."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from benchmarks.timing import Figure, median_ms
from eqa_nodes.config.policies import make_policy
from eqa_nodes.core.components import POLICIES
from eqa_nodes.core.driving.planning import centre_of, forbidden, index_of
from eqa_nodes.core.mapping.frontiers import find_frontiers
from eqa_nodes.core.policies.frontier_policy import FrontierConfig, frontier_weights
from eqa_nodes.core.policies.steering import GoalList, ReachableArea, reachable_frontiers
from eqa_nodes.core.types.floor import Candidate, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, RankedRegion, Situation, ViewAssessment

SIDE_M, ROOM_M, CELL_M, RADIUS_M = 40.0, 5.0, 0.1, 0.18
SEEN_ROOMS = 40  # of 64, in boustrophedon order; every fifth of them only half
NAMES = ("kitchen", "bedroom", "hallway", "bathroom", "living room")
REGIONS = (RankedRegion("kitchen", 1.0), RankedRegion("living room", 0.4))
FEW, MANY = 200, 2000  # numbers of views judged so far, both from the same SPOTS
SPOTS = 200
REPEATS = 15


def figures() -> list[Figure]:
    """Return the costs of the parts of a decision, and of a decision of each policy."""
    grid = house()
    pose = start_of(grid)
    frontiers = find_frontiers(grid)
    ours = median_ms(lambda: _weighed(grid, pose), REPEATS, 1)
    baseline = median_ms(lambda: graph_distances(grid, pose), REPEATS, 1)
    found = [Figure("frontiers, path costs and weights, 40 m map", round(ours, 1),
                    f"path costs by scipy's Dijkstra alone, {baseline:.0f} ms", round(ours / baseline, 3),
                    f"{len(frontiers)} frontiers, {np.count_nonzero(grid.cells == 0)} free cells")]
    for name in POLICIES.builtin:
        few, many = (decision_ms(name, grid, pose, views(grid, n)) for n in (FEW, MANY))
        found.append(Figure(f"decision of {name}, 40 m map, {MANY} views", round(many, 1),
                            f"with {FEW} views, {few:.1f} ms", round(many / few, 2),
                            "reachability, candidates, scores, leg"))
    return found


def decision_ms(name: str, grid: GridMap, pose: Pose2, seen: list[ViewAssessment]) -> float:
    """Return the median time of a decision with one new view."""
    policy = make_policy(name)
    situation = Situation(Question("Where is the kettle?"), pose, grid, find_frontiers(grid), seen[:-1], REGIONS)
    policy.reset(0)
    policy.decide(situation)
    return median_ms(lambda: policy.decide(situation._replace(assessments=seen)), REPEATS, 1)


def house() -> GridMap:
    """Return a map of 8 x 8 rooms with doors and furniture; some rooms are still unknown."""
    n, room = round(SIDE_M / CELL_M), round(ROOM_M / CELL_M)
    random = np.random.default_rng(0)
    cells = np.zeros((n, n), np.int8)
    cells[::room], cells[1::room], cells[:, ::room], cells[:, 1::room] = 100, 100, 100, 100
    for y in range(0, n, room):
        for x in range(0, n, room):
            cells[y + 20:y + 30, x:x + 2] = 0 if x > 0 else 100
            cells[y:y + 2, x + 20:x + 30] = 0 if y > 0 else 100
            for _ in range(3):
                top, left = y + random.integers(6, 36), x + random.integers(6, 36)
                cells[top:top + 8, left:left + 6] = 100
    cells[-2:], cells[:, -2:] = 100, 100
    per_row = n // room
    for k in range(per_row ** 2):
        row, column = divmod(k, per_row)
        y, x = row * room, (column if row % 2 == 0 else per_row - 1 - column) * room
        if k >= SEEN_ROOMS:
            cells[y + 2:y + room, x + 2:x + room] = -1
        elif k % 5 == 4:
            cells[y + room // 2:y + room, x + 2:x + room] = -1
    return GridMap(0, CELL_M, (0.0, 0.0), cells, cells == 0)


def start_of(grid: GridMap) -> Pose2:
    """Return a free place in the middle of the known area."""
    free = np.argwhere(~forbidden(grid, 2 * RADIUS_M))
    return Pose2(*centre_of(grid, *(int(i) for i in free[len(free) // 2])), 0.0)


def views(grid: GridMap, n: int) -> list[ViewAssessment]:
    """Return assessments of n views from SPOTS places all over the known floor, with three floor places each."""
    random = np.random.default_rng(1)
    free = random.permutation(np.argwhere(~forbidden(grid, RADIUS_M)))[:SPOTS].tolist()
    result = []
    for k in range(n):
        pose = Pose2(*centre_of(grid, *free[k % SPOTS]), random.uniform(-3, 3))
        places = tuple(Candidate(pose.x + 2 * math.cos(pose.yaw + turn), pose.y + 2 * math.sin(pose.yaw + turn), 1 / 3,
                                 NAMES[k % len(NAMES)]) for turn in (-0.4, 0.0, 0.4))
        target = (pose.x + 2.0, pose.y) if k % 7 == 0 else None
        result.append(ViewAssessment(k, k, random.random(), 0.5 * random.random(), NAMES[k % len(NAMES)], pose=pose,
                                     worth=random.random(), places=places, target=target))
    return result


def graph_distances(grid: GridMap, pose: Pose2) -> np.ndarray:
    """Return path lengths by a general graph library, as a baseline: edges in 8 directions, then Dijkstra."""
    free = ~forbidden(grid, RADIUS_M)
    index = np.arange(free.size).reshape(free.shape)
    heads, tails, lengths = [], [], []
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        a = np.s_[:free.shape[0] - dy, max(0, -dx):free.shape[1] - max(0, dx)]
        b = np.s_[dy:, max(0, dx):free.shape[1] + min(0, dx)]
        both = free[a] & free[b]
        heads.append(index[a][both])
        tails.append(index[b][both])
        lengths.append(np.full(np.count_nonzero(both), math.hypot(dy, dx) * grid.resolution_m))
    edges = coo_matrix((np.concatenate(lengths), (np.concatenate(heads), np.concatenate(tails))),
                       shape=(free.size, free.size)).tocsr()
    source = np.ravel_multi_index(index_of(grid, pose.x, pose.y), free.shape)
    found: np.ndarray = dijkstra(edges, directed=False, indices=source)
    return found


def _weighed(grid: GridMap, pose: Pose2) -> list[float]:
    found = reachable_frontiers(ReachableArea(grid, pose, RADIUS_M), find_frontiers(grid), GoalList())
    return frontier_weights(grid, [f for f, _ in found], [place.distance_m for _, place in found], FrontierConfig())
