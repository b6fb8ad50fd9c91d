"""Injects faults for drills and tests: lost, duplicated or late messages, lost requests and replies of services and
actions, and slow callbacks.

The environment variable EQA_FAULTS names a JSON file with Faults; it may change while nodes run. Without the
variable no node imports this module.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.ranges import Count, Finite, NotNegative, Share, check_ranges

_TICK_S = 0.02  # resolution of the delay of late messages
_ACTION = {"goal": "_execute_goal_request", "result": "_execute_get_result_request",
           "cancel": "_execute_cancel_request"}  # the methods of rclpy's action server that handle a request
_LOST = object()  # returned instead of a reply: nothing is sent


_time, _time_ns = time.time, time.time_ns


def _set_clock(step_s: float) -> None:
    """Shift the wall clock that Python reads in this process."""
    if step_s or time.time is not _time:
        time.time = lambda: _time() + step_s
        time.time_ns = lambda: _time_ns() + round(step_s * 1e9)


@dataclass(frozen=True)
class Faults:
    """The faults of every node. The same messages in the same order get the same faults."""

    seed: Count = 1
    lose_share: Share = 0.0  # share of the messages of topics that are lost
    duplicate_share: Share = 0.0  # share that arrives twice
    late_share: Share = 0.0  # share that arrives late
    late_s: NotNegative = 0.5  # how late, in seconds
    tf_delay_s: NotNegative = 0.0  # delay of every transform in seconds
    clock_step_s: Finite = 0.0  # seconds by which the wall clock of every node, as Python reads it, is ahead
    delay_s: Mapping[str, float] = field(default_factory=dict)  # node -> seconds of sleep before every callback
    # Number of the next requests, or replies, of a service that are lost, by key of the graph; actions have the keys
    # KEY/goal, KEY/result and KEY/cancel. Replies of an action to goal and cancel cannot be lost here.
    lose_requests: Mapping[str, int] = field(default_factory=dict)
    lose_replies: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_ranges(self, "faults")

    def write(self, path: Path) -> None:
        """Write the file that EQA_FAULTS names, atomically."""
        new = path.with_name(f"{path.name}.new")
        new.write_text(json.dumps(asdict(self)))
        os.replace(new, path)


def read_faults(path: Path) -> Faults:
    """Read the faults from a file. Raises ConfigError."""
    try:
        return replace(Faults(), **json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"EQA_FAULTS names {path}: {error}") from error


class Injection:
    """Injects faults between a node's subscriptions and services and its callbacks. One random generator per node."""

    def __init__(self, node: Any, path: Path) -> None:
        """Raises ConfigError for an invalid file."""
        self._node, self._path = node, path
        self._faults, self._read_ns = read_faults(path), path.stat().st_mtime_ns
        self._dice = self._seeded()
        self._lost, self._counting = Counter[tuple[str, str]](), threading.Lock()
        _set_clock(self._faults.clock_step_s)
        self._held: list[tuple[float, Callable[..., Any], tuple[Any, ...]]] = []
        node.create_timer(_TICK_S, self._deliver, callback_group=node.data_group,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))

    def wrap(self, key: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback of a topic that loses, duplicates and delays messages before `callback` gets them."""
        def faulty(*message: Any) -> None:
            now = self._present()
            late_s = now.tf_delay_s if key == "tf" else 0.0
            if self._dice.random() < now.lose_share:
                return
            if self._dice.random() < now.late_share:
                late_s = max(late_s, now.late_s)
            for _ in range(2 if self._dice.random() < now.duplicate_share else 1):
                if late_s:
                    self._held.append((time.monotonic() + late_s, callback, message))
                else:
                    callback(*message)

        return faulty

    def slow(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback that first sleeps for the configured delay of this node."""
        def late(*args: Any) -> Any:
            time.sleep(self._present().delay_s.get(self._node.get_name(), 0.0))
            return callback(*args)

        return late

    def unheard(self, key: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callback of a service that loses requests before `callback`, and replies after it: see `mute`."""
        def faulty(request: Any, response: Any) -> Any:
            if self._loses("request", key):
                return _LOST
            reply = callback(request, response)
            return _LOST if self._loses("reply", key) else reply

        return faulty

    def mute(self, service: Any) -> None:
        """Make a service send nothing if its callback lost the request or the reply."""
        send = service.send_response
        service.send_response = lambda reply, header: None if reply is _LOST else send(reply, header)

    def deafen(self, key: str, server: Any) -> None:
        """Make an action server lose requests, and replies with results."""
        for what, name in _ACTION.items():
            setattr(server, name, self._deaf(f"{key}/{what}", getattr(server, name)))
        send = server._send_result_response

        def send_result(header: Any, future: Any) -> None:
            if not self._loses("reply", f"{key}/result"):
                send(header, future)

        server._send_result_response = send_result

    def _deaf(self, key: str, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        async def faulty(taken: Any) -> None:
            if not self._loses("request", key):
                await work(taken)

        return faulty

    def _loses(self, what: str, key: str) -> bool:
        """Return whether this request or reply must be lost. what: request | reply."""
        with self._counting:
            now = self._present()
            wanted = (now.lose_requests if what == "request" else now.lose_replies).get(key, 0)
            self._lost[what, key] += (lost := self._lost[what, key] < wanted)
        if lost:
            self._node.get_logger().warning(f"a drill loses a {what} of {key}")
        return lost

    def _present(self) -> Faults:
        """Return the current faults; read the file again if it has changed."""
        written_ns = self._path.stat().st_mtime_ns
        if written_ns != self._read_ns:
            before, self._faults, self._read_ns = self._faults, read_faults(self._path), written_ns
            self._lost.clear()
            if self._faults.seed != before.seed:
                self._dice = self._seeded()
            _set_clock(self._faults.clock_step_s)
        return self._faults

    def _deliver(self) -> None:
        self._present()
        now = time.monotonic()
        due = [held for held in self._held if held[0] <= now]
        self._held = [held for held in self._held if held[0] > now]
        for _, callback, message in due:
            callback(*message)

    def _seeded(self) -> random.Random:
        return random.Random(f"{self._faults.seed}/{self._node.get_name()}")
