"""Answers questions for positions, times and durations about a history, from memory or with a model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from eqa_nodes.core.answerers.common import RECOLLECTED_FROM, evidence_from, from_labels
from eqa_nodes.core.language.english import canonical, content_words
from eqa_nodes.core.memory.store import MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Answer, MemoryObject, Question, Recalled, Receipt
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.recordings.history_views import HistoryIndex, RecalledViews
from eqa_nodes.runners.history import HistoryRunner

_SECOND = 1e9
HINTS = {  # instructions to a model on the form of an answer; memory needs none
    "position": "Answer with a place on the robot's map in metres, as (x, y).",
    "time": "Answer with a time in seconds after the recording began, such as 12.5 s after the start.",
    "duration": "Answer with a length of time in seconds, such as 12.5 s.",
    "yes-no": "Answer yes or no.",
}
AGO = "Answer with how many minutes ago that was, such as 2.5 minutes ago."  # NaVQA's own form of a time
MINUTES = "Answer with a length of time in minutes, such as 2.5 minutes."
_SURE, _UNSURE = 0.9, 0.5  # confidences: the kind of object is known; nothing of that kind is remembered


class NavqaRunner(HistoryRunner):
    """A HistoryRunner that answers in the form that a question's sample expects.

    With labels a memory of the history answers directly (privileged); otherwise the answerer gets views with captions
    of their time.
    """

    _timed = False

    def run(self, sample: Sample) -> EpisodeResult:
        """Answer one question. Raises EqaError."""
        if "expects" not in sample.metadata:
            return super().run(sample)
        if self._asks_memory:
            told = self._remembered(sample)
            if told is not None:
                return told
        self._timed = True
        try:
            hint = hint_of(sample)
            return super().run(replace(sample, question=f"{sample.question} {hint}".strip()))
        finally:
            self._timed = False

    def _dated(self, question: Question, items: list[Recalled], way: Sequence[tuple[int, Pose2]]) -> list[Recalled]:
        """Return the views with captions that also contain the robot's position, as positions refer to the map."""
        items = super()._dated(question, items, way)
        return [placed(item) for item in items] if self._timed else items

    def _says_when(self, question: Question) -> bool:
        return self._timed or super()._says_when(question)

    def _remembered(self, sample: Sample) -> EpisodeResult | None:
        views = self._opened(self._source_of(sample), "recalled")
        if not isinstance(views, RecalledViews):
            return None
        began = time.monotonic()
        told = remembered(views.store, views.kept, sample.question)
        if told is None:
            return None
        text, sure, shown = told
        proof = tuple(e._replace(**views.kept.spots[str(e.keyframe_id)]._asdict()) for e in evidence_from(shown))
        privileged = RECOLLECTED_FROM if from_labels(shown) else ()
        answer = Answer(text, sure, evidence=proof,
                        receipt=Receipt(seconds=time.monotonic() - began, privileged=privileged))
        trace = EpisodeTrace(sample.question, list(views.kept.way), keyframes=shown, answer=answer)
        return EpisodeResult(sample.id, answer, None, trace)


def hint_of(sample: Sample) -> str:
    """Return the instruction to a model on the form of an answer."""
    minutes = sample.metadata.get("unit") == "min"
    if sample.metadata["expects"] == "time" and sample.metadata.get("ago") is True and minutes:
        return AGO
    return MINUTES if sample.metadata["expects"] == "duration" and minutes else HINTS.get(
        str(sample.metadata["expects"]), "")


def placed(item: Recalled) -> Recalled:
    """Return a view with the robot's position in its caption."""
    view = item.keyframe
    x, y, _ = view.map_from_base.xyz
    return item._replace(keyframe=replace(view, caption=f"{view.caption}, taken at ({x:.2f}, {y:.2f})".lstrip(", ")))


Told = tuple[str, float, list[Keyframe]]  # text, confidence, views that prove it
_Form = Callable[[MemoryStore, HistoryIndex, str], "Told | None"]


