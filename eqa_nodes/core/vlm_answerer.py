"""Answers with a vision-language model, from the very images that memory holds."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple, TypeVar

from eqa_nodes.core.answering import MAX_EVIDENCE, check_question, evidence_from, match_choice
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.model import Backend, Message, Usage, ask_json, fraction
from eqa_nodes.core.types import Answer, Keyframe, Question, Recalled, Receipt, ViewAssessment

T = TypeVar("T")


@dataclass(frozen=True)
class VlmConfig:
    """max_images: per call; max_side_px: longer images are scaled down, 0 = sent as they are stored."""

    max_images: int = 12
    max_side_px: int = 0
    max_tokens: int = 1024


class _Reply(NamedTuple):
    answer: str
    confidence: float
    images: tuple[int, ...]
    abstain: bool


class VlmAnswerer:
    """The Answerer over a model backend. Raises ModelError (BudgetSpent), BadQuestion.

    Privileged from the first view on that a simulator labelled: its caption says what a robot would not know.
    """

    def __init__(self, backend: Backend, config: VlmConfig | None = None) -> None:
        self._backend = backend
        self._before = backend.usage
        self._config = config or VlmConfig()
        self._privileged: tuple[str, ...] = ()

    def spent(self) -> Receipt:
        """Return calls and tokens of this answerer so far, those of failed calls included."""
        return _receipt(self._backend.usage - self._before, self._privileged)

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge views, `max_images` in one call."""
        size = self._config.max_images
        return [one for i in range(0, len(views), size) for one in self._assess(question, views[i:i + size])]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from the first `max_images` views; without views, or to force a guess, from no view at all."""
        before = self._backend.usage
        views = [item.keyframe for item in items[:self._config.max_images]]
        reply, message = self._look(question, views) if views else (None, "blind guess: no views")
        if reply is not None and reply.abstain and question.force_guess:
            reply, message = None, "forced guess: the views did not answer the question"
        if reply is None:
            reply = self._guess(question)
        return Answer(reply.answer, reply.confidence, reply.abstain, evidence_from(views[i - 1] for i in reply.images),
                      _receipt(self._backend.usage - before, _labelled(views)), message=message)

    def _assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        def read(reply: dict[str, object]) -> list[ViewAssessment]:
            entries = reply.get("views")
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise ValueError('"views" must be a list with one object for each picture')
            by_image = {entry.get("image"): entry for entry in entries}
            if len(entries) != len(views) or set(by_image) != set(range(1, len(views) + 1)):
                raise ValueError(f'"views" needs exactly one entry for each of the pictures 1 to {len(views)}')
            return [_assessment(view, by_image[i + 1]) for i, view in enumerate(views)]

        return self._ask("assess", question, views, read)

    def _look(self, question: Question, views: Sequence[Keyframe]) -> tuple[_Reply, str]:
        def read(reply: dict[str, object]) -> _Reply:
            if reply.get("abstain", False) is True:
                return _Reply("", 0.0, (), True)
            return _Reply(_text(reply, question), fraction(reply.get("confidence"), '"confidence"'),
                          _images(reply, len(views)), False)

        reply = self._ask("answer", question, views, read)
        return reply, "the views do not answer the question" if reply.abstain else ""

    def _guess(self, question: Question) -> _Reply:
        def read(reply: dict[str, object]) -> _Reply:
            return _Reply(_text(reply, question), fraction(reply.get("confidence"), '"confidence"'), (), False)

        return self._ask("blind", question, (), read)

    def _ask(self, prompt: str, question: Question, views: Sequence[Keyframe],
             read: Callable[[dict[str, object]], T]) -> T:
        self._privileged = self._privileged or _labelled(views)
        parts: list[str | bytes] = [_as_data(question)]
        for i, view in enumerate(views):
            parts += [_heading(i + 1, view), _scaled(view, self._config.max_side_px)]
        messages = (Message("system", (_prompt(prompt),)), Message("user", tuple(parts)))
        return ask_json(self._backend, messages, read, self._config.max_tokens, question.seed)


def _receipt(spent: Usage, privileged: tuple[str, ...]) -> Receipt:
    return Receipt(calls=spent.calls, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out, privileged=privileged)


def _labelled(views: Sequence[Keyframe]) -> tuple[str, ...]:
    """Return what is privileged about views: the labels that their captions and their order in memory come from."""
    return ("labels",) if any(view.sightings for view in views) else ()


@cache
def _prompt(name: str) -> str:
    return resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").read_text(encoding="utf-8")


def _as_data(question: Question) -> str:
    """Return the question as JSON between markers: quotes and line breaks in it cannot leave its string."""
    choices = f"\nOne of these options, word for word, is the answer: {json.dumps(question.choices)}" \
        if question.choices else ""
    return f"<question>\n{json.dumps(check_question(question.text))}{choices}\n</question>"


def _heading(number: int, view: Keyframe) -> str:
    x, y, yaw = view.pose
    caption = f", {view.caption}" if view.caption else ""
    return f"Picture {number}: taken at ({x:.1f}, {y:.1f}) m, looking to {math.degrees(yaw):.0f} degrees{caption}"


def _scaled(view: Keyframe, max_side_px: int) -> bytes:
    """Return the view's JPEG, re-encoded only when it is larger than wanted. Raises BadFrame for a broken image."""
    if not view.jpeg:
        raise BadFrame(f"keyframe {view.id} holds no image: a model cannot look at it")
    if not max_side_px:
        return view.jpeg
    from PIL import Image
    try:
        image = Image.open(io.BytesIO(view.jpeg))
        if max(image.size) <= max_side_px:
            return view.jpeg
        image.thumbnail((max_side_px, max_side_px))
    except OSError as error:
        raise BadFrame(f"the image of keyframe {view.id} cannot be decoded: {error}") from error
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90)
    return out.getvalue()


def _assessment(view: Keyframe, entry: dict[str, object]) -> ViewAssessment:
    region, note = str(entry.get("region") or ""), str(entry.get("note") or "")
    return ViewAssessment(view.id, view.stamp_ns, fraction(entry.get("relevance"), '"relevance"'),
                          fraction(entry.get("enough"), '"enough"'), region.strip().lower(), note.strip())


def _text(reply: dict[str, object], question: Question) -> str:
    text = reply.get("answer")
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        text = f"{text:g}"  # a count, written as a number
    if not isinstance(text, str) or not text.strip():
        raise ValueError('"answer" must be a text that is not empty')
    if not question.choices:
        return text.strip()
    index = match_choice(text, question.choices)
    if index is None:
        raise ValueError(f"{text.strip()!r:.60} is not one of the options")
    return question.choices[index]


def _images(reply: dict[str, object], count: int) -> tuple[int, ...]:
    images = reply.get("images")
    if not isinstance(images, list) or not images or not all(type(i) is int and 1 <= i <= count for i in images):
        raise ValueError(f'"images" must name at least one picture that proves the answer, from 1 to {count}')
    return tuple(dict.fromkeys(images))[:MAX_EVIDENCE]
