"""Publishes a node's state on /diagnostics once a second, as diagnostic_updater does (docs/diagnostics.md).

Messages are always counted; summaries are published only while there is a subscriber.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from std_msgs.msg import Header

from eqa_nodes.core.errors import EqaError, LimitReached
from eqa_nodes.core.memory.times import WALL_NS
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.rates import ERROR, OK, UNKNOWN, WARN, WINDOW_S, Flow, FlowStatus, RateWindow, StatusReport, judged
from eqa_nodes.ros.spinning import INFORMS
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import KINDS, TOPICS, Topic

PERIOD_S = 1.0
STALL_S = 1.0  # a report that is later than this shows that a callback blocked all others
_TF = "tf2_msgs/msg/TFMessage"
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6


class Diagnostics:
    """Counts and reports for one node. `add` and `gauge` add values of the node itself."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._topics: dict[str, tuple[Flow, bool]] = {}  # by name; with whether rate and age are checked
        self._services: dict[str, Flow] = {}
        self._gauges: dict[str, tuple[Callable[[], float], float]] = {}
        self._reports: dict[str, Callable[[], StatusReport]] = {}
        self._one_at_a_time = threading.Lock()  # services of one name may be called at the same time
        self._late_s: deque[float] = deque(maxlen=round(WINDOW_S / PERIOD_S))
        self._due_s, self._cpu = time.monotonic() + PERIOD_S, (time.monotonic(), time.process_time())
        self._counted: deque[Counter[str]] = deque([Counter()], maxlen=round(WINDOW_S / PERIOD_S))
        self._out = node.create_publisher(DiagnosticArray, TOPICS["diagnostics"].name, qos(TOPICS["diagnostics"].qos))
        node.create_timer(PERIOD_S, self._tick, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def watched(self, topic: Topic, callback: Callable[[Any], None], raw: bool) -> Callable[..., None]:
        """Wrap the callback of a subscription so that it counts; the result takes a message and rclpy's message info.

        The callbacks of one topic never overlap. An inactive node receives latched messages only.
        """
        flow = Flow(time.monotonic_ns())
        self._topics[topic.name] = flow, topic.qos == "frame"
        now, stamp_of, clock, node = time.monotonic_ns, _stamp_of(topic, raw), self._clock(), self._node
        latched = KINDS[topic.qos].durability == "transient_local"

        def counting(message: Any, info: Mapping[str, Any]) -> None:
            began = now()
            flow.gaps.take(info)
            flow.received(began, clock(stamp_of(message)) if stamp_of is not None else UNKNOWN)
            try:
                if latched or node.active:
                    callback(message)
            finally:
                flow.spent(now() - began)

        return counting if INFORMS else lambda message: counting(message, {})

    def timed(self, name: str, callback: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Wrap the callback of a service so that its time is counted."""
        flow = self._services[name] = Flow(time.monotonic_ns())

        def counting(request: Any, response: Any) -> Any:
            began = time.monotonic_ns()
            try:
                return callback(request, response)
            finally:
                ended = time.monotonic_ns()
                with self._one_at_a_time:
                    flow.received(ended)
                    flow.spent(ended - began)

        return counting

    def gauge(self, name: str, read: Callable[[], float], limit: float = 0.0) -> None:
        """Report the length of a queue, read once a second, with a warning from `limit` on (0 = no limit)."""
        self._gauges[name] = read, limit

    def add(self, name: str, report: Callable[[], StatusReport]) -> None:
        """Add a status of the node itself. report: called once a second."""
        self._reports[name] = report

    def received(self, name: str) -> int:
        """Return the number of received messages of a topic."""
        return self._topics[name][0].total if name in self._topics else 0

    def read(self, gauge: str) -> float:
        """Return the current length of a queue. Raises KeyError for an unknown gauge."""
        return self._gauges[gauge][0]()

    def report(self, name: str) -> StatusReport:
        """Return the current value of a status that was added. Raises KeyError for any other."""
        return self._reports[name]()

    def lost(self) -> dict[str, int]:
        """Return the number of lost messages of each topic since the node subscribed to it."""
        return {name: flow.gaps.lost for name, (flow, _) in list(self._topics.items())}

    def clear(self) -> None:
        """Remove subscriptions, services, gauges and reports, after the node has destroyed them."""
        for kept in (self._topics, self._services, self._gauges, self._reports):
            kept.clear()

    def _clock(self) -> Callable[[int], int]:
        """Return a function from stamp to age, both ns; UNKNOWN for a simulator's stamp if this node uses wall time."""
        node, wall = self._node, time.time_ns
        if node.get_parameter("use_sim_time").value:
            return lambda stamp_ns: node.get_clock().now().nanoseconds - stamp_ns
        return lambda stamp_ns: wall() - stamp_ns if stamp_ns >= WALL_NS else UNKNOWN

    def _tick(self) -> None:
        """Summarise the last second, and publish the summary if there is a subscriber."""
        now = time.monotonic()
        self._late_s.append(max(0.0, now - self._due_s))
        self._due_s = now + PERIOD_S
        reports = self._all(now)
        self._counted.append(Counter(dict(self._node.counts)))
        if self._out.get_subscription_count():
            stamp = self._node.get_clock().now().to_msg()
            prefix = self._node.get_fully_qualified_name().lstrip("/")
            hardware = self._node.get_namespace().strip("/") or "eqa"
            self._out.publish(DiagnosticArray(header=Header(stamp=stamp), status=[
                _status(f"{prefix}: {name}", hardware, report) for name, report in reports.items()]))

    def _all(self, now: float) -> dict[str, StatusReport]:
        now_ns, settings = int(now * 1e9), self._node.config.node
        topics = {name: (flow.sum_up(now_ns), rated) for name, (flow, rated) in list(self._topics.items())}
        services = {name: flow.sum_up(now_ns) for name, flow in list(self._services.items())}
        reports = {"executor": self._executor(now, {**{n: s for n, (s, _) in topics.items()}, **services}),
                   "refusals": self._refusals(), "clock": self._node.clocks.report()}
        if self._gauges:
            reports["queues"] = self._queues()
        reports |= {name: report() for name, report in self._reports.items()}
        for name, (summary, rated) in topics.items():
            limits = (settings.min_rate_hz, settings.max_age_s) if rated else (0.0, 0.0)
            reports[name.strip("/")] = StatusReport(judged(summary, *limits), _values(summary))
        return reports

    def _executor(self, now: float, flows: Mapping[str, RateWindow]) -> StatusReport:
        (before, cpu_before), cpu = self._cpu, time.process_time()
        self._cpu = now, cpu
        late, (longest, name) = max(self._late_s), max(((s.longest_s, n) for n, s in flows.items()), default=(0.0, ""))
        words = f"held up for {late:.1f} s" if late > STALL_S else "running"
        return StatusReport(FlowStatus(WARN if late > STALL_S else OK, words), {
            "held up [s]": f"{late:.3f}", "in callbacks [share]": f"{sum(s.busy for s in flows.values()):.3f}",
            "longest callback [s]": f"{longest:.3f}", "longest callback": name,
            "process CPU [cores]": f"{(cpu - cpu_before) / max(1e-9, now - before):.3f}",
            "resident memory [MB]": f"{resident_mb():.1f}",
            "process": os.getpid()})

    def _refusals(self) -> StatusReport:
        """Warn while something was dropped or refused within the window."""
        counts = dict(self._node.counts)
        new = sum(counts.values()) - sum(self._counted[0].values())
        words = f"{new} observations or requests were refused lately" if new else "none lately"
        return StatusReport(FlowStatus(WARN if new else OK, words), dict(sorted(counts.items())))

    def _queues(self) -> StatusReport:
        read = {name: (gauge(), limit) for name, (gauge, limit) in self._gauges.items()}
        full = [name for name, (value, limit) in read.items() if limit and value >= limit]
        return StatusReport(FlowStatus(WARN if full else OK, f"full: {', '.join(full)}" if full else "not full"),
                            {name: f"{value:g}" for name, (value, _) in read.items()})


class Health:
    """The outcomes of calls to a model or another part that may fail independently."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = self._failures = 0
        self._failed, self._error, self._seconds = False, "", 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Count a call made inside the block; an EqaError counts as a failure and is raised."""
        began, error = time.monotonic(), ""
        try:
            yield
        except LimitReached:  # the question's limit, not a failure of the model
            raise
        except EqaError as failure:
            error = str(failure)
            raise
        finally:
            with self._lock:
                self._calls, self._failures = self._calls + 1, self._failures + bool(error)
                self._failed, self._error = bool(error), error or self._error
                self._seconds = time.monotonic() - began

    def report(self, requests: int) -> StatusReport:
        """Return the status; an error if the last call failed. requests: number of requests sent to the model."""
        with self._lock:
            verdict = FlowStatus(ERROR, f"the last call failed: {self._error}") if self._failed else FlowStatus(
                OK, "the last call succeeded" if self._calls else "not called yet")
            return StatusReport(verdict, {
                "calls": self._calls, "failures": self._failures, "requests to the model": requests,
                "last call [s]": f"{self._seconds:.3f}", "last error": self._error})


def resident_mb() -> float:
    """Return the memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_MB


def _stamp_of(topic: Topic, raw: bool) -> Callable[[Any], int] | None:
    """Return the function that reads the stamp of a topic's messages, ns; None if they have no stamp that tells age."""
    if topic.type == _TF:
        return None if topic.qos == "static" else messages.stamp_in_tf if raw else _first_stamp
    if next(iter(interface(topic.type).get_fields_and_field_types()), "") != "header":
        return None
    return messages.stamp_in if raw else messages.stamp_of


def _first_stamp(message: Any) -> int:
    return messages.stamp_of(message.transforms[0]) if message.transforms else -1


def _values(s: RateWindow) -> dict[str, str]:
    values = {"rate [Hz]": f"{s.rate_hz:.2f}", "messages": str(s.total), "lost on the way": str(s.lost),
              "in its callback [share]": f"{s.busy:.4f}", "longest callback [s]": f"{s.longest_s:.4f}"}
    for name, seconds in (("last heard [s ago]", s.silent_s), ("age, median [s]", s.median_age_s),
                          ("age, oldest [s]", s.oldest_s)):
        values |= {name: f"{seconds:.3f}"} if seconds is not None else {}
    return values


def _status(name: str, hardware: str, report: StatusReport) -> DiagnosticStatus:
    return DiagnosticStatus(level=bytes([report.verdict.level]), name=name, hardware_id=hardware,
                            message=report.verdict.message,
                            values=[KeyValue(key=key, value=str(value)) for key, value in report.values.items()])
