"""Paths begin on any floor of a scene, and stay on it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.generate.results import READERS, write_benchmark
from eqa_nodes.generate.scene_paths import make_path
from eqa_nodes.generate.values import ACCEPTED, QuestionAnswer, QuestionAttempt, ScenePath
from eqa_nodes.tours.tours import BLIND, RECIPES, TourHistory, floors_of, plan_tour
from sim_bridge.registry import open_simulator
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures.floors import slab
from tests.fixtures.generating import small
from tests.fixtures.meshes import write_scan

EXPRESS = small("express")
ROBOT = replace(EXPRESS.recipe.robot, camera=BLIND)
HEIGHTS_M = (0.0, 2.6, 5.2)


@pytest.fixture(scope="module")
def tower(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three floors on top of each other; the highest is too small for a path."""
    parts = [slab(0, 0, 9, 5, HEIGHTS_M[0])]
    for z, width_m in ((HEIGHTS_M[1], 8), (HEIGHTS_M[2], 2.4)):
        parts += [slab(0, 0, width_m, 5, z), slab(0, 0, width_m, 5, z - 0.1, up=False)]
    return f"mesh:{write_scan(tmp_path_factory.mktemp('tower') / 'tower.glb', *parts)}"


@pytest.fixture(scope="module")
def paths(tower: str) -> list[ScenePath]:
    return [make_path(EXPRESS, tower, seed, seed, 2, labels=False) for seed in range(6)]


def test_every_floor_is_found_and_the_middle_one_from_between(tower: str) -> None:
    floors = floors_of(tower, ROBOT)
    assert floors[0] is None and [round(place[2], 2) for place in floors[1:] if place] == [2.6, 5.2]
    assert floors_of("toy:flat", ROBOT) == (None,)


def test_paths_are_drawn_over_the_floors_and_each_stays_on_its_own(tower: str, paths: list[ScenePath]) -> None:
    heights = {round(path.z, 2) for path in paths}
    assert {0.0, 2.6} <= heights
    for path in paths[:4]:
        tour = plan_tour(tower, EXPRESS.recipe, path.number, None if path.z < 1 else floors_of(tower, ROBOT)[
            HEIGHTS_M.index(round(path.z, 1))])
        assert (tour.poses, tour.actions, tour.z) == (path.poses, path.actions, path.z)
        driven = TourHistory(replace(tour, robot=ROBOT))
        assert {round(frame.map_from_base.xyz[2], 2) for frame in driven} == {round(path.z, 2)}
        assert [frame.pose for frame in driven] == [pytest.approx(pose) for pose in path.poses]
        assert all(other.from_start_m < 20 for other in path.elsewhere)  # on the same floor, so that a way leads there


def test_where_no_path_fits_on_the_drawn_floor_another_is_taken(tower: str) -> None:
    long = replace(EXPRESS, recipe=replace(EXPRESS.recipe, min_m=8.3))
    assert {round(make_path(long, tower, seed, 0, 0, labels=False).z, 1) for seed in range(4)} <= {0.0, 2.6}
    with pytest.raises(SimulatorError, match="has no such tour with seed 3"):
        make_path(replace(EXPRESS, recipe=replace(EXPRESS.recipe, min_m=50)), tower, 3, 0, 0, labels=False)


@pytest.mark.parametrize("name", ["express", "exploraqa"])
def test_the_height_of_the_floor_is_in_the_written_files(name: str, paths: list[ScenePath], tmp_path: Path) -> None:
    path = replace(next(path for path in paths if path.z > 1), instruction="Go.")
    record = QuestionAttempt("4", path.scene, path.number, "state", ACCEPTED, QuestionAnswer("Is it on?", "Yes."),
                             viewpoints=(0,))
    file = write_benchmark(small(name), [record], lambda number: path, tmp_path)
    (sample,), (raw,) = READERS[name](file), json.loads(file.read_text())
    assert sample.start_height_m == pytest.approx(path.z) and raw["start_position"][1] == pytest.approx(path.z)
    assert sample.target is not None and sample.target[2] == pytest.approx(path.z)
    simulator = open_simulator(path.scene)
    frame = simulator.reset(EpisodeSetup(path.scene, start=sample.start, robot=ROBOT,
                                         start_height_m=sample.start_height_m or 0.0)).frame
    assert frame.map_from_base.xyz[2] == pytest.approx(path.z, abs=0.01)


def test_with_one_floor_the_path_is_that_of_the_seed() -> None:
    path = make_path(EXPRESS, "toy:flat", 5, 0, 1, labels=False)
    assert path.poses == plan_tour("toy:flat", replace(RECIPES["express"], robot=EXPRESS.recipe.robot), 5).poses
