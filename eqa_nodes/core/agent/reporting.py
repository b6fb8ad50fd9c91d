"""Progress reports to the listener of a question: what the agent does, and each model call with its input and costs.

The parts of an episode share one EpisodeContext.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from eqa_nodes.core.agent.config import AgentConfig
from eqa_nodes.core.answerers.advice import marks_in
from eqa_nodes.core.errors import BadFrame, EqaError
from eqa_nodes.core.ledger import Ledger
from eqa_nodes.core.perception.projection import pixel_of
from eqa_nodes.core.pillow import image_size
from eqa_nodes.core.protocols import Answerer, Ports, adviser_of
from eqa_nodes.core.types.calls import CallPicture, DecisionReply, DecisionRequest, ModelCall, OptionMark
from eqa_nodes.core.types.costs import CallAccount
from eqa_nodes.core.types.floor import ZOOM, Decision, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.inquiries import Inquiry
from eqa_nodes.core.types.measures import points_of, shown_note
from eqa_nodes.core.types.progress import Progress
from eqa_nodes.core.types.questions import (
    Answer,
    Question,
    RankedRegion,
    Recalled,
    Receipt,
    ViewAssessment,
    WeighedAnswer,
    charge,
    receipt_of,
)
from eqa_nodes.core.types.views import Keyframe

T = TypeVar("T")


class Reporter:
    """Reports the progress of one question to its listener. confidence: returns the confidence of the best view, 0..1.

    While the question waits, the queue reports; model calls made meanwhile are reported when the question begins.
    """

    def __init__(self, listener: Callable[[Progress], None], ledger: Ledger) -> None:
        self._listener, self._ledger, self._begun, self._phase = listener, ledger, False, "queued"
        self._earlier: list[ModelCall] = []  # calls that were made while the question waited
        self.confidence: Callable[[], float] = lambda: 0.0

    def begin(self) -> None:
        """Report the calls that were made while the question waited, and everything from now on."""
        self._begun = True
        earlier, self._earlier = self._earlier, []
        for call in earlier:
            self.called(call)

    def __call__(self, phase: str, decision: Decision | None = None, weighed: WeighedAnswer | None = None) -> None:
        """Report a phase, with the decision or the answer that it is about."""
        self._phase = phase
        if self._begun:
            self._listener(Progress(phase, *self._ledger.update(), self.confidence(), decision,
                                    decision.reason if decision else "", weighed))

    def inquired(self, inquiry: Inquiry, decision: Decision | None) -> None:
        """Report an inquiry to a person, or its reply. Raises Canceled."""
        self._listener(Progress("asking", *self._ledger.update(), self.confidence(), decision, inquiry.in_words(),
                                inquiry=inquiry))
        self._ledger.check_canceled()

    def judged(self, assessments: Sequence[ViewAssessment]) -> None:
        """Report how views were judged."""
        if self._begun and assessments:
            self._listener(Progress(self._phase, *self._ledger.travelled, self.confidence(), judged=tuple(assessments)))

    def called(self, call: ModelCall) -> None:
        """Report a model call."""
        if self._begun:
            self._listener(Progress(self._phase, *self._ledger.travelled, self.confidence(), call=call))
        else:
            self._earlier.append(call)


class EpisodeContext(NamedTuple):
    """What all parts of one episode share."""

    question: Question
    ports: Ports
    config: AgentConfig
    ledger: Ledger
    report: Reporter


class CallRecorder:
    """An answerer that passes every call that used a model to `note`. Implements Answerer, Adviser."""

    def __init__(self, answerer: Answerer, last: Callable[[], tuple[int, Pose2]],
                 note: Callable[[ModelCall], None]) -> None:
        """last: returns stamp and pose of the last observation. note: callback, called in the thread that asks."""
        self._answerer, self._last, self._note = answerer, last, note
        self._at: tuple[int, Pose2] | None = None

    def spent(self) -> Receipt:
        """Return the receipt of the answerer."""
        return self._answerer.spent()

    def why_unanswerable(self, question: Question) -> str:
        """Return why the answerer can never answer; this makes no model call."""
        return self._answerer.why_unanswerable(question)

    @property
    def advises(self) -> bool:
        """Whether the answerer takes decision requests."""
        return adviser_of(self._answerer) is not None

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return the answerer's ranking of rooms."""
        def said(call: ModelCall, regions: Sequence[RankedRegion]) -> ModelCall:
            return call._replace(reasons=", ".join(f"{r.name} {r.weight:.2f}" for r in regions))

        return self._noted("regions", question, (), self._answerer.regions, said)

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Let the answerer judge views."""
        def said(call: ModelCall, assessments: Sequence[ViewAssessment]) -> ModelCall:
            notes = {a.keyframe_id: _of_view(a) for a in assessments}
            best = max(assessments, key=lambda a: a.enough, default=None)
            if best is not None and best.says:
                call = call._replace(answer=best.says, confidence=best.enough, evidence=(best.keyframe_id,))
            return call._replace(pictures=tuple(p._replace(note=notes.get(p.keyframe_id, "")) for p in call.pictures))

        return self._noted("assess", question, _pictures(views), lambda asked: self._answerer.assess(asked, views),
                           said)

    def advise(self, question: Question, brief: DecisionRequest) -> DecisionReply:
        """Let the answerer advise. Raises TypeError if it takes no decision requests."""
        adviser = adviser_of(self._answerer)
        if adviser is None:
            raise TypeError("this answerer takes no briefs")
        shown = tuple(CallPicture(view.id, _marks(view, brief.options), now=view.id in brief.now)
                      for view in brief.views)
        unweighed = tuple(WeighedOption(option, 0.0) for option in brief.options)

        def said(call: ModelCall, advice: DecisionReply) -> ModelCall:
            points = _points(advice.assessments, {view.id: view for view in brief.views})
            notes = {a.keyframe_id: a.note for a in advice.assessments}
            return _answered(call, advice.answer)._replace(
                reasons=advice.reasons, missing=advice.missing,
                options=tuple(one for one in advice.options if one.option.kind != ZOOM),
                pictures=tuple(p._replace(points=points.get(p.keyframe_id, ()), note=notes.get(p.keyframe_id, ""))
                               for p in call.pictures))

        return self._noted("decide", question, shown, lambda asked: adviser.advise(asked, brief), said, unweighed)

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Let the answerer answer."""
        def said(call: ModelCall, answer: Answer) -> ModelCall:
            why = next((shown_note(e.note) for e in answer.evidence if e.note), "")
            points = {e.keyframe_id: points_of(e.note) for e in answer.evidence}
            return _answered(call, answer)._replace(reasons=why or answer.message, pictures=tuple(
                p._replace(points=_in_pixels(points.get(p.keyframe_id, ()), views[p.keyframe_id]))
                for p in call.pictures))

        views = {item.keyframe.id: item.keyframe for item in items}
        shown = _pictures([item.keyframe for item in items])
        return self._noted("answer", question, shown, lambda asked: self._answerer.answer(asked, items), said)

    def _noted(self, kind: str, question: Question, shown: tuple[CallPicture, ...], ask: Callable[[Question], T],
               said: Callable[[ModelCall, T], ModelCall], options: tuple[WeighedOption, ...] = ()) -> T:
        """Return what `ask` returns, and note it if it used a model call; a failed call is noted with its error."""
        account, began_s = question.account or CallAccount(), time.monotonic()
        before, spent_before = receipt_of(account), self._answerer.spent()

        def charged() -> bool:  # an answerer that does not charge the account is charged by its own counts
            if account.total.calls == before.calls:
                charge(account, self._answerer.spent().model_since(spent_before))
            return account.total.calls > before.calls

        def call(error: str = "") -> ModelCall:
            spent = receipt_of(account).model_since(before)
            return ModelCall(*self._place(), question.text, kind, shown, options,
                             requests=spent.calls, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out,
                             money=spent.money, seconds=round(time.monotonic() - began_s, 3), error=error,
                             models=tuple(map(str, spent.roles)))

        try:
            result = ask(question._replace(account=account))
        except Exception as error:
            if charged():
                self._note(call(str(error) or type(error).__name__))
            raise
        if charged():
            self._note(said(call(), result))
        return result

    def _place(self) -> tuple[int, Pose2]:
        """Return stamp and pose of the last known observation, so that a call is noted even if odometry fails."""
        try:
            self._at = self._last()
        except EqaError:  # the next drive reports the error
            if self._at is None:
                raise
        return self._at


