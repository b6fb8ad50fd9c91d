"""Every question has a view that shows its targets, and a start that hides them."""

from __future__ import annotations

from collections import Counter

from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.questions import QuestionCandidate, candidates
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS, Grounding
from sim_bridge.house.world import HouseWorld
from tests.fixtures.small_home import home, most_seen, obj, pixels


def test_views_show_the_target_and_starts_do_not() -> None:
    place = HouseWorld(home())
    grounding = Grounding(place.house, place)
    seen: dict[Pose2, Counter[int]] = {}
    for candidate in [c for items in candidates(place.house).values() for c in items[:2]]:
        found = grounding.ground(candidate)
        if candidate.clues and found is None:
            continue  # nothing in the view tells what room it is
        assert found is not None
        assert found.needs_exploration
        shown = pixels(place, found.view)
        assert not candidate.clues or max(shown[c] for c in candidate.clues) >= 0.8 * VIEW_PIXELS
        sizes = sorted((pixels(place, found.view)[t] for t in candidate.targets), reverse=True)
        assert sizes[candidate.need - 1] >= 0.8 * VIEW_PIXELS
        seen[found.start] = seen.get(found.start) or most_seen(place, found.start)
        assert all(seen[found.start][t] < 1.5 * SEEN_PIXELS for t in candidate.targets)
        assert found.l_metres >= found.start.distance(found.view) - 1e-6
        assert found.l_steps >= found.l_metres / 0.25 * 0.9


def test_a_target_in_view_is_kept_only_when_allowed() -> None:
    place = HouseWorld(home())
    place.house.rooms, place.house.openings = place.house.rooms[:1], []  # nowhere else to start from
    sofa = next(c for c in candidates(home())["attribute recognition"] if "sofa" in c.question)
    assert Grounding(place.house, place).ground(sofa) is None
    seen = Grounding(place.house, place).ground(sofa, allow_seen=True)
    assert seen is not None
    assert (seen.needs_exploration, seen.start) == (False, place.house.start)


def test_a_target_in_a_box_is_dropped() -> None:
    across, along = (0.02, 0.8, 1.0), (0.8, 0.02, 1.0)
    sides = ((0.4, 0.0, across), (-0.4, 0.0, across), (0.0, 0.4, along), (0.0, -0.4, along))
    walls = [obj(60 + i, "crate", 1, 6.0 + dx, 0.4 + dy, size, z=0.7) for i, (dx, dy, size) in enumerate(sides)]
    lid = obj(64, "crate", 1, 6.0, 0.4, (0.8, 0.8, 0.02), z=1.7)
    place = HouseWorld(home(*walls, lid))
    laptop = QuestionCandidate("object localization", "Where is my laptop?", "on the desk in the study", (5, 4), need=2)
    assert Grounding(place.house, place).find_view(laptop) is None
