"""The project's own policy: expected information about the question per metre of path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.mapping.doorways import Doorway, find_doorways
from eqa_nodes.core.policies.advised import advised_value, apart, pointed_at, spread, unvisited_floor
from eqa_nodes.core.policies.belief import TRANSIT, RoomBelief, rank_of
from eqa_nodes.core.policies.frontier_policy import none_left
from eqa_nodes.core.policies.planner import GraphPlanner, input_of
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
    open_heading,
    reachable_frontiers,
    same,
    unexplored_area,
    viewpoint,
)
from eqa_nodes.core.policies.topo_graph import GraphBuilder
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
    WeighedOption,
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
_INSIDE_M = 1.0  # a drive to a doorway ends so far behind it
_BEEN_M = 4.0  # a room was visited if the robot stood in sight of where such a drive ends, at most this far away
_OF_DOOR_M = 1.0  # a frontier this close to a doorway is the doorway
_BEHIND_M, _BEHIND_RAD = 3.5, math.radians(60)  # and so is one seen through it that is this close behind it
_CLOSE_M, _CLOSEST_M, _CLOSER_THAN_M = 1.8, 0.9, 2.0  # a closer look is taken from so near, unless the robot is nearer
_SAME_THING_M = 1.0  # things named closer together than this are one
_PASSED_M = 1.0  # an option this close to one that a model passed over is the same
_NEW_M2 = 1.0  # unseen floor in sight that is worth a turn at the end of a drive
_TURNS = (math.pi / 3, -math.pi / 3, 2 * math.pi / 3, -2 * math.pi / 3, math.pi)  # that are considered there
_SAME_TURN_RAD = math.radians(45)
_RELEVANT, _MOST_LOOKS = 0.3, 2
_FACED_M = 3.5  # a thing that a model named is faced at the end of a drive from at most so far
_REGION_M = 2.5  # an option in sight of a better one that is this close shows the same floor
_BEFORE_M = 0.5  # distance from a doorway by which its nearer side is told
_SURELY_M = 7.0  # drives longer than this end on floor that is known, because they may be made in parts
_PLACES = ("frontier", "doorway", "floor")
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
    listed: Counted = setting(11, "Maximum number of options that a model is shown, if views show them.")
    advised_fixed_m: Positive = setting(2.0, "Fixed cost of each drive in metres of path where a model is asked.")
    advised_leg_m: Positive = setting(8.0, "Maximum length in metres of one drive where a model is asked.")
    round_m: NotNegative = setting(4.0,
        "Minimum distance in metres from earlier ones at which the robot looks round after a drive that a model thinks "
        "promising; 0 = never.")
    gain_m: Positive = setting(12.0,
        "Maximum length of a drive to look again, in metres, per unit of doubt that is left (where a model is asked).")
    learned: NotNegative = setting(0.5,
        "Weight of the scores that the trained planner of aqnav gives to places; 0 = none.")
    straight: bool = setting(False, "Use straight-line distances instead of path lengths, for ablations.")


class BestPolicy:
    """Drives where the expected information about the question per metre is highest.

    score = P * (1 - exp(-A / a)) / (d + t * |turn| + c)

    P: probability that the answer lies behind a candidate, from the ranked rooms of the question and the rooms that
    views recognised around it (a doorway leads to another room, a wide frontier belongs to its own room); A: unexplored
    floor in sight of it, m2, cut off by walls; d: path length on the own map, m. Candidates are frontiers and places in
    promising rooms that no view has shown from near. The best one is kept until another is clearly better.

    If a model weighs the listed options (`options`), it decides: the robot goes to the one with most w^2 / (d + turn +
    c), w being the model's weight, so that only a likelier place counts unless weights are close or one path is much
    longer. At the end of a promising drive it turns to floor that it has not seen (`decide` without advice).

    The values of all options are then multiplied by e^(learned * s), s being the score that the planner of aqnav gives
    to the nearest place of its graph, and scaled so that their sum stays the same.

    Before an answer is given, the robot drives to the nearest viewpoint with the object in full view, to confirm it and
    reject look-alikes (`confirm`). Weak evidence, seen from afar or unclear, is a candidate too.
    """

    traits = PolicyTraits(config=BestConfig, calls=11.3, steps=114)

    def __init__(self, config: BestConfig | None = None, robot: RobotModel = RobotModel()) -> None:
        self._c, self._radius_m = config or BestConfig(), robot.radius_m
        self._all_round = robot.looks_for_stairs > 0
        self._planner = GraphPlanner.load() if self._c.learned > 0 else None
        self._turn_m = math.pi / robot.turn_rad * robot.move_m  # a half turn takes as many steps as this drive
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Reset for a new question."""
        self._targets, self._belief = GoalList(), RoomBelief()
        self._graph = GraphBuilder(self._targets)
        self._confirmed: list[Pose2] = []
        self._visited: list[tuple[float, float]] = []
        self._turned: list[Pose2] = []
        self._listed: list[tuple[Option, ScoredPlace]] = []
        self._named: list[ViewAssessment] = []  # things that a model named as evidence, newest first
        self._closer: list[tuple[float, float]] = []  # those of which a closer look was taken
        self._passed: list[tuple[float, float]] = []  # options that a model passed over
        self._looking: list[Pose2] = []  # poses that it has looked from since the end of a promising drive

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
        self._name(situation.assessments)
        doors = self._doorways(situation, reach)
        found = [*doors, *((self._as_option(situation, own, frontier), own)
                           for frontier, own in self._frontier_options(situation, reach)
                           if not any(_at_door(frontier, door, situation.grid) for door, _ in doors))]
        known = [*self._visited, *((option.x, option.y) for option, _ in found),
                 *(own.place.pose[:2] for _, own in doors)]
        floor = [(self._as_option(situation, own), own) for place in
                 unvisited_floor(reach, known, _FLOOR, _FLOOR_M) if self._targets.open(place.pose)
                 for own in [self._floor_option(situation, place)]]
        looks = self._closer_looks(situation, reach)
        found = _one_a_region(apart(sorted(found, key=lambda pair: -pair[1].score)), situation.grid)
        listed = [*spread(found, self._c.listed - len(floor) - len(looks)), *floor]
        marked = [(option._replace(value=-1.0) if self._was_passed(option) else option, own) for option, own in listed]
        marked = [*marked, *looks]
        self._listed = [*(pair for pair in marked if not pair[0].passed_over),
                        *self._look_round(situation.pose, situation.grid),
                        *(pair for pair in marked if pair[0].passed_over)]
        return [option for option, _ in self._listed]

    def decide(self, situation: Situation) -> Decision:
        """Return the next leg, or no goal if nothing promising is reachable."""
        self._belief.update(situation.assessments)
        if self._looking and not situation.advice:
            return self._turn_to_new_floor(situation)
        self._looking = []
        reach = ReachableArea(situation.grid, situation.pose, self._radius_m)
        ended = self._targets.review(situation.pose)
        advised = bool(situation.advice)
        self._note_passed(situation.advice)
        by_place = self._advised(situation, reach) if advised else {}
        options = [*by_place] if advised else self._options(situation, reach)
        marks = self._marks(situation.regions)
        if not options:
            self._targets.drop()
            return Decision(None, none_left(situation.frontiers), marks=marks)
        best = max(options, key=lambda o: o.score)
        kept = None if advised else self._targets.kept(options)  # a model knows where it sent the robot
        chosen = kept if kept and best.score < self._c.switch * kept.score else best
        if chosen.kind == LOOK_ROUND:
            self._targets.drop()
            self._turned.append(situation.pose)
            reason = f"looks round: {100 * chosen.value:.0f} % to see the answer, best of {len(options)}"
            decision = decision_for(situation.pose, reason, chosen, options, less_worth, chances=True, shown=by_place)
            return decision._replace(marks=marks, look_around=True)
        self._graph.moves += chosen is not kept
        goal = self._targets.aim(chosen.place, reach, self._c.advised_leg_m if advised else self._c.leg_m)
        goal = _facing(goal, situation, chosen.kind) if advised and same(goal, chosen.place.pose) else goal
        self._closer += [(option.x, option.y) for option, own in self._listed
                         if own.kind == "look" and same(own.place.pose, chosen.place.pose)]
        verb = "keeps going to" if chosen is kept else "goes to"
        reason = (f"{ended}{verb} {chosen.what}: {100 * chosen.value:.0f} % to see the answer, "
                  f"{chosen.place.distance_m:.1f} m away, best of {len(options)}")
        promising = advised and (chosen.kind == "doorway" or chosen.value >= _PROMISING)
        look = promising and self._unseen_round(goal, self._c.round_m, situation.grid)
        if look:
            self._turned.append(goal)
            self._looking = [goal]
        decision = decision_for(goal, reason, chosen, options, less_worth, chances=True, shown=by_place)
        return decision._replace(marks=marks, look_around=look)

    @property
    def looking(self) -> bool:
        """Whether the robot looks round at the end of a drive: `decide` without advice then returns the next turn."""
        return bool(self._looking)

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
        self._closer.append(best.target)
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

    def _advised(self, situation: Situation, reach: ReachableArea) -> dict[ScoredPlace, Option]:
        """Return the places weighed by the model, with values from its weights, each with the option that it was shown.

        The room that the model expects somewhere is not stored: if it were shown to the model again, a wrong guess
        would persist. The room that it sees the robot in is stored.
        """
        listed, options = dict(self._listed), dict[ScoredPlace, Option]()
        named = False  # whether the robot can go to a place that the model named: the others then do not count
        for option, weight, room in sorted(situation.advice, key=lambda one: -one.weight):
            own = listed.get(option) or self._pointed(reach, option)
            if own is not None and (weight > 0.0 or not named):
                named = named or weight > 0.0
                value = advised_value(own, weight)
                # an object's name is more precise
                expects = room and own.kind in ("frontier", "doorway", "floor", POINTED)
                options[own._replace(value=value, score=self._advised_score(situation.pose, own, value),
                                     what=f"where the model expects the {room}" if expects else own.what)] = option
        return {own: option for own, option in options.items() if own.score > 0}

    def _advised_score(self, pose: Pose2, own: ScoredPlace, value: float) -> float:
        """Return the square of a weight per metre; a turn counts as many metres as the robot drives in its steps."""
        heading = math.atan2(own.place.pose.y - pose.y, own.place.pose.x - pose.x)
        turn = abs(wrap((heading if own.place.distance_m > _HERE_M else own.place.pose.yaw) - pose.yaw))
        turn = math.tau if own.kind == LOOK_ROUND else turn
        metres = pose.distance(own.place.pose) if self._c.straight else own.place.distance_m
        return value ** 2 / (metres + self._turn_m * turn / math.pi + self._c.advised_fixed_m)

    def _note_passed(self, advice: Sequence[WeighedOption]) -> None:
        """Note the options that a model did not name, if it named others; those it named count again."""
        if any(one.weight > 0 for one in advice):
            at = [(one.option.x, one.option.y) for one in advice if one.weight > 0]
            self._passed = [old for old in self._passed if all(math.dist(old, new) >= _PASSED_M for new in at)]
            self._passed += [(o.x, o.y) for o, weight, _ in advice if not weight and o.kind in _PLACES
                             and all(math.dist((o.x, o.y), new) >= _PASSED_M for new in at)]

    def _was_passed(self, option: Option) -> bool:
        return any(math.dist((option.x, option.y), old) < _PASSED_M for old in self._passed)

    def _turn_to_new_floor(self, situation: Situation) -> Decision:
        """Return the smallest turn that shows floor not seen yet, no goal if there is none: the look round is over.

        A robot that looks for stairs looks all round instead, for which the goal is where it stands.
        """
        pose, marks = situation.pose, self._marks(situation.regions)
        taken, self._looking = self._looking, []
        if pose.distance(taken[0]) > _PASSED_M:
            return Decision(None, "it did not get where it would look round", marks=marks)
        if self._all_round:
            return Decision(pose, "looks round, also for stairs", marks=marks, look_around=True)
        taken = [*taken, pose]
        for turn in _TURNS:
            to = pose._replace(yaw=wrap(pose.yaw + turn))
            area = unexplored_area(situation.grid, Frontier(to.x, to.y, to.yaw, 0.0), self._c.fan_m)
            if area >= _NEW_M2 and all(abs(wrap(to.yaw - old.yaw)) > _SAME_TURN_RAD for old in taken):
                self._looking = taken
                return Decision(to, f"turns to {area:.0f} m2 of floor that it has not seen", marks=marks,
                                look_around=True)
        return Decision(None, "there is no floor in sight that it has not seen", marks=marks)

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

    def _as_option(self, situation: Situation, own: ScoredPlace, at: Frontier | None = None) -> Option:
        """Return an option as shown to a model, with the room that views recognised there. at: where it is drawn."""
        x, y, yaw = own.place.pose if at is None else (at.x, at.y, at.heading)
        votes = self._belief.at(situation.grid, *(own.place.pose[:2] if own.kind == "doorway" else (x, y)),
                                self._c.votes_m)
        room = max(sorted(votes), key=lambda name: votes[name]) if votes else ""
        return Option(x, y, yaw, own.kind, own.place.distance_m, room, own.value)

    def _doorways(self, situation: Situation, reach: ReachableArea) -> list[tuple[Option, ScoredPlace]]:
        """Return the doorways to rooms that the robot has not been in; a drive to one ends inside the room."""
        found = []
        for door in find_doorways(situation.grid):
            at = _towards_far_side(door, reach)
            place = None if at is None else _inside(at, reach)
            if at is None or place is None or not self._targets.open(place.pose):
                continue
            inside = at.x + _INSIDE_M * math.cos(at.heading), at.y + _INSIDE_M * math.sin(at.heading)
            been = np.array([old for old in self._visited if math.dist(inside, old) < _BEEN_M and _beyond(at, old)])
            if clear_lines(situation.grid, inside, been).any():
                continue
            own = self._frontier(situation, Frontier(*place.pose, door.width_m), place)
            own = own._replace(kind="doorway", value=max(own.value, _FLOOR_VALUE),
                               score=max(own.score, self._score(situation.pose, place, _FLOOR_VALUE)))
            found.append((self._as_option(situation, own, at), own))
        return found

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
        options = [o for o in options if o.score > 0]
        return options if self._planner is None else self._learned(self._planner, situation, reach, options)

    def _learned(self, planner: GraphPlanner, situation: Situation, reach: ReachableArea,
                 options: list[ScoredPlace]) -> list[ScoredPlace]:
        """Return the options with values that the planner corrected."""
        graph = self._graph.update(situation, reach)
        if not options or not graph.ghosts:
            return options
        scores = planner.scores(input_of(graph, situation.question))[graph.first:]
        at = np.array([ghost.place.pose[:2] for ghost in graph.ghosts])
        near = [int(np.hypot(*(at - option.place.pose[:2]).T).argmin()) for option in options]
        factors = np.exp(self._c.learned * (scores[near] - scores.max()).astype(np.float64))
        values = np.array([option.value for option in options])
        factors *= values.sum() / (values * factors).sum()
        return [option._replace(value=min(1.0, option.value * factor), score=option.score * factor)
                for option, factor in zip(options, factors.tolist(), strict=True)]

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
                what = "see more clearly what it saw from afar"
                options.append(ScoredPlace(spot, self._score(situation.pose, spot, value), "look", what, value))
        return options

    def _name(self, assessments: Sequence[ViewAssessment]) -> None:
        """Keep the things that a model named as evidence, each once, as it named them last."""
        for a in assessments:
            if a.target is not None and a.note and a.relevance >= _RELEVANT and a not in self._named:
                self._named = [a, *(old for old in self._named if math.dist(_target(old), a.target) >= _SAME_THING_M)]

    def _closer_looks(self, situation: Situation, reach: ReachableArea) -> list[tuple[Option, ScoredPlace]]:
        """Return closer looks at the things that a model named last, except those that were taken."""
        looks = list[tuple[Option, ScoredPlace]]()
        for a in self._named:
            target = _target(a)
            if any(math.dist(target, old) < _SAME_THING_M for old in self._closer) or len(looks) == _MOST_LOOKS:
                continue
            near = math.dist(situation.pose[:2], target) <= _CLOSER_THAN_M and not self._hindrance(situation, a)
            place = None if near else viewpoint(reach, a, _CLOSEST_M, _CLOSE_M) or viewpoint(
                reach, a, self._c.near_m, self._c.far_m)
            if place is None or place.distance_m <= _HERE_M:
                continue
            value = self._c.thin * a.relevance
            own = ScoredPlace(place, self._score(situation.pose, place, value), "look", f"{CLOSER} {a.note}", value)
            looks.append((Option(*target, place.pose.yaw, own.what, place.distance_m, "",
                                 value if a in situation.assessments else -1.0, max(0.0, a.target_z - a.z)), own))
        return looks

    def _marks(self, regions: Sequence[RankedRegion]) -> tuple[Candidate, ...]:
        rank = {name: rank_of(name, regions) for name in self._belief.names()}
        return tuple(Candidate(s.x, s.y, rank[s.name], s.name) for s in self._belief.squares())


