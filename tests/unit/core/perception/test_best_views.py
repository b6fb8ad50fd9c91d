"""Which of several stored views shows a place best, and whether an opening lies between walls."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from eqa_nodes.core.perception.best_views import best_glimpse, between_walls, glimpse_of
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Keyframe
from tests.fixtures.briefs import view

AHEAD = (4.6, 2.0, 0.0)  # floor 1.6 m in front of the robot


def moved(number: int, metres: float) -> Keyframe:
    """Return the view with another pose, so that the same depth is that of another place."""
    return replace(view(2), id=number, map_from_base=Pose2(3.0 + metres, 2.0, 0.0).transform())


def test_the_best_view_is_the_one_from_the_ideal_distance_and_of_equal_ones_the_newest() -> None:
    views = [moved(1, 0.0), moved(2, -1.0), moved(3, 0.0)]
    nearest, farther = best_glimpse(views, AHEAD, 1.6), best_glimpse(views, AHEAD, 3.0)
    assert nearest is not None and farther is not None
    assert (nearest.view.id, farther.view.id) == (3, 2)


def test_what_is_cut_off_or_seen_from_the_wrong_side_is_worse() -> None:
    whole, cut = glimpse_of(view(2), (4.6, 2.0, 0.0), 1.6), glimpse_of(view(2), (4.6, 3.55, 0.0), 1.6)
    assert whole is not None and cut is not None and cut.worse > whole.worse + 1.0
    ahead, back = (glimpse_of(view(2), AHEAD, 1.6, looking) for looking in (0.0, math.pi))
    assert ahead is not None and back is not None and back.worse == pytest.approx(ahead.worse + 1.0)


@pytest.mark.parametrize("place", [(7.0, 0.5, 0.0), (1.0, 2.0, 0.0), (4.6, 2.0, 9.0), (math.nan, 2.0, 0.0)])
def test_a_place_behind_a_wall_behind_the_robot_on_another_floor_or_nowhere_is_not_shown(
        place: tuple[float, float, float]) -> None:
    assert best_glimpse([view(2)], place, 2.0) is None


def test_a_view_without_picture_camera_or_readable_depth_shows_nothing() -> None:
    geometry = view(2).geometry
    assert geometry is not None
    assert best_glimpse([replace(view(2), jpeg=b"")], AHEAD, 2.0) is None
    for broken in (replace(view(2), geometry=None),
                   replace(view(2), geometry=geometry._replace(depth_png=b"no image"))):
        assert best_glimpse([broken], AHEAD, 2.0) is None
        assert not between_walls([broken], 5.06, 2.0, 0.0), "no wall was seen"


def test_an_opening_is_a_doorway_where_walls_stand_on_both_sides() -> None:
    for heading in (0.0, math.pi):
        assert between_walls([view(2)], 5.06, 2.0, heading)
        assert not between_walls([view(2), view(1, math.pi)], 4.2, 2.0, heading), "in the middle of the room"
    assert not between_walls([], 5.06, 2.0, 0.0)
