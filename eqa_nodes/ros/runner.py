"""Starts the graph without a ROS distribution: all nodes in one process, or one process a node, restarted when it dies.

The parent (`RunningGraph`) supervises children; a child (`python -m eqa_nodes.ros.runner`) runs the nodes it is given,
with an executor thread for each. Children end with their parent: they watch their standard input.
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

from eqa_nodes.config.graph import detecting, merged, navigator_of, of_world
from eqa_nodes.config.parameters import write_file
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.ros.environment import (
    END_S,
    clean_shared_memory,
    ensure_ros,
    free_domain,
    held_in_shared_memory,
    ros_environment,
)
from eqa_nodes.ros.graph import NODES, nodes_of

READY, CLOSED = "eqa: ready", "eqa: closed"  # what a child says when its nodes work, and when they have ended
START_DEADLINE_S = 180.0  # on a busy machine ten processes import for long; one that ends is seen at once
STOP_DEADLINE_S = 5.0  # for all children together; who writes a bag has END_S
POLL_S = 0.02
RESTARTS = 3  # of one child; after that the graph is broken and says so


class Child:
    """One process of the graph, its log and how often it was started anew."""

    def __init__(self, nodes: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str],
                 log: Path) -> None:
        self.nodes, self.log = list(nodes), log
        self._arguments = list(arguments)
        self._environment = dict(environment)
        self.restarts = 0
        self.ready, self.closed = threading.Event(), threading.Event()
        self.shared: set[str] = set()  # lock files of all its processes in shared memory
        self.process = self._start()

    def command(self) -> list[str]:
        """Return what the process runs."""
        return [sys.executable, "-m", "eqa_nodes.ros.runner", "--nodes", ",".join(self.nodes), *self._arguments]

    def _start(self) -> subprocess.Popen[str]:
        self.ready.clear()
        self.closed.clear()
        # Ctrl-C reaches all processes of a terminal: the parent ends its children, in whatever state they are.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # they inherit it
        try:
            process = subprocess.Popen(self.command(), env=self._environment, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        threading.Thread(target=self._copy, args=(process.stdout, process.pid), daemon=True).start()
        return process

    def _copy(self, stream: TextIO, pid: int) -> None:
        with self.log.open("a") as log:
            for line in stream:
                if line.strip() == READY:
                    self.shared |= held_in_shared_memory(pid)
                    self.ready.set()
                elif line.strip() == CLOSED:
                    self.closed.set()
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

    def await_closed(self, begin_s: float) -> None:
        """Wait until its nodes have let go of all, or the process has ended; no longer than the deadline.

        begin_s: when all were asked to stop, by the monotonic clock.
        """
        end = begin_s + (END_S if "recorder" in self.nodes else STOP_DEADLINE_S)
        while not self.closed.wait(POLL_S) and self.process.poll() is None and time.monotonic() < end:
            pass

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.wait()

    def tail(self, lines: int = 15) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text().splitlines()[-lines:]) if self.log.exists() else ""


class RunningGraph:
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

    def __enter__(self) -> RunningGraph:
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
        begin = time.monotonic()
        for child in self.children:
            child.ask_to_stop()
        for child in self.children:
            child.await_closed(begin)
        for child in self.children:  # at one moment: who dies first may hold a lock that holds up who still speaks
            child.process.kill()
        for child in self.children:
            child.kill()
        clean_shared_memory(older_than_s=0.0, held={name for child in self.children for name in child.shared})


def node_class(name: str) -> Any:
    """Return the class of a node of the graph."""
    module, _, cls = NODES[name].target.partition(":")
    return getattr(import_module(module), cls)


def run_nodes(names: Sequence[str], params: Path) -> int:
    """Run nodes in this process until standard input closes. Returns the exit code of one that cannot begin."""
    from eqa_nodes.ros.process import run

    parent, by_hand = os.getppid(), False

    def together() -> None:
        """Wait for the end of the others: the parent kills all at one moment, if it lives."""
        print(CLOSED, flush=True)
        end = time.monotonic() + STOP_DEADLINE_S
        while os.getppid() == parent and not by_hand and time.monotonic() < end:
            time.sleep(POLL_S)

    def wait() -> None:
        nonlocal by_hand
        print(READY, flush=True)
        try:
            sys.stdin.read()  # until the parent closes it, or dies
        except KeyboardInterrupt:
            by_hand = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    return run([node_class(name) for name in names], wait, ["--ros-args", "--params-file", str(params)],
               together=together)


def main() -> int:
    """Run nodes of the graph in this process."""
    parser = argparse.ArgumentParser(prog="python -m eqa_nodes.ros.runner", description=main.__doc__)
    parser.add_argument("--nodes", required=True, help="comma-separated names")
    parser.add_argument("--params", type=Path, required=True, help="ROS parameter file")
    arguments = parser.parse_args()
    return run_nodes(arguments.nodes.split(","), arguments.params)


if __name__ == "__main__":
    sys.exit(main())
