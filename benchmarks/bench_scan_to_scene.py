"""From a recording to a scene: a survey of built-in houses, put together by `eqa scan`, beside the houses themselves.

EQA_SCAN_HOUSES=3,7,11 names the houses, EQA_SCAN_FOLDER a folder that keeps the scenes, which are made once.
"""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import ndimage

from eqa_nodes.core.reconstruction.closing import closed
from eqa_nodes.core.reconstruction.volume import Reconstruction
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.surfaces import Mesh
from eqa_nodes.scanning.mesh_file import write_mesh
from eqa_nodes.scanning.semantic_files import write_semantics
from eqa_nodes.tours.survey_tour import plan_survey
from eqa_nodes.tours.tours import TourHistory
from sim_bridge.house.export import export_glb
from sim_bridge.house.world import HouseWorld, seed_of, world
from sim_bridge.mesh.floor import MeshFloor
from sim_bridge.mesh.load import load_mesh
from sim_bridge.mesh.paths import MeshPaths
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.scans import find_scan

HOUSES = os.environ.get("EQA_SCAN_HOUSES", "3,7,11")
IMAGE = (320, 240)
PAIRS, GRID_M = 60, 0.1
NEAR_M = 1.0  # a path this short says nothing about ratios


def rows() -> list[dict[str, str | float]]:
    """Return rows: name, note; two for each house, of the surface as measured and of the closed one."""
    robot = ROBOTS[DEFAULT]
    robot = replace(robot, camera=replace(robot.camera, width=IMAGE[0], height=IMAGE[1]))
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(os.environ.get("EQA_SCAN_FOLDER", kept))
        return [row for seed in HOUSES.split(",") for row in _of_house(f"house:{seed.strip()}", robot, folder)]


def _of_house(scene: str, robot: RobotModel, folder: Path) -> list[dict[str, str | float]]:
    name, house = scene.replace(":", "-"), world(seed_of(scene))
    paths = {"raw": folder / f"{name}-raw.glb", "closed": folder / f"{name}.glb"}
    if not all(path.is_file() for path in paths.values()):
        _scan(scene, robot, paths["raw"], paths["closed"])
    found = []
    for kind, path in paths.items():
        files = load_mesh(find_scan(str(path)))
        line = f"{len(files.faces)} triangles; {_compared(house, files.vertices, files.faces, robot, folder)}"
        print(f"{scene} {kind}: {line}", flush=True)
        found.append({"name": f"{scene}, {kind}", "note": line})
    return found


def _scan(scene: str, robot: RobotModel, raw: Path, path: Path) -> None:
    """Record a survey and write its surface as it was measured, and closed with its labels."""
    history, built, bases = TourHistory(plan_survey(scene, robot)), Reconstruction(), []
    for frame in history:
        built.add(frame)
        bases.append(frame.map_from_base.xyz)
    measured = built.mesh()
    write_mesh(measured, raw)
    mesh: Mesh = closed(measured, np.array(bases)).mesh
    write_mesh(mesh, path)
    write_semantics(mesh, history.labels, path)


def _compared(house: HouseWorld, vertices: np.ndarray, faces: np.ndarray, robot: RobotModel, folder: Path) -> str:
    """Return how free floor and shortest paths compare with the house's own, and with those of its exported mesh."""
    floor = MeshFloor(vertices, faces, robot)
    low, high = vertices[:, :2].min(axis=0), vertices[:, :2].max(axis=0)
    xs, ys = (np.arange(low[k], high[k], GRID_M) for k in (0, 1))
    own = _largest(np.array([[house.free(x, y, robot) for x in xs] for y in ys]))
    exact, here = _free(_exported(house, robot, folder), xs, ys), _free(floor, xs, ys)
    return (f"IoU of free floor {_iou(exact, here):.3f} with the exported house in the same simulator, "
            f"{_iou(own, here):.3f} with the house (the exported house: {_iou(own, exact):.3f}); "
            f"{_paths(house, MeshPaths(floor), own, xs, ys, robot)}")


def _exported(house: HouseWorld, robot: RobotModel, folder: Path) -> MeshFloor:
    """Return the floor of the house's own mesh, in the house's axes: a GLB file has them turned by a quarter."""
    path = folder / f"export-{house.house.seed}.glb"
    export_glb(house.house, path)
    scene = load_mesh(find_scan(str(path)), labels=False)
    return MeshFloor(scene.vertices[:, [1, 0, 2]] * np.float32([-1, 1, 1]), scene.faces, robot)


def _free(floor: MeshFloor, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """Return where the middle of the robot can be on the floor at height 0: its largest area, (len(ys), len(xs))."""
    return _largest(np.array([[floor.place(x, y, 0.0) >= 0 and abs(floor.height(x, y, 0.0)) < 0.3 for x in xs]
                              for y in ys]))


def _largest(free: np.ndarray) -> np.ndarray:
    label, count = ndimage.label(free, np.ones((3, 3)))
    found: np.ndarray = label == 1 + int(np.argmax(np.bincount(label.ravel(), minlength=count + 1)[1:]))
    return found


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    return float((a & b).sum() / (a | b).sum())


def _paths(house: HouseWorld, paths: MeshPaths, free: np.ndarray, xs: np.ndarray, ys: np.ndarray, robot: RobotModel
           ) -> str:
    """Return how the shortest paths of random pairs of free places compare in length."""
    rng, places, cut, ratios = np.random.default_rng(0), np.argwhere(free), 0, []
    for _ in range(PAIRS):
        a, b = ((float(xs[column]), float(ys[row])) for row, column in places[rng.integers(len(places), size=2)])
        own_m, metres = house.geodesic(a, b, robot), paths.geodesic((*a, 0.0), (*b, 0.0))
        cut += not math.isfinite(metres)
        if math.isfinite(metres) and own_m > NEAR_M:
            ratios.append(metres / own_m)
    if not ratios:
        return f"{cut} of {PAIRS} paths cut"
    off = np.abs(np.array(ratios) - 1)
    return (f"{cut} of {PAIRS} paths cut, lengths within {100 * np.median(off):.1f} % in the median, "
            f"{100 * off.max():.1f} % at most, {int((off > 0.1).sum())} beyond 10 %")
