"""A robot that publishes like a real driver, in the built-in house: `python -m eqa_nodes.testing.imitation NAME`.

By default it drives forwards until an obstacle; while velocity commands arrive, it follows them. It prints
"publishing" with its first image and ends when its standard input closes. `known_drivers` has the drivers.
"""

from __future__ import annotations

import argparse
import math
import select
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
import rclpy
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage

from eqa_nodes.core.types.geometry import Pose2, Transform, compose, inverse, wrap
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.ros import convert
from eqa_nodes.testing.drivers import LATCHED, Driver, Link, Matrix, Offer, Stream, mount
from eqa_nodes.testing.known_drivers import DRIVERS, driver

MAP_FROM_ODOM = Pose2(0.4, -0.3, 0.2).transform()  # pose at which the robot was switched on
TO_COME_S, MAP_HZ = 0.95, 10.0  # offset of AMCL's stamps into the future (transform_tolerance 1.0), and their rate
FORWARD_M_S, TURN_RAD_S, HELD_S = 0.25, 0.6, 0.5
NOISE_SHARE = 0.004  # standard deviation, as a share of the distance
_POLICY = {"reliable": ReliabilityPolicy.RELIABLE, "best_effort": ReliabilityPolicy.BEST_EFFORT,
           "system_default": ReliabilityPolicy.SYSTEM_DEFAULT}
_KEPT = {"volatile": DurabilityPolicy.VOLATILE, "transient_local": DurabilityPolicy.TRANSIENT_LOCAL,
         "system_default": DurabilityPolicy.SYSTEM_DEFAULT}
_ROUNDS = 40  # iterations that invert a lens's distortion
_MOST = 3.0  # maximum tangent of the viewing angle: images are black beyond it


class LensView(Protocol):
    """The world in which the robot drives and which it sees, such as the built-in house's."""

    def image(self, camera: CameraModel, map_from_camera: np.ndarray) -> Any:
        """Return an image with rgb (H, W, 3) uint8 and depth_m (H, W) float32; pose: (4, 4), optical axes."""

    def free(self, x: float, y: float) -> bool:
        """Return whether the robot can stand at a point of the map, metres."""


@dataclass(frozen=True)
class _Lens(CameraModel):
    """A camera with an arbitrary matrix."""

    k: Intrinsics = Intrinsics(1, 1, 1.0, 1.0, 0.5, 0.5)

    @property
    def intrinsics(self) -> Intrinsics:
        return self.k


def qos(offer: Offer) -> QoSProfile:
    """Return the QoS profile of a driver's publisher."""
    return QoSProfile(depth=offer.depth, reliability=_POLICY[offer.reliability], durability=_KEPT[offer.durability],
                      history=HistoryPolicy.KEEP_LAST if offer.depth else HistoryPolicy.SYSTEM_DEFAULT)


def scaled(stream: Stream, scale: float) -> Stream:
    """Return the stream with images scaled by a factor, such as 0.25, and the matching matrix."""
    def matrix(k: Matrix) -> Matrix:
        return k[0] * across, k[1] * down, (k[2] + 0.5) * across - 0.5, (k[3] + 0.5) * down - 0.5

    size = max(16, round(stream.size[0] * scale)), max(12, round(stream.size[1] * scale))
    across, down = size[0] / stream.size[0], size[1] / stream.size[1]
    return replace(stream, size=size, k=matrix(stream.k),
                   projection=None if stream.projection is None else matrix(stream.projection))


