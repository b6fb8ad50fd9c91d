"""The rooms of detected objects: neighbours that are seen together agree."""

from __future__ import annotations

from dataclasses import dataclass, field

from eqa_nodes.core.perception.rooms import RoomVotes
from eqa_nodes.core.types.views import Point


@dataclass
class Housed:
    id: int
    x: float
    rooms: dict[str, float] = field(default_factory=dict)

    @property
    def low(self) -> Point:
        return self.x - 0.2, 0.0, 0.0

    @property
    def high(self) -> Point:
        return self.x + 0.2, 0.4, 0.9


def test_neighbours_correct_a_wrong_room_and_name_an_unknown_one() -> None:
    votes = RoomVotes()
    cup, table, chair, other = (Housed(1, 0.0, {"hallway": 3.0}), Housed(2, 0.1, {"kitchen": 90.0}),
                                Housed(3, 0.3, {"kitchen": 9.0}), Housed(4, 0.5))
    stove = Housed(5, -0.2, {"kitchen": 1.0, "hallway": 0.5})
    assert votes.rooms_of([cup]) == ["hallway"]
    assert votes.rooms_of([cup, table, chair, other, stove]) == ["kitchen"] * 5
    assert votes.rooms_of([cup, other]) == ["kitchen"] * 2, "neighbours of earlier images still vote"


def test_what_is_far_or_never_seen_in_the_same_image_does_not_vote() -> None:
    votes = RoomVotes()
    bath, sofa, plant, lamp = (Housed(1, 0.0, {"bathroom": 1.0}), Housed(2, 0.2, {"living room": 9.0}),
                               Housed(3, 0.4, {"living room": 9.0}), Housed(4, 2.3, {"living room": 9.0}))
    assert votes.rooms_of([sofa, plant]) == ["living room"] * 2  # behind the wall
    assert votes.rooms_of([bath, lamp]) == ["bathroom", "living room"]


def test_an_episode_begins_without_neighbours() -> None:
    votes = RoomVotes()
    unknown = Housed(1, 0.0)
    assert votes.rooms_of([unknown, Housed(2, 0.5, {"study": 1.0})]) == ["study"] * 2
    votes.reset()
    assert votes.rooms_of([unknown]) == [""] and votes.rooms_of([]) == []
