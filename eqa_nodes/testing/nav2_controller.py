"""The controller of the stand-in for Nav2: it follows the newest path, even if the path's sender has ended."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

from eqa_nodes.core.driving.planning import along
from eqa_nodes.core.types.geometry import Pose2, wrap

NEAR_M, AHEAD_M = 0.25, 0.4
STEP_M, STEPS = 0.05, 200  # spacing and number of path points among which the nearest is searched
JOIN_S = 5.0


class Failed(Exception):
    """Ends a drive; its arguments are Nav2's code and message."""


class Controller:
    """Follows a path by velocities, in its own thread, until its end or a cancel."""

    def __init__(self, pose: Callable[[], Pose2], send: Callable[[float, float], None]) -> None:
        """pose: waits for the robot's next pose in the map, or raises Failed; send: sends m/s forward and rad/s."""
        self._pose, self._send = pose, send
        self._path: Any = None
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="controller", daemon=True)

    @property
    def following(self) -> bool:
        """Return whether there is a path to follow."""
        return self._path is not None

    def start(self) -> None:
        """Start waiting for paths."""
        self._thread.start()

    def follow(self, path: Any) -> None:
        """Follow a path, which replaces the previous one."""
        with self._changed:
            self._path = path
            self._changed.notify_all()

    def cancel(self) -> None:
        """Stop the robot if it follows a path."""
        with self._changed:
            if self._path is not None:
                self._path = None
                self._send(0.0, 0.0)

    def end(self) -> None:
        """End the thread."""
        with self._changed:
            self._ended, self._path = True, None
            self._changed.notify_all()
        self._thread.join(JOIN_S)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._path is not None)
                if self._ended:
                    return
            try:
                pose = self._pose()
            except Failed:
                self.cancel()
                continue
            with self._changed:
                if self._path is None:
                    continue
                if math.dist(pose[:2], self._path[-1][:2]) < NEAR_M:
                    self._path = None
                    self._send(0.0, 0.0)
                else:
                    self._send(*self._velocity(pose))

    def _velocity(self, pose: Pose2) -> tuple[float, float]:
        """Return the velocity towards a lookahead point on the path, ahead of its nearest point."""
        steps = [along(self._path, STEP_M * i)[0] for i in range(STEPS)]
        nearest = min(range(STEPS), key=lambda i: math.dist(steps[i][:2], pose[:2]))
        aim, _ = along(self._path, STEP_M * nearest + AHEAD_M)
        off = wrap(math.atan2(aim.y - pose.y, aim.x - pose.x) - pose.yaw)
        return 0.4 if abs(off) < 0.6 else 0.0, max(-1.2, min(1.2, 2.5 * off))
