"""From Ctrl-C to the last process gone, of a graph with a process a node, while an episode runs.

`python -m benchmarks.bench_shutdown` is such a graph; it says "up" in the middle of the episode.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

TIMES, WANTED_S, UP_S, GONE_S = 3, 3.0, 300.0, 60.0
SCENE = "house:3"
_NODE = "import sys; from eqa_nodes.ros.runner import node_class; from eqa_nodes.ros.process import run_node; " \
        "sys.exit(run_node(node_class(sys.argv[1])))"
_BARE = "import rclpy; from rclpy.node import Node; rclpy.init(); node = Node('bare'); print('up', flush=True)\n" \
        "try: rclpy.spin(node)\nexcept BaseException: pass"


def rows() -> list[dict[str, object]]:
    """Return one row a way to start the graph, beside a bare node of rclpy."""
    bare = statistics.median(_ended_s([sys.executable, "-c", _BARE]) for _ in range(TIMES))
    result: list[dict[str, object]] = []
    for path, name in (("runner", "eqa's own runner"), ("launched", "nodes on their own, as launched")):
        seconds = [_ended_s([sys.executable, "-m", "benchmarks.bench_shutdown", path]) for _ in range(TIMES)]
        result.append({"name": f"Ctrl-C in an episode, {name}", "median_ms": round(statistics.median(seconds) * 1e3),
                       "baseline": f"a bare node, {bare * 1e3:.0f} ms",
                       "ratio": round(statistics.median(seconds) / bare, 2),
                       "note": f"until the last process is gone; worst of {TIMES} {max(seconds):.2f} s "
                               f"(wanted: {WANTED_S:g} s)"})
    return result


def _ended_s(command: Sequence[str]) -> float:
    """Start a process group, interrupt it when it says "up", and return how long it then lives. Raises RuntimeError."""
    from eqa_nodes.ros.environment import free_domain, ros_environment

    with tempfile.TemporaryDirectory() as folder, free_domain() as domain:
        leader = subprocess.Popen(command, env={**os.environ, **ros_environment(domain, Path(folder))}, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert leader.stdout is not None
        try:
            while (line := leader.stdout.readline().strip()) != "up":
                if leader.poll() is not None:
                    raise RuntimeError(f"{' '.join(command)} ended before it was up: {line}")
            begin = time.perf_counter()
            os.killpg(leader.pid, signal.SIGINT)
            while _alive(leader):
                if time.perf_counter() - begin > GONE_S:
                    raise RuntimeError(f"still there after {GONE_S:g} s")
                time.sleep(0.01)
            return time.perf_counter() - begin
        finally:
            with suppress(ProcessLookupError):
                os.killpg(leader.pid, signal.SIGKILL)
            leader.wait()


def _alive(leader: subprocess.Popen[str]) -> bool:
    """Say whether any process of the leader's group is there."""
    leader.poll()
    try:
        os.killpg(leader.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _runner(folder: Path) -> None:
    from eqa_nodes.ros.runner import RunningGraph

    with RunningGraph(folder, _own(folder), isolate=True) as graph:
        _drive(graph.environment)


def _launched(folder: Path) -> None:
    """Start nodes as a launch file does; they hear the signal by themselves."""
    from eqa_nodes.config.graph import write_file
    from eqa_nodes.wire.graph import nodes_of

    write_file(folder / "params.yaml", _own(folder))
    nodes = [subprocess.Popen([sys.executable, "-c", _NODE, name, "--ros-args", "--params-file",
                               str(folder / "params.yaml")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
             for name in nodes_of("sim")]
    try:
        _drive(dict(os.environ))
    finally:
        for node in nodes:
            node.wait()


def _own(folder: Path) -> dict[str, dict[str, Any]]:
    return {"memory": {"labels": True, "folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}


def _drive(environment: dict[str, str]) -> None:
    """Ask what has no answer; say "up" when the robot drives. Ends by an interrupt."""
    from eqa_nodes.core.types.questions import Question
    from eqa_nodes.ros.client import GraphClient

    client = GraphClient(environment)
    end = time.monotonic() + UP_S
    while True:
        try:
            client.reset(SCENE, "shutdown", None, 0)
            break
        except Exception:  # nodes that were just started are not discovered yet
            if time.monotonic() > end:
                raise
    said = False

    def listen(feedback: Any) -> None:
        nonlocal said
        if feedback.phase == "driving" and not said:
            said = True
            print("up", flush=True)

    client.ask(Question("Where is the submarine?"), listen)


def _end_with_parent() -> None:
    """End this process group when standard input closes: who measures has died."""
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


PATHS: dict[str, Callable[[Path], None]] = {"runner": _runner, "launched": _launched}

if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with tempfile.TemporaryDirectory() as place, suppress(KeyboardInterrupt):
        PATHS[sys.argv[1]](Path(place))
