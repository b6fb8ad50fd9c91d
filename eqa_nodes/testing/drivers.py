"""Describes what a driver of a camera or a robot publishes; `known_drivers` has the drivers that are imitated."""

from __future__ import annotations

import math
from dataclasses import dataclass

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.geometry import Transform, compose, quat_multiply

Matrix = tuple[float, float, float, float]  # fx, fy, cx, cy; the first pixel's centre is at 0, as in CameraInfo
Rpy = tuple[float, float, float]


@dataclass(frozen=True)
class Offer:
    """Quality of service of a publisher. system_default: chosen by the middleware."""

    reliability: str = "reliable"  # reliable | best_effort | system_default
    durability: str = "volatile"  # volatile | transient_local | system_default
    depth: int = 10


LATCHED, SYSTEM = Offer("reliable", "transient_local", 1), Offer("system_default", "system_default", 0)
SENSOR_DATA = Offer("best_effort", "volatile", 5)


@dataclass(frozen=True)
class Stream:
    """One stream of images and its CameraInfo. A depth encoding (16UC1 in millimetres, 32FC1 in metres) makes it depth.

    infos: topics of its CameraInfo. size: width and height in pixels. lens: distortion coefficients in CameraInfo.
    bent: whether the image is distorted by them. apart_s: delay of its stamps after those of other streams. sent_s:
    delay from the stamp to the message. nothing: depth values without a measurement. lazy: whether it is published only
    while there are subscribers. lose_every: one of this number of frames is lost; 0 = none. projection: fx, fy, cx, cy
    of P if it differs from K.
    """

    topic: str
    infos: tuple[str, ...]
    frame: str
    encoding: str
    size: tuple[int, int]
    k: Matrix
    hz: float
    offer: Offer = Offer()
    info_offer: Offer = Offer()
    model: str = "plumb_bob"
    lens: tuple[float, ...] = (0.0,) * 5
    bent: bool = False
    apart_s: float = 0.0
    sent_s: float = 0.0
    nothing: tuple[float, ...] = (0.0,)
    range_m: tuple[float, float] = (0.0, math.inf)
    lazy: bool = False
    lose_every: int = 0
    projection: Matrix | None = None

    @property
    def is_depth(self) -> bool:
        """Return whether its images are depth images."""
        return self.encoding in ("16UC1", "32FC1")


@dataclass(frozen=True)
class Link:
    """A transform: metres, and roll, pitch and yaw in radians. hz: 0 = static, sent once on /tf_static."""

    parent: str
    child: str
    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: Rpy = (0.0, 0.0, 0.0)
    hz: float = 0.0

    @property
    def transform(self) -> Transform:
        """Return parent_from_child."""
        return Transform(self.xyz, quaternion(self.rpy))


@dataclass(frozen=True)
class Base:
    """Odometry of a base. height_m: height of its frame above the floor. also: other frames moved by odometry.

    arrival: whether the driver stamps messages at their arrival, sent_s after the measurement. covariance: diagonal
    values of the pose's covariance. tf: whether the driver sends the transform.
    """

    odom: str = "odom"
    offer: Offer = Offer()
    odom_frame: str = "odom"
    frame: str = "base_link"
    also: tuple[str, ...] = ()
    hz: float = 50.0
    height_m: float = 0.0
    covariance: tuple[float, ...] = (0.0,) * 6
    tf: bool = True
    arrival: bool = False
    sent_s: float = 0.005
    cmd_vel: str = "cmd_vel"


@dataclass(frozen=True)
class Driver:
    """All that a driver publishes. source: repositories, commits and files of these facts.

    statics_late: whether static transforms follow the first images. begin_s: time from its start to the first image.
    step_s: jump of the stamps after the first three images, when the driver corrects its clock. gap: start and duration
    of a pause, seconds, without publishers of images, while the driver opens the device again.
    """

    source: tuple[str, ...]
    streams: tuple[Stream, ...]
    links: tuple[Link, ...]
    base: Base = Base()
    statics_late: bool = False
    begin_s: float = 0.5
    step_s: float = 0.0
    gap: tuple[float, float] = (math.inf, 0.0)


def quaternion(rpy: Rpy) -> tuple[float, float, float, float]:
    """Return the quaternion x, y, z, w of a rotation by roll, then pitch, then yaw, about fixed axes."""
    roll, pitch, yaw = ((math.sin(angle / 2), math.cos(angle / 2)) for angle in rpy)
    turns = (0.0, 0.0, *yaw), (0.0, pitch[0], 0.0, pitch[1]), (roll[0], 0.0, 0.0, roll[1])
    return quat_multiply(quat_multiply(turns[0], turns[1]), turns[2])


OPTICAL: Rpy = (-math.pi / 2, 0.0, -math.pi / 2)  # from a camera's body (x forward) to its optical frame


def wide(size: tuple[int, int], degrees: float) -> Matrix:
    """Return the matrix of a pinhole camera with square pixels and a horizontal field of view."""
    focal = size[0] / 2 / math.tan(math.radians(degrees) / 2)
    return focal, focal, (size[0] - 1) / 2, (size[1] - 1) / 2


def mount(driver: Driver, frame: str) -> Transform:
    """Return base_from_frame of another frame. Raises ConfigError if no links connect them."""
    by_child = {link.child: link for link in driver.links}
    found, at = Transform.identity(), frame
    while at != driver.base.frame:
        if at not in by_child:
            raise ConfigError(f"no link leads from {driver.base.frame!r} to {frame!r}")
        found, at = compose(by_child[at].transform, found), by_child[at].parent
    return found
