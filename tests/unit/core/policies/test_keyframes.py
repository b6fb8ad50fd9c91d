"""Keyframes chosen by place: which places a planner marks, and which views the answerer then gets."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.agent.reporting import EpisodeContext
from eqa_nodes.core.agent.views import ViewAssessments
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.policies.aqnav_policy import AqNavConfig, AqNavPolicy
from eqa_nodes.core.policies.keyframes import is_chosen, places_in
from eqa_nodes.core.types.floor import Candidate
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question
from tests.fixtures.planners import with_keyframes
from tests.fixtures.policy_views import HERE, situation, spot, view

MARKS = (Candidate(0.0, 0.0, 0.9, "keyframe"), Candidate(4.0, 0.0, 0.2, "no keyframe"), Candidate(0, 0, 1.0, "kitchen"))


def test_views_of_a_place_that_was_not_chosen_are_left_out() -> None:
    places = places_in(MARKS)
    assert places == MARKS[:2] and places_in(MARKS[1:]) == () == places_in(())
    chosen = [is_chosen(Pose2(x, 0.3, 0.0), places) for x in (0.5, 1.9, 2.1, 4.0, 5.2, 6.0)]
    assert chosen == [True, True, True, False, False, True]  # 2.1 and 6.0: farther than 1.5 m from both
    assert is_chosen(Pose2(4.0, 0.0, 0.0), ())


def test_the_policy_marks_the_places_that_its_planner_chose() -> None:
    at, there = situation(view(1, spot(14.0)), view(2, pose=HERE._replace(x=13.0))), with_keyframes()
    marks = AqNavPolicy(planner=there).decide(at).marks
    assert len(marks) == 2 and {mark.label for mark in marks} <= {"keyframe", "no keyframe"}
    assert all(0.0 < mark.weight < 1.0 and (mark.label == "keyframe") == (mark.weight > 0.5) for mark in marks)
    strict, lax = (AqNavPolicy(AqNavConfig(beta=beta), planner=there).decide(at).marks for beta in (1.0, 0.0))
    assert places_in(strict) == () and {mark.label for mark in lax} == {"keyframe"}
    assert AqNavPolicy().decide(at).marks == ()  # the planner of the package was not trained to
    with pytest.raises(ConfigError, match=r"aqnav.beta is 1.5"):
        AqNavConfig(beta=1.5)


def test_a_file_keeps_the_layers_of_keyframes(tmp_path: Path) -> None:
    made = with_keyframes(3)
    made.save(tmp_path / "aqnav.npz")
    at = situation(view(1, spot(14.0)))
    one = AqNavPolicy(AqNavConfig(planner=str(tmp_path / "aqnav.npz"))).decide(at)
    assert one.marks[0].weight == pytest.approx(AqNavPolicy(planner=made).decide(at).marks[0].weight, abs=0.01)
    assert one._replace(marks=()) == AqNavPolicy().decide(at)  # the navigator did not change


def test_the_answerer_gets_the_views_of_chosen_places_and_all_where_none_is_left() -> None:
    frames: list[Any] = [SimpleNamespace(id=k, pose=Pose2(x, 0.0, 0.0)) for k, x in ((1, 0.0), (2, 4.0), (3, 9.0))]
    ports = SimpleNamespace(memory=SimpleNamespace(recall=lambda query: []), answerer=None, odometry=None)
    report: Any = SimpleNamespace(judged=lambda assessments: None)
    context: Any = EpisodeContext(Question("Where is the kettle?"), ports, AgentConfig(), None, report)  # type: ignore[arg-type]
    views = ViewAssessments(context, False)
    views.add([view(k, relevance=0.5, enough=0.1 * k) for k in (1, 2, 3)], frames)
    assert [item.keyframe.id for item in views.items()] == [3, 2, 1]
    views.choose(MARKS)
    assert [item.keyframe.id for item in views.items()] == [3, 1]
    views.choose((Candidate(0.0, 0.0, 0.9, "no keyframe"), Candidate(4.0, 0.0, 0.9, "no keyframe")))
    assert [item.keyframe.id for item in views.items()] == [3, 2, 1]
    views.choose((*(Candidate(x, 0.0, 0.1, "no keyframe") for x in (0.0, 4.0, 9.0)), Candidate(50, 0, 0.9, "keyframe")))
    assert [item.keyframe.id for item in views.items()] == [3, 2, 1]
