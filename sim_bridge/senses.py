"""The base of a simulated robot, and what it knows of its place and of depth: as exactly as its senses are set to tell.

The base has limits of velocity and acceleration, and stops when no command arrives. Odometry adds up what the wheels
report, errors included. Localisation corrects it by the transform from map to odom, so that the robot jumps in the map
while its odometry stays smooth (REP 105). Corrections come as those of AMCL (nav2_amcl 1.4): one with each scan, and a
new one once odometry says that the robot has moved.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.geometry import LocalisedPose, Pose2, Transform, compose, inverse, pose2_of, wrap
from eqa_nodes.core.types.robot import CORRECTIONS, OTHERS, TRUTH, BaseLimits, SensesConfig


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


SLIP_M, SLIP_RAD = 0.03, math.radians(3.0)  # at most, of one slip
TURN_RAD_M = math.radians(1.0) / 0.03  # error of the heading for each metre of that of the position
EDGE_M = 0.1  # a step in depth between two pixels at which a depth camera measures nothing


class Senses:
    """Of one robot in one episode: the same seed and the same drive give the same errors.

    place: where the robot takes itself to be; without map_from_odom where localisation publishes that apart, or others
    do. localised: map_from_odom as localisation knows it from scans; None where none does. ahead_ns: how much later
    than its scan that is stamped.
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
        """Take in where the robot went (map_from_base); return the velocity that odometry reports."""
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
        """Return `localised` after a scan from here: corrected where odometry has moved by enough since the last time.
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
        """Return depth (H, W) float32, metres, as a camera measures it: 0 where it measures nothing."""
        share = self._config.depth_noise
        return with_noise(depth_m, share, self._random) if share else depth_m


def with_noise(depth_m: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Return depth (H, W) float32, metres, with normal noise of a share of the distance, and 0 at edges."""
    noisy = depth_m * (1 + share * random.standard_normal(depth_m.shape, np.float32))
    noisy[:, 1:][abs(np.diff(depth_m, axis=1)) > EDGE_M] = 0.0
    return noisy.astype(np.float32, copy=False)
