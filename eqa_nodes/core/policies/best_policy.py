"""The project's own policy: expected information about the question per metre of path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.policies.advised import advised_value, apart, pointed_at, spread, unvisited_floor
from eqa_nodes.core.policies.belief import TRANSIT, RoomBelief, rank_of
from eqa_nodes.core.policies.frontier_policy import none_left
from eqa_nodes.core.policies.steering import (
    GoalList,
    ReachableArea,
    ReachablePose,
    ScoredPlace,
    clear_lines,
    decision_for,
    facing,
    in_front_of,
    less_worth,
    reachable_frontiers,
    unexplored_area,
    viewpoint,
)
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Share
from eqa_nodes.core.settings import setting
from eqa_nodes.core.traits import PolicyTraits
from eqa_nodes.core.types.floor import (
    CLOSER,
    LOOK_ROUND,
    POINTED,
    Candidate,
    Decision,
    Frontier,
    GridMap,
    Option,
)
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import RankedRegion, Situation, ViewAssessment
from eqa_nodes.core.types.robot import RobotModel

_FULL_VIEW = math.radians(35)
_FLOOR, _FLOOR_VALUE = 3, 0.1  # places on unvisited floor that was seen: number, and value of each
_HERE_M = 0.5  # a place this close is not worth a drive, the robot has looked there
_FLOOR_M = 2.5  # minimum distance of such a place from visited positions
_STEP_M = 0.1  # a shorter path is not a drive
_LITTLE = 0.15  # below this doubt, nothing is looked at again
_PROMISING = 0.35  # value by a model's weight from which the robot looks round at the end of a drive


@dataclass(frozen=True)
class BestConfig:
    """Parameters of the project's own policy, chosen on train seeds."""

    leg_m: Positive = setting(3.0, "Maximum length of one drive in metres.")
    switch: Positive = setting(1.3, "Factor by which another target must score better to replace the current one.")
    turn_m: NotNegative = setting(0.5, "Cost of a half turn, in metres of path.")
    fixed_m: Positive = setting(1.0, "Fixed cost of each drive, in metres of path.")
    fan_m: Positive = setting(3.0, "Radius in metres of the fan in which unexplored floor is counted.")
    area_m2: Positive = setting(3.0, "Unexplored floor in square metres that is worth as much as a room.")
    unknown: Share = setting(0.35, "Probability (0 to 1) assumed for a room that is not yet recognised.")
    again: Share = setting(0.4, "Share of that probability (0 to 1) that remains when the likely rooms are known.")
    inside: Share = setting(0.8,
        "Probability (0 to 1) that a frontier wider than doorway_m leads on into its own room.")
    doorway: Share = setting(0.35,
        "Probability (0 to 1) that a frontier narrower than doorway_m leads on into its own room.")
    doorway_m: NotNegative = setting(1.2, "Width of a doorway in metres.")
    votes_m: Positive = setting(2.5, "Radius in metres around a frontier in which votes for its room are counted.")
    look: NotNegative = setting(0.5, "Value of a promising spot relative to a frontier.")
    thin: NotNegative = setting(0.6, "Value of an object seen from afar relative to a frontier.")
    seen_m: NotNegative = setting(1.5, "Distance in metres to a view below which a spot counts as already looked at.")
    count: Count = setting(6, "Maximum number of promising spots.")
    remembered: Count = setting(60, "Maximum number of views that the spots are taken from.")
    near_m: Positive = setting(1.6, "Minimum distance in metres from which an object is in full view.")
    far_m: Positive = setting(2.8, "Maximum distance in metres from which an object is in full view.")
    rooms: bool = setting(True, "Search the likely rooms first.")
    looks: bool = setting(True, "Drive to promising spots.")
    confirm: bool = setting(True, "Look again before giving an answer.")
    listed: Counted = setting(8, "Maximum number of options that a model is shown.")
    advised_fixed_m: Positive = setting(2.0, "Fixed cost of each drive in metres of path where a model is asked.")
    advised_leg_m: Positive = setting(8.0, "Maximum length in metres of one drive where a model is asked.")
    round_m: NotNegative = setting(4.0,
        "Minimum distance in metres from earlier ones at which the robot looks round after a drive that a model thinks "
        "promising; 0 = never.")
    gain_m: Positive = setting(12.0,
        "Maximum length of a drive to look again, in metres, per unit of doubt that is left (where a model is asked).")
    straight: bool = setting(False, "Use straight-line distances instead of path lengths, for ablations.")


