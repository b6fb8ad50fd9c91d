"""Values that the console shows, the protocol of the robots that it shows, and both as plain JSON for the page."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from eqa_nodes.bench.report.calls import card_of, chosen_pictures
from eqa_nodes.bench.report.pictures import Outline
from eqa_nodes.console.live import Live
from eqa_nodes.core.errors import EqaError, ErrorCode
from eqa_nodes.core.language.conversation import Conversation
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import Answer, Evidence, Question, Recalled
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision, destinations
from eqa_nodes.core.types.views import Cloud, Keyframe
from eqa_nodes.voice.audio import spoken

WAITING, ASKING, ENDED = "waiting", "asking", "ended"


class RequestRefused(EqaError):
    """A request of the page that cannot be fulfilled; status: status of the HTTP reply."""

    def __init__(self, message: str, status: int = 409) -> None:
        super().__init__(message)
        self.status = status


class WatchedRobot(Protocol):
    """A robot that is asked and watched. All methods are thread-safe; concurrent calls of `ask` are queued."""

    place: str  # name of the robot's place on the page
    live: Live  # events since the newest question of any client
    pictures: int  # number of camera pictures so far
    clouds: int  # number of reconstructions received so far

    def ask(self, question: Question, listener: Callable[[Progress], None], cancel: threading.Event) -> Answer:
        """Ask and wait for the answer; setting `cancel` cancels this question. Raises EqaError."""

    def reply(self, inquiry: str, option: int) -> None:
        """Reply to an inquiry of the robot (live.inquiry), by its id and the number of an option. Raises EqaError."""

    def stop(self) -> None:
        """Cancel all questions, including those of other clients. Raises EqaError."""

    def view(self, evidence: Evidence) -> Keyframe:
        """Return the view of a piece of evidence. Raises EqaError."""

    def recall(self, text: str, limit: int) -> list[Recalled]:
        """Return remembered views that match a text, best first; limit 0: all, oldest first. Raises EqaError."""

    def camera(self) -> bytes:
        """Return the newest picture of the camera as JPEG. Raises EqaError, also while there is none."""

    def grid(self) -> GridMap | None:
        """Return the newest map, None while there is none."""

    def surfaces(self) -> Cloud | None:
        """Return the newest reconstruction, None while there is none. Raises EqaError for one that cannot be read."""

    def close(self) -> None:
        """Release its resources; a running question is cancelled."""


class Proof(NamedTuple):
    """A picture that proves an answer. jpeg: empty = unavailable, for the reason in `trouble`."""

    evidence: Evidence
    jpeg: bytes
    where: str = ""
    outlines: tuple[Outline, ...] = ()
    trouble: str = ""


@dataclass
class Entry:
    """A question of the page. asked: wall clock, seconds since 1970; trouble: an error besides the answer.

    words: what the person wrote, if the question was completed from the one before it; "" = the question's own text.
    given: it was sent to the robot; place: where it was asked; replay: run and number of the episode, "" = it was not
    kept.
    """

    id: int
    question: Question
    words: str = ""
    conversation: Conversation = field(default_factory=Conversation)
    asked: float = field(default_factory=time.time)
    state: str = WAITING
    given: bool = False
    progress: Progress | None = None
    answer: Answer | None = None
    proofs: tuple[Proof, ...] = ()
    trouble: str = ""
    place: str = ""
    replay: str = ""
    stopping: bool = False  # cancelled, but not ended yet
    cancel: threading.Event = field(default_factory=threading.Event)


GOALS = 40  # maximum number of decisions sent, the newest
Plain = Mapping[str, Any]


def shown_live(robot: WatchedRobot | None) -> Plain:
    """Return the live state: version numbers of the pictures, and the goals of the newest question."""
    if robot is None:
        return {"ready": False}
    trace = robot.live.trace()
    return {"ready": True, "place": robot.place, "camera": robot.pictures,
            "map": robot.live.version, "cloud": robot.clouds,
            "question": trace.question, "running": robot.live.running,
            "goals": shown_decisions(trace.decisions),
            "call": shown_call(trace, robot.live.calls), "inquiry": shown_inquiry(robot.live.inquiry()),
            "refused": trace.refused}


def shown_inquiry(asked: tuple[Inquiry, float] | None) -> Plain | None:
    """Return the open inquiry to a person, with the whole seconds left; None if there is none."""
    if asked is None:
        return None
    inquiry, left_s = asked
    return {"id": inquiry.id, "text": inquiry.text, "options": list(inquiry.options), "kind": inquiry.kind,
            "question": inquiry.question, "left_s": math.ceil(left_s)}


def shown_entry(entry: Entry) -> Plain:
    """Return a question with its state, progress, answer and evidence."""
    p = entry.progress
    progress = {"phase": p.phase, "steps": p.steps, "metres": round(p.metres, 1), "reason": p.reason,
                "place": p.place} if p else None
    answer = shown_answer(entry.answer) if entry.answer else {}
    return {"id": entry.id, "question": entry.question.text, "words": entry.words,
            "explore": entry.question.may_explore,
            "asked": entry.asked, "state": entry.state, "stopping": entry.stopping, "progress": progress,
            "trouble": entry.trouble, "replay": entry.replay, **answer, "proofs": list(map(_proof, entry.proofs))}


def shown_answer(answer: Answer) -> Plain:
    """Return an answer, an abstention or a named error, with its cost."""
    r = answer.receipt
    error = "" if answer.error is ErrorCode.NONE else answer.error.name
    return {"answer": answer.text, "confidence": answer.confidence, "abstained": answer.abstained, "error": error,
            "message": answer.message, "shown": answer.shown, "understood": answer.understood,
            "spoken": spoken(answer),
            "cost": {"steps": r.steps, "metres": round(r.metres, 1), "way": r.way(),
                     "seconds": round(r.seconds, 1), "calls": r.calls,
                     "tokens": r.tokens_in + r.tokens_out, "money": r.money, "privileged": list(r.privileged)}}


def shown_decisions(decisions: Sequence[TraceDecision]) -> list[Plain]:
    """Return the newest decisions, numbered as the map numbers them."""
    first = max(0, len(decisions) - GOALS)
    return [{"n": n, "reason": d.reason} for n, d in enumerate(decisions[first:], first + 1)]


def shown_call(trace: EpisodeTrace, number: int) -> Plain | None:
    """Return the newest model call, numbered from 1, with the sums over all kept calls; None if there is none.

    kept: whether a picture can be shown; this console does not have the views of memory from before its start.
    """
    if not trace.calls:
        return None
    call, calls = trace.calls[-1], trace.calls
    card = card_of(number, call, {}, destinations(trace)[-1], None, call.stamp_ns)
    proofs = {*call.evidence, *(p.keyframe_id for p in call.pictures if p.points)}
    there = {view.id for view in trace.keyframes}
    pictures = [{"k": k, "kept": call.pictures[k].keyframe_id in there, "now": call.pictures[k].now,
                 "note": call.pictures[k].note, "proves": call.pictures[k].keyframe_id in proofs}
                for k in chosen_pictures(call)]
    return {"n": number, "title": card.title, "pictures": pictures, "count": len(call.pictures),
            "reasons": call.reasons, "answer": call.answer, "confidence": call.confidence, "missing": call.missing,
            "options": [line._asdict() for line in card.options], "offered": len(call.options),
            "went": card.went, "error": call.error,
            "tokens": call.tokens_in + call.tokens_out, "money": call.money, "seconds": round(call.seconds, 1),
            "all": {"tokens": sum(c.tokens_in + c.tokens_out for c in calls), "money": sum(c.money for c in calls),
                    "pictures": sum(len(c.pictures) for c in calls)}}


def shown_outlines(outlines: Iterable[Outline]) -> list[Plain]:
    """Return outlines in per cent of the picture's size."""
    return [outline._asdict() for outline in outlines]


def _proof(proof: Proof) -> Plain:
    e = proof.evidence
    return {"picture": bool(proof.jpeg), "note": shown_note(e.note), "where": proof.where, "trouble": proof.trouble,
            "x": round(e.pose.x, 2), "y": round(e.pose.y, 2), "heading": round(math.degrees(e.pose.yaw), 0),
            "seconds": round(e.stamp_ns / 1e9, 1), "frame": e.frame,
            "offset_s": round(e.offset_ns / 1e9, 2) if e.offset_ns >= 0 else None,
            "outlines": shown_outlines(proof.outlines)}
