"""Decisions, calls of a model and answers in words: a line for the log, a document in Markdown for the panel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import TraceDecision


def decision_line(decision: TraceDecision) -> str:
    """Return a decision as a line."""
    goal = decision.goal
    where = "no goal" if goal is None else f"to x {goal.x:.2f} m, y {goal.y:.2f} m"
    return f"{where}: {_one_line(decision.reason)}"


def decision_document(decision: TraceDecision) -> str:
    """Return a decision with its candidates, the best first."""
    ranked = sorted(decision.candidates, key=lambda c: -c.weight)
    rows = [(c.label, f"{c.weight:.3g}", f"{c.x:.2f}", f"{c.y:.2f}") for c in ranked]
    return f"## Decision\n\n{_plain(decision_line(decision))}\n\n" + _table(("candidate", "score", "x (m)", "y (m)"),
                                                                          rows)


def call_line(call: ModelCall) -> str:
    """Return a call of a model as a line."""
    if call.error:
        return f"{call.kind}: failed: {_one_line(call.error)}"
    answer = f"Answer: {call.answer} ({call.confidence:.2f})." if call.answer else ""
    missing = f"Missing: {call.missing}." if call.missing else ""
    return f"{call.kind}: " + (_one_line(" ".join(filter(None, (call.reasons, answer, missing)))) or "nothing")


def call_document(call: ModelCall) -> str:
    """Return a call with what it showed, weighed and cost."""
    rows = [(str(number), w.option.kind, f"{w.weight:.2f}", w.room) for number, w in enumerate(call.options, 1)]
    views = ", ".join(str(p.keyframe_id) for p in call.pictures) or "none"
    cost = f"{call.requests} requests, {call.tokens_in + call.tokens_out} tokens, {call.seconds:.1f} s"
    return (f"## Model call: {call.kind}\n\n{_plain(call_line(call))}\n\nViews: {views}. {cost}.\n\n"
            + _table(("option", "what", "weight", "room"), rows))


def question_document(question: str, answer: Answer | None = None) -> str:
    """Return a question, with its answer where there is one."""
    asked = f"## {_plain(question)}\n\n"
    if answer is None:
        return asked + "*not answered yet*"
    receipt = answer.receipt
    proofs = "\n".join(f"- view {e.keyframe_id}, x {e.pose.x:.2f} m, y {e.pose.y:.2f} m: {_plain(shown_note(e.note))}"
                       for e in answer.evidence)
    spent = ", ".join(filter(None, (receipt.way(), f"{receipt.calls} call{'s' * (receipt.calls != 1)}")))
    return (f"{asked}**{_plain(answer_text(answer))}** (confidence {answer.confidence:.2f})\n\n"
            f"{_plain(answer.message)}\n\n{proofs}\n\n{spent}, {receipt.tokens_in + receipt.tokens_out} tokens"
            + (f"; privileged: {_plain(', '.join(receipt.privileged))}" if receipt.privileged else ""))


def answer_text(answer: Answer) -> str:
    """Return what the robot says in the end."""
    if answer.error:
        return f"{answer.error.name}: {answer.message}"
    return answer.text or "I do not know."


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(_plain(cell) for cell in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *lines]) if lines else ""


def _plain(text: str) -> str:
    """Return a text so that Markdown shows it as it is, in one line."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|~" else c for c in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(text.split())
