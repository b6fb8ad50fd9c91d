"""One request or one reply of a service, or of an action, is lost while a question runs.

The middleware repeats what the network loses. What it gives up, such as a reply to a client that it has not discovered
in time, is lost for good: that is what this drill does (EQA_FAULTS), for each service that a question needs.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.chaos.cases import CASES, NEXT
from benchmarks.chaos.drill import whole
from benchmarks.chaos.fleet import Drilled
from benchmarks.chaos.world import World
from eqa_nodes.config.graph import SHARED
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.ros.faults import Faults

CALL_S, MODEL_S = 12.0, 15.0  # deadlines of calls in this graph: the drill waits for each of them
PROMPT_S = 90.0  # longer than without the loss: the deadlines, and the waits that may follow each other
AT = 4  # observations after which a movement is lost; what came before it were no movements


class Loss(NamedTuple):
    """What is lost once. what: request | reply; key: of Faults; at: observations before it, 0 = before the episode."""

    what: str
    key: str
    at: int = 0

    @property
    def service(self) -> str:
        """Return the key of the graph."""
        return self.key.partition("/")[0]

    def faults(self) -> Faults:
        """Return the faults that lose it."""
        return Faults(**{"lose_requests" if self.what == "request" else "lose_replies": {self.key: 1}})


_BEGIN = ("reset_simulator", "reset_mapper", "reset_memory", "reset_recorder")
_WORK = ("recollect", "recall", "choose_goal", "rank_regions", "assess_views", "answer_question", "allow_drive",
         "drive_to_pose/result", "ask/result")
LOSSES = (*(Loss(what, key) for key in (*_BEGIN, *_WORK) for what in ("request", "reply")),
          Loss("request", "act", AT), Loss("reply", "act", AT), Loss("request", "drive_to_pose/goal"),
          Loss("request", "ask/goal"))


def drill(drilled: Drilled, folder: Path, seed: int) -> None:
    """Ask the same question again and again, and lose something else each time."""
    deadlines = {SHARED: {"node.call_deadline_s": CALL_S}, "agent": {"model_deadline_s": MODEL_S,
                                                                     "observe_deadline_s": CALL_S}}
    ends: dict[str, list[str]] = {}
    with World("label", folder / "graph", deadlines) as world:
        first = whole(world, CASES["plant"].sample, "without")
        usual_s = first.receipt.seconds
        drilled.check(bool(first.text) and not first.error, f"without a loss: {first.error.name} {first.message}")
        for number, loss in enumerate(LOSSES):
            how = _lost(drilled, world, loss, number, first, usual_s)
            ends.setdefault(how, []).append(f"{loss.what} of {loss.key}")
    drilled.notes += [f"{how}: {', '.join(losses)}" for how, losses in ends.items()]


def _lost(drilled: Drilled, world: World, loss: Loss, number: int, first: Answer, usual_s: float) -> str:
    """Ask with one loss, and return how the question ended."""
    told, before, began = f"a drill loses a {loss.what} of {loss.key}", _logs(world), time.monotonic()
    if loss.at:
        world.tap.after(loss.at, lambda: loss.faults().write(world.folder / "faults.json"))
    else:
        loss.faults().write(world.folder / "faults.json")
    code, text, message = _asked(world, f"loss-{number:02d}")
    seconds = time.monotonic() - began
    Faults().write(world.folder / "faults.json")
    what = f"{loss.what} of {loss.key} lost"
    drilled.check(_logs(world).count(told) > before.count(told), f"{what}: nothing was lost, the question ended before")
    drilled.check(seconds < usual_s + PROMPT_S, f"{what}: the question took {seconds:.0f} s, usually {usual_s:.0f} s")
    if code is ErrorCode.NONE:
        drilled.check(text == first.text, f"{what}: the answer is {text!r}, without the loss {first.text!r}")
        return "the same answer"
    drilled.check(code is not ErrorCode.INTERNAL and loss.service in message, f"{what}: {code.name} {message!r}")
    _next(drilled, world, what, f"next-{number:02d}")
    return code.name


def _asked(world: World, episode: str) -> tuple[ErrorCode, str, str]:
    """Return how a question ended: its error, the answer, the message."""
    try:
        answer = world.ask(CASES["plant"].sample, episode)
    except EqaError as error:
        return error.code, "", str(error)
    return answer.error, answer.text, answer.message


def _next(drilled: Drilled, world: World, what: str, episode: str) -> None:
    try:
        after = world.ask(NEXT.sample, episode)
    except EqaError as error:
        drilled.problems.append(f"{what}, then the next question: {error.code.name} {error}")
    else:
        drilled.check(not after.error, f"{what}, then the next question: {after.error.name} {after.message}")


def _logs(world: World) -> str:
    return "".join(child.log.read_text() for child in world.graph.children if child.log.exists())
