"""Privileged facts of a scene, for the scorer only: distances, and whether a view shows the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from sim_bridge.registry import SimulatorPool
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.simulator import EpisodeSetup, Point

_BLIND = CameraModel(width=16, height=12, color=False)  # measuring needs no images


class Truth:
    """Knows the scenes in simulators of its own. Raises UnknownScene.

    robot: whose paths are measured, the run's. The last scene stays open: questions of one scene are best measured one
    after the other.
    """

    def __init__(self, robot: RobotModel = ROBOTS[DEFAULT]) -> None:
        self._pool, self._robot = SimulatorPool(), replace(robot, camera=_BLIND)
        self._scene = ""

    def geodesic(self, scene: str, a: Point, b: Point) -> float:
        """Return the shortest drivable distance in metres, inf where there is no path."""
        simulator = self._pool.get(scene)
        if scene != self._scene:
            simulator.reset(EpisodeSetup(scene, robot=self._robot))
            self._scene = scene
        return simulator.geodesic(a, b)

    def grounding(self, scene: str, targets: Sequence[int], pose: Pose2) -> float | None:
        """Return how far the view from a pose supports an answer about the targets (instance ids): 0, 0.5 or 1.

        Stands for the grounding mark delta of EXPRESS-Bench, which a model gives there by looking at the last view. 1:
        every target shows itself and one fills the view as well as a reference view must; 0.5: any shows itself. None
        where the scene is no built-in house, or the question names no targets.
        """
        from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
        from sim_bridge.house.world import GLANCE, PREFIX, world_of

        if not (scene.startswith(PREFIX) and targets):
            return None
        scale = 640 * 480 / (GLANCE.width * GLANCE.height)
        seen = world_of(scene).visible_pixels(pose)
        pixels = [seen.get(target, 0) * scale for target in targets]
        if min(pixels) >= SEEN_PIXELS and max(pixels) >= VIEW_PIXELS:
            return 1.0
        return 0.5 if max(pixels) >= SEEN_PIXELS else 0.0

    def close(self) -> None:
        """Release the simulators."""
        self._pool.close()
