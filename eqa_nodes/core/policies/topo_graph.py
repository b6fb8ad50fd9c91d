"""The topological map of AQ-Nav (ExploraQA, 4.2) as numbers: places that were visited, and places to go to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.policies.belief import RoomBelief, rank_of
from eqa_nodes.core.policies.steering import (
    GoalList,
    ReachableArea,
    ReachablePose,
    all_facing,
    cells_at,
    reachable_frontiers,
    same,
    unexplored_area,
    values_in,
)
from eqa_nodes.core.types.floor import Frontier
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import RankedRegion, Situation, ViewAssessment

SECTORS = 12  # directions of a visited node that have a view of their own, as in ETPNav
MOST = 64  # nodes of a graph, the state of stopping among them; the farthest ghosts are left out
_SIGHT_M, _VOTES_M = 6.0, 2.5  # distance of a view to what it can show; radius in which a room is voted
_GHOST_M, _NEAREST_M, _MERGE_M, _VISITED_M = 3.0, 0.25, 0.5, 1.0  # of seen floor, and below which nodes are one
_STEPS, _PATHS_M = 10.0, 30.0  # scales of numbers of steps and of path lengths, those of ETPNav
_TARGET_M = 2.0
NUMBERS = ("stop", "visited", "frontier", "floor", "path", "straight", "sine", "cosine", "heading", "unexplored",
            "length", "worth", "share", "room", "unseen", "relevance", "enough", "target", "step", "here", "moves",
            "explored")  # of a node, in their order
FEATURES = len(NUMBERS)


@dataclass
class VisitedNode:
    """A visited place: the number of the decision at which it was seen, and its newest view in each of 12 directions.
    """

    x: float
    y: float
    step: int = 0
    views: dict[int, ViewAssessment] = field(default_factory=dict)


class VisitedPlaces:
    """Past positions of the robot, one for each `merge_m`, with the views that were taken there."""

    def __init__(self, merge_m: float) -> None:
        self.nodes: list[VisitedNode] = []
        self._merge_m, self._read = merge_m, set[int]()

    def visit(self, situation: Situation, step: int = 0) -> VisitedNode:
        """Attach new views to their nodes, and return the node at the robot's position."""
        here = self._at(situation.pose, step)
        here.step = step
        for view in situation.assessments:
            if view.keyframe_id not in self._read:
                self._read.add(view.keyframe_id)
                node = self._at(view.pose, step)
                node.views[round(view.pose.yaw / math.tau * SECTORS) % SECTORS] = view
        return here

    def views(self) -> NodeViews:
        """Return the views of all nodes."""
        pairs = [(node, view) for node in self.nodes for view in node.views.values()]
        return NodeViews([view for _, view in pairs], np.array([view.pose for _, view in pairs]).reshape(-1, 3),
                     np.array([(node.x, node.y) for node, _ in pairs]).reshape(-1, 2))

    def _at(self, pose: Pose2, step: int) -> VisitedNode:
        node = min(self.nodes, key=lambda n: math.hypot(n.x - pose.x, n.y - pose.y), default=None)
        if node is None or math.hypot(node.x - pose.x, node.y - pose.y) > self._merge_m:
            node = VisitedNode(pose.x, pose.y, step)
            self.nodes.append(node)
        return node


class NodeViews(NamedTuple):
    """The views of visited nodes, their poses (n, 3) and the positions of their nodes (n, 2)."""

    views: list[ViewAssessment]
    poses: np.ndarray
    nodes: np.ndarray

    def towards(self, x: float, y: float, sight_m: float) -> list[ViewAssessment]:
        """Return the views from nodes at most sight_m away that face a point within 30 degrees."""
        off = np.hypot(self.nodes[:, 0] - x, self.nodes[:, 1] - y)
        looks = (off > 0.3) & (off <= sight_m) & (all_facing(self.poses, x, y) <= math.pi / 6)
        return [self.views[i] for i in np.flatnonzero(looks).tolist()]


class Ghost(NamedTuple):
    """A place that was seen and not visited. frontier: None for seen floor; step: decision at which it was found."""

    place: ReachablePose
    frontier: Frontier | None
    step: int


class TopoGraph(NamedTuple):
    """The input of a planner. Node 0 stands for stopping here, then come the visited places, then the ghosts.

    numbers: (n, FEATURES) float32; names: for each node, the room that it is probably in, "" unknown; paths: (n, n)
    float32, length of the path along the graph / 30 m; open: (n,) bool, what can be chosen: node 0 and the ghosts.
    ghosts: the ghosts, in the order of their nodes; visited: x, y of the visited places, likewise.
    """

    numbers: np.ndarray
    names: tuple[str, ...]
    paths: np.ndarray
    open: np.ndarray
    ghosts: tuple[Ghost, ...]
    visited: tuple[tuple[float, float], ...]

    @property
    def first(self) -> int:
        """The node of the first ghost."""
        return len(self.open) - len(self.ghosts)