class Imitation:
    """Publishes the messages of a driver; call `step` repeatedly. images: number of images that were due.

    now_ns: returns the time of the wall clock, or of a test's. slower: divides the rate of images, for slow machines.
    """

    def __init__(self, node: Node, imitated: Driver, house: LensView, start: Pose2, *, scale: float = 1.0,
                 slower: int = 1, localised: bool = True,
                 more: Sequence[Link] = (), now_ns: Callable[[], int] = time.time_ns) -> None:
        """more: static frames that the robot's user publishes in addition to the driver's."""
        self.node, self.driver, self._house, self._now = node, imitated, house, now_ns
        self.streams = [replace(scaled(stream, scale), hz=stream.hz / slower) for stream in imitated.streams]
        self.pose, self.images, self.sent, self.moving = start, 0, 0, True
        self._command, self._command_ns = Twist(), 0
        self._begin_ns = self._moved_ns = now_ns()
        self._localised, self._turning_rad = localised, 0.0
        self._queue: list[tuple[int, Any, Any]] = []  # messages in transit: time, publisher, message
        self._rendered: dict[Any, Any] = {}
        self._random = np.random.default_rng(0)
        self._tf = node.create_publisher(TFMessage, "/tf", 100)
        self._static = node.create_publisher(TFMessage, "/tf_static", qos(LATCHED))
        self._odom = node.create_publisher(Odometry, imitated.base.odom, qos(imitated.base.offer))
        node.create_subscription(Twist, imitated.base.cmd_vel, self._on_command, 1)
        self._out: dict[str, Any] = {}
        self._open()
        self._known = False
        if more:
            self._user = node.create_publisher(TFMessage, "/tf_static", qos(LATCHED))
            self._tell_static(self._user, more)
        if not imitated.statics_late:
            self._tell_statics()
        base = imitated.base
        self._clocks: list[list[Any]] = [[0.0, 1 / base.hz, self._tell_odometry]]
        for hz in sorted({link.hz for link in imitated.links if link.hz}):
            self._clocks.append([0.0, 1 / hz, lambda at_ns, hz=hz: self._tell_links(at_ns, hz)])
        if localised:
            self._clocks.append([0.0, 1 / MAP_HZ, self._tell_map])
        for hz in sorted({stream.hz for stream in self.streams}):
            self._clocks.append([imitated.begin_s, 1 / hz, lambda at_ns, hz=hz: self._show(at_ns, hz)])

    def _open(self) -> None:
        for stream in self.streams:
            self._out[stream.topic] = self.node.create_publisher(Image, stream.topic, qos(stream.offer))
            for info in stream.infos:
                self._out[info] = self.node.create_publisher(CameraInfo, info, qos(stream.info_offer))

    def _close(self) -> None:
        self._queue = [held for held in self._queue if held[1] not in self._out.values()]
        for out in self._out.values():
            self.node.destroy_publisher(out)
        self._out.clear()

    def step(self) -> float:
        """Publish what is due; return the seconds until the next message is due."""
        now_ns = self._now()
        at_s = (now_ns - self._begin_ns) / 1e9
        self._move(now_ns)
        gap = self.driver.gap[0] <= at_s % (sum(self.driver.gap) or math.inf) and math.isfinite(self.driver.gap[0])
        if gap and self._out:
            self._close()
        elif not gap and not self._out:
            self._open()
        for clock in self._clocks:
            due, period, tell = clock
            if at_s >= due:
                late = int((at_s - due) / period)  # missed images are skipped
                tell(self._begin_ns + round((due + late * period) * 1e9))
                clock[0] = due + (late + 1) * period
        ready = [held for held in self._queue if held[0] <= now_ns]
        self._queue = [held for held in self._queue if held[0] > now_ns]
        for _, out, message in ready:
            out.publish(message)
        times = [clock[0] - at_s for clock in self._clocks] + [(held[0] - now_ns) / 1e9 for held in self._queue]
        return max(0.0, min(times))

    def _later(self, at_ns: int, out: Any, message: Any) -> None:
        self._queue.append((at_ns, out, message))

    def _on_command(self, message: Any) -> None:
        self._command, self._command_ns = message, self._now()

    def _move(self, now_ns: int) -> None:
        seconds, self._moved_ns = (now_ns - self._moved_ns) / 1e9, now_ns
        if now_ns - self._command_ns < HELD_S * 1e9:
            forward, turn = self._command.linear.x, self._command.angular.z
        elif not self.moving or (now_ns - self._begin_ns) / 1e9 < self.driver.begin_s:
            return
        else:
            forward, turn = (0.0, TURN_RAD_S) if self._turning_rad > 0 else (FORWARD_M_S, 0.0)
            self._turning_rad -= turn * seconds
        yaw = wrap(self.pose.yaw + turn * seconds)
        x, y = self.pose.x + forward * seconds * math.cos(yaw), self.pose.y + forward * seconds * math.sin(yaw)
        if forward and not self._house.free(x + math.copysign(0.15, forward) * math.cos(yaw),
                                            y + math.copysign(0.15, forward) * math.sin(yaw)):
            x, y, self._turning_rad = self.pose.x, self.pose.y, 1.9
        self.pose = Pose2(x, y, yaw)

    @property
    def map_from_base(self) -> Transform:
        """Return the pose of the base's frame, which may be above the floor."""
        return self.pose.transform(self.driver.base.height_m)

    def _odom_from(self, height_m: float) -> Transform:
        return compose(inverse(MAP_FROM_ODOM), self.pose.transform(height_m))

    def _tell_odometry(self, at_ns: int) -> None:
        base = self.driver.base
        sent_ns = at_ns + round(base.sent_s * 1e9)
        stamp_ns, pose = sent_ns if base.arrival else at_ns, self._odom_from(base.height_m)
        odometry = Odometry(header=convert.header(stamp_ns, base.odom_frame), child_frame_id=base.frame)
        odometry.pose.pose = convert.pose_msg(pose)
        for i, variance in enumerate(base.covariance):
            odometry.pose.covariance[7 * i] = variance
        self._later(sent_ns, self._odom, odometry)
        if base.tf:
            frames = [convert.transform_msg(base.odom_frame, base.frame, stamp_ns, pose),
                      *(convert.transform_msg(base.odom_frame, name, stamp_ns, self._odom_from(0.0))
                        for name in base.also)]
            self._later(sent_ns, self._tf, TFMessage(transforms=frames))

    def _tell_map(self, at_ns: int) -> None:
        """Publish map > odom like AMCL, which is not part of a driver and stamps its transforms in the future."""
        stamp_ns = at_ns + round(TO_COME_S * 1e9)
        self._tf.publish(TFMessage(transforms=[
            convert.transform_msg(convert.MAP, self.driver.base.odom_frame, stamp_ns, MAP_FROM_ODOM)]))

    def _tell_links(self, at_ns: int, hz: float) -> None:
        self._tf.publish(TFMessage(transforms=[convert.transform_msg(link.parent, link.child, at_ns, link.transform)
                                               for link in self.driver.links if link.hz == hz]))

    def _tell_statics(self) -> None:
        self._known = True
        self._tell_static(self._static, [link for link in self.driver.links if not link.hz])

    def _tell_static(self, out: Any, links: Sequence[Link]) -> None:
        out.publish(TFMessage(transforms=[convert.transform_msg(link.parent, link.child, self._now(), link.transform)
                                          for link in links]))

    def _show(self, at_ns: int, hz: float) -> None:
        if not self._out:
            return
        self.images += 1
        self._rendered.clear()
        for number, stream in enumerate(self.streams):
            lost = stream.lose_every and (self.images + 7 * number) % stream.lose_every == 0
            outs = [self._out[name] for name in (stream.topic, *stream.infos)]
            heard = not stream.lazy or any(out.get_subscription_count() for out in outs)
            if stream.hz == hz and heard and not lost:
                self._send(stream, at_ns, outs)
        if not self._known and self.images > 1:
            self._tell_statics()

    def _send(self, stream: Stream, at_ns: int, outs: Sequence[Any]) -> None:
        """Send an image and its CameraInfo, in this order."""
        step_s = 0.0 if self.images > 3 else -self.driver.step_s
        stamp_ns = at_ns + round((stream.apart_s + step_s) * 1e9)
        sent_ns = at_ns + round((stream.apart_s + stream.sent_s) * 1e9)
        image = convert.image_msg(self._picture(stream), stream.encoding, stamp_ns)
        image.header.frame_id = stream.frame
        for out, message in zip(outs, (image, *[camera_info(stream, stamp_ns)] * len(stream.infos))):
            if not stream.lazy or out.get_subscription_count():
                self._later(sent_ns, out, message)
        self.sent += 1

    def _picture(self, stream: Stream) -> np.ndarray:
        """Return the pixels in the stream's encoding."""
        bent = bending(stream.k, stream.size, stream.lens) if stream.bent else None
        fx, fy, cx, cy = stream.k
        k = bent[0] if bent is not None else Intrinsics(*stream.size, fx, fy, cx + 0.5, cy + 0.5)
        where = compose(self.map_from_base, mount(self.driver, stream.frame))
        if (key := (k, stream.frame)) not in self._rendered:
            model = _Lens(width=k.width, height=k.height, max_range_m=50.0, k=k)
            self._rendered[key] = self._house.image(model, where.matrix())
        straight = self._rendered[key]
        pixels = straight.depth_m if stream.is_depth else straight.rgb
        if bent is not None:
            _, index, seen = bent
            flat = pixels.reshape(k.width * k.height, -1)[index.ravel()]
            pixels = (flat * seen.reshape(-1, 1).astype(pixels.dtype)).reshape(*seen.shape, *pixels.shape[2:])
        return self._measured(stream, pixels) if stream.is_depth else coloured(stream.encoding, pixels)

    def _measured(self, stream: Stream, depth_m: np.ndarray) -> np.ndarray:
        """Return depth as a sensor measures it: with noise, and without a return at edges and out of range."""
        noisy = depth_m * (1 + NOISE_SHARE * self._random.standard_normal(depth_m.shape, np.float32))
        near, far = stream.range_m
        edge = np.zeros(depth_m.shape, bool)
        edge[:, 1:] = abs(np.diff(depth_m, axis=1)) > 0.1
        hidden, beyond, before = (*stream.nothing, *stream.nothing[:1] * 2)[:3]
        out = np.where((depth_m <= 0) | (depth_m >= far), beyond, np.where(depth_m <= near, before, noisy))
        out[edge] = hidden
        return np.rint(out * 1000).clip(0, 65535) if stream.encoding == "16UC1" else out


