"""Parameters of Nav2 for the simulated robot: launch/nav2/nav2.yaml with the robot's radius and its base's limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from eqa_nodes.config.nodes import BridgeSettings

INFLATED_M = 0.22  # beyond the robot's radius: so far from obstacles paths keep where they can, metres
MOST_BLIND_M = 1.1  # a scan clears from here on, whatever the camera sees: people who walk by leave no marks for long
CRUISE = 0.9  # share of the top speed that a controller asks for: the rest is for keeping to the path


def fitted(parameters: dict[str, Any], bridge: BridgeSettings) -> dict[str, Any]:
    """Fit parameters of Nav2, as its YAML holds them, to a simulated robot; return the same object."""
    base = bridge.robot.base

    def of(*path: str) -> Any:
        value: Any = parameters
        for key in path:
            value = value[key]
        return value["ros__parameters"]

    of("/**")["enable_stamped_cmd_vel"] = bridge.stamped
    for costmap in ("local_costmap", "global_costmap"):
        of(costmap, costmap)["robot_radius"] = bridge.robot.radius_m
        of(costmap, costmap)["inflation_layer"]["inflation_radius"] = round(bridge.robot.radius_m + INFLATED_M, 3)
    of("local_costmap", "local_costmap")["obstacle_layer"]["scan"]["raytrace_min_range"] = _blind_m(bridge)
    of("controller_server")["FollowPath"] |= {
        "desired_linear_vel": CRUISE * base.forward_m_s, "max_angular_accel": base.accelerate_rad_s2,
        "rotate_to_heading_angular_vel": CRUISE * base.turn_rad_s}
    of("behavior_server")["max_rotational_vel"] = CRUISE * base.turn_rad_s
    of("behavior_server")["rotational_acc_lim"] = base.accelerate_rad_s2
    of("velocity_smoother").update(
        max_velocity=[base.forward_m_s, 0.0, base.turn_rad_s],
        min_velocity=[-base.backward_m_s, 0.0, -base.turn_rad_s],
        max_accel=[base.accelerate_m_s2, 0.0, base.accelerate_rad_s2],
        max_decel=[-base.accelerate_m_s2, 0.0, -base.accelerate_rad_s2])
    return parameters


def _blind_m(bridge: BridgeSettings) -> float:
    """Return the distance in metres below which a scan made from depth passes over its lowest obstacles."""
    return round(max(0.0, min(bridge.robot.camera.sees_from_m(bridge.scan.low_m), MOST_BLIND_M)), 2)


def write_nav2(template: Path, bridge: BridgeSettings, path: Path) -> None:
    """Write the parameters in `template`, fitted to a simulated robot."""
    path.write_text(yaml.safe_dump(fitted(yaml.safe_load(template.read_text()), bridge), sort_keys=False))
