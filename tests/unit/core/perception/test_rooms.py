"""The rooms of detected objects: what usually stands together tells the room, on this side of a wall."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from eqa_nodes.core.perception.rooms import RoomVotes
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame, Point
from tests.fixtures.frames import H, W, frame

NOBODY = np.zeros((H, W), bool)


@dataclass
class Housed:
    id: int
    kind: str
    x: float
    y: float = 0.0
    rooms: dict[str, float] = field(default_factory=dict)
    sure: float = 0.9
    z: float = 0.0

    @property
    def low(self) -> Point:
        return self.x - 0.2, self.y - 0.2, self.z

    @property
    def high(self) -> Point:
        return self.x + 0.2, self.y + 0.2, self.z + 0.9


def empty_hall() -> list[Frame]:
    """Return views of a hall without walls near by, from places 1 m apart."""
    return [frame(1 + 8 * step + turn, Pose2(step - 3.0, 0.0, turn * math.pi / 4), depth=0.8)
            for step in range(7) for turn in range(8)]


def votes_in(frames: list[Frame]) -> RoomVotes:
    votes = RoomVotes()
    for one in frames:
        votes.rooms_of([], replace(one, depth_m=one.depth_m), NOBODY)
    return votes


def named(votes: RoomVotes, *seen: Housed, x: float = 0.0) -> list[str]:
    return votes.rooms_of(seen, frame(99, Pose2(x, 0.0, 0.0), depth=0.8), NOBODY)


def test_what_usually_stands_together_names_the_room_of_all() -> None:
    plant, tap, oven = Housed(1, "potted plant", 0.0), Housed(2, "kitchen sink", 0.5), Housed(3, "stove", -0.5)
    assert named(votes_in(empty_hall()), plant, tap, oven) == ["kitchen"] * 3
    assert named(votes_in(empty_hall()), Housed(1, "thing", 0.0)) == [""], "nothing tells"


def test_the_detector_s_own_guesses_decide_where_the_kinds_do_not() -> None:
    lamp = Housed(1, "thing", 0.0, rooms={"study": 2.0, "hallway": 1.0})
    assert named(votes_in(empty_hall()), lamp) == ["study"]
    assert named(votes_in(empty_hall()), lamp, Housed(2, "toilet", 0.2, rooms={"bathroom": 1.0}),
                 Housed(3, "bathtub", -0.2, rooms={"bathroom": 1.0}))[0] == "bathroom"


def test_guesses_of_no_weight_tell_nothing() -> None:
    assert named(votes_in(empty_hall()), Housed(1, "thing", 0.0, rooms={"study": 0.0})) == [""]


def test_an_unsure_name_and_what_stands_far_away_tell_little() -> None:
    bed, stove, oven = Housed(1, "bed", 0.0), Housed(2, "stove", 0.4, sure=0.05), Housed(3, "oven", 3.0)
    assert named(votes_in(empty_hall()), bed, stove, oven)[0] == "bedroom"


def test_what_was_seen_earlier_still_tells_until_the_episode_ends() -> None:
    votes, plant = votes_in(empty_hall()), Housed(2, "thing", 0.4)
    assert named(votes, Housed(1, "toilet", 0.0)) == ["bathroom"]
    assert named(votes, plant) == ["bathroom"]
    votes.reset()
    assert named(votes, plant) == [""] and named(votes) == []


def test_an_upper_storey_tells_nothing_of_this_one() -> None:
    votes = votes_in(empty_hall())
    assert named(votes, Housed(1, "toilet", 0.0, z=2.8), Housed(2, "thing", 0.2)) == ["bathroom", ""]


def test_a_wall_is_between_rooms() -> None:
    votes = RoomVotes()
    for side in (-1.0, 1.0):  # a wall at x = 0, seen from both sides, 1.2 m away
        for turn in range(-2, 3):
            at = Pose2(1.2 * side, 0.4 * turn, math.pi if side > 0 else 0.0)
            votes.rooms_of([], frame(3, at, depth=1.2), NOBODY)
    bath = Housed(1, "bathtub", -0.5)
    assert named(votes, bath, Housed(2, "thing", -0.8), x=-1.2) == ["bathroom"] * 2
    assert named(votes, Housed(3, "thing", 0.5), x=1.2) == [""]
