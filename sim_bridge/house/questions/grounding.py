"""Checks that a question can be answered by looking: a view of its targets, and a start that hides them.

Also functions for all question data sets over houses: iteration over houses, and the shortest path past several views.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise, permutations
from typing import NamedTuple, TypeVar

from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.house.physics import path_length
from sim_bridge.house.questions.facts import QuestionCandidate
from sim_bridge.house.scene import STAIRWELL, House, HouseObject, Room
from sim_bridge.house.world import HouseWorld, world

# Pixels of the default 640x480 camera: minimum to recognise a target, and minimum to count it as seen.
VIEW_PIXELS, SEEN_PIXELS = 400, 80
_COARSE = 4  # candidate views are rendered at a quarter of the default resolution
_HEADINGS = 12
_RINGS_M, _BEARINGS = (1.2, 1.6, 2.1, 2.8, 3.6), 16
_PREFERRED_M, _LOOKS = 1.7, 8
_NO_CLUE = 1.0  # penalty of a view without a clue to the room, metres of detour
FRONT_COS = 0.45  # within about 63 degrees of straight in front
_NEAREST_M = 0.8
_MARGIN = 0.06  # share of the image's border in which no target may lie


class Grounded(NamedTuple):
    """The start pose and target view of a question, and the path between them in atomic actions and metres."""

    start: Pose2
    view: Pose2
    l_steps: int
    l_metres: float
    needs_exploration: bool


class Grounding:
    """Finds views and starts in one house; what is visible from each start is cached."""

    def __init__(self, house: House, world: HouseWorld, robot: RobotModel | None = None) -> None:
        self.house, self.world, self.robot = house, world, robot or RobotModel()
        camera = self.robot.camera
        self._camera = CameraModel(camera.width // _COARSE, camera.height // _COARSE, camera.hfov_deg, camera.height_m,
                              camera.tilt_down_deg, camera.max_range_m)
        self._scale = _COARSE ** 2 * 640 * 480 / (camera.width * camera.height)
        self._seen: dict[tuple[float, float], dict[int, float]] = {}

    def ground(self, candidate: QuestionCandidate, allow_seen: bool = False) -> Grounded | None:
        """Return start and view; None if the targets cannot be seen, reached or (unless allowed) hidden."""
        view = self.find_view(candidate)
        if view is None:
            return None
        for start in [self.house.start] if allow_seen else self.starts:
            hidden = self.hidden(start, candidate.targets)
            if not (hidden or allow_seen):
                continue
            path = self.world.shortest_path((start.x, start.y), (view.x, view.y), self.robot)
            if len(path) > 0:
                steps = self.world.steps_along(path, start.yaw, view.yaw, self.robot)
                return Grounded(start, view, steps, round(path_length(path), 3), hidden)
        return None

    def hidden(self, start: Pose2, targets: Sequence[int]) -> bool:
        """Return whether no target is visible to a robot that turns once on the spot."""
        seen = self.seen_from(start)
        return all(seen.get(target, 0) < SEEN_PIXELS for target in targets)

    def seen_from(self, start: Pose2) -> dict[int, float]:
        """Return for each instance the maximum pixels (of the default camera) over the twelve headings."""
        key = (start.x, start.y)
        if key not in self._seen:
            most: dict[int, float] = {}
            for k in range(_HEADINGS):
                for instance, pixels in self.pixels(Pose2(*key, wrap(start.yaw + k * 2 * math.pi / _HEADINGS))).items():
                    most[instance] = max(most.get(instance, 0.0), pixels)
            self._seen[key] = most
        return self._seen[key]

    def pixels(self, pose: Pose2) -> dict[int, float]:
        """Return the number of pixels of every visible instance, scaled to the default camera."""
        return {i: n * self._scale for i, n in self.world.visible_pixels(pose, self._camera).items()}

    def find_view(self, candidate: QuestionCandidate) -> Pose2 | None:
        """Return the best of a few views in which enough of the targets are large enough and not occluded."""
        best, best_score = None, 1.0
        for pose in self._poses(candidate)[:_LOOKS]:
            pixels = self.pixels(pose)
            sizes = sorted((pixels.get(t, 0.0) / VIEW_PIXELS for t in candidate.targets), reverse=True)
            clear = not candidate.clues or any(pixels.get(c, 0.0) >= VIEW_PIXELS for c in candidate.clues)
            score = min(sizes[candidate.need - 1], 4.0) if clear else 0.0
            if score > best_score:
                best, best_score = pose, score
            if score == 4.0:
                break
        return best

    def _poses(self, candidate: QuestionCandidate) -> list[Pose2]:
        """Return poses around the targets from which they lie inside the image, the most promising first."""
        targets = [self.house.object_by_id(t) for t in candidate.targets][:max(candidate.need, 1)]
        x = sum(t.position[0] for t in targets) / len(targets)
        y = sum(t.position[1] for t in targets) / len(targets)
        rooms = {t.room for t in targets}
        found: list[tuple[float, int, Pose2]] = []
        for ring, bearing in ((r, b) for r in _RINGS_M for b in range(_BEARINGS)):
            angle = 2 * math.pi * bearing / _BEARINGS
            stand = (round(x + ring * math.cos(angle), 3), round(y + ring * math.sin(angle), 3))
            pose = Pose2(*stand, round(wrap(angle + math.pi), 6))
            room = self.house.room_at(pose.x, pose.y)
            if room is None or room.id not in rooms or not self.world.free(pose.x, pose.y, self.robot):
                continue
            if all(self._in_image(pose, t) and _clear_of(pose, t) for t in targets):
                found.append((self._cost(pose, candidate, targets, ring), len(found), pose))
        return [pose for cost, _, pose in sorted(found) if cost < math.inf]

    def _cost(self, pose: Pose2, candidate: QuestionCandidate, targets: list[HouseObject], ring: float) -> float:
        cost = abs(ring - _PREFERRED_M)
        clues = [self.house.object_by_id(c) for c in candidate.clues]
        cost += _NO_CLUE if clues and not any(self._in_image(pose, clue) for clue in clues) else 0.0
        for obj in targets:
            towards = facing(obj, pose)
            if obj.id == candidate.front and towards < FRONT_COS:
                return math.inf
            cost += 0.3 * (1 - towards) / len(targets)
            cost += 0.0 if self._in_image(pose, obj, 0.0) and self._in_image(pose, obj, 1.0) else 0.5
        return round(cost, 6)

    def _in_image(self, pose: Pose2, obj: HouseObject, part: float = 0.5) -> bool:
        """Return whether the object's centre (part 0: of its bottom, 1: of its top) lies well inside the image."""
        camera = self.robot.camera
        dx, dy = obj.position[0] - pose.x, obj.position[1] - pose.y
        forward = math.cos(pose.yaw) * dx + math.sin(pose.yaw) * dy
        left = math.cos(pose.yaw) * dy - math.sin(pose.yaw) * dx
        up = obj.position[2] + obj.size[2] * part - camera.height_m
        tilt = math.radians(camera.tilt_down_deg)
        depth = forward * math.cos(tilt) - up * math.sin(tilt)
        height = forward * math.sin(tilt) + up * math.cos(tilt)
        half = math.tan(math.radians(camera.hfov_deg) / 2) * (1 - 2 * _MARGIN)
        return depth > 0.3 and abs(left) < half * depth and abs(height) < half * depth * camera.height / camera.width

    @property
    def starts(self) -> list[Pose2]:
        """Return the possible starts of an episode: the house's own start, then one pose in every room."""
        return [self.house.start, *self._other_starts]

    @cached_property
    def _other_starts(self) -> list[Pose2]:
        """Yield one free pose in every room, in an order and with headings decided by the seed."""
        poses = [(self._draw("order", room.id), self._stand(room)) for room in self.house.rooms
                 if room.kind != STAIRWELL]
        return [pose for _, pose in sorted(poses, key=lambda p: p[0]) if pose is not None]

    def _stand(self, room: Room) -> Pose2 | None:
        for k in range(12):
            u, v = (self._draw(axis, room.id, k) / 2 ** 32 * 0.6 + 0.2 for axis in "xy")
            x, y = round(room.x0 + u * (room.x1 - room.x0), 3), round(room.y0 + v * (room.y1 - room.y0), 3)
            if self.world.free(x, y, self.robot):
                return Pose2(x, y, wrap(math.radians(self._draw("yaw", room.id) % 12 * 30)))
        return None

    def _draw(self, *key: object) -> int:
        return zlib.crc32(repr((self.house.seed, key)).encode())