def _one_a_region(found: Sequence[tuple[Option, ScoredPlace]],
                  grid: GridMap) -> list[tuple[Option, ScoredPlace]]:
    """Return the options (best first) without those in sight of a better one near them, which shows the same floor.

    Doorways stay: each leads to a room of its own.
    """
    kept: list[tuple[Option, ScoredPlace]] = []
    for option, own in found:
        near = np.array([(kin.x, kin.y) for kin, _ in kept if kin.kind != "doorway" and math.dist(
            (kin.x, kin.y), (option.x, option.y)) < _REGION_M]).reshape(-1, 2)
        if option.kind == "doorway" or not clear_lines(grid, (option.x, option.y), near).any():
            kept.append((option, own))
    return kept


def _facing(goal: Pose2, situation: Situation, kind: str) -> Pose2:
    """Return a goal with a heading in which there is something to see: what a model named as evidence, if it is in
    sight from there, or the most open one on floor that was only seen, whose own heading means nothing.
    """
    named = [a for a in situation.assessments if a.target is not None and a.note and a.relevance >= _RELEVANT
             and _HERE_M < math.dist(goal[:2], a.target) <= _FACED_M]
    for a in sorted(named, key=lambda a: -a.relevance):
        front = in_front_of(situation.grid, a.pose, _target(a))
        if clear_lines(situation.grid, goal[:2], np.array([front]))[0]:
            return goal._replace(yaw=math.atan2(_target(a)[1] - goal.y, _target(a)[0] - goal.x))
    return open_heading(situation.grid, goal) if kind == "floor" else goal


