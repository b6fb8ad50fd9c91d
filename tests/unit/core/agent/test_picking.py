"""Few pictures that differ, and that show where the robot could go."""

from __future__ import annotations

import math

from eqa_nodes.core.agent.model_decides import pick
from eqa_nodes.core.types.floor import Option
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.briefs import view


def plain(number: int, x: float, yaw_deg: float) -> Keyframe:
    """Return a view whose camera and depth nobody knows."""
    return Keyframe(number, number, Pose2(x, 0.0, math.radians(yaw_deg)).transform(), b"")


ROUND = [plain(i, 0.0, 30.0 * i) for i in range(12)]


def test_of_a_look_round_it_takes_few_views_that_show_all_of_it() -> None:
    chosen = pick(ROUND, (), 8)
    assert 4 <= len(chosen) <= 6
    yaws = sorted(view.pose.yaw for view in chosen)
    gaps = [b - a for a, b in zip(yaws, [*yaws[1:], yaws[0] + 2 * math.pi], strict=True)]
    assert max(gaps) <= math.radians(90.1)
    assert [view.id for view in chosen] == sorted(view.id for view in chosen)


def test_no_more_than_asked_for_and_never_none() -> None:
    assert len(pick(ROUND, (), 2)) == 2 and len(pick(ROUND[:1], (), 5)) == 1 and pick([], (), 5) == ()


def test_near_duplicates_are_left_out() -> None:
    drive = [plain(i, 0.1 * i, 0.0) for i in range(10)]
    assert len(pick(drive, (), 5)) == 1 and pick(drive, (), 5, now=(9,))[0].id == 9


def test_what_was_named_as_evidence_is_shown_again() -> None:
    proof = plain(100, 5.0, 0.0)
    assert proof in pick(ROUND, (), 3, kept=[proof])


def test_a_view_that_shows_an_option_is_worth_more() -> None:
    door = Option(4.2, 2.0, 0.0, "doorway", 1.0)
    alike = [view(1), view(2, 0.05), view(3, math.pi)]
    assert {v.id for v in pick(alike, (door,), 1)} <= {1, 2}


def test_a_view_of_a_wall_is_worth_less() -> None:
    wall, door = view(1, math.pi / 2), view(2)
    assert pick([wall, door], (), 1) == (door,)


def test_an_earlier_view_is_shown_again_where_it_alone_shows_an_option_and_there_is_room() -> None:
    behind = Option(1.5, 2.0, math.pi, "doorway", 1.0)
    new, earlier = [view(2)], [view(1, math.pi)]
    assert [v.id for v in pick(new, (), 2, shown=earlier)] == [2], "nothing that it adds"
    assert [v.id for v in pick(new, (behind,), 2, shown=earlier)] == [1, 2]
    assert [v.id for v in pick(new, (behind,), 1, shown=earlier)] == [2], "what is new comes first"
