"""The bridge to a simulator with velocities: simulated time advances continuously, with odometry and camera."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from rosgraph_msgs.msg import Clock

from eqa_nodes.core.errors import Canceled, EqaError, NodeLost, SimulatorError
from eqa_nodes.core.mapping.laser import base_from_scan, scan_of
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import LocalisedPose, Transform, pose2_of
from eqa_nodes.core.types.robot import OTHERS, BaseLimits
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.nodes.bridge_localised import ForeignLocalisation
from eqa_nodes.ros import convert
from eqa_nodes.ros.node import EqaNode
from eqa_nodes.ros.observation import Observations
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS, UNSTAMPED
from sim_bridge.senses import BaseController, Senses, Velocity, velocity_between
from sim_bridge.simulator import DriveResult, Driving, Simulator, Step

END_S = 2.0  # deadline for threads to end with the node
POINT_EVERY = 4  # the point cloud has every fourth row and column of depth
IDLE = ("the bridge has no episode: the last one has ended, or the bridge was started again since; begin an episode "
        "(reset_episode)")


class VelocityDrive:
    """Runs the world of one episode after the other, in threads outside the executor.

    Clock, odometry and transforms are published at each physics step. Images and scans begin when the episode is
    announced to its observers. Time waits for the simulator to render and for observers to process the previous
    image, so a slow machine loses no view, but time is slower there. If other nodes localise the robot, time does not
    wait for images that are not localised (bridge_localised.py).
    """

    def __init__(self, node: EqaNode, observations: Observations) -> None:
        self._node, self._observations = node, observations
        self._base, self._one_at_a_time = BaseController(self._config.robot.base), threading.Lock()
        self._announced, self._stop = threading.Event(), threading.Event()
        self._world: threading.Thread | None = None
        self._showing: threading.Thread | None = None
        self._failure = IDLE
        self._others: ForeignLocalisation | None = None  # set by the first episode in which others localise
        self._corrected_ns = 0  # the newest stamp of a correction; it lies in the future
        self._begun_steady_ns = self._begun_ns = self._episode_ns = 0
        self.newest: DriveResult | None = None  # stamps as on the wire
        node.out("scan")
        node.out("points")
        node.subscribe("episode", self._on_episode)
        kind = TOPICS["cmd_vel"].type if self._config.stamped else UNSTAMPED
        node.subscribe_any_type(TOPICS["cmd_vel"]._replace(type=kind), self._on_command)

    @property
    def _config(self) -> Any:
        return self._node.config

    def limit(self, config: BaseLimits) -> None:
        """Use other limits from the next step on."""
        with self._one_at_a_time:
            self._base.config = config

    @property
    def now_ns(self) -> int:
        """Return the stamp of the newest physics step, 0 before the first."""
        return self.newest.stamp_ns if self.newest is not None else 0

    @property
    def published_ns(self) -> int:
        """Return the newest stamp that was published, 0 before the first."""
        return max(self.now_ns, self._corrected_ns)

    def begin(self, simulator: Simulator, first: Step, offset_ns: int, seed: int) -> None:
        """Start time at the first observation of an episode; the robot stands still.

        Commands that were sent before are ignored. first: its stamp is the published one; seed: random seed of the
        sensor noise. Raises SimulatorError for a simulator without velocities.
        """
        self._base = BaseController(self._config.robot.base)
        self.newest = DriveResult(first.frame.stamp_ns, first.frame.map_from_base, False, 0.0)
        self._announced, self._stop, self._failure = threading.Event(), threading.Event(), ""
        self._begun_ns, self._begun_steady_ns = self.now_ns, time.monotonic_ns()
        mount = first.frame.base_from_camera
        senses = Senses(self._config.senses, seed, first.frame.map_from_base)
        world = _World(taking(simulator), senses, offset_ns, self._stop, mount)
        if self._config.senses.localisation.by == OTHERS:
            world.others = self._others = self._others or ForeignLocalisation(self._node)
        self._tell_fixed(self.now_ns, mount)
        self._correct(self.now_ns, senses.localised)  # the reset reports the robot's pose to localisation
        self._world = self._thread(lambda: self._run(world))

    def end(self, deadline_s: float | None = None) -> None:
        """Stop time until the next episode begins; a second call does nothing."""
        self._stop.set()
        self._failure = self._failure or IDLE
        for thread in (self._world, self._showing):  # the first may wait for the second
            if thread is not None:
                thread.join(deadline_s)

    def status(self) -> DriveResult:
        """Return the current state of the robot. Raises SimulatorError if no episode runs, with the cause if it failed.
        """
        if self._failure or self.newest is None:
            raise SimulatorError(self._failure)
        return self.newest

    def _on_episode(self, episode: Any) -> None:
        self._episode_ns = messages.stamp_of(episode)
        if self.newest is not None and self._episode_ns >= self._begun_ns:
            self._announced.set()

    def _on_command(self, message: Any, info: Mapping[str, Any]) -> None:
        twist = message.twist if self._config.stamped else message
        stamp_ns = messages.stamp_of(message) if self._config.stamped else 0
        now_ns = self.now_ns
        sent_ns, begun_ns = (stamp_ns, self._begun_ns) if stamp_ns else (_steady(info["source_timestamp"]),
                                                                         self._begun_steady_ns)
        if 0 < sent_ns < begun_ns:
            self._node.count("command from before the episode")
        elif stamp_ns and now_ns - stamp_ns > self._config.robot.base.timeout_s * 1e9:
            self._node.count("command that arrived too late")
        else:
            if twist.linear.y:
                self._node.count("sideways velocity, which this base does not take")
            try:
                with self._one_at_a_time:  # a stamp of another clock, such as wall time, counts as now
                    self._base.command(min(stamp_ns or now_ns, now_ns), Velocity(twist.linear.x, twist.angular.z))
            except SimulatorError as error:
                self._node.count(str(error))

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        """Run `work` in its own thread. A failure ends the world and is reported to later requests."""
        def guarded() -> None:
            try:
                work()
            except Exception as error:
                if self._node.context.ok():  # otherwise the shutdown removed the publishers
                    self._failure = str(error) if isinstance(error, EqaError) else repr(error)
                    self._node.get_logger().error(traceback.format_exc())
                    self._stop.set()

        thread = threading.Thread(target=guarded, daemon=True)
        thread.start()
        return thread

    def _run(self, world: _World) -> None:
        """Advance the world at most at real time times its factor; delays are not caught up."""
        config = self._config
        period_s, pictures = 1.0 / config.physics_hz, max(1, round(config.physics_hz / config.camera_hz))
        due = time.monotonic()
        for tick in count(1):
            due = max(due + period_s / self._config.real_time_factor, time.monotonic())
            world.stop.wait(due - time.monotonic())
            if self._over(world):
                return
            self._advance(world, period_s)
            if tick % pictures == 0 and self._announced.is_set():
                self._look(world)

    def _tell_fixed(self, stamp_ns: int, base_from_camera: Transform, again: bool = False) -> None:
        scan = base_from_scan(base_from_camera, self._config.scan.frame_m)
        self._observations.tell_fixed(stamp_ns, base_from_camera, {convert.SCAN: scan}, again)

    def _over(self, world: _World) -> bool:
        return world.stop.is_set() or not self._node.context.ok()

    def _advance(self, world: _World, seconds: float) -> None:
        """Drive for one step and publish the new pose."""
        before = self.newest
        assert before is not None  # set by begin
        with self._one_at_a_time:
            velocity = self._base.step(before.stamp_ns, seconds)
        driven = world.simulator.drive(*velocity, seconds)
        driven = driven._replace(stamp_ns=driven.stamp_ns + world.offset_ns)
        measured = velocity_between(pose2_of(before.map_from_base), pose2_of(driven.map_from_base), seconds)
        if driven.collided:
            if not before.collided:
                self._node.count("contact with an obstacle")
            with self._one_at_a_time:
                self._base.held_up(measured)
        self.newest = driven
        reported = world.senses.moved(before.map_from_base, driven.map_from_base, seconds)
        self._observations.tell_place(driven.stamp_ns, world.senses.place, world.base_from_camera, reported)
        self._node.send("clock", Clock(clock=convert.time_of(driven.stamp_ns)))

    def _look(self, world: _World) -> None:
        """Render an image and publish it in another thread, so that odometry continues meanwhile."""
        if self._showing is not None and self._showing.is_alive():
            self._node.count("time waited for those who take in what was shown")
            self._showing.join()
            if self._over(world):
                return
        frame = world.simulator.act(Action.OBSERVE).frame
        frame = replace(frame, stamp_ns=frame.stamp_ns + world.offset_ns, depth_m=world.senses.measured(frame.depth_m))
        labels = world.simulator.labels() if frame.labels is not None else {}
        view = _View(frame, labels, world.senses.place, world.senses.scanned(), frame.stamp_ns + world.senses.ahead_ns)
        self._showing = self._thread(lambda: self._show(world, view))

    def _show(self, world: _World, view: _View) -> None:
        """Publish images and scan; return when all observers have acknowledged them, or at the deadline.

        Returns at once if other nodes should localise the robot and have not: observers could not process the image.
        """
        frame = view.frame
        self._observations.show(frame, view.labels)
        self._scan(view)
        if self._node.out("points").get_subscription_count():
            self._node.send("points", convert.points_msg(frame, POINT_EVERY))
        if world.others is not None and not world.others.localised(frame.stamp_ns):
            return

        def repeat() -> None:  # without the clock, which has advanced
            if self._over(world) or frame.stamp_ns < self._episode_ns:  # another episode may have begun
                raise Canceled("the episode is over")
            self._tell_fixed(frame.stamp_ns, frame.base_from_camera, again=True)
            self._observations.tell_place(frame.stamp_ns, view.place, frame.base_from_camera)
            self._scan(view)  # scan-based localisation then repeats its transform
            self._observations.show(frame, view.labels)

        try:
            self._observations.await_observers(frame, view.labels, repeat)
        except Canceled:
            return
        except NodeLost as error:  # continue without them, as on a real robot
            self._node.count("observation that was not taken in by all observers")
            self._node.get_logger().warning(str(error))

    def _scan(self, view: _View) -> None:
        """Publish the scan and the localisation's correction."""
        frame, config = view.frame, self._config
        band = config.scan.of(config.robot.height_m, config.robot.camera.max_range_m)
        scan = scan_of(frame.depth_m, frame.intrinsics, frame.base_from_camera, band)
        self._node.send("scan", convert.scan_msg(scan, frame.stamp_ns))
        self._correct(view.corrected_ns, view.map_from_odom)

    def _correct(self, stamp_ns: int, map_from_odom: Transform | None) -> None:
        if map_from_odom is not None:
            self._corrected_ns = max(self._corrected_ns, stamp_ns)
            self._observations.tell_correction(stamp_ns, map_from_odom)


