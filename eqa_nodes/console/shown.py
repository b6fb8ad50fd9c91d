"""Data for the page as plain JSON: live state, questions with answers and evidence, decisions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eqa_nodes.bench.report.calls import card_of, chosen_pictures
from eqa_nodes.bench.report.outlines import Outline
from eqa_nodes.console.values import Entry, Proof, WatchedRobot
from eqa_nodes.core.errors import ErrorCode
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import EpisodeTrace, TraceDecision, destinations

GOALS = 40  # maximum number of decisions sent, the newest
Plain = Mapping[str, Any]


def shown_live(robot: WatchedRobot | None) -> Plain:
    """Return the live state: version numbers of the pictures, and the goals of the newest question.

    map: 0 for a recording whose path is not read yet, so that no empty map is shown.
    """
    if robot is None:
        return {"ready": False}
    trace = robot.live.trace()
    return {"ready": True, "recorded": robot.recorded, "place": robot.place, "camera": robot.pictures,
            "map": robot.live.version if trace.poses or not robot.recorded else 0, "cloud": robot.clouds,
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
    return {"id": entry.id, "question": entry.question.text, "explore": entry.question.may_explore,
            "asked": entry.asked, "state": entry.state, "stopping": entry.stopping, "progress": progress,
            "trouble": entry.trouble, "replay": entry.replay, **answer, "proofs": list(map(_proof, entry.proofs))}


def shown_answer(answer: Answer) -> Plain:
    """Return an answer, an abstention or a named error, with its cost."""
    r = answer.receipt
    error = "" if answer.error is ErrorCode.NONE else answer.error.name
    return {"answer": answer.text, "confidence": answer.confidence, "abstained": answer.abstained, "error": error,
            "message": answer.message, "shown": answer.shown,
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