def _target(view: ViewAssessment) -> tuple[float, float]:
    assert view.target is not None
    return view.target


def _at_door(frontier: Frontier, door: Option, grid: GridMap) -> bool:
    """Return whether a frontier is in a doorway, or in the room behind it that was only seen through the doorway."""
    off_m = math.dist((frontier.x, frontier.y), (door.x, door.y))
    if off_m < _OF_DOOR_M:
        return True
    behind = math.atan2(frontier.y - door.y, frontier.x - door.x)
    return off_m < _BEHIND_M and abs(wrap(behind - door.heading)) < _BEHIND_RAD and bool(
        clear_lines(grid, (door.x, door.y), np.array([[frontier.x, frontier.y]]))[0])


def _beyond(door: Frontier, at: tuple[float, float]) -> bool:
    """Return whether a place lies on the far side of a doorway."""
    return (at[0] - door.x) * math.cos(door.heading) + (at[1] - door.y) * math.sin(door.heading) > 0.0


def _towards_far_side(door: Doorway, reach: ReachableArea) -> Frontier | None:
    """Return the doorway with the direction from the side that is nearer by path; None if neither can be reached."""
    sides = []
    for turn in (0.0, math.pi):
        heading = wrap(door.heading + turn)
        before = reach.place(door.x - _BEFORE_M * math.cos(heading), door.y - _BEFORE_M * math.sin(heading), heading)
        sides.append((math.inf if before is None else before.distance_m, heading))
    nearer = min(sides)
    return Frontier(door.x, door.y, nearer[1], door.width_m) if nearer[0] < math.inf else None


def _inside(door: Frontier, reach: ReachableArea) -> ReachablePose | None:
    """Return where a drive through a doorway ends: a metre inside, or as far as floor is known.

    A place a little beyond known floor is kept: the robot sees that floor on the way.
    """
    for metres in (_INSIDE_M, 0.75, 0.5, 0.25, 0.0):
        x, y = door.x + metres * math.cos(door.heading), door.y + metres * math.sin(door.heading)
        place = reach.place(x, y, door.heading)
        if place is not None:
            here = place.pose if place.distance_m > _SURELY_M else Pose2(x, y, door.heading)
            return ReachablePose(here, place.distance_m)
    return None
