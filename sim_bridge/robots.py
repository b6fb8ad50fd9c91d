"""Robots by name: body, camera and step sizes of each benchmark's agent."""

from __future__ import annotations

from dataclasses import replace

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.robot import CameraModel, RobotModel

DEFAULT = "default"  # this project's own robot, for the built-in houses
CLIMBER = "climber"  # the same for houses of two storeys
_BODY = RobotModel(radius_m=0.1, height_m=1.5)  # Habitat's default agent, for what the papers do not state
_CLIMBS = replace(_BODY, stairs=True)  # stairs are part of Habitat's navmesh, and recorded paths use them

# openeqa: the camera of OpenEQA's histories (supplement B.1). express: EXPRESS-Bench, 3.2. hm-eqa: Ren et al., RSS
# 2024; the paper does not state its steps between stops, and its episodes stay on the start floor. exploraqa: VLN-CE,
# whose camera is 1.25 m high. embodied-eval: moves between the nodes of a graph; its body is the one that tasks of
# the built-in houses are generated for.
ROBOTS: dict[str, RobotModel] = {
    DEFAULT: RobotModel(),
    CLIMBER: RobotModel(stairs=True),
    "openeqa": replace(_CLIMBS, turn_deg=15.0, camera=CameraModel(1920, 1080, 90.0, height_m=1.0, tilt_down_deg=0.0)),
    "express": replace(_CLIMBS, turn_deg=30.0, camera=CameraModel(512, 512, 90.0, height_m=1.5, tilt_down_deg=0.0)),
    "hm-eqa": replace(_BODY, turn_deg=30.0, camera=CameraModel(640, 480, 120.0, height_m=1.5, tilt_down_deg=30.0)),
    "exploraqa": replace(_CLIMBS, turn_deg=15.0, camera=CameraModel(512, 512, 90.0, height_m=1.25, tilt_down_deg=0.0)),
    "embodied-eval": RobotModel(camera=CameraModel(448, 448, 90.0, tilt_down_deg=0.0)),
}


def usual_robot(scene: str) -> str:
    """Return the name of the default robot of a scene, for runs that name neither a robot nor a data set."""
    return CLIMBER if scene.startswith("house:") and scene.endswith("@2") else DEFAULT


def robot_of(name: str, usual: str | RobotModel = DEFAULT) -> RobotModel:
    """Return a robot by its name; "" selects the default `usual`, such as a data set's. Raises ConfigError for an
    unknown name."""
    chosen = name or usual
    if isinstance(chosen, RobotModel):
        return chosen
    if chosen not in ROBOTS:
        raise ConfigError(unknown("robot", chosen, ROBOTS))
    return ROBOTS[chosen]