def _clear_of(pose: Pose2, obj: HouseObject) -> bool:
    return math.hypot(pose.x - obj.position[0], pose.y - obj.position[1]) > _NEAREST_M


def facing(obj: HouseObject, pose: Pose2) -> float:
    """Return the cosine between the object's front and the direction to the viewer: 1 = straight in front."""
    return math.cos(math.atan2(pose.y - obj.position[1], pose.x - obj.position[0]) - obj.yaw)


Question = TypeVar("Question")


def over_houses(seeds: Iterable[int], n: int, per_house: int,
                of_house: Callable[[Grounding, int, int, Counter[str]], list[Question]],
                world_of: Callable[[int], HouseWorld] = world) -> Iterator[Question]:
    """Yield n questions, fewer if the houses run out.

    of_house: makes questions from the house, its seed, the number of questions wanted, and a counter of used answers
    and forms, which it updates. world_of: returns the house of a seed.
    """
    left, used = n, Counter[str]()
    for seed in seeds:
        place = world_of(seed)
        for question in of_house(Grounding(place.house, place), seed, min(per_house, left), used):
            left -= 1
            yield question
        if left <= 0:
            return


def start_past(grounding: Grounding, targets: Sequence[int], views: Sequence[Pose2]
               ) -> tuple[Pose2, int, float] | None:
    """Return a start from which no target is visible, with the atomic actions and metres of the shortest path.

    The path leads past all views, in the best order. None if there is no such start, or no view.
    """
    for start in grounding.starts if views else ():
        if grounding.hidden(start, targets) and (length := _shortest_past(grounding, start, views)):
            return start, *length
    return None


def _shortest_past(grounding: Grounding, start: Pose2, views: Sequence[Pose2]) -> tuple[int, float] | None:
    lengths = [_length(grounding, (start, *order)) for order in permutations(views)]
    return min(filter(None, lengths), key=lambda length: length[1], default=None)


def _length(grounding: Grounding, poses: Sequence[Pose2]) -> tuple[int, float] | None:
    place, steps, metres = grounding.world, 0, 0.0
    for a, b in pairwise(poses):
        path = place.shortest_path((a.x, a.y), (b.x, b.y), grounding.robot)
        if not path:
            return None
        steps += place.steps_along(path, a.yaw, b.yaw, grounding.robot)
        metres += path_length(path)
    return steps, round(metres, 3)
