"""Histories made in simulators: planned as the papers say, the same for the same seed, complete as any other."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import SimulatorError, UnknownScene
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import check_frame
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.tours.tours import RECIPES, Tour, TourHistory, most_pixels, plan_tour
from tests.fixtures.bags import needs_messages

SMALL = CameraModel(width=48, height=36)


def small(tour: Tour) -> Tour:
    return replace(tour, robot=replace(tour.robot, camera=SMALL))


@pytest.fixture(scope="module")
def flat() -> Tour:
    return plan_tour("toy:flat", RECIPES["openeqa"])


def test_a_tour_of_openeqa_is_long_and_curved_and_looks_round_every_metre(flat: Tour) -> None:
    a, b = flat.poses[0], flat.poses[-1]
    assert flat.way_m > 10 and flat.way_m >= 1.1 * (a.distance(b) - 0.25)
    assert (flat.robot.turn_deg, flat.robot.move_m) == (15.0, 0.25)
    camera = flat.robot.camera
    assert (camera.width, camera.height, camera.hfov_deg, camera.height_m) == (1920, 1080, 90.0, 1.0)
    driven = sum(p.distance(q) for p, q in pairwise(flat.poses))
    assert flat.way_m - 0.5 < driven < 1.3 * flat.way_m
    scans = _turns_on_the_spot(flat)
    assert math.ceil(driven) - 1 <= len(scans) <= math.ceil(driven) + 1
    assert all(0 < n <= 12 for n in scans) and len(set(scans)) > 3  # up to 180 degrees, as the seed says


def _turns_on_the_spot(tour: Tour) -> list[int]:
    """How many turns each scan takes to its side: it takes as many back before the next move."""
    scans = []
    for moving, run in groupby(tour.actions, lambda action: action is Action.MOVE_FORWARD):
        there, *back = [len(list(side)) for _, side in groupby(run)]
        scans += [there] if not moving and back and back[0] >= there else []
    return scans


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("scene", ["toy:flat", "toy:storeys", "toy:room"])
def test_a_trajectory_of_express_takes_10_to_100_actions(scene: str, seed: int) -> None:
    tour = plan_tour(scene, RECIPES["express"], seed)
    assert 10 <= len(tour.actions) <= 100
    assert tour.poses[-1].distance(tour.poses[0]) <= tour.way_m + 0.25
    camera = tour.robot.camera
    assert (camera.width, camera.height, camera.height_m, tour.robot.turn_deg) == (512, 512, 1.5, 30.0)
    heights = {frame.map_from_base.xyz[2] for frame in TourHistory(small(tour))}
    assert heights == {0.0}  # on one floor


def test_the_seed_decides(flat: Tour) -> None:
    assert plan_tour("toy:flat", RECIPES["openeqa"]) == flat
    assert plan_tour("toy:flat", RECIPES["openeqa"], 1).poses[0] != flat.poses[0]


def test_what_is_driven_is_what_was_planned(flat: Tour) -> None:
    history = TourHistory(small(flat))
    frames = list(history)
    assert (history.name, len(history), len(frames)) == ("toy-flat", len(flat.actions) + 1, len(flat.poses))
    assert [f.pose for f in frames] == [pytest.approx(p) for p in flat.poses]
    stamps = [f.stamp_ns for f in frames]
    assert stamps == sorted(set(stamps))
    again = [(r.index, r.offset_ns, r.frame.stamp_ns) for r in history.recorded()]
    assert again == [(i, -1, stamp) for i, stamp in enumerate(stamps)]
    assert [f.stamp_ns - 10**18 for f in TourHistory(small(flat), 10**18)] == stamps
    for frame in frames[::40]:
        check_frame(frame)
        assert frame.labels is not None and set(np.unique(frame.labels)) - {0, 1} <= set(history.labels)
    assert not history.dropped


def test_a_scene_that_is_too_small_says_how_long_its_longest_way_is() -> None:
    with pytest.raises(SimulatorError, match=r"'toy:room' has no such tour with seed 0.*more than 10 m.*1\.1 times.*"
                                             r"longest way between \d+ places is 4\.\d m"):
        plan_tour("toy:room", RECIPES["openeqa"])
    with pytest.raises(SimulatorError, match=r"in 90 to 100 actions.*longest drive had \d+ actions"):
        plan_tour("toy:room", replace(RECIPES["express"], min_steps=90))
    with pytest.raises(UnknownScene):
        plan_tour("castle:1", RECIPES["openeqa"])


def test_the_pixels_of_what_a_tour_shows(flat: Tour) -> None:
    most = most_pixels(flat)
    assert set(TourHistory(flat).labels) >= {i for i in most if i > 1}
    assert max(most.values()) <= 640 * 480 and sum(n > 0 for n in most.values()) > 3
    still = Tour("toy:room", flat.robot, (), (plan_tour("toy:room", RECIPES["express"]).poses[0],), 0.0)
    assert set(most_pixels(still)) <= set(most_pixels(replace(still, actions=(Action.TURN_LEFT,) * 24)))


@needs_messages
def test_the_command_records_a_history_with_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["history", "record", "toy:room", "--kind", "express", "--image", "64x48"]
    assert main([*words, "--to", "bag", str(tmp_path / "bag")]) == 0
    assert main([*words, str(tmp_path / "folder")]) == 0
    printed = capsys.readouterr().out
    assert "toy:room: 23 actions along 4.03 m" in printed
    assert "not kept: 24 x frames with labels" in printed  # of the folder alone
    bag, folder = open_history(tmp_path / "bag"), open_history(tmp_path / "folder")
    tour = plan_tour("toy:room", RECIPES["express"])
    live = TourHistory(replace(tour, robot=replace(tour.robot, camera=replace(tour.robot.camera, width=64, height=48))))
    assert bag.labels == live.labels != {} and not folder.labels
    for a, b, c in zip(bag, folder, live, strict=True):
        assert np.array_equal(a.rgb, c.rgb) and np.array_equal(b.rgb, c.rgb) and np.array_equal(a.depth_m, c.depth_m)
        assert a.labels is not None and c.labels is not None and np.array_equal(a.labels, c.labels)
        assert (a.stamp_ns, a.map_from_base) == (c.stamp_ns, c.map_from_base)
    assert main(["history", "info", str(tmp_path / "bag")]) == 0
    assert f"labels of {len(live.labels)} things, out of a simulator" in capsys.readouterr().out
    assert main([*words[:3], str(tmp_path / "no")]) == 2 and "a smaller --min-metres" in capsys.readouterr().err
    curved = ["history", "record", "toy:flat", "--min-metres", "5", "--image", "32x24"]
    assert main([*curved, str(tmp_path / "yes")]) == 0 and "along 7.98 m" in capsys.readouterr().out
    assert main([*words[:3], "--kind", "walk", str(tmp_path / "no")]) == 2
    assert "unknown kind of tour 'walk': known are exploraqa, express, openeqa" in capsys.readouterr().err
