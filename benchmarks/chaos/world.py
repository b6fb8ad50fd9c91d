"""One graph under drill, one process per node, with the systems outside it: disks, tap, model."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rcl_interfaces.srv import SetParameters
from rclpy.node import Node

from benchmarks.chaos.outside import FailingModel
from benchmarks.chaos.schedule import Fault
from eqa_nodes.config.graph import SHARED, GraphParameters, Parameters, merged, of_robot
from eqa_nodes.core.errors import NodeLost
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.faults import Faults
from eqa_nodes.ros.interfaces import interface, qos
from eqa_nodes.ros.node import FAULTS
from eqa_nodes.ros.runner import RESTARTS, Child, RunningGraph
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS, nodes_of

LIMITS = Limits(steps=80, metres=40.0, seconds=180.0)
GRACE_S = 180.0  # for deadlines that may pass in sequence after the last check of the limits
_READY_S = 120.0  # timeout for the discovery of all nodes
_UP_S = 300.0  # timeout for the start of a graph or node: the drill is not about speed
_FULL_BYTES = 4 << 10  # maximum file size, bytes, while a disk is full
_WIRE = {"lost": "lose_share", "duplicated": "duplicate_share", "late": "late_share", "late tf": "tf_delay_s"}


class GraphListener:
    """A listener outside the graph that records acknowledged data and triggers faults.

    keyframes: id -> stamp; recorded: stamps, ns; both of this episode."""

    def __init__(self, nodes: list[str]) -> None:
        self.keyframes: dict[int, int] = {}
        self.recorded: set[int] = set()
        self._seen: set[int] = set()
        self._begun_ns = self._newest_ns = 0
        self._due: dict[int, list[Callable[[], None]]] = {}
        self._nodes = nodes
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()

    def listen(self, node: Node) -> None:
        """Subscribe with the client's node, before it spins."""
        for key, take in (("keyframes", self._on_keyframe), ("acknowledged", self._on_acknowledged)):
            topic = TOPICS[key]
            node.create_subscription(interface(topic.type), topic.name, take, qos(topic.qos))
        self._clients = {name: node.create_client(SetParameters, f"/{name}/set_parameters") for name in self._nodes}

    def begin(self) -> None:
        """Reset for the next episode, which has the messages from now on with later stamps than all before."""
        with self._lock:
            self._begun_ns = self._newest_ns + 1
            self.keyframes, self.recorded = {}, set()
            self._seen.clear()

    def begun(self, stamp_ns: int) -> None:
        """Set the first stamp of the episode: earlier messages belong to no episode."""
        with self._lock:
            self._begun_ns = stamp_ns
            self.recorded = {stamp for stamp in self.recorded if stamp >= stamp_ns}
            self.keyframes = {i: stamp for i, stamp in self.keyframes.items() if stamp >= stamp_ns}

    def after(self, observations: int, act: Callable[[], None]) -> None:
        """Call `act` when this many observations of the episode have been processed by any node."""
        with self._lock:
            self._due.setdefault(observations, []).append(act)

    def calm(self) -> None:
        """Drop all pending faults."""
        with self._lock:
            self._due.clear()

    def _on_keyframe(self, message: Any) -> None:
        with self._lock:
            if messages.stamp_of(message) >= self._begun_ns:
                self.keyframes[int(message.keyframe_id)] = messages.stamp_of(message)

    def _on_acknowledged(self, header: Any) -> None:
        stamp = messages.ns_of(header.stamp)
        with self._lock:
            if stamp < self._begun_ns:
                return
            self._seen.add(stamp)
            self._newest_ns = max(self._newest_ns, stamp)
            if header.frame_id == "recorder":
                self.recorded.add(stamp)
            due = self._due.pop(len(self._seen), [])
        for act in due:
            act()

    def ready(self) -> None:
        """Wait until all nodes are up. Raises NodeLost."""
        for name, client in self._clients.items():
            if not client.wait_for_service(_READY_S):
                raise NodeLost(f"{name} did not start")


