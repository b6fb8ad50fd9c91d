"""What the graph adds to a step: one lock-step atomic action through it, beside the simulator alone in the same run."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from eqa_nodes.config.graph import merged, of_robot
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.runner import RunningGraph
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup

SCENE, STEPS, WARM_UP = "house:3", 24, 12


def rows() -> list[dict[str, object]]:
    """Return one row a figure: name, median_ms, baseline, ratio, note."""
    simulator = HouseSimulator()
    simulator.reset(EpisodeSetup(SCENE))
    alone = _median_ms(lambda: simulator.act(Action.TURN_LEFT))
    return [row for isolate in (False, True) for row in _graph(isolate, alone)]


def _graph(isolate: bool, alone: float) -> list[dict[str, object]]:
    name = "a process a node" if isolate else "one process"
    with tempfile.TemporaryDirectory() as folder:
        own = {"memory": {"labels": True, "folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}
        start = time.perf_counter()
        with RunningGraph(Path(folder), merged(None, of_robot(RobotModel()), own), isolate=isolate) as graph:
            up = (time.perf_counter() - start) * 1e3
            with GraphClient(graph.environment) as client:
                client.reset(SCENE, "bench", None, 0)
                act = client.services["act"]
                step = _median_ms(lambda: act.call(60.0, action=int(Action.TURN_LEFT)))
                memory = sum(map(_pss_mb, (graph.server.pid, *(child.process.pid for child in graph.children))))
    return [{"name": f"lock-step action, {name}", "median_ms": round(step, 1),
             "baseline": f"simulator alone, {alone:.1f} ms", "ratio": round(step / alone, 2),
             "note": f"{step - alone:.1f} ms beyond rendering, all observers written and durable"},
            {"name": f"graph up, {name}", "median_ms": round(up, 1), "baseline": "", "ratio": "",
             "note": f"{memory / 1024:.2f} GiB (proportional set size) after the steps"}]


def _median_ms(work: Callable[[], object]) -> float:
    times = []
    for k in range(WARM_UP + STEPS):
        start = time.perf_counter()
        work()
        if k >= WARM_UP:
            times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def _pss_mb(pid: int) -> float:
    """Memory of a process with shared pages shared out, so that the sum over processes is true."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/smaps_rollup has no Pss")
