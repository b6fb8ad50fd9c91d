"""Drives the simulated robot: Nav2's own servers where nav2_bringup is installed, elsewhere a stand-in."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from eqa_nodes.config.nodes import BridgeSettings
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.launching.nav2_parameters import write_nav2
from eqa_nodes.testing.nav2 import StandIn

TEMPLATE = Path(__file__).resolve().parents[1] / "launch" / "nav2" / "nav2.yaml"
ACTIVE_S, END_S, ATTEMPTS = 120.0, 20.0, 3
GAVE_UP = "Aborting bringup"  # the lifecycle manager's words
COSTMAPS = ("global_costmap/clear_entirely_global_costmap", "local_costmap/clear_entirely_local_costmap")


def installed() -> bool:
    """Return whether Nav2's launch files are on this machine."""
    try:
        get_package_share_directory("nav2_bringup")
    except PackageNotFoundError:
        return False
    return True


class Driver(Protocol):
    """What drives. name: of it, for the table."""

    name: str

    def listen(self, node: Any) -> None:
        """Create what it needs on a node that is spun elsewhere."""

    def new_scene(self) -> None:
        """Get ready for a scene whose episode has just begun."""

    def __enter__(self) -> Driver: ...

    def __exit__(self, *_: object) -> None: ...


class StandInForNav2(StandIn):
    """The stand-in (eqa_nodes/testing/nav2.py), which takes each scene's map as it comes."""

    name = "the stand-in for Nav2"

    def listen(self, node: Any) -> None:
        """Need nothing."""

    def new_scene(self) -> None:
        """Need nothing."""


class Nav2:
    """Nav2's servers in a graph's domain; use with `with`.

    They start with the first scene, because they wait for time and transforms.
    """

    name = "Nav2's own servers"

    def __init__(self, environment: Mapping[str, str], bridge: BridgeSettings, folder: Path) -> None:
        # Not the graph's AMENT_PREFIX_PATH, which names the wheels alone.
        ours = {name: value for name, value in environment.items() if name.startswith(("ROS_", "FASTDDS_"))}
        self._environment = {**os.environ, **ours}
        self._log, self._parameters = folder / "nav2.log", folder / "nav2.yaml"
        write_nav2(TEMPLATE, bridge, self._parameters)
        self._process: subprocess.Popen[bytes] | None = None
        self._clear: list[Any] = []
        self._active: Any = None

    def __enter__(self) -> Nav2:
        return self

    def listen(self, node: Any) -> None:
        """Create clients of Nav2's services on a node that is spun elsewhere."""
        from nav2_msgs.srv import ClearEntireCostmap
        from std_srvs.srv import Trigger

        self._clear = [node.create_client(ClearEntireCostmap, name) for name in COSTMAPS]
        self._active = node.create_client(Trigger, "lifecycle_manager_navigation/is_active")

    def new_scene(self) -> None:
        """Start the servers in the first scene; in a later one empty their costmaps, which hold the last one.

        Raises NodeLost when they do not become active.
        """
        if self._process is not None:
            for client in self._clear:
                client.call_async(client.srv_type.Request())
            return
        for _ in range(ATTEMPTS):  # on a busy machine a bond may not be formed in time, which ends the bring-up
            self._start()
            if self._is_active():
                return
            self._end()
        raise NodeLost(f"Nav2's servers did not become active in {ATTEMPTS} attempts; their log ends with: "
                       f"{self._log.read_text(errors='replace')[-600:]}")

    def _start(self) -> None:
        command = ["ros2", "launch", "nav2_bringup", "navigation_launch.py", "use_sim_time:=true",
                   f"params_file:={self._parameters}"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log,
                                             stdin=subprocess.DEVNULL, start_new_session=True)

    def _is_active(self) -> bool:
        """Wait until Nav2's lifecycle manager says that its servers are active; False when it gave up."""
        end = time.monotonic() + ACTIVE_S
        while time.monotonic() < end and GAVE_UP not in self._log.read_text(errors="replace"):
            if self._active.wait_for_service(1.0):
                future = self._active.call_async(self._active.srv_type.Request())
                while not future.done() and time.monotonic() < end:
                    time.sleep(0.1)
                if future.done() and future.result().success:
                    return True
                time.sleep(1.0)
        return False

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        if self._process is None:
            return
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None