class BestPolicy:
    """Drives where the expected information about the question per metre is highest.

    score = P * (1 - exp(-A / a)) / (d + t * |turn| + c)

    P: probability that the answer lies behind a candidate, from the ranked rooms of the question and the rooms that
    views recognised around it (a doorway leads to another room, a wide frontier belongs to its own room); A: unexplored
    floor in sight of it, m2, cut off by walls; d: path length on the own map, m. Candidates are frontiers and places in
    promising rooms that no view has shown from near. The best one is kept until another is clearly better.

    If a model weighs the listed options (`options`), P is the model's weight, and the higher it is, the less A counts:
    see `advised_value`.

    Before an answer is given, the robot drives to the nearest viewpoint with the object in full view, to confirm it and
    reject look-alikes (`confirm`). Weak evidence, seen from afar or unclear, is a candidate too.
    """

    traits = PolicyTraits(config=BestConfig, calls=13.2, steps=153)

    def __init__(self, config: BestConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._c, self._radius_m = config or BestConfig(), robot.radius_m
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._targets, self._belief = GoalList(), RoomBelief()
        self._confirmed: list[Pose2] = []
        self._visited: list[tuple[float, float]] = []
        self._turned: list[Pose2] = []
        self._listed: list[tuple[Option, ScoredPlace]] = []

    def options(self, situation: Situation) -> list[Option]:
        """Return where the robot could go, highest value first; an empty list if the robot is off the map.

        Options are frontiers, objects not seen well, seen but unvisited floor, and a look round if the robot has not
        turned here yet. At the first call it is assumed to have turned.
        """
        self._belief.update(situation.assessments)
        if not self._visited:
            self._turned.append(situation.pose)
        self._visited.append(situation.pose[:2])
        self._listed = []
        try:
            reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        except BadPose:
            return []
        self._targets.review(situation.pose)
        found = [(self._as_option(situation, option, frontier), option)
                 for frontier, option in self._frontier_options(situation, reach)]
        found += [(self._as_option(situation, option), option) for option in self._thin(situation, reach)
                  if option.place.distance_m > _HERE_M]
        known = [*self._visited, *((option.x, option.y) for option, _ in found)]
        floor = [self._floor_option(situation, place) for place in
                 unvisited_floor(reach, known, _FLOOR, _FLOOR_M) if self._targets.open(place.pose)]
        found = apart(sorted(found, key=lambda pair: -pair[1].score))
        unvisited = [(self._as_option(situation, option), option) for option in floor]
        self._listed = [*spread(found, self._c.listed - len(floor)), *unvisited,
                        *self._look_round(situation.pose, situation.grid)]
        return [option for option, _ in self._listed]

    def decide(self, situation: Situation) -> Decision:
        """Return the next leg, or no goal if nothing promising is reachable."""
        self._belief.update(situation.assessments)
        reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        ended = self._targets.review(situation.pose)
        advised = bool(situation.advice)
        options = self._advised(situation, reach) if advised else self._options(situation, reach)
        marks = self._marks(situation.regions)
        if not options:
            self._targets.drop()
            return Decision(None, none_left(situation.frontiers), marks=marks)
        best = max(options, key=lambda o: o.score)
        kept = self._targets.kept(options)
        chosen = kept if kept and best.score < self._c.switch * kept.score else best
        if chosen.kind == LOOK_ROUND:
            self._targets.drop()
            self._turned.append(situation.pose)
            reason = f"looks round: {100 * chosen.value:.0f} % to see the answer, best of {len(options)}"
            decision = decision_for(situation.pose, reason, chosen, options, less_worth, chances=True)
            return decision._replace(marks=marks, look_around=True)
        goal = self._targets.aim(chosen.place, reach, self._c.advised_leg_m if advised else self._c.leg_m)
        verb = "keeps going to" if chosen is kept else "goes to"
        reason = (f"{ended}{verb} {chosen.what}: {100 * chosen.value:.0f} % to see the answer, "
                  f"{chosen.place.distance_m:.1f} m away, best of {len(options)}")
        look = advised and chosen.value >= _PROMISING and self._unseen_round(goal, self._c.round_m, situation.grid)
        if look:
            self._turned.append(goal)
        decision = decision_for(goal, reason, chosen, options, less_worth, chances=True)
        return decision._replace(marks=marks, look_around=look)

    def confirm(self, situation: Situation) -> Decision:
        """Return a viewpoint nearby with the object in full view, or no goal if there is no need or no suitable one."""
        seen = [a for a in situation.assessments if a.target is not None and a.enough > 0]
        if not self._c.confirm or not seen:
            return Decision(None, "the answer stands")
        best = max(seen, key=lambda a: (a.enough, a.keyframe_id))
        assert best.target is not None
        hindrance = self._hindrance(situation, best)
        if not hindrance or any(math.dist(best.target, (p.x, p.y)) < self._c.near_m for p in self._confirmed):
            return Decision(None, "the answer is in view")
        try:
            reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        except BadPose as error:
            return Decision(None, f"nowhere to go: {error}")
        self._confirmed.append(Pose2(*best.target, 0.0))
        place = viewpoint(reach, best, self._c.near_m, self._c.far_m)
        if place is None:
            return Decision(None, "the answer stands: there is no place to see it from")
        doubt = 1.0 - best.enough
        if self._visited and (doubt < _LITTLE or place.distance_m > self._c.gain_m * doubt):
            return Decision(None, "the answer stands: looking again is not worth the drive")
        what = best.says or "the thing asked about"
        where = f"from {place.distance_m:.1f} m away" if place.distance_m >= _STEP_M else "from where it stands"
        return Decision(place.pose, f'looks again {where}, because {hindrance}, to be sure that it is "{what}"',
                        (Candidate(*best.target, best.enough, "confirm"),), marks=self._marks(situation.regions))

    def _hindrance(self, situation: Situation, view: ViewAssessment) -> str:
        """Return why the robot's current pose does not have a view's target in full view; "" if it does."""
        pose, target = situation.pose, view.target
        assert target is not None
        if (off := math.dist(pose[:2], target)) > self._c.far_m:
            return f"it is {off:.1f} m away"
        if facing(pose, *target) > _FULL_VIEW:
            return "the robot looks another way"
        front = in_front_of(situation.grid, view.pose, target)
        hidden = not clear_lines(situation.grid, pose[:2], np.array([front]))[0]
        return "something stands in between" if hidden else ""

    def _advised(self, situation: Situation, reach: ReachableArea) -> list[ScoredPlace]:
        """Return the options weighed by the model, with values from its weights.

        The room that the model expects somewhere is not stored: if it were shown to the model again, a wrong guess
        would persist. The room that it sees the robot in is stored.
        """
        listed, options = dict(self._listed), []
        for option, weight, room in situation.advice:
            own = listed.get(option) or self._pointed(reach, option)
            if own is not None:
                value = advised_value(own, weight)
                expects = room and own.kind in ("frontier", "floor", POINTED)  # an object's name is more precise
                options.append(own._replace(
                    value=value, score=self._score(situation.pose, own.place, value, self._c.advised_fixed_m),
                    what=f"where the model expects the {room}" if expects else own.what))
        return [o for o in options if o.score > 0]

    def _pointed(self, reach: ReachableArea, option: Option) -> ScoredPlace | None:
        """Return a place that the model points at, None if it is unreachable or was visited."""
        place = pointed_at(reach, option) if option.kind == POINTED else None
        if place is None or not self._targets.open(place.pose):
            return None
        return ScoredPlace(place, 0.0, POINTED, POINTED)

    def _unseen_round(self, pose: Pose2, within_m: float, grid: GridMap) -> bool:
        """Return whether the robot has not looked round within this distance and line of sight; False for 0 m."""
        near = np.array([other[:2] for other in self._turned if pose.distance(other) < within_m]).reshape(-1, 2)
        return within_m > 0 and not clear_lines(grid, pose[:2], near).any()

    def _look_round(self, pose: Pose2, grid: GridMap) -> list[tuple[Option, ScoredPlace]]:
        """Return a look round as an option, or none if the robot has already turned here."""
        if not self._unseen_round(pose, self._c.seen_m, grid):
            return []
        own = ScoredPlace(ReachablePose(pose, 0.0), 0.0, LOOK_ROUND, LOOK_ROUND)
        return [(Option(*pose, LOOK_ROUND, 0.0), own)]

    def _as_option(self, situation: Situation, own: ScoredPlace, frontier: Frontier | None = None) -> Option:
        """Return an option as shown to a model, with the room that views recognised there."""
        x, y, yaw = own.place.pose
        kind = own.what if own.kind == "look" else own.kind
        if frontier is not None:
            x, y, yaw = frontier.x, frontier.y, frontier.heading
            kind = "doorway" if frontier.length_m < self._c.doorway_m else "frontier"
        votes = self._belief.at(situation.grid, x, y, self._c.votes_m)
        room = max(sorted(votes), key=lambda name: votes[name]) if votes else ""
        return Option(x, y, yaw, kind, own.place.distance_m, room, own.value)

    def _floor_option(self, situation: Situation, place: ReachablePose) -> ScoredPlace:
        score = self._score(situation.pose, place, _FLOOR_VALUE)
        return ScoredPlace(place, score, "floor", "floor that it has only seen", _FLOOR_VALUE)

    def _frontier_options(self, situation: Situation, reach: ReachableArea) -> list[tuple[Frontier, ScoredPlace]]:
        found = reachable_frontiers(reach, situation.frontiers, self._targets)
        return [(f, self._frontier(situation, f, place)) for f, place in found]

    def _options(self, situation: Situation, reach: ReachableArea) -> list[ScoredPlace]:
        options = [option for _, option in self._frontier_options(situation, reach)]
        if self._c.looks:
            options += self._looks(situation, reach)
        return [o for o in options if o.score > 0]

    def _frontier(self, situation: Situation, frontier: Frontier, place: ReachablePose) -> ScoredPlace:
        chance, what = self._chance(situation, frontier)
        area = unexplored_area(situation.grid, frontier, self._c.fan_m)
        unseen = 1.0 - math.exp(-area / self._c.area_m2)
        value = chance * unseen
        return ScoredPlace(place, self._score(situation.pose, place, value), "frontier", what, value, unseen)

    def _score(self, pose: Pose2, place: ReachablePose, value: float, fixed_m: float = 0.0) -> float:
        heading = math.atan2(place.pose.y - pose.y, place.pose.x - pose.x)
        turn = abs(wrap(heading - pose.yaw)) if place.distance_m > 0.5 else abs(wrap(place.pose.yaw - pose.yaw))
        metres = pose.distance(place.pose) if self._c.straight else place.distance_m
        return value / (metres + self._c.turn_m * turn / math.pi + (fixed_m or self._c.fixed_m))

    def _chance(self, situation: Situation, frontier: Frontier) -> tuple[float, str]:
        """Return the probability that the answer is behind a frontier, and a description of what is there."""
        unknown = self._unknown(situation.regions)
        if not self._c.rooms:
            return unknown, "a frontier"
        votes = self._belief.at(situation.grid, frontier.x, frontier.y, self._c.votes_m)
        total = sum(votes.values())
        if total <= 0:
            return unknown, "an unexplored place"
        name = max(sorted(votes), key=lambda n: votes[n])
        here = sum(rank_of(n, situation.regions) * v for n, v in sorted(votes.items())) / total
        stays = self._c.doorway if frontier.length_m < self._c.doorway_m else self._c.inside
        stays = min(stays, self._c.doorway) if any(t in name for t in TRANSIT) else stays
        stays *= total / (total + 1.0)
        what = f"the unseen part of the {name}" if stays > 0.5 else f"what lies beyond the {name}"
        return stays * here + (1.0 - stays) * unknown, what

    def _unknown(self, regions: Sequence[RankedRegion]) -> float:
        """Return the probability for an undiscovered room; it is lower once the likely rooms are known."""
        total = sum(r.weight for r in regions)
        if total <= 0:
            return self._c.unknown
        names = self._belief.names()
        missing = sum(r.weight for r in regions if not any(rank_of(n, [r]) for n in names)) / total
        return self._c.unknown * (missing + self._c.again * (1.0 - missing))

    def _looks(self, situation: Situation, reach: ReachableArea) -> list[ScoredPlace]:
        """Return promising places in views that no view has shown from near."""
        options = []
        stood = np.array([a.pose[:2] for a in situation.assessments]).reshape(-1, 2)
        for view in situation.assessments[-self._c.remembered:]:
            for place in view.places:
                value = view.worth * place.weight * len(view.places) / 3 * self._c.look
                if value < 0.02 or np.any(np.hypot(stood[:, 0] - place.x, stood[:, 1] - place.y) < self._c.seen_m):
                    continue
                yaw = math.atan2(place.y - view.pose.y, place.x - view.pose.x)
                spot = reach.place(place.x, place.y, yaw)
                if spot is not None and self._targets.open(spot.pose):
                    what = f"a promising spot{' in the ' + place.label if place.label else ''}"
                    options.append(ScoredPlace(spot, self._score(situation.pose, spot, value), "look", what, value))
        options += self._thin(situation, reach)
        return sorted(options, key=lambda o: -o.score)[:self._c.count]

    def _thin(self, situation: Situation, reach: ReachableArea) -> list[ScoredPlace]:
        """Return viewpoints of objects that were seen, but not well enough."""
        options = []
        thin = [a for a in situation.assessments if a.target is not None and a.relevance >= 0.3]
        spots: list[tuple[float, float]] = []
        for a in sorted(thin, key=lambda a: (-a.relevance, a.keyframe_id)):
            assert a.target is not None
            if any(math.dist(a.target, s) < 1.0 for s in spots) or len(spots) >= 3:
                continue
            spots.append(a.target)
            spot = viewpoint(reach, a, self._c.near_m, self._c.far_m)
            if spot is not None and self._targets.open(spot.pose) and self._hindrance(situation, a):
                value = self._c.thin * a.relevance
                named = self._visited and a.note  # named by a model that is shown the options
                what = f"{CLOSER} {a.note}" if named else "see more clearly what it saw from afar"
                options.append(ScoredPlace(spot, self._score(situation.pose, spot, value), "look", what, value))
        return options

    def _marks(self, regions: Sequence[RankedRegion]) -> tuple[Candidate, ...]:
        rank = {name: rank_of(name, regions) for name in self._belief.names()}
        return tuple(Candidate(s.x, s.y, rank[s.name], s.name) for s in self._belief.squares())
