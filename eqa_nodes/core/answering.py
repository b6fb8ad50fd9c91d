"""What all answerers share: which there are, which questions they take, how an answer is put together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eqa_nodes.core.errors import BadQuestion, ConfigError, unknown
from eqa_nodes.core.language import canonical
from eqa_nodes.core.model import Backend
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.types import Answer, Evidence, Keyframe, Question, Recalled, Receipt, ViewAssessment

if TYPE_CHECKING:
    from eqa_nodes.core.vlm_answerer import VlmConfig

MAX_QUESTION_CHARS = 2000
MAX_EVIDENCE = 3
_LETTERED = re.compile(r"\s*\(?([A-Za-z])(?:[).:]|\s*$)")


def check_question(text: str) -> str:
    """Return the question stripped of outer blanks. Raises BadQuestion when it is empty or too long."""
    stripped = text.strip()
    if not any(char.isalnum() for char in stripped):
        raise BadQuestion(f"the question {stripped[:20]!r} is empty: ask something in words")
    if len(text) > MAX_QUESTION_CHARS:
        raise BadQuestion(f"the question is {len(text)} characters long: at most {MAX_QUESTION_CHARS} are read")
    return stripped


def match_choice(text: str, choices: Sequence[str]) -> int | None:
    """Return the index of the choice that a reply means: its words, its letter ("B", "B) red"), or None.

    Words count in part where that leaves one choice: "yes" for "Yes, it is on", "on the desk here" for "the desk".
    """
    wanted = canonical(text)
    exact = [i for i, choice in enumerate(choices) if canonical(choice) == wanted]
    if exact:
        return exact[0]
    if (letter := _LETTERED.match(text)) and ord(letter[1].upper()) - ord("A") < len(choices):
        return ord(letter[1].upper()) - ord("A")
    words, options = set(wanted.split()), [set(canonical(choice).split()) for choice in choices]
    for part in ([words and words <= option for option in options],
                 [option and option <= words for option in options]):
        if sum(map(bool, part)) == 1:
            return next(i for i, fits in enumerate(part) if fits)
    return None


def evidence_from(views: Iterable[Keyframe], note: str = "") -> tuple[Evidence, ...]:
    """Return evidence that points to the views, each once, MAX_EVIDENCE at most."""
    unique = {view.id: view for view in views}
    return tuple(Evidence(v.id, v.stamp_ns, v.pose, note) for v in list(unique.values())[:MAX_EVIDENCE])


class BlindAnswerer:
    """The blind baseline: answers every question as its inner answerer guesses without any view."""

    def __init__(self, inner: Answerer) -> None:
        self._inner = inner

    def spent(self) -> Receipt:
        """Return calls and tokens so far; guessing reads no label, so nothing is privileged."""
        return replace(self._inner.spent(), privileged=())

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge nothing: every view is as good as none."""
        return [ViewAssessment(view.id, view.stamp_ns, 0.0, 0.0) for view in views]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Guess without the items."""
        answer = self._inner.answer(question, ())
        return replace(answer, receipt=replace(answer.receipt, privileged=()))


def _label(backend: Backend | None, config: VlmConfig | None) -> Answerer:
    from eqa_nodes.core.label_answerer import LabelAnswerer
    return LabelAnswerer()


def _vlm(backend: Backend | None, config: VlmConfig | None) -> Answerer:
    from eqa_nodes.core.vlm_answerer import VlmAnswerer
    if backend is None:
        raise ConfigError("the answerer 'vlm' needs a model backend: choose one (openai: set EQA_VLM_BASE_URL)")
    return VlmAnswerer(backend, config)


def _blind(backend: Backend | None, config: VlmConfig | None) -> Answerer:
    return BlindAnswerer(_label(backend, config) if backend is None else _vlm(backend, config))


ANSWERERS: dict[str, Callable[[Backend | None, VlmConfig | None], Answerer]] = {
    "label": _label, "vlm": _vlm, "blind": _blind}


def make_answerer(name: str, backend: Backend | None = None, config: VlmConfig | None = None) -> Answerer:
    """Return an answerer: label (privileged, no model), vlm (needs a backend), blind (a backend's guess, else priors).

    Raises ConfigError for an unknown name, and for vlm without a backend.
    """
    if name not in ANSWERERS:
        raise ConfigError(unknown("answerer", name, ANSWERERS))
    return ANSWERERS[name](backend, config)