@lru_cache(maxsize=16)
def bending(k: Matrix, size: tuple[int, int], lens: tuple[float, ...]) -> tuple[Intrinsics, np.ndarray, np.ndarray]:
    """Return how to make a distorted image of this matrix and size (width, height) from an undistorted one.

    Returns the intrinsics of the undistorted image; (H, W) int64, index of its pixel for each distorted pixel; (H, W)
    bool, whether there is one.
    """
    fx, fy, cx, cy = k
    v, u = np.mgrid[:size[1], :size[0]].astype(np.float64)
    x, y = unbent((u - cx) / fx, (v - cy) / fy, lens)
    seen = (abs(x) < _MOST) & (abs(y) < _MOST)  # false for NaN
    left, right, top, bottom = (float(edge) for edge in (
        x[seen].min() * fx, x[seen].max() * fx, y[seen].min() * fy, y[seen].max() * fy))
    straight = Intrinsics(int(right - left) + 2, int(bottom - top) + 2, fx, fy, 0.5 - left, 0.5 - top)
    column, row = (np.rint(np.where(seen, p * f - low, 0)).astype(np.int64) for p, f, low in (
        (x, fx, left), (y, fy, top)))
    return straight, row * straight.width + column, seen


def unbent(x0: np.ndarray, y0: np.ndarray, lens: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the undistorted ray (x, y at z = 1) of each distorted one; lens: k1, k2, p1, p2, k3[, k4, k5, k6]."""
    k1, k2, p1, p2, k3, k4, k5, k6 = (*lens, *(0.0,) * (8 - len(lens)))
    x, y = x0, y0
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            r2 = x * x + y * y
            factor = (1 + r2 * (k4 + r2 * (k5 + r2 * k6))) / (1 + r2 * (k1 + r2 * (k2 + r2 * k3)))
            x, y = ((x0 - 2 * p1 * x * y - p2 * (r2 + 2 * x * x)) * factor,
                    (y0 - p1 * (r2 + 2 * y * y) - 2 * p2 * x * y) * factor)
    return x, y


def coloured(encoding: str, rgb: np.ndarray) -> np.ndarray:
    """Return an image in another order of colours, (H, W, 3 or 4) uint8."""
    ordered = rgb[..., ::-1] if encoding.startswith("bgr") else rgb
    opaque = np.full((*rgb.shape[:2], 1), 255, np.uint8)
    return np.concatenate([ordered, opaque], axis=-1) if encoding.endswith("a8") else ordered


def camera_info(stream: Stream, stamp_ns: int) -> CameraInfo:
    """Return the CameraInfo that the driver sends with an image."""
    fx, fy, cx, cy = stream.k
    px, py, pu, pv = stream.projection or stream.k
    return CameraInfo(header=convert.header(stamp_ns, stream.frame), width=stream.size[0], height=stream.size[1],
                      distortion_model=stream.model, d=list(stream.lens), k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
                      r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                      p=[px, 0.0, pu, 0.0, 0.0, py, pv, 0.0, 0.0, 0.0, 1.0, 0.0])


def main() -> None:
    """Publish until standard input closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=sorted(DRIVERS))
    parser.add_argument("--house", type=int, default=3, help="seed of the built-in house")
    parser.add_argument("--scale", type=float, default=1.0, help="of the images, such as 0.25")
    parser.add_argument("--slower", type=int, default=1, help="of so many images one is sent")
    parser.add_argument("--still", action="store_true", help="stand until a velocity command arrives")
    parser.add_argument("--no-localisation", action="store_true", help="nothing sends map > odom")
    given = parser.parse_args()
    print(f"starting {given.name} in house:{given.house}", file=sys.stderr, flush=True)
    house = import_module("sim_bridge.house.world").world(given.house)  # loaded lazily, like simulators
    house.image(CameraModel(width=32, height=24), np.eye(4))  # its light takes seconds, unlike the start of a driver
    rclpy.init()
    node = Node(given.name, start_parameter_services=False)
    robot = Imitation(node, driver(given.name), house, house.house.start, scale=given.scale, slower=given.slower,
                      localised=not given.no_localisation)
    robot.moving, said = not given.still, False
    while not select.select([sys.stdin], [], [], robot.step())[0]:
        rclpy.spin_once(node, timeout_sec=0.0)
        if robot.images and not said:
            print("publishing", flush=True)
            said = True


if __name__ == "__main__":
    main()
