"""The wall clock of every node is set while questions run, and a node is killed after it was set back.

The clock is that of Python in the nodes (EQA_FAULTS). The middleware keeps the true one: no program may set that of the
machine here.
"""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray

from benchmarks.chaos.cases import CASES, NEXT
from benchmarks.chaos.fleet import Drilled
from benchmarks.chaos.world import World
from eqa_nodes.ros.faults import Faults

STEPS_S = (3600.0, -7200.0, 86400.0 * 400, 0.0)  # beside the true time, one after the other; the last sets it right
AT = 4  # observations after which the clock is set
ALARM_S = 30.0  # for the alarm to be published: it is looked for once a second
PROMPT_S = 60.0  # for a question whose memory node is killed: well below the deadlines that would pass unnoticed


def drill(drilled: Drilled, folder: Path, seed: int) -> None:
    """Ask while the clock is set forward and back."""
    case, alarms = CASES["plant"], dict[str, str]()
    with World("label", folder / "graph") as world:
        world.client.node.create_subscription(DiagnosticArray, "/diagnostics", _alarms_into(alarms), 100)
        first = world.ask(case.sample, "without")
        world.client.end_episode()
        drilled.check(bool(first.text) and not first.error, f"without a fault: {first.error.name} {first.message}")
        for number, step_s in enumerate(STEPS_S):
            alarms.clear()
            world.tap.after(AT, lambda step_s=step_s: _set(world, step_s))  # type: ignore[misc]
            answer = world.ask(case.sample, f"step-{number}")
            world.client.end_episode()
            drilled.check(answer.text == first.text and not answer.error,
                          f"clock set to {step_s:+g} s: {answer.error.name} {answer.text!r} {answer.message}")
            _wait(lambda: len(alarms) >= len(world.graph.children))
            missing = {name for child in world.graph.children for name in child.nodes} - alarms.keys()
            drilled.check(not missing, f"clock set to {step_s:+g} s: no alarm of {', '.join(sorted(missing))}")
        drilled.notes.append(f"{len(STEPS_S)} settings, each told by {len(alarms)} nodes: "
                             f"{next(iter(alarms.values()), '')[:60]}...")
        _killed_after_setting_back(drilled, world)


def _killed_after_setting_back(drilled: Drilled, world: World) -> None:
    """Start a node again by a clock that is before the start of its predecessor."""
    _set(world, -7200.0)
    memory = next(child for child in world.graph.children if child.nodes == ["memory"])
    world.tap.after(AT, lambda: world._signal(memory.process.pid, signal.SIGKILL))
    began = time.monotonic()
    answer = world.ask(CASES["plant"].sample, "killed")
    seconds = time.monotonic() - began
    world.client.end_episode()
    drilled.check(world.restarts() >= 1, "memory was not killed: the question ended before")
    drilled.check(seconds < PROMPT_S, f"a node that died after the clock was set back cost {seconds:.0f} s")
    drilled.check(answer.error.name in ("NONE", "NODE_LOST"), f"it ended with {answer.error.name} {answer.message}")
    drilled.notes.append(f"a node killed after the clock was set back: {answer.error.name} in {seconds:.1f} s")
    _set(world, 0.0)
    drilled.check(not (down := world.wait_until_up()), f"not up again: {down}")
    after = world.ask(NEXT.sample, "after")
    drilled.check(not after.error, f"the next question: {after.error.name} {after.message}")


def _set(world: World, step_s: float) -> None:
    Faults(clock_step_s=step_s).write(world.folder / "faults.json")


def _alarms_into(alarms: dict[str, str]) -> Any:
    lock = threading.Lock()

    def hear(message: Any) -> None:
        for status in message.status:
            name, _, what = status.name.partition(": ")
            if what == "clock" and status.level != b"\0" and "the wall clock was set" in status.message:
                with lock:
                    alarms[name] = status.message

    return hear


def _wait(holds: Any) -> None:
    end = time.monotonic() + ALARM_S
    while not holds() and time.monotonic() < end:
        time.sleep(0.2)
