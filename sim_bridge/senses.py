"""The base of a simulated robot, and its odometry, localisation and depth with the configured errors.

The base limits velocity and acceleration, and stops if no command arrives. Odometry integrates what the wheels report,
errors included. Localisation corrects it by the transform from map to odom, so the robot jumps in the map while its
odometry stays smooth (REP 105). Corrections follow AMCL (nav2_amcl 1.4): one is published with each scan, and it
changes once odometry reports that the robot has moved.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.geometry import LocalisedPose, Pose2, Transform, compose, inverse, pose2_of, wrap
from eqa_nodes.core.types.robot import CORRECTIONS, OTHERS, TRUTH, BaseLimits, SensesConfig


class Velocity(NamedTuple):
    """Velocity of the base in its own frame: m/s forward, rad/s counter-clockwise."""

    forward_m_s: float = 0.0
    turn_rad_s: float = 0.0


def towards(config: BaseLimits, present: Velocity, wanted: Velocity, seconds: float) -> Velocity:
    """Return the velocity `seconds` after accelerating from `present` towards `wanted`, within all limits."""
    forward = min(config.forward_m_s, max(-config.backward_m_s, wanted.forward_m_s))
    turn = min(config.turn_rad_s, max(-config.turn_rad_s, wanted.turn_rad_s))
    return Velocity(_step(present.forward_m_s, forward, config.accelerate_m_s2 * seconds),
                    _step(present.turn_rad_s, turn, config.accelerate_rad_s2 * seconds))


def velocity_between(before: Pose2, after: Pose2, seconds: float) -> Velocity:
    """Return the velocity that leads from one pose to the other along an arc, as odometry measures it."""
    turned = wrap(after.yaw - before.yaw)
    heading = before.yaw + turned / 2
    ahead = (after.x - before.x) * math.cos(heading) + (after.y - before.y) * math.sin(heading)
    return Velocity(ahead / seconds, turned / seconds)


def _step(present: float, wanted: float, most: float) -> float:
    return wanted if abs(wanted - present) <= most else present + math.copysign(most, wanted - present)


class BaseController:
    """Follows stamped velocity commands; the same commands and steps give the same velocities.

    velocity: current velocity of the base.
    """

    def __init__(self, config: BaseLimits) -> None:
        self.config = config
        self.velocity = Velocity()
        self._wanted, self._wanted_ns = Velocity(), 0

    def command(self, stamp_ns: int, wanted: Velocity) -> None:
        """Accept a command. Raises SimulatorError if it is not finite or older than the last one."""
        if not all(map(math.isfinite, wanted)):
            raise SimulatorError("command of a velocity that is not finite")
        if stamp_ns < self._wanted_ns:
            raise SimulatorError("command older than the one before it")
        self._wanted, self._wanted_ns = wanted, stamp_ns

    def step(self, now_ns: int, seconds: float) -> Velocity:
        """Return the velocity for the next `seconds`; without a fresh command the base slows down and stops."""
        fresh = now_ns - self._wanted_ns <= self.config.timeout_s * 1e9
        self.velocity = towards(self.config, self.velocity, self._wanted if fresh else Velocity(), seconds)
        return self.velocity

    def held_up(self, measured: Velocity) -> None:
        """Set the velocity that was measured when an obstacle blocked the base; acceleration continues from it."""
        self.velocity = measured


SLIP_M, SLIP_RAD = 0.03, math.radians(3.0)  # maximum of one wheel slip
TURN_RAD_M = math.radians(1.0) / 0.03  # heading error per metre of position error
EDGE_M = 0.1  # a depth step between neighbouring pixels from which a depth camera returns nothing


class Senses:
    """Odometry and localisation of one robot in one episode; the same seed and drive give the same errors.

    place: the robot's own estimate of its pose; it has no map_from_odom if localisation or another node publishes that
    separately. localised: map_from_odom estimated from scans, or None without such localisation. ahead_ns: how much
    later than its scan `localised` is stamped.
    """

    def __init__(self, config: SensesConfig, seed: int, map_from_base: Transform) -> None:
        self._config, self._random = config, np.random.default_rng(seed)
        self._signs = self._random.choice((-1.0, 1.0), 2)
        by = config.localisation.by
        self._exact = config.wheels.exact and by not in (CORRECTIONS, OTHERS)
        self._odom = self._updated = Pose2(0.0, 0.0, 0.0)
        self._truth, self.place = map_from_base, LocalisedPose(Transform.identity(), map_from_base)
        begun = pose2_of(map_from_base).transform()
        self.localised = begun if by == CORRECTIONS else None
        self.ahead_ns = round(1e9 * config.localisation.ahead_s)
        if not self._exact:
            self.place = LocalisedPose(None if by in (CORRECTIONS, OTHERS) else begun,
                               self._odom.transform(map_from_base.xyz[2]))

    def moved(self, before: Transform, after: Transform, seconds: float) -> Velocity:
        """Update the estimate with a true motion (map_from_base); return the velocity that odometry reports."""
        velocity, self._truth = velocity_between(pose2_of(before), pose2_of(after), seconds), after
        if self._exact:
            self.place = LocalisedPose(Transform.identity(), after)
            return velocity
        reported = Velocity(*(v * (1 + sign * self._config.wheels.drift)
                              for v, sign in zip(velocity, self._signs, strict=True)))
        self._odom = self._added(reported.forward_m_s * seconds, reported.turn_rad_s * seconds,
                                 abs(velocity.forward_m_s) * seconds)
        odom_from_base = self._odom.transform(after.xyz[2])
        truth = self._config.localisation.by == TRUTH
        self.place = LocalisedPose(compose(after, inverse(odom_from_base)) if truth else None, odom_from_base)
        return reported

    def _added(self, metres: float, turned: float, driven_m: float) -> Pose2:
        every_m = self._config.wheels.slip_every_m
        if every_m and self._random.random() < driven_m / every_m:
            metres += SLIP_M * self._random.random()
            turned += SLIP_RAD * self._random.uniform(-1.0, 1.0)
        x, y, yaw = self._odom
        heading = yaw + turned / 2
        return Pose2(x + metres * math.cos(heading), y + metres * math.sin(heading), wrap(yaw + turned))

    def scanned(self) -> Transform | None:
        """Return `localised` after a scan from here, corrected if odometry moved far enough since the last correction.
        """
        config, (x, y, yaw) = self._config.localisation, self._odom
        moved = max(abs(x - self._updated.x), abs(y - self._updated.y)) > config.update_m
        if self.localised is not None and (moved or abs(wrap(yaw - self._updated.yaw)) > config.update_rad):
            self._updated = self._odom
            dx, dy, turn = self._random.normal(0.0, (config.error_m, config.error_m, TURN_RAD_M * config.error_m))
            at = pose2_of(self._truth)
            believed = Pose2(at.x + dx, at.y + dy, wrap(at.yaw + turn)).transform(self._truth.xyz[2])
            self.localised = compose(believed, inverse(self.place.odom_from_base))
        return self.localised

    def measured(self, depth_m: np.ndarray) -> np.ndarray:
        """Return depth (H, W) float32, metres, as the camera measures it: 0 = no return."""
        share = self._config.depth_noise
        return with_noise(depth_m, share, self._random) if share else depth_m


def with_noise(depth_m: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Return depth (H, W) float32, metres, with Gaussian noise of `share` times the distance, and 0 at edges."""
    noisy = depth_m * (1 + share * random.standard_normal(depth_m.shape, np.float32))
    noisy[:, 1:][abs(np.diff(depth_m, axis=1)) > EDGE_M] = 0.0
    return noisy.astype(np.float32, copy=False)