class _View(NamedTuple):
    """The data that are published for one image.

    map_from_odom, corrected_ns: the correction that localisation publishes with the scan, None = none, and its stamp.
    """

    frame: Frame
    labels: Mapping[int, Label]
    place: LocalisedPose
    map_from_odom: Transform | None
    corrected_ns: int


class _World:
    """A simulator in one episode. base_from_camera: with the head level; stop: ends it; others: localise the robot."""

    others: ForeignLocalisation | None = None

    def __init__(self, simulator: Driving, senses: Senses, offset_ns: int, stop: threading.Event,
                 base_from_camera: Transform) -> None:
        self.simulator, self.senses, self.offset_ns, self.stop = simulator, senses, offset_ns, stop
        self.base_from_camera = base_from_camera


def taking(simulator: Simulator) -> Driving:
    """Return a simulator as one that takes velocities. Raises SimulatorError."""
    if not isinstance(simulator, Driving):
        raise SimulatorError(f"{type(simulator).__name__} takes no velocities: drive it with navigator atomic "
                             "(bridge.drive actions)")
    return simulator


def _steady(wall_ns: int) -> int:
    """Convert a recent wall time to the monotonic clock, ns, which is not adjusted during an episode; 0 = unknown."""
    return max(1, time.monotonic_ns() - (time.time_ns() - wall_ns)) if wall_ns else 0
