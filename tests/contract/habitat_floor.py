"""Runs in the Python that has habitat_sim, and knows nothing of the project: what its navigation mesh says of points.

Usage: habitat_floor.py SCENE QUESTIONS.npz ANSWERS.npz. Questions, in Habitat's axes and metres: points (n, 3), pairs
(m, 2, 3), body: radius, height, climb, slope in degrees, cell height. Answers: snapped (n, 3), the navigable points
that are nearest, geodesic (m,), and free (n, 3), navigable points by chance.
"""

from __future__ import annotations

import sys

import habitat_sim
import numpy as np


def pathfinder(scene: str, body: np.ndarray) -> habitat_sim.PathFinder:
    """Return the navigation mesh of a scene for a body."""
    settings = habitat_sim.NavMeshSettings()
    settings.set_defaults()
    (settings.agent_radius, settings.agent_height, settings.agent_max_climb, settings.agent_max_slope,
     settings.cell_height) = map(float, body)
    world = habitat_sim.SimulatorConfiguration()
    world.scene_id, world.create_renderer, world.enable_physics, world.gpu_device_id = scene, False, False, -1
    sim = habitat_sim.Simulator(habitat_sim.Configuration(world, [habitat_sim.agent.AgentConfiguration()]))
    if not sim.recompute_navmesh(sim.pathfinder, settings) or not sim.pathfinder.is_loaded:
        raise SystemExit(f"no navigation mesh for {scene}")
    sim.pathfinder.seed(0)
    return sim.pathfinder


def geodesic(finder: habitat_sim.PathFinder, a: np.ndarray, b: np.ndarray) -> float:
    """Return the length of Habitat's way in metres, inf when there is none."""
    path = habitat_sim.ShortestPath()
    path.requested_start, path.requested_end = a, b
    finder.find_path(path)
    return path.geodesic_distance


def main(scene: str, questions: str, answers: str) -> None:
    """Answer a file of questions."""
    asked = np.load(questions)
    finder = pathfinder(scene, asked["body"])
    np.savez(answers, snapped=np.array([finder.snap_point(p) for p in asked["points"]], float),
             geodesic=np.array([geodesic(finder, a, b) for a, b in asked["pairs"]], float),
             free=np.array([finder.get_random_navigable_point() for _ in asked["points"]], float))


main(*sys.argv[1:])