def remembered(store: MemoryStore, kept: HistoryIndex, question: str) -> Told | None:
    """Answer a question for a position, a time or a duration from memory; return None for other questions."""
    asked = " ".join(question.lower().strip(" ?!.").split())
    for form, answer in _FORMS:
        if match := form.fullmatch(asked):
            return answer(store, kept, match[1])
    return None


def _of(tell: Callable[[MemoryStore, HistoryIndex, MemoryObject], str]) -> _Form:
    """Return a form that answers about the object of a name, or None if no such object is remembered."""

    def answer(store: MemoryStore, kept: HistoryIndex, name: str) -> Told | None:
        obj = _meant(store, name)
        proof = [] if obj is None else _proof(store, obj)
        return (tell(store, kept, obj), _SURE, proof) if obj is not None and proof else None  # views are forgotten

    return answer


def _meant(store: MemoryStore, name: str) -> MemoryObject | None:
    """Return the remembered object that fits a name best, among those whose kind the name contains."""
    wanted = set(content_words(name))
    return next((o for o in store.objects(name) if set(canonical(o.kind).split()) <= wanted), None)


def _proof(store: MemoryStore, obj: MemoryObject) -> list[Keyframe]:
    ids = dict.fromkeys((store.last_view(obj.id), obj.keyframe_id))
    return [view for i in ids if (view := store.keyframe(i)) is not None]


def _place(store: MemoryStore, kept: HistoryIndex, obj: MemoryObject) -> str:
    return f"({obj.centre[0]:.2f}, {obj.centre[1]:.2f})"


def _viewpoint(store: MemoryStore, kept: HistoryIndex, obj: MemoryObject) -> str:
    x, y, _ = _proof(store, obj)[0].pose
    return f"({x:.2f}, {y:.2f})"


def _moment(stamp_ns: int, kept: HistoryIndex) -> str:
    return f"{(stamp_ns - kept.way[0][0]) / _SECOND:.1f} s after the start"


def _stay(store: MemoryStore, kept: HistoryIndex, room: str) -> Told | None:
    """Return the time spent in a room: each view counts until the next one."""
    views = store.since(0)
    inside = [(a, b) for a, b in pairwise(views) if a.region and canonical(a.region) == canonical(room)]
    if not inside:
        return None
    seconds = sum(b.stamp_ns - a.stamp_ns for a, b in inside) / _SECOND
    return f"{seconds:.1f} s", _UNSURE, [inside[0][0], inside[-1][0]]


def _longest_stay(store: MemoryStore, kept: HistoryIndex, room: str) -> Told | None:
    """Return the room with the longest total time between views."""
    spent: dict[str, int] = {}
    views = store.since(0)
    for a, b in pairwise(views):
        spent[a.region] = spent.get(a.region, 0) + b.stamp_ns - a.stamp_ns
    rooms = sorted(((ns, room) for room, ns in spent.items() if room), reverse=True)
    return None if not rooms else (f"the {rooms[0][1]}", _UNSURE, [v for v in views if v.region == rooms[0][1]][:1])


def _seen(store: MemoryStore, kept: HistoryIndex, name: str) -> Told | None:
    obj = _meant(store, name)
    return ("no", _UNSURE, []) if obj is None else ("yes", _SURE, _proof(store, obj))


_THING = r"((?:the |an? |some )?.+)"
_FORMS: tuple[tuple[re.Pattern[str], _Form], ...] = tuple((re.compile(form), answer) for form, answer in (
    (rf"where were you when you last saw {_THING}", _of(_viewpoint)),
    (rf"where (?:is|are|was|were) {_THING}", _of(_place)),
    (rf"when did you first see {_THING}", _of(lambda store, kept, o: _moment(o.first_ns, kept))),
    (rf"when did you (?:last )?see {_THING}", _of(lambda store, kept, o: _moment(o.last_ns, kept))),
    (rf"how long ago did you (?:last )?see {_THING}",
     _of(lambda store, kept, o: f"{(kept.way[-1][0] - o.last_ns) / _SECOND:.1f} s")),
    (r"how long were you in (?:the )?(.+)", _stay),
    (rf"did you see {_THING}", _seen),
    (r"(in which room) did you spend the most time", _longest_stay),
))
