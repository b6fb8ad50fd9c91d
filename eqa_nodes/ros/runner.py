"""Starts the graph without a ROS distribution: all nodes in one process, or one restartable process per node.

The parent (`RunningGraph`) supervises children; a child, started by the fork server, runs its nodes with an executor
thread for each. Children end with their parent: they watch their standard input.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

from eqa_nodes.config.graph import merged, of_world, write_file
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.ros.environment import (
    CLOSED,
    END_S,
    POLL_S,
    READY,
    STOP_DEADLINE_S,
    clean_shared_memory,
    ensure_ros,
    free_domain,
    held_in_shared_memory,
    ros_environment,
)
from eqa_nodes.ros.fork_server import ForkServer
from eqa_nodes.wire.graph import nodes_of

START_DEADLINE_S = 180.0  # on a busy machine ten processes import slowly; a process that ends is noticed at once
RESTARTS = 3  # maximum number of restarts of one child


class Process(Protocol):
    """The part of a process that a child uses: subprocess.Popen and the fork server's processes implement it."""

    pid: int
    stdin: IO[str] | None
    stdout: IO[str] | None
    returncode: int | None

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end."""

    def kill(self) -> None:
        """End it at once."""

    def send_signal(self, sig: int, /) -> None:
        """Send a signal."""


class Child:
    """One process of the graph, its log and its number of restarts. start: starts the process."""

    def __init__(self, nodes: Sequence[str], start: Callable[[], Process], log: Path) -> None:
        self.nodes, self.log = list(nodes), log
        self._start = start
        self.restarts = 0
        self.ready, self.closed = threading.Event(), threading.Event()
        self.shared: set[str] = set()  # lock files of all its processes in shared memory
        self.process = self._started()

    def _started(self) -> Process:
        self.ready.clear()
        self.closed.clear()
        process = self._start()
        threading.Thread(target=self._copy, args=(process.stdout, process.pid), daemon=True).start()
        return process

    def _copy(self, stream: IO[str], pid: int) -> None:
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
        self.process = self._started()

    def ask_to_stop(self) -> None:
        """Close its standard input, which makes it end."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()

    def await_closed(self, begin_s: float) -> None:
        """Wait until its nodes are closed or the process has ended, at most until the deadline.

        begin_s: time at which all were asked to stop, monotonic clock.
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
    """A running graph in its own ROS domain; use it with `with`.

    parameters: {node: {name: value}}; isolate: one process per node; restart: restart a dead process; start_s: deadline
    for the start of all nodes together, s.
    Raises ConfigError for wrong parameters, MissingExtra without rclpy, NodeLost if a node does not start.
    """

    def __init__(self, folder: Path, parameters: Mapping[str, Mapping[str, Any]] | None = None, *, world: str = "sim",
                 isolate: bool = False, restart: bool = True, nodes: Sequence[str] | None = None,
                 start_s: float = START_DEADLINE_S) -> None:
        ensure_ros()
        self.folder, self.restart, self._start_s = folder, restart, start_s
        self._parameters = merged(None, of_world(world), parameters or {})
        built = self._parameters.settings
        self.nodes = list(nodes or nodes_of(world, navigator=built.drives, optional=built.optional_observers))
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
        self.server = ForkServer(self.environment, logs / "fork_server.log")
        self._exit.callback(self.server.close)
        self._exit.callback(self._stop)
        groups = [[name] for name in self.nodes] if self._isolate else [self.nodes]
        try:
            for group in reversed(groups):  # the agent has the fewest imports: start it first, then import the rest
                start = partial(self.server.start, group, self.folder / "params.yaml", self.environment)
                self.children.append(Child(group, start, logs / f"{group[0] if self._isolate else 'graph'}.log"))
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
        """Restart dead children; one that keeps dying stays down, and its callers get NODE_LOST."""
        while not self._watching.wait(0.2):
            for child in self.children:
                if child.process.poll() is not None and self.restart and child.restarts < RESTARTS:
                    child.restart()

    def restarts(self) -> dict[str, int]:
        """Return the number of restarts of each process that was restarted."""
        return {"+".join(child.nodes): child.restarts for child in self.children if child.restarts}

    def _stop(self) -> None:
        self._watching.set()
        begin = time.monotonic()
        for child in self.children:
            child.ask_to_stop()
        for child in self.children:
            child.await_closed(begin)
        for child in self.children:  # all at once: a dead process may hold a lock that blocks those still alive
            child.process.kill()
        for child in self.children:
            child.kill()
        clean_shared_memory(older_than_s=0.0, held={name for child in self.children for name in child.shared})