def _pictures(views: Sequence[Keyframe]) -> tuple[CallPicture, ...]:
    return tuple(CallPicture(view.id) for view in views)


def _answered(call: ModelCall, answer: Answer) -> ModelCall:
    return call._replace(answer=answer.text, confidence=answer.confidence,
                         evidence=tuple(e.keyframe_id for e in answer.evidence))


def _of_view(a: ViewAssessment) -> str:
    """Return in words what a model said about one view."""
    return "; ".join(filter(None, (f"says: {a.says} ({a.enough:.2f})" if a.says else "", a.note)))


def _marks(view: Keyframe, options: Sequence[Option]) -> tuple[OptionMark, ...]:
    try:
        return marks_in(view, options)
    except BadFrame:  # an answerer that needs the depth of this view raises the error itself
        return ()


def _in_pixels(shares: Sequence[tuple[float, float]], view: Keyframe) -> tuple[tuple[float, float], ...]:
    """Return positions in a view's picture as pixels of the stored image; () if the image is damaged."""
    size = image_size(view.jpeg) if shares else None
    return tuple((x * size[0], y * size[1]) for x, y in shares) if size else ()


def _points(assessments: Sequence[ViewAssessment],
            views: Mapping[int, Keyframe]) -> dict[int, tuple[tuple[float, float], ...]]:
    """Return the pixels of the model's evidence by keyframe id; points without depth are missing."""
    found: dict[int, tuple[tuple[float, float], ...]] = {}
    for a in assessments:
        if a.target is not None and a.keyframe_id in views:
            pixel = pixel_of(views[a.keyframe_id], *a.target, a.target_z)
            if pixel is not None:
                found[a.keyframe_id] = (*found.get(a.keyframe_id, ()), pixel[:2])
    return found
