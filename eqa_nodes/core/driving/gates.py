"""Conditions under which the robot may drive: operator's stop, battery, quality of localisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.driving.config import GateConfig
from eqa_nodes.core.errors import BadFrame


class Gates:
    """Collects the robot's state and decides whether driving is allowed. Times are seconds of the wall clock."""

    def __init__(self, config: GateConfig) -> None:
        self._config = config
        self._stopped = False
        self._battery: tuple[float, float] | None = None  # share, when
        self._spread: tuple[float, float] | None = None  # metres, radians

    def set_stop(self, stop: bool) -> None:
        """The operator stops the robot, or lets it go on."""
        self._stopped = stop

    def set_battery(self, share: float, now_s: float) -> None:
        """Set the charge, 0..1. Raises BadFrame for any other value; the charge is then unknown."""
        self._battery = None
        if not 0 <= share <= 1:
            raise BadFrame(f"battery_state.percentage is {share}: it must be 0..1, as sensor_msgs/BatteryState says")
        self._battery = share, now_s

    def set_covariance(self, covariance: Sequence[float]) -> None:
        """Take the (36,) covariance of a pose: x, y, z, roll, pitch, yaw; metres and radians. Raises BadFrame.

        The deviation in metres is that along the worst direction on the floor.
        """
        self._spread = None
        matrix = np.asarray(covariance, float).reshape(6, 6)
        if not np.isfinite(matrix).all() or (worst := np.linalg.eigvalsh(matrix[:2, :2]).max()) < 0 or matrix[5, 5] < 0:
            raise BadFrame("the covariance of the robot's pose is negative or not finite")
        self._spread = math.sqrt(worst), math.sqrt(matrix[5, 5])

    def refusal(self, now_s: float) -> str:
        """Return why the robot may not drive now: value, limit and remedy; "" where it may."""
        if self._stopped:
            return "the operator's stop is on: publish false on `stop` to let the robot drive"
        return self._battery_refusal(now_s) or self._place_refusal()

    def _battery_refusal(self, now_s: float) -> str:
        least, oldest_s = self._config.battery_min, self._config.battery_s
        if not least:
            return ""
        if self._battery is None or now_s - self._battery[1] > oldest_s:
            return (f"the charge of the battery is not known: battery_state said nothing valid in {oldest_s:g} s; "
                    "remap it, or set gates.battery_min to 0")
        share = self._battery[0]
        return "" if share >= least else f"the battery is at {share:.0%}, and the limit is {least:.0%}: charge it"

    def _place_refusal(self) -> str:
        limits = self._config.std_m, self._config.std_rad
        if not any(limits):
            return ""
        if self._spread is None:
            return ("how well the robot is localised is not known: amcl_pose said nothing valid; remap it, or set "
                    "gates.std_m and gates.std_rad to 0")
        for value, limit, unit in zip(self._spread, limits, ("m", "rad")):
            if limit and value > limit:
                return (f"the robot's place is uncertain by {value:.2f} {unit}, and the limit is {limit:g} {unit}: "
                        "localise it (give its pose in RViz, or drive it about by hand)")
        return ""
