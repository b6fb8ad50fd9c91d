"""A long hall and what views say of it: what the tests of the policies decide on."""

from __future__ import annotations

from eqa_nodes.core.mapping.frontiers import find_frontiers
from eqa_nodes.core.protocols import Policy
from eqa_nodes.core.types.floor import Candidate, Decision, Frontier, GridMap
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, RankedRegion, Situation, ViewAssessment
from tests.unit.grid_fixture import grid_of

LENGTH_M = 20.5
HERE = Pose2(10.25, 1.25, 0.0)  # the middle of the hall, looking along it
ROOMS = ("kitchen", "dining room", "pantry", "study", "garage")
RANKED = tuple(RankedRegion(name, 1.0 - 0.1 * k) for k, name in enumerate(ROOMS))


def hall(unexplored_m: float = 0.0) -> GridMap:
    """A hall along x, 20.5 m x 3 m with walls of 0.5 m, of whose ends so much is not yet explored."""
    grid = grid_of("#" * 41, *["#" + "." * 39 + "#"] * 4, "#" * 41)
    explored, n = grid.cells == 0, round(unexplored_m / grid.resolution_m)
    explored[:, :n] = explored[:, grid.cells.shape[1] - n:] = False
    return GridMap(0, grid.resolution_m, grid.origin, grid.cells, explored)


def spot(x: float, weight: float = 1.0, label: str = "") -> Candidate:
    """Return a place on the middle line of the hall."""
    return Candidate(x, HERE.y, weight, label)


def view(number: int, *places: Candidate, pose: Pose2 = HERE, worth: float = 0.0, region: str = "",
         relevance: float = 0.0, enough: float = 0.0, target_x: float | None = None) -> ViewAssessment:
    """Return what is said of a view; a target lies on the middle line of the hall."""
    target = None if target_x is None else (target_x, HERE.y)
    return ViewAssessment(number, number, relevance, enough, region, pose=pose, worth=worth, places=places,
                          target=target)


def situation(*views: ViewAssessment, grid: GridMap | None = None, pose: Pose2 = HERE,
              frontiers: list[Frontier] | None = None) -> Situation:
    """Return the hall, explored unless another is given, with its frontiers unless others are given."""
    grid = grid or hall()
    return Situation(Question("Where is the kettle?"), pose, grid,
                     find_frontiers(grid) if frontiers is None else frontiers, views, RANKED)


def goal_of(decision: Decision) -> Pose2:
    """Return where a decision goes."""
    assert decision.goal is not None, decision.reason
    return decision.goal


def drive(policy: Policy, at: Situation, legs: int = 60) -> list[Decision]:
    """Let the robot arrive wherever it is sent, until there is nowhere to go; return the decisions."""
    decisions: list[Decision] = []
    while len(decisions) < legs:
        decisions.append(policy.decide(at))
        if decisions[-1].goal is None:
            return decisions
        at = at._replace(pose=decisions[-1].goal)
    return decisions
