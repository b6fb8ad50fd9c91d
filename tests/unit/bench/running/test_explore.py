"""Policies side by side: figures against hand-made ones, and what the last view shows."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.bench.metrics.question_score import QuestionScore
from eqa_nodes.bench.running.trials import COLUMNS, PAIRED, Trial, arm_rows, pairs, ratio_of_means, tables
from eqa_nodes.cli.bench.explore import Explore
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.policies.planner import GraphPlanner
from eqa_nodes.core.types.geometry import Pose2, wrap
from sim_bridge.house.world import world
from sim_bridge.registry import Truth

SCORE = QuestionScore("q", "object", "answered", 5.0, 1.0, "", None, 0.8, 40, 10.0, 1.0, 0, 0, 20, 5.0, 1.0, True,
                      False, ())


def trial(question: str, arm: str, sigma: float = 5.0, delta: float = 1.0, metres: float = 10.0) -> Trial:
    score = replace(SCORE, id=question, sigma=sigma, delta=delta, metres=metres)
    return Trial(question, "house:1", f"{arm} (none)", "none", (), "yes", score, 12.0, 7)


def figure(trials: list[Trial], heading: str) -> float | None:
    row = arm_rows(trials)[0]
    return next(s.mean for s, c in zip(row.figures, COLUMNS, strict=True) if c.heading == heading)


def test_the_figures_are_those_of_the_formulas() -> None:
    trials = [trial("a", "best"), trial("b", "best", sigma=3.0, delta=0.5, metres=5.0)]
    assert figure(trials, "E_path %") == pytest.approx((1.0 * 0.5 + 0.6 * 0.5 * 1.0) / 2)
    assert figure(trials, "C %") == pytest.approx((1.0 + 0.5) / 2)
    assert figure(trials, "EXPRESS C %") == pytest.approx((1.0 + 0.3) / 2)
    assert figure(trials, "metres") == pytest.approx(7.5)
    assert figure(trials, "explored m2") == 12.0 and figure(trials, "calls") == 7


def test_a_failed_question_is_in_no_mean_and_counted() -> None:
    broken = trial("b", "best")
    broken = replace(broken, score=replace(broken.score, status="failed", sigma=None))
    row = arm_rows([trial("a", "best"), broken])[0]
    assert (row.questions, row.failed) == (2, 1) and row.figures[0].n == 1


def test_differences_are_of_the_same_questions() -> None:
    easy, hard = ("a", "b"), ("c", "d")
    trials = [trial(q, "best", metres=5.0) for q in easy] + [trial(q, "best", metres=20.0) for q in hard]
    trials += [trial(q, "frontier", metres=10.0) for q in easy] + [trial(q, "frontier", metres=40.0) for q in hard]
    pair, = pairs(trials)
    assert (pair.name, pair.against) == ("best", "frontier")
    difference = pair.differences[PAIRED.index("E_path %")]
    assert difference.mean == pytest.approx((0.5 + 0.5 + 0.125 + 0.125) / 4)
    assert pair.ratio.mean == pytest.approx(2.0)
    assert pair.ratio.low == pytest.approx(2.0) == pair.ratio.high  # every question doubles, whichever are drawn


def test_policies_are_held_against_the_baselines_and_parts_against_the_whole() -> None:
    arms = ("frontier", "fine-eqa", "best", "best, no rooms")
    assert [(p.name, p.against) for p in pairs([trial("a", arm) for arm in arms])] == [
        ("frontier", "fine-eqa"), ("fine-eqa", "frontier"), ("best", "frontier"), ("best", "fine-eqa"),
        ("best, no rooms", "best")]


def test_a_ratio_to_nothing_is_none() -> None:
    assert ratio_of_means([0.5, None], [0.0, 1.0]).mean is None
    assert ratio_of_means([0.5, None], [0.25, 1.0]) == (2.0, None, None, 1, 1)


def test_the_tables_show_every_arm_and_what_it_is_held_against() -> None:
    trials = [trial(q, arm) for arm in ("best", "frontier") for q in "ab"]
    text = tables(trials)
    assert text.count("| best |") == 2 and "### Noise: none" in text and "E_path, times" in text


def test_the_last_view_is_grounded_as_far_as_it_shows_the_targets() -> None:
    place, truth = world(3), Truth()
    obj = max((t for t in place.house.objects if t.kind == "bed"), key=lambda t: t.size[0])
    x, y = obj.position[:2]
    angles = [k * math.pi / 8 for k in range(16)]
    poses = [Pose2(x + 2.2 * math.cos(a), y + 2.2 * math.sin(a), wrap(a + math.pi)) for a in angles]
    seen = [p for p in poses if place.free(p.x, p.y) and place.visible_pixels(p).get(obj.id, 0) * 16 > 2000]
    assert seen
    assert truth.grounding("house:3", [obj.id], seen[0]) == 1.0
    assert truth.grounding("house:3", [obj.id], seen[0]._replace(yaw=wrap(seen[0].yaw + math.pi))) == 0.0
    unseen = next(t for t in place.house.objects if t.id not in place.visible_pixels(seen[0]))
    assert truth.grounding("house:3", [obj.id, unseen.id], seen[0]) == 0.5
    assert truth.grounding("toy:room", [1], seen[0]) is None and truth.grounding("house:3", [], seen[0]) is None


def test_policies_can_be_held_against_others() -> None:
    trials = [trial("a", arm) for arm in ("frontier", "aqnav", "aqnav=other.npz", "best", "best, not learned")]
    assert [(p.name, p.against) for p in pairs(trials, ("aqnav",))] == [
        ("frontier", "aqnav"), ("aqnav=other.npz", "aqnav"), ("best", "aqnav"), ("best, not learned", "best")]
    assert "| aqnav=other.npz | aqnav |" in tables(trials, ("aqnav",))


def test_arms_may_have_another_planner_or_a_part_less(tmp_path: Path) -> None:
    GraphPlanner.load().save(tmp_path / "other.npz")
    command = Explore(policies=(f"aqnav={tmp_path}/other.npz", "best, not learned", "aqnav"))
    other, less, own = (command._arm(*pair).parameters["explorer"] for pair in command._chosen()[:3])
    assert other["policy"] == "aqnav" and other["params.aqnav.planner"] == f"{tmp_path}/other.npz"
    assert less["policy"] == "best" and less["params.best.learned"] == 0.0 and "params.aqnav.planner" not in own
    with pytest.raises(ConfigError, match="there is no planner missing.npz"):
        Explore(policies=("aqnav=missing.npz",))._arm("aqnav=missing.npz", "none")
    with pytest.raises(ConfigError, match="unknown policy or agent 'topo=x'"):
        Explore(policies=("topo=x",))._chosen()
