"""A built-in house as a scan of HM3D, questions about it in the files that benchmarks publish, and a stand-in for what
opens scans."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import trimesh

from eqa_nodes.core.types.axes import position_to_habitat, rotation_to_habitat
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Label
from sim_bridge.house.export import export_glb
from sim_bridge.house.simulator import HouseSimulator, world
from sim_bridge.robots import ROBOTS
from sim_bridge.scans import find_scan
from sim_bridge.simulator import Episode, Point, Step

SEED = 3  # a train house
SCENE = "00824-Dd4bFSTQ8gi"  # of a question of A-EQA
HISTORY = "hm3d-v0/001-hm3d-Dd4bFSTQ8gi"
QUESTION, ANSWER = "What color is the sofa?", "grey"


def hm3d_folder(folder: Path) -> Path:
    """Write the house where HM3D's downloader would leave the scene; both GLB files have plain textures, and z up."""
    home, name = folder / "hm3d" / "val" / SCENE, SCENE[6:]
    home.mkdir(parents=True)
    export_glb(world(SEED).house, home / f"{name}.glb")
    scene: trimesh.Scene = trimesh.load(home / f"{name}.glb", force="scene")
    scene.apply_transform(trimesh.transformations.rotation_matrix(math.pi / 2, (1, 0, 0)))
    (home / f"{name}.glb").write_bytes(scene.export(file_type="glb"))
    (home / f"{name}.basis.glb").write_bytes((home / f"{name}.glb").read_bytes())
    return folder


def to_scan(pose: Pose2) -> Pose2:
    """Return a pose of the house in the map frame of its scan, whose x axis is Habitat's -z: the house's y."""
    return Pose2(pose.y, -pose.x, pose.yaw - math.pi / 2)


def from_scan(pose: Pose2) -> Pose2:
    """Return a pose of the scan in the house."""
    return Pose2(-pose.y, pose.x, pose.yaw + math.pi / 2)


def way() -> tuple[Pose2, list[tuple[float, float]]]:
    """Return where the questions start and the shortest way to their target, in the map frame of the scan."""
    place, robot = world(SEED), replace(ROBOTS["default"], radius_m=0.3, height_m=1.5)  # roomy: for any simulator
    start = place.house.start
    points = [(room.x0 + room.x1) / 2 for room in place.house.rooms], [(r.y0 + r.y1) / 2 for r in place.house.rooms]
    space = place.space(robot)
    near = [space.nearest_free(x, y, robot.radius_m) for x, y in zip(*points, strict=True)]
    begin = space.nearest_free(start.x, start.y, robot.radius_m)
    assert begin is not None
    ways = [place.shortest_path(begin, goal, robot) for goal in near if goal is not None]
    found = next(w for w in ways if 2.0 < _length(w) < 8.0)
    scan = [to_scan(Pose2(x, y, 0.0)) for x, y in found]
    return to_scan(Pose2(*begin, start.yaw)), [(p.x, p.y) for p in scan]


def question_files(folder: Path) -> Path:
    """Write one question of OpenEQA, EXPRESS-Bench and HM-EQA each, as they are published."""
    folder.mkdir(parents=True, exist_ok=True)
    start, points = way()
    position, rotation = list(_habitat(start.x, start.y)), list(rotation_to_habitat(start.yaw))
    goal = list(_habitat(*points[-1]))
    _json(folder / "open-eqa-v0.json", [{"question": QUESTION, "answer": ANSWER, "question_id": "q1",
                                         "category": "attribute recognition", "episode_history": HISTORY}])
    _json(folder / "aeqa_questions-41.json", [{"question_id": "q1", "position": position, "rotation": rotation}])
    _json(folder / "openeqa-init-trajs.json", {HISTORY: {
        "scene_id": f"{SCENE}/{SCENE[6:]}.basis.glb", "init_pos": position, "quat_wxyz": rotation,
        "full_traj_pos": [list(_habitat(*point)) for point in points]}})
    _json(folder / "express-bench.json", [{
        "episode_id": "0", "trajectory_id": 0, "scene_id": f"hm3d/val/{SCENE}", "episode_path": f"0000-{SCENE}",
        "type": "attribute", "question": QUESTION, "answer": ANSWER, "start_position": position,
        "start_rotation": rotation, "goal_position": goal, "goal_rotation": rotation,
        "geodesic_distance": _length(points), "step_length": 20}])
    _rows(folder / "hm-eqa-questions.csv", {
        "scene": SCENE, "floor": 0, "question": QUESTION, "choices": "['Red', 'Grey', 'Blue', 'Green']",
        "question_formatted": "", "answer": "B", "label": "attribute"})
    _rows(folder / "hm-eqa-scene_init_poses.csv", {
        "scene_floor": f"{SCENE}_0", "init_x": position[0], "init_y": position[1], "init_z": position[2],
        "init_angle": start.yaw})
    return folder


class HouseAsScan:
    """Opens the scan as the house that it was made of: for tests that need no mesh. Implements Simulator."""

    def __init__(self) -> None:
        self._house = HouseSimulator()

    def reset(self, episode: Episode) -> Step:
        """Place the robot. Raises UnknownScene where the files are missing."""
        find_scan(episode.scene.partition(":")[2])
        start = None if episode.start is None else from_scan(episode.start)
        return _turned(self._house.reset(replace(episode, scene=f"house:{SEED}", start=start)))

    def act(self, action: Action) -> Step:
        """Carry out an action."""
        return _turned(self._house.act(action))

    def labels(self) -> Mapping[int, Label]:
        """Return none: the scan has no labels."""
        return {}

    def geodesic(self, a: Point, b: Point) -> float:
        """Return the distance in the house."""
        return self._house.geodesic(_back(a), _back(b))

    def shortest_path(self, a: Point, b: Point) -> list[tuple[float, float]]:
        """Return the way in the house."""
        return [(y, -x) for x, y in self._house.shortest_path(_back(a), _back(b))]

    def close(self) -> None:
        """Release everything."""
        self._house.close()


def _turned(step: Step) -> Step:
    z = step.frame.map_from_base.xyz[2]
    return replace(step, frame=replace(step.frame, labels=None, map_from_base=to_scan(step.frame.pose).transform(z)))


def _back(point: Point) -> Point:
    return (-point[1], point[0], *point[2:])


def _habitat(x: float, y: float) -> tuple[float, float, float]:
    return position_to_habitat((x, y, 0.0))


def _length(points: list[tuple[float, float]]) -> float:
    return math.fsum(math.dist(p, q) for p, q in pairwise(points))


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value))


def _rows(path: Path, row: Mapping[str, object]) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, row)
        writer.writeheader()
        writer.writerow(row)