class DrillWorld:
    """A graph of a kind: "label" (rules over labels) or "model" (asks the endpoint). Use it with `with`."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.tap = GraphListener(nodes_of("sim"))
        self.model = FailingModel()
        self._faults, self._injected = folder / "faults.json", Faults()
        self.wrong: list[str] = []  # actions that failed in the drill itself
        self._exit = contextlib.ExitStack()
        self._struck: list[Fault] = []
        self._stopped: set[int] = set()
        self._full: set[int] = set()  # processes whose disk is full
        self._timers: list[threading.Timer] = []

    def __enter__(self) -> DrillWorld:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.model)
            self.folder.mkdir(parents=True, exist_ok=True)
            self._inject(Faults())
            os.environ[FAULTS] = str(self._faults)
            stack.callback(os.environ.pop, FAULTS)
            self.graph = stack.enter_context(RunningGraph(
                self.folder, parameters(self.kind, self.folder, self.model.url), isolate=True, start_s=_UP_S))
            self.client = stack.enter_context(GraphClient(self.graph.environment, self.tap.listen))
            self.tap.ready()
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.calm()
        self._exit.close()

    def prepare(self, faults: tuple[Fault, ...], seed: int) -> list[Callable[[], None]]:
        """Schedule faults at their moments; return those to inject before the episode begins."""
        at_once, self._struck = [], []
        wire: dict[str, float] = {}
        for fault in faults:
            if fault.kind in _WIRE:
                wire[_WIRE[fault.kind]] = fault.amount
            elif fault.kind == "model":
                self.model.fail(fault.victim, fault.at, int(fault.amount))
            elif fault.at == 0:
                at_once.append(self._strike(fault))
            else:
                self.tap.after(fault.at, self._strike(fault))
        if wire:
            self._inject(Faults(seed=seed, **wire))  # type: ignore[arg-type]
        return at_once

    def missed(self, faults: tuple[Fault, ...]) -> list[str]:
        """Return the faults that were not injected because the question ended before."""
        return [f.text for f in faults if f.kind not in _WIRE
                and not (self.model.failed if f.kind == "model" else f in self._struck)]

    def calm(self) -> None:
        """End all lasting faults: resume paused nodes, free disks, and restore the wire and the model."""
        self.tap.calm()
        for timer in self._timers:
            timer.cancel()
        for pid in list(self._stopped):
            self._signal(pid, signal.SIGCONT)
        for pid in list(self._full):
            self._limit_files(pid, resource.RLIM_INFINITY)
        self._timers, self._stopped, self._full = [], set(), set()
        self.model.mend()

    def quiet_wire(self) -> None:
        """Stop the loss of messages; call it when all nodes are up."""
        self._inject(Faults())

    def ask(self, sample: Sample, episode: str) -> Answer:
        """Begin an episode and ask. Raises the errors that the graph reports."""
        self.tap.begin()
        try:
            self.tap.begun(self.client.reset(sample.scene, episode, sample.start, sample.seed))
        except BaseException:
            self.tap.begun(1 << 62)  # an episode that did not begin has no acknowledged data
            raise
        return self.client.ask(sample.as_question(LIMITS), deadline_s=LIMITS.seconds + GRACE_S)

    def wait_until_up(self) -> str:
        """Wait until all nodes run again; return "" or which nodes do not, and why."""
        end = time.monotonic() + _UP_S
        while True:
            down = [child for child in self.graph.children if child.process.poll() is not None
                    or not child.ready.is_set()]
            if not down:
                return ""
            if gone := [c for c in down if c.process.poll() is not None and c.restarts >= RESTARTS]:
                return f"{', '.join(gone[0].nodes)} died {RESTARTS + 1} times"
            if time.monotonic() > end:
                return f"{', '.join(down[0].nodes)} did not start within {_UP_S:g} s: {down[0].tail(3)}"
            time.sleep(0.1)

    def restarts(self) -> int:
        """Return the number of restarts of nodes."""
        return sum(self.graph.restarts().values())

    def _strike(self, fault: Fault) -> Callable[[], None]:
        act: Callable[[], object] = {
            "clock": lambda: self._inject(replace(self._injected, clock_step_s=fault.amount)),
            "lost call": lambda: self._lose(fault.victim),
            "kill": lambda: self._kill(fault.victim), "pause": lambda: self._pause(fault.victim, fault.amount),
            "disk full": lambda: self._fill(fault.victim)}[fault.kind]

        def strike() -> None:
            self._struck.append(fault)
            act()

        return strike

    def _lose(self, call: str) -> None:
        what, key = call.split()
        lost: dict[str, Any] = {"lose_requests" if what == "request" else "lose_replies": {key: 1}}
        self._inject(replace(self._injected, **lost))

    def _inject(self, faults: Faults) -> None:
        """Write the faults of wire and clock to the file that the nodes read."""
        self._injected = faults
        faults.write(self._faults)

    def _child(self, name: str) -> Child:
        return next(child for child in self.graph.children if child.nodes == [name])

    def _kill(self, name: str) -> None:
        self._signal(self._child(name).process.pid, signal.SIGKILL)

    def _pause(self, name: str, seconds: float) -> None:
        pid = self._child(name).process.pid
        self._signal(pid, signal.SIGSTOP)
        self._stopped.add(pid)
        self._timers.append(threading.Timer(seconds, self._signal, (pid, signal.SIGCONT)))
        self._timers[-1].start()

    def _fill(self, name: str) -> None:
        pid = self._child({"bags": "recorder", "memory": "memory"}[name]).process.pid
        self._full.add(pid)
        self._limit_files(pid, _FULL_BYTES)

    @staticmethod
    def _limit_files(pid: int, size: int) -> None:
        """Limit the size of the files that a process writes, as a full disk does; the kernel refuses more."""
        with contextlib.suppress(ProcessLookupError):  # already dead by another fault
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    @staticmethod
    def _signal(pid: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # already dead by another fault
            os.kill(pid, number)


def parameters(kind: str, folder: Path, url: str) -> GraphParameters:
    """Return a graph's parameters, with some deadlines shorter than the longest pause, so that they pass."""
    robot = RobotModel()
    robot = replace(robot, camera=replace(robot.camera, width=160, height=120))
    own: Parameters = {
        SHARED: {"node.call_deadline_s": 12.0},
        "memory": {"labels": True, "folder": str(folder / "memory")},
        "recorder": {"folder": str(folder / "bags")},
        "bridge": {"acknowledged_deadline_s": 15.0}, "navigator": {"map_deadline_s": 10.0},
        "agent": {"map_deadline_s": 10.0, "model_deadline_s": 30.0, "observe_deadline_s": 30.0}}
    if kind == "model":
        own["answerer"] = {"answerer": "vlm", "model.base_url": url, "model.model": "scripted", "model.timeout_s": 2.0,
                           "model.deadline_s": 8.0}
        os.environ["EQA_VLM_API_KEY"] = "none"
    return merged(None, of_robot(robot), own)
