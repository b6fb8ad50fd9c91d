"""The floors of a mesh are those of Habitat's navigation mesh of the same file: where one can stand, how far it is.

Needs a Python that has habitat_sim: EQA_HABITAT_PYTHON names it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from eqa_nodes.core.types.geometry import position_from_habitat, position_to_habitat
from eqa_nodes.core.types.robot import RobotModel
from sim_bridge.house.export import export_glb
from sim_bridge.house.generate import generate_house
from sim_bridge.mesh.floor import MeshFloor, MeshPaths
from sim_bridge.mesh.ground import place_at
from sim_bridge.mesh.heightfield import CELL_M
from sim_bridge.mesh.load import load_mesh
from sim_bridge.scans import find_scan
from sim_bridge.walker import At
from tests.fixtures.data import shared_data
from tests.fixtures.paths import ROOT

CELL_HEIGHT_M = 0.02  # Habitat's default of 0.2 takes steps of up to 0.4 m for climbable, depending on where they begin
POINTS, PAIRS = 3000, 200


class Both(NamedTuple):
    """What both say of the same points: metres from each of our places to Habitat's nearest and the other way round.

    along_m: what Habitat says of our ways, corner by corner.
    """

    ours_away: np.ndarray
    theirs_away: np.ndarray
    ours_m: np.ndarray
    theirs_m: np.ndarray
    along_m: np.ndarray


def house(folder: Path) -> Path:
    path = folder / "house.glb"
    export_glb(generate_house(7), path)
    (folder / "house.stage_config.json").write_text(json.dumps(
        {"render_asset": path.name, "up": [0, 1, 0], "front": [0, 0, -1]}))
    return path


def room(folder: Path) -> Path:
    path = folder / "room.glb"
    path.write_bytes(shared_data("scenes/habitat-simple_room.glb").read_bytes())
    (folder / "room.stage_config.json").write_text(json.dumps(
        {"render_asset": path.name, "up": [0, 0, 1], "front": [0, 1, 0]}))
    return path


def hills(folder: Path) -> Path:
    path = folder / "hills.obj"
    path.write_bytes(shared_data("scenes/recast-nav_test.obj").read_bytes())
    return path


def asked(scene: Path, robot: RobotModel, folder: Path) -> Both:
    """Ask Habitat and ourselves about places of our largest area and pairs of them."""
    python = os.environ.get("EQA_HABITAT_PYTHON")
    if not python:
        pytest.skip("EQA_HABITAT_PYTHON names no Python that has habitat_sim")
    mesh = load_mesh(find_scan(str(scene)))
    floor = MeshFloor(mesh.vertices, mesh.faces, robot)
    rng = np.random.default_rng(0)
    points = floor.middles(rng.choice(np.nonzero(floor.area)[0], POINTS))
    largest = np.nonzero(floor.area == 1 + np.bincount(floor.area)[1:].argmax())[0]
    pairs = floor.middles(rng.choice(largest, 2 * PAIRS)).reshape(PAIRS, 2, 3)
    paths = MeshPaths(floor)
    ways = [paths.shortest((ax, ay, az), (bx, by, bz)) for (ax, ay, az), (bx, by, bz) in pairs.tolist()]
    legs = np.array([leg for way in ways for leg in pairwise(way)])
    body = robot.radius_m, robot.height_m, robot.climb_m, robot.slope_deg, CELL_HEIGHT_M
    np.savez(folder / "questions.npz", body=np.array(body), points=_to_habitat(points),
             pairs=_to_habitat(np.concatenate([pairs, legs])))
    script = ROOT / "tests" / "fixtures" / "habitat_floor.py"
    done = subprocess.run([python, str(script), str(scene), str(folder / "questions.npz"),
                           str(folder / "answers.npz")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = np.load(folder / "answers.npz")
    snapped = np.array([position_from_habitat(p) for p in answers["snapped"]])
    free = np.array([position_from_habitat(p) for p in answers["free"]])
    of_way = np.repeat(np.arange(PAIRS), [len(way) - 1 for way in ways])
    return Both(np.abs(snapped - points)[:, :2].max(axis=1), np.array([_away(floor, p) for p in free]),
                np.array([length(way) for way in ways]), answers["geodesic"][:PAIRS],
                np.bincount(of_way, answers["geodesic"][PAIRS:], PAIRS))


def length(way: list[At]) -> float:
    return sum(math.dist(p, q) for p, q in pairwise(way))


def _to_habitat(points: np.ndarray) -> np.ndarray:
    flat = [position_to_habitat(p) for p in points.reshape(-1, 3)]
    return np.array(flat, np.float32).reshape(points.shape)


def _away(floor: MeshFloor, point: np.ndarray) -> float:
    """Return how many metres along x or y the nearest of our places is, inf when it is three cells away."""
    x, y, z = point
    steps = [i * CELL_M for i in (0, -1, 1, -2, 2, -3, 3)]
    found = [max(abs(dx), abs(dy)) for dx in steps for dy in steps
             if place_at(floor.ground, x + dx, y + dy, z, 0.3, floor.radius_m) >= 0]
    return min(found, default=np.inf)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("make", [house, room, hills])
def test_floors_and_ways_are_those_of_habitat(make: object, tmp_path: Path) -> None:
    assert callable(make)
    both = asked(make(tmp_path), RobotModel(), tmp_path)
    beyond = [float(np.mean(~(away <= CELL_M + 1e-3))) for away in (both.ours_away, both.theirs_away)]
    far = both.theirs_m > 0.5
    asked_once = both.ours_m[far] / both.theirs_m[far]
    shortest = both.ours_m[far] / np.minimum(both.theirs_m, both.along_m)[far]  # its own search misses shorter ways
    shares = [float(np.mean(np.abs(ratio - 1) <= 0.02)) for ratio in (asked_once, shortest)]
    said = (f"beyond a cell: {beyond}; within 2 % of Habitat's way: {shares[0]:.3f}, of the shortest that Habitat "
            f"confirms: {shares[1]:.3f}; "
            + "; ".join(str(np.percentile(r, [0, 1, 5, 50, 95, 99, 100]).round(4)) for r in (asked_once, shortest)))
    print(said)
    assert max(beyond) <= 0.01, said
    assert np.isfinite(both.ours_m).all() and np.isfinite(both.theirs_m).all(), said
    assert shares[1] >= 0.95, said
    assert asked_once.max() <= 1.03, said  # ours are never longer