class GraphBuilder:
    """Keeps the topological map of one question and turns it into a TopoGraph at each decision.

    Ghosts are frontiers and, in 12 sectors around each decision's position, the farthest floor within 3 m that was seen
    and can be driven to straight; ghosts within 0.5 m are one, and seen floor within 1 m of a visited place is none.
    """

    def __init__(self, targets: GoalList | None = None) -> None:
        """targets: the places that were looked at or are unreachable; None: none yet."""
        self.targets, self.moves = targets or GoalList(), 0
        self._places, self._belief = VisitedPlaces(_VISITED_M), RoomBelief()
        self._floor: list[tuple[Pose2, int]] = []
        self._found: list[tuple[Pose2, int]] = []  # where a frontier was first seen, and when

    def update(self, situation: Situation, reach: ReachableArea) -> TopoGraph:
        """Return the graph with everything that was seen until now."""
        here = self._places.visit(situation, self.moves)
        self._belief.update(situation.assessments)
        self._look_round(reach)
        visited = [*[node for node in self._places.nodes if node is not here][1 - MOST // 2:], here]
        return self._graph(situation, reach, visited, self._ghosts(situation, reach)[:MOST - 1 - len(visited)])

    def kept(self, graph: TopoGraph) -> Ghost | None:
        """Return the ghost that the robot is on its way to, None if a place is to be chosen."""
        now = self.targets.current
        return next((ghost for ghost in graph.ghosts if now is not None and same(ghost.place.pose, now)), None)

    def _look_round(self, reach: ReachableArea) -> None:
        """Add the farthest seen floor of each sector."""
        grid, pose = reach.grid, reach.pose
        angles = np.arange(SECTORS) * (math.tau / SECTORS)
        away = np.arange(_NEAREST_M, _GHOST_M + 1e-6, grid.resolution_m)
        x, y = pose.x + np.cos(angles)[:, None] * away, pose.y + np.sin(angles)[:, None] * away
        at = cells_at(grid, x, y)
        free = np.isfinite(values_in(reach.field, at, np.inf)) & (values_in(grid.explored, at, 0) > 0)
        reached = np.logical_and.accumulate(free, axis=1).sum(axis=1)
        for k in np.flatnonzero(reached).tolist():
            end = reached[k] - 1
            self._add(Pose2(float(x[k, end]), float(y[k, end]), float(angles[k])))

    def _add(self, pose: Pose2) -> None:
        if not any(pose.distance(known) <= _MERGE_M for known, _ in self._floor):
            self._floor.append((pose, self.moves))

    def _ghosts(self, situation: Situation, reach: ReachableArea) -> list[Ghost]:
        """Return the open ghosts, the nearest to the robot first, frontiers before seen floor."""
        pairs = sorted(reachable_frontiers(reach, situation.frontiers, self.targets),
                       key=lambda pair: (pair[1].distance_m, pair[1].pose))
        found: list[Ghost] = []
        for frontier, place in pairs:
            if not any(same(place.pose, ghost.place.pose, _MERGE_M) for ghost in found):
                found.append(Ghost(place, frontier, self._since(place.pose)))
        if not found and not any(view.relevance > 0 for view in situation.assessments):
            return []  # nothing is unknown, and nothing was seen that a nearer look could tell more about
        floor = []
        for pose, step in self._floor:
            place_or_none = reach.place(*pose)
            if (place_or_none is not None and self.targets.open(place_or_none.pose) and not self._is_visited(pose)
                    and not any(pose.distance(ghost.place.pose) <= _MERGE_M for ghost in found)):
                floor.append(Ghost(place_or_none, None, step))
        return found + sorted(floor, key=lambda ghost: (ghost.place.distance_m, ghost.place.pose))

    def _is_visited(self, pose: Pose2) -> bool:
        return any(math.hypot(node.x - pose.x, node.y - pose.y) <= _VISITED_M for node in self._places.nodes)

    def _since(self, pose: Pose2) -> int:
        for known, step in self._found:
            if same(known, pose, _MERGE_M):
                return step
        self._found.append((pose, self.moves))
        return self.moves

    def _graph(self, situation: Situation, reach: ReachableArea, visited: Sequence[VisitedNode],
               ghosts: Sequence[Ghost]) -> TopoGraph:
        views, pose = self._places.views(), situation.pose
        spots = np.array([(pose.x, pose.y), *((n.x, n.y) for n in visited),
                          *((g.place.pose.x, g.place.pose.y) for g in ghosts)])
        n, first = len(spots), 1 + len(visited)
        rows = np.zeros((n, FEATURES), np.float64)
        column = {name: rows[:, k] for k, name in enumerate(NUMBERS)}
        column["stop"][0], column["visited"][1:first] = 1.0, 1.0
        column["here"][first - 1] = 1.0
        column["step"][1:first] = [(self.moves - node.step) / _STEPS for node in visited]
        column["step"][first:] = [(self.moves - ghost.step) / _STEPS for ghost in ghosts]
        column["frontier"][first:] = [ghost.frontier is not None for ghost in ghosts]
        column["floor"][first:] = 1.0 - column["frontier"][first:]
        off = np.hypot(*(spots - spots[0]).T)
        bearing = np.arctan2(spots[:, 1] - pose.y, spots[:, 0] - pose.x)
        column["straight"][:] = off / 10.0
        column["path"][first:] = [ghost.place.distance_m / 10.0 for ghost in ghosts]
        column["path"][1:first] = [self._way(reach, node) / 10.0 for node in visited]
        near = off > 1e-6
        column["sine"][near] = np.sin(bearing - pose.yaw)[near]
        column["cosine"][near] = np.cos(bearing - pose.yaw)[near]
        column["heading"][first:] = [math.cos(g.place.pose.yaw - b) for g, b in zip(ghosts, bearing[first:].tolist(),
                                                                                   strict=True)]
        column["unexplored"][first:] = [unexplored_area(reach.grid, g.frontier, 3.0) / 6.0 if g.frontier else 0.0
                                        for g in ghosts]
        column["length"][first:] = [g.frontier.length_m / 3.0 if g.frontier else 0.0 for g in ghosts]
        names = self._promise(situation, spots, views, column)
        column["moves"][0], column["explored"][0] = self.moves / _STEPS, reach.grid.explored_share()
        column["relevance"][0] = max((a.relevance for a in situation.assessments), default=0.0)
        column["enough"][0] = max((a.enough for a in situation.assessments), default=0.0)
        open_ = np.arange(n) >= first
        open_[0] = True
        return TopoGraph(np.clip(rows, -3.0, 3.0).astype(np.float32), names, self._paths(spots, first, first - 1),
                         open_, tuple(ghosts), tuple((node.x, node.y) for node in visited))

    def _way(self, reach: ReachableArea, node: VisitedNode) -> float:
        place = reach.place(node.x, node.y, 0.0)
        return place.distance_m if place is not None else _PATHS_M

    def _promise(self, situation: Situation, spots: np.ndarray, views: NodeViews, column: dict[str, np.ndarray]
                 ) -> tuple[str, ...]:
        """Fill in what the views say of each place; return the name of its room."""
        targets = np.array([a.target for a in situation.assessments if a.target is not None]).reshape(-1, 2)
        names = []
        for i, (x, y) in enumerate(spots.tolist()):
            votes = self._belief.at(situation.grid, x, y, _VOTES_M)
            names.append(max(sorted(votes), key=lambda name: votes[name], default=""))
            column["room"][i] = room_rank(situation.regions, votes)
            if len(targets):
                column["target"][i] = math.exp(-float(np.hypot(*(targets - (x, y)).T).min()) / _TARGET_M)
            towards = views.towards(x, y, _SIGHT_M)
            column["unseen"][i] = not towards
            if towards:
                best = max(towards, key=lambda v: (v.worth, -v.keyframe_id))
                nearest = min(best.places, key=lambda p: math.hypot(p.x - x, p.y - y), default=None)
                column["worth"][i], column["share"][i] = best.worth, nearest.weight if nearest else 0.0
                column["relevance"][i] = max(v.relevance for v in towards)
                column["enough"][i] = max(v.enough for v in towards)
        return tuple(names)

    def _paths(self, spots: np.ndarray, first: int, here: int) -> np.ndarray:
        """Return lengths of paths along the graph: near visited nodes are joined, every other node to its nearest."""
        straight = np.hypot(*(spots[:, None] - spots[None]).transpose(2, 0, 1))
        length = np.full_like(straight, np.inf)
        visited = straight[1:first, 1:first]
        length[1:first, 1:first] = np.where(visited <= 2 * _VISITED_M, visited, np.inf)
        for i in range(2, len(spots)):  # a visited node is joined to the nearest earlier one, a ghost to the nearest
            to = 1 + int(straight[i, 1:min(i, first)].argmin())
            length[i, to] = straight[i, to]
        length[0, here] = straight[0, here]
        length = np.minimum(length, length.T)
        np.fill_diagonal(length, 0.0)
        for k in range(len(spots)):  # Floyd and Warshall: shortest paths between all pairs
            np.minimum(length, length[:, k:k + 1] + length[k:k + 1], out=length)
        return (np.minimum(length, 2 * _PATHS_M) / _PATHS_M).astype(np.float32)


def room_rank(regions: Sequence[RankedRegion], votes: dict[str, float]) -> float:
    """Return how likely the answer is in the room that got these votes, 0..1: the mean rank of the names."""
    total = sum(votes.values())
    return sum(rank_of(name, regions) * votes[name] for name in sorted(votes)) / total if total else 0.0
