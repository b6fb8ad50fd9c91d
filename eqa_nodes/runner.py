"""Starts the graph without a ROS distribution: all nodes in one process, or one process a node, restarted when it dies.

The parent (`Graph`) supervises children; a child (`python -m eqa_nodes.runner`) runs the nodes it is told, an executor
thread each. Children end with their parent: they watch their standard input.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from eqa_nodes.configuration import detecting, merged, navigator_of, of_world
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.graph import NODES, nodes_of
from eqa_nodes.parameters import write_file
from eqa_nodes.ros.environment import (
    clean_shared_memory,
    ensure_ros,
    free_domain,
    held_in_shared_memory,
    ros_environment,
)

READY = "eqa: ready"
START_DEADLINE_S = 180.0  # on a busy machine ten processes import for long; one that ends is seen at once
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
        self.shared: set[str] = set()  # lock files of all its processes in shared memory
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        self.ready.clear()
        process = subprocess.Popen(self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self._copy, args=(process.stdout, process.pid), daemon=True).start()
        return process

    def _copy(self, stream: TextIO, pid: int) -> None:
        with self.log.open("a") as log:
            for line in stream:
                if line.strip() == READY:
                    self.shared |= held_in_shared_memory(pid)
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

    parameters: {node: {name: value}}; isolate: a process a node; restart: start a dead process again; start_s: how long
    all nodes together may take to come up.
    Raises ConfigError for wrong parameters, MissingExtra without rclpy, NodeLost when a node does not come up.
    """

    def __init__(self, folder: Path, parameters: Mapping[str, Mapping[str, Any]] | None = None, *, world: str = "sim",
                 isolate: bool = False, restart: bool = True, nodes: Sequence[str] | None = None,
                 start_s: float = START_DEADLINE_S) -> None:
        ensure_ros()
        self.folder, self.restart, self._start_s = folder, restart, start_s
        self._parameters = merged(None, of_world(world), parameters or {})
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
        end = time.monotonic() + self._start_s
        for child in self.children:
            names = ", ".join(child.nodes)
            while not child.ready.wait(0.1):
                if child.process.poll() is not None:
                    raise NodeLost(f"{names} ended with code {child.process.returncode} at start:\n{child.tail()}")
                if time.monotonic() > end:
                    raise NodeLost(f"{names} did not come up within {self._start_s:g} s:\n{child.tail()}")

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
        clean_shared_memory(older_than_s=0.0, held={name for child in self.children for name in child.shared})


def node_class(name: str) -> Any:
    """Return the class of a node of the graph."""
    module, _, cls = NODES[name].target.partition(":")
    return getattr(import_module(module), cls)


def run_nodes(names: Sequence[str], params: Path) -> int:
    """Run nodes in this process until standard input closes. Returns the exit code of one that cannot begin."""
    from eqa_nodes.ros.process import run

    def wait() -> None:
        print(READY, flush=True)
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C reaches all processes of a terminal
            sys.stdin.read()  # until the parent closes it, or dies
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    return run([node_class(name) for name in names], wait, ["--ros-args", "--params-file", str(params)],
               leave=False)


def main() -> int:
    """Run nodes of the graph in this process."""
    parser = argparse.ArgumentParser(prog="python -m eqa_nodes.runner", description=main.__doc__)
    parser.add_argument("--nodes", required=True, help="comma-separated names")
    parser.add_argument("--params", type=Path, required=True, help="ROS parameter file")
    arguments = parser.parse_args()
    return run_nodes(arguments.nodes.split(","), arguments.params)


if __name__ == "__main__":
    sys.exit(main())
