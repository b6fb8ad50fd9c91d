"""Starts the graph without a ROS distribution: all nodes in one process, or one process a node, restarted when it dies.

The parent (`Graph`) supervises children; a child (`python -m eqa_nodes.runner`) runs the nodes it is told, an executor
thread each. Children end with their parent: they watch their standard input.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from eqa_nodes.core.errors import ConfigError, NodeLost
from eqa_nodes.graph import NODES, nodes_of
from eqa_nodes.parameters import write_file
from eqa_nodes.ros.environment import ensure_ros, free_domain, ros_environment
from eqa_nodes.settings import detecting, merged, navigator_of

READY = "eqa: ready"
START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 5.0
RESTARTS = 3  # of one child; after that the graph is broken and says so


class Child:
    """One process of the graph, its log and how often it was started anew."""

    def __init__(self, nodes: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str],
                 log: Path) -> None:
        self.nodes, self.log = list(nodes), log
        self._command = [sys.executable, "-m", "eqa_nodes.runner", "--nodes", ",".join(nodes), *arguments]
        self._environment = dict(environment)
        self.restarts = 0
        self.ready = threading.Event()
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        self.ready.clear()
        process = subprocess.Popen(self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self._copy, args=(process.stdout,), daemon=True).start()
        return process

    def _copy(self, stream: TextIO) -> None:
        with self.log.open("a") as log:
            for line in stream:
                if line.strip() == READY:
                    self.ready.set()
                else:
                    log.write(line)
                    log.flush()

    def restart(self) -> None:
        """Start the process again after it died."""
        self.restarts += 1
        self.process = self._start()

    def ask_to_stop(self) -> None:
        """Close its standard input, upon which it ends."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def stop(self) -> int:
        """End the process: asked first, killed at the deadline. Returns its exit code."""
        self.ask_to_stop()
        try:
            return self.process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:  # a known rare deadlock of rclpy at exit
            self.process.kill()
            return self.process.wait()

    def tail(self, lines: int = 15) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text().splitlines()[-lines:]) if self.log.exists() else ""


class Graph:
    """A running graph in a ROS domain of its own; use with `with`.

    parameters: {node: {name: value}}; isolate: a process a node; restart: start a dead process again.
    Raises ConfigError for wrong parameters, MissingExtra without rclpy, NodeLost when a node does not come up.
    """

    def __init__(self, folder: Path, parameters: Mapping[str, Mapping[str, Any]] | None = None, *, world: str = "sim",
                 isolate: bool = False, restart: bool = True, nodes: Sequence[str] | None = None) -> None:
        ensure_ros()
        self.folder, self.restart = folder, restart
        self._parameters = merged(None, parameters or {})
        self.nodes = list(nodes or nodes_of(world, detecting=detecting(self._parameters),
                                            navigator=navigator_of(self._parameters)))
        self._isolate = isolate
        self._exit = contextlib.ExitStack()
        self._watching = threading.Event()
        self.children: list[Child] = []
        self.domain = 0

    def __enter__(self) -> Graph:
        logs = self.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        self.domain = self._exit.enter_context(free_domain())
        write_file(self.folder / "params.yaml", self._parameters)
        self.environment = {**os.environ, **ros_environment(self.domain, logs)}
        arguments = ["--params", str(self.folder / "params.yaml")]
        groups = [[name] for name in self.nodes] if self._isolate else [self.nodes]
        self.children = [Child(group, arguments, self.environment,
                               logs / f"{group[0] if self._isolate else 'graph'}.log") for group in groups]
        self._exit.callback(self._stop)
        try:
            self._wait_until_ready()
        except BaseException:
            self._exit.close()
            raise
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + START_DEADLINE_S
        for child in self.children:
            names = ", ".join(child.nodes)
            while not child.ready.wait(0.1):
                if child.process.poll() is not None:
                    raise NodeLost(f"{names} ended with code {child.process.returncode} at start:\n{child.tail()}")
                if time.monotonic() > end:
                    raise NodeLost(f"{names} did not come up within {START_DEADLINE_S:g} s:\n{child.tail()}")

    def _watch(self) -> None:
        """Start again what dies; a child that keeps dying stays down, and its callers hear NODE_LOST."""
        while not self._watching.wait(0.2):
            for child in self.children:
                if child.process.poll() is not None and self.restart and child.restarts < RESTARTS:
                    child.restart()

    def restarts(self) -> dict[str, int]:
        """Return how often each process was started anew."""
        return {"+".join(child.nodes): child.restarts for child in self.children if child.restarts}

    def _stop(self) -> None:
        self._watching.set()
        for child in self.children:
            child.ask_to_stop()
        for child in self.children:
            child.stop()


def node_class(name: str) -> Any:
    """Return the class of a node of the graph."""
    module, _, cls = NODES[name].target.partition(":")
    return getattr(import_module(module), cls)


def run_nodes(names: Sequence[str], params: Path) -> int:
    """Run nodes in this process, an executor thread each, until standard input closes. Returns the exit code."""
    import rclpy

    from eqa_nodes.ros.node import executor_of

    rclpy.init(args=["--ros-args", "--params-file", str(params)])
    try:
        nodes = [node_class(name)() for name in names]
    except ConfigError as error:
        print(f"eqa: {error}", flush=True)
        rclpy.try_shutdown()
        return 2
    executors = [executor_of(node) for node in nodes]
    threads = [threading.Thread(target=_spin_or_die, args=(executor,), daemon=True) for executor in executors]
    for thread in threads:
        thread.start()
    print(READY, flush=True)
    sys.stdin.read()  # until the parent closes it, or dies
    threading.Timer(STOP_DEADLINE_S, os._exit, (1,)).start()  # no deadlock at exit outlives its parent
    rclpy.try_shutdown()
    for thread in threads:
        thread.join(1.0)
    sys.stdout.flush()
    os._exit(0)  # threads of an executor may still wait for an answer that never comes


def _spin_or_die(executor: Any) -> None:
    """Spin; a node whose executor fails must not linger as a process that answers nobody."""
    from eqa_nodes.ros.node import spin

    try:
        spin(executor)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(3)


def main() -> int:
    """Run nodes of the graph in this process."""
    parser = argparse.ArgumentParser(prog="python -m eqa_nodes.runner", description=main.__doc__)
    parser.add_argument("--nodes", required=True, help="comma-separated names")
    parser.add_argument("--params", type=Path, required=True, help="ROS parameter file")
    arguments = parser.parse_args()
    return run_nodes(arguments.nodes.split(","), arguments.params)


if __name__ == "__main__":
    sys.exit(main())
