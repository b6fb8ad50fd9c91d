"""Answers by rules over the simulator's labels of what was sighted. Privileged: no robot has such labels."""

from __future__ import annotations

from collections.abc import Sequence

from eqa_nodes.core.answering import check_question, evidence_from, match_choice
from eqa_nodes.core.label_answerer_found import Found
from eqa_nodes.core.label_answerer_parse import Asked, parse
from eqa_nodes.core.label_answerer_rules import look_up
from eqa_nodes.core.label_answerer_scene import Scene, evidence_views, room_of, same_room
from eqa_nodes.core.label_answerer_tables import guess
from eqa_nodes.core.language import content_words
from eqa_nodes.core.types import Answer, Keyframe, Question, Recalled, Receipt, ViewAssessment

_PRIVILEGED = ("LabelAnswerer",)
_IN_ROOM = 0.35  # relevance of a view that shows only the room asked about


class LabelAnswerer:
    """The Answerer without a model: the offline default. Knows only what the views sighted. Raises BadQuestion."""

    def spent(self) -> Receipt:
        """Return no calls and no tokens: nothing here asks a model."""
        return Receipt(privileged=_PRIVILEGED)

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge every view by itself.

        For what only several views can settle (counts, lists), `enough` says that this view is worth an answer; the
        answer's own confidence then says whether the views together were.
        """
        asked = parse(check_question(question.text))
        return [_assessed(view, asked) for view in views]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from what the items' views sighted; without items, or to force a guess, by what is usual in homes."""
        asked = parse(check_question(question.text))
        found = look_up(Scene([item.keyframe for item in items]), asked) if items else None
        if found is not None:
            found = _in_choices(found, question)
        if found is not None:
            notes = ", ".join(dict.fromkeys(t.kind for t in found.things[:3]))
            return Answer(found.text, found.confidence, evidence=evidence_from(evidence_views(found.things), notes),
                          receipt=self.spent())
        if items and not question.force_guess:
            reason = "what is asked about was not seen" if asked.form else "no rule understands this question"
            return Answer(abstained=True, receipt=self.spent(), message=reason)
        text, confidence = guess(asked)
        if question.choices:
            text, confidence = _nearest_choice(text, question.choices), 1.0 / len(question.choices)
        kind = "forced guess: what is asked about was not seen" if items else "blind guess: no views"
        return Answer(text, confidence, receipt=self.spent(), message=kind)


def _assessed(view: Keyframe, asked: Asked) -> ViewAssessment:
    scene = Scene([view])
    found = look_up(scene, asked)
    clear = [t.clarity for t in found.things] if found else []
    clear += [0.9 * t.clarity for ref in asked.refs for t in scene.find(ref)]
    if asked.room and any(same_room(t.room, asked.room) for t in scene.things):
        clear.append(_IN_ROOM)
    note = f"{found.text} ({', '.join(t.kind for t in found.things[:3])})" if found else ""
    enough = max(found.confidence, found.promise) if found else 0.0
    region = view.region or room_of(view)
    return ViewAssessment(view.id, view.stamp_ns, max(clear, default=0.0), enough, region, note)


def _in_choices(found: Found, question: Question) -> Found | None:
    """Return the choice that says the same, None when none does."""
    if not question.choices:
        return found
    index = match_choice(found.text, question.choices)
    return None if index is None else found._replace(text=question.choices[index])


def _nearest_choice(text: str, choices: Sequence[str]) -> str:
    words = set(content_words(text))
    return max(choices, key=lambda choice: len(words & set(content_words(choice))))
