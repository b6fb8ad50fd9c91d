"""One graph under drill, a process a node, with what stands outside it: disks, tap, model, Nav2."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.chaos.disk import Disk
from benchmarks.chaos.model import Model
from benchmarks.chaos.nav2 import Failing
from benchmarks.chaos.schedule import Fault
from benchmarks.chaos.tap import Tap
from eqa_nodes.bench.samples import Sample
from eqa_nodes.config.graph import GraphParameters, Parameters, driven_by, merged, of_robot
from eqa_nodes.core.types.questions import Answer, Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.faults import Faults
from eqa_nodes.ros.node import FAULTS
from eqa_nodes.ros.runner import RESTARTS, Child, RunningGraph
from eqa_nodes.wire.graph import nodes_of

LIMITS = Limits(steps=80, metres=40.0, seconds=180.0)
GRACE_S = 180.0  # for the deadlines below that may follow each other after the last check of the limits
_UP_S = 300.0  # for a graph, or a dead node, to come up: the drill is not about speed
_WIRE = {"lost": "lose_share", "duplicated": "duplicate_share", "late": "late_share", "late tf": "tf_delay_s"}


class World:
    """A graph of a kind: "label" (rules over labels), "model" (asks the endpoint), "nav2"; use with `with`."""

    def __init__(self, kind: str, folder: Path, more: Parameters | None = None) -> None:
        """more: parameters over those of the drill."""
        self.kind, self.folder, self._more = kind, folder, more
        self.tap = Tap(nodes_of("sim", navigator="nav2" if kind == "nav2" else "atomic"))
        self.model = Model()
        self.nav2: Failing | None = None
        self._faults = folder / "faults.json"
        self.wrong: list[str] = []  # what a drill could not do
        self._exit = contextlib.ExitStack()
        self._struck: list[Fault] = []
        self._stopped: set[int] = set()
        self._timers: list[threading.Timer] = []

    def __enter__(self) -> World:
        with contextlib.ExitStack() as stack:
            self.disks = {name: Disk(self.folder / name) for name in ("bags", "memory")}
            for disk in self.disks.values():
                stack.callback(disk.close)
            stack.enter_context(self.model)
            self.folder.mkdir(parents=True, exist_ok=True)
            Faults().write(self._faults)
            os.environ[FAULTS] = str(self._faults)
            stack.callback(os.environ.pop, FAULTS)
            self.graph = stack.enter_context(RunningGraph(self.folder,
                                                          parameters(self.kind, self.folder, self.model.url,
                                                                     self._more),
                                                          isolate=True, start_s=_UP_S))
            self.client = stack.enter_context(GraphClient(self.graph.environment, self.tap.listen))
            if self.kind == "nav2":
                self.nav2 = Failing(self.graph.environment)
                stack.enter_context(self.nav2)
            self.tap.ready()
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.calm()
        self._exit.close()

    def prepare(self, faults: tuple[Fault, ...], seed: int) -> list[Callable[[], None]]:
        """Let faults come at their moments; return those that come before the episode begins."""
        at_once, self._struck = [], []
        wire: dict[str, float] = {}
        for fault in faults:
            if fault.kind in _WIRE:
                wire[_WIRE[fault.kind]] = fault.amount
            elif fault.kind == "model":
                self.model.fail(fault.victim, fault.at, int(fault.amount))
            elif fault.kind == "nav2" and self.nav2 is not None:
                self.nav2.fail(fault.victim, fault.at, int(fault.amount))
            elif fault.at == 0:
                at_once.append(self._strike(fault))
            else:
                self.tap.after(fault.at, self._strike(fault))
        if wire:
            Faults(seed=seed, **wire).write(self._faults)  # type: ignore[arg-type]
        return at_once

    def missed(self, faults: tuple[Fault, ...]) -> list[str]:
        """Return the faults whose moment has not come: the question ended before."""
        came = {"model": self.model.failed, "nav2": self.nav2.failed if self.nav2 is not None else 0}
        return [f.text for f in faults if f.kind not in _WIRE and not came.get(f.kind, f in self._struck)]

    def calm(self) -> None:
        """End all faults that go on: the paused run, disks have room, the wire and the model work."""
        self.tap.calm()
        for timer in self._timers:
            timer.cancel()
        for pid in list(self._stopped):
            self._signal(pid, signal.SIGCONT)
        self._timers, self._stopped = [], set()
        for disk in self.disks.values():
            disk.free()
        self.model.mend()
        if self.nav2 is not None:
            self.nav2.fail("", 0, 0)

    def quiet_wire(self) -> None:
        """Let messages come through again; call it when all nodes are up."""
        Faults().write(self._faults)

    def ask(self, sample: Sample, episode: str) -> Answer:
        """Begin an episode and ask. Raises what the graph reports."""
        self.tap.begin()
        try:
            self.tap.begun(self.client.reset(sample.scene, episode, sample.start, sample.seed))
        except BaseException:
            self.tap.begun(1 << 62)  # an episode that did not begin promises nothing
            raise
        return self.client.ask(sample.as_question(LIMITS), deadline_s=LIMITS.seconds + GRACE_S)

    def wait_until_up(self) -> str:
        """Return when all nodes run again: "" or which do not, and why."""
        end = time.monotonic() + _UP_S
        while True:
            down = [child for child in self.graph.children if child.process.poll() is not None
                    or not child.ready.is_set()]
            if not down:
                return ""
            if gone := [c for c in down if c.process.poll() is not None and c.restarts >= RESTARTS]:
                return f"{', '.join(gone[0].nodes)} died {RESTARTS + 1} times"
            if time.monotonic() > end:
                return f"{', '.join(down[0].nodes)} did not come up within {_UP_S:g} s: {down[0].tail(3)}"
            time.sleep(0.1)

    def restarts(self) -> int:
        """Return how often nodes were started anew."""
        return sum(self.graph.restarts().values())

    def _strike(self, fault: Fault) -> Callable[[], None]:
        act = {"kill": lambda: self._kill(fault.victim), "pause": lambda: self._pause(fault.victim, fault.amount),
               "disk full": lambda: self._fill(fault.victim)}[fault.kind]

        def strike() -> None:
            self._struck.append(fault)
            act()

        return strike

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
        self.disks[name].fill(self._child({"bags": "recorder", "memory": "memory"}[name]).process.pid)

    @staticmethod
    def _signal(pid: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # dead already: another fault was quicker
            os.kill(pid, number)


def parameters(kind: str, folder: Path, url: str, more: Parameters | None = None) -> GraphParameters:
    """Return a graph's parameters: some deadlines are shorter than the longest pause, so that they are seen to pass."""
    robot = RobotModel()
    robot = replace(robot, camera=replace(robot.camera, width=160, height=120))
    own: Parameters = {
        "memory": {"labels": True, "folder": str(folder / "memory")},
        "recorder": {"folder": str(folder / "bags")},
        "bridge": {"acknowledged_deadline_s": 15.0}, "navigator": {"map_deadline_s": 10.0},
        "agent": {"map_deadline_s": 10.0, "model_deadline_s": 30.0, "observe_deadline_s": 30.0}}
    if kind == "model":
        own["answerer"] = {"answerer": "vlm", "model.base_url": url, "model.model": "scripted", "model.timeout_s": 2.0,
                           "model.deadline_s": 8.0}
        os.environ["EQA_VLM_API_KEY"] = "none"
    if kind == "nav2":
        del own["navigator"]
    driven = driven_by(kind) if kind == "nav2" else {}
    if driven:
        driven["bridge"] |= {"real_time_factor": 4.0, "robot.base.timeout_s": 2.0}  # for a slow machine
    return merged(None, of_robot(robot), own, driven, more or {})
