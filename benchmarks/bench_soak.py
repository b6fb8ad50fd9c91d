"""Memory over an hour of driving: in lock-step, so that an hour of the robot's time takes minutes, a process a node."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from eqa_nodes.config.graph import merged, of_robot
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.runner import RunningGraph

SCENE, HOUR_S, WARM_S = "house:3", 3600, 600
WANTED = 0.02
ROBOT = RobotModel(camera=CameraModel(320, 240))
COMPRESSED = {"bag.color": "jpeg", "bag.depth": "png"}  # an hour of raw images does not fit everywhere


def rows() -> list[dict[str, object]]:
    """Return one row a process: its memory after the hour, beside that after the warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"memory": {"labels": True, "folder": f"{folder}/memory"},
               "recorder": {"folder": f"{folder}/bags", **COMPRESSED}}
        with RunningGraph(Path(folder), merged(None, of_robot(ROBOT), own), isolate=True) as graph, \
                GraphClient(graph.environment) as client:
            client.reset(SCENE, "soak", None, 0)
            begin = time.monotonic()
            pids = {child.nodes[0]: child.process.pid for child in graph.children}
            _drive(client, WARM_S)
            warm = {node: rss_mb(pid) for node, pid in pids.items()}
            _drive(client, HOUR_S - WARM_S)
            spent_s = time.monotonic() - begin
            after = {node: rss_mb(pid) for node, pid in pids.items()}
    steps = round(HOUR_S / ROBOT.step_s)
    return [{"name": f"memory of {node} over an hour of driving", "median_ms": "",
             "baseline": f"after {WARM_S / 60:.0f} minutes, {warm[node]:.0f} MB",
             "ratio": round(after[node] / warm[node], 4),
             "note": f"{after[node] - warm[node]:+.1f} MB resident (wanted: at most {1 + WANTED:.2f}); {steps} "
                     f"observations of 320x240 in lock-step, in {spent_s / 60:.0f} minutes"} for node in pids]


def _drive(client: GraphClient, seconds: float) -> None:
    """Drive about at random for so many seconds of the robot's time."""
    random, act = np.random.default_rng(0), client.services["act"]
    turning, path = 0, Action.TURN_LEFT
    for _ in range(round(seconds / ROBOT.step_s)):
        done = act.call(60.0, action=int(path if turning else Action.MOVE_FORWARD))
        turning = max(0, turning - 1)
        if done.collided or random.random() < 0.02:
            turning, path = int(random.integers(1, 7)), (Action.TURN_LEFT, Action.TURN_RIGHT)[random.integers(2)]


def rss_mb(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024 / 1e6
