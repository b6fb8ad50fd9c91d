"""The simulated base: velocity limits, acceleration, and a stop when no command arrives."""

from __future__ import annotations

import math
from typing import NamedTuple

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import BaseLimits


class Velocity(NamedTuple):
    """Of the base, in its own frame: metres a second forward, radians a second counter-clockwise."""

    forward_m_s: float = 0.0
    turn_rad_s: float = 0.0


def towards(config: BaseLimits, present: Velocity, wanted: Velocity, seconds: float) -> Velocity:
    """Return the velocity after so long on the way from the present to the wanted one, within all limits."""
    forward = min(config.forward_m_s, max(-config.backward_m_s, wanted.forward_m_s))
    turn = min(config.turn_rad_s, max(-config.turn_rad_s, wanted.turn_rad_s))
    return Velocity(_step(present.forward_m_s, forward, config.accelerate_m_s2 * seconds),
                    _step(present.turn_rad_s, turn, config.accelerate_rad_s2 * seconds))


def velocity_between(before: Pose2, after: Pose2, seconds: float) -> Velocity:
    """Return the velocity that led from one pose to the other along an arc: what odometry measures."""
    turned = wrap(after.yaw - before.yaw)
    heading = before.yaw + turned / 2
    ahead = (after.x - before.x) * math.cos(heading) + (after.y - before.y) * math.sin(heading)
    return Velocity(ahead / seconds, turned / seconds)


def _step(present: float, wanted: float, most: float) -> float:
    return wanted if abs(wanted - present) <= most else present + math.copysign(most, wanted - present)


class BaseController:
    """Velocities by commands with stamps: the same commands and steps give the same velocities.

    velocity: the present one.
    """

    def __init__(self, config: BaseLimits) -> None:
        self.config = config
        self.velocity = Velocity()
        self._wanted, self._wanted_ns = Velocity(), 0

    def command(self, stamp_ns: int, wanted: Velocity) -> None:
        """Take a command. Raises SimulatorError for what is not finite, and for one older than the last."""
        if not all(map(math.isfinite, wanted)):
            raise SimulatorError("command of a velocity that is not finite")
        if stamp_ns < self._wanted_ns:
            raise SimulatorError("command older than the one before it")
        self._wanted, self._wanted_ns = wanted, stamp_ns

    def step(self, now_ns: int, seconds: float) -> Velocity:
        """Return the velocity for the next so many seconds; without a fresh command the base slows down and stands."""
        fresh = now_ns - self._wanted_ns <= self.config.timeout_s * 1e9
        self.velocity = towards(self.config, self.velocity, self._wanted if fresh else Velocity(), seconds)
        return self.velocity

    def held_up(self, measured: Velocity) -> None:
        """Hear that something is in the way, and what velocity that left: acceleration begins there."""
        self.velocity = measured
