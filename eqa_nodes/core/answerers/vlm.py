"""Answerer that asks a vision-language model with the images in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from eqa_nodes.core.answerers.advice import FORM, Zoom, read_advice, shown
from eqa_nodes.core.answerers.asker import PromptedModel
from eqa_nodes.core.answerers.common import AcceptsAnyQuestion, AnswererOptions
from eqa_nodes.core.answerers.small_model import ask_in_parts, is_small
from eqa_nodes.core.answerers.vlm_replies import ReadReply, read_answer, read_assessments, read_prose, read_regions
from eqa_nodes.core.answerers.vlm_views import PointScale, distinct, heading, lettered, picture
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import WRONG_FORM, Backend, Choice
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.calls import DecisionReply, DecisionRequest
from eqa_nodes.core.types.questions import Answer, Question, RankedRegion, Recalled, Receipt, ViewAssessment
from eqa_nodes.core.types.views import FloorPixel, Keyframe

T = TypeVar("T")
Lettered: TypeAlias = tuple[Keyframe, Mapping[str, FloorPixel]]  # a view, and the letters to draw into it
YES_NO = "yes", "no"


@dataclass(frozen=True)
class VlmConfig:
    """max_images: maximum number of images per call; max_side_px: larger images are scaled down, 0 = sent as stored.

    max_tokens: maximum length of a reply; an assessed view takes about 100.
    """

    max_images: int = 16  # a look round (13 views) and any drive fit into one call
    max_side_px: int = 0
    max_tokens: int = 2048


class VlmAnswerer(AcceptsAnyQuestion):
    """The Answerer over a model backend. Raises ModelError (BudgetSpent), BadQuestion.

    The papers derive the local semantic value of a place from the choice probability of its letter, and the global one
    from that of "yes" (explore-eqa, Ren et al. 2024; EXPRESS-Bench, 2025), with two calls per view (Backend.choose).
    Here the model states both for all views in one call: a step needs at most two calls, and models without
    probabilities work too, but stated weights are coarser and less calibrated than probabilities. The roles "values"
    and "stop" use probabilities as the papers do if their `how` is "choose" (core/answerers/asker.py).

    Privileged from the first view with a simulator's labels on: its caption says what a robot would not know.
    """

    traits = AnswererTraits(asks_model=True, asks_memory=True)
    advises = True

    def __init__(self, backend: Backend, config: VlmConfig | None = None) -> None:
        self._config = config or VlmConfig()
        self._asker, self._scale = PromptedModel(backend, self._config.max_tokens), PointScale()
        self._small = is_small(self._asker.models.role("answer").backend.model)
        self._zooms: dict[str, Zoom] = {}  # what the model asked to see next, by question

    @classmethod
    def from_options(cls, options: AnswererOptions) -> VlmAnswerer:
        """Create it from the registry's options. Raises the errors of opening its model."""
        most = options.max_images or VlmConfig.max_images
        return cls(options.open_model(), VlmConfig(max_images=most, max_side_px=options.max_side_px))

    def spent(self) -> Receipt:
        """Return calls and tokens of this answerer so far, including failed calls."""
        return self._asker.spent()

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return kinds of room from REGIONS, the likeliest first; none if any would do. One call."""
        asked = question._replace(choices=())
        return self._asker.ask("regions", asked, (), read_regions, ())

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Judge views, up to `max_images` per call, with a letter drawn at each place.

        target is the place nearest to the object asked about; None also if the object is in view but no place is.
        """
        size = self._config.max_images
        return [one for i in range(0, len(views), size) for one in self._assess(question, views[i:i + size])]

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from the first `max_images` views, oldest first; a blind guess without views or if one is required.

        Views that show the same as a better one, such as those of a camera at rest, are left out.
        """
        best = distinct([item.keyframe for item in items], self._config.max_images)
        views = sorted(best, key=lambda view: (view.stamp_ns, view.id))
        return self._asker.settle(question, views, lambda asked: (self._look(asked, views), views))

    def advise(self, question: Question, brief: DecisionRequest) -> DecisionReply:
        """Ask in one call for the answer and where to go, with numbered options in pictures and earlier statements.

        A small model, by its name or because it failed in that form, is asked in two short calls (small_model.py).
        """
        zoom = self._zooms.pop(question.text, None)
        given = shown(brief, self._asker.side("decide", self._config.max_side_px), zoom)
        read = partial(read_advice, question=question, brief=brief, given=given, scale=self._scale,
                       show_next=partial(self._zooms.__setitem__, question.text))
        if not self._small:
            try:
                return self._asker.ask("decide", question, given.parts, read, (*brief.views, *brief.sheet), FORM)
            except ModelError as error:
                if not str(error).startswith(WRONG_FORM):
                    raise
                self._small = True
        return read(ask_in_parts(self._asker, question, brief, given))

    def _assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        shown = [(view, lettered(view)) for view in views]
        judged = self._ask("assess", question, shown, self._pictures("assess", shown),
                           partial(read_assessments, question=question, views=views))
        return [self._chosen(question, view, one) for view, one in zip(views, judged, strict=True)]

    def _chosen(self, question: Question, view: Keyframe, stated: ViewAssessment) -> ViewAssessment:
        """Return an assessment with probabilities of options instead of stated numbers, for roles configured so.

        The note names their source: logits, logprobs, or verbalised if the model returns neither.
        """
        found, letters = stated, lettered(view)
        if self._asker.chooses("values"):
            worth = self._choose("value_worth", question, view, {}, YES_NO)
            found = found._replace(worth=worth.probabilities[0], note=_noted(found.note, f"worth by {worth.how}"))
            if len(letters) > 1:
                places = self._choose("value_places", question, view, letters, tuple(letters))
                weighed = zip(found.places, places.probabilities, strict=True)
                found = found._replace(places=tuple(place._replace(weight=weight) for place, weight in weighed),
                                       note=_noted(found.note, f"places by {places.how}"))
        if self._asker.chooses("stop"):
            enough = self._choose("stop_view", question, view, {}, YES_NO)
            found = found._replace(enough=enough.probabilities[0], note=_noted(found.note, f"enough by {enough.how}"))
        return found

    def _choose(self, prompt: str, question: Question, view: Keyframe, letters: Mapping[str, FloorPixel],
                options: Sequence[str]) -> Choice:
        shown = picture(view, letters, self._asker.side(prompt, self._config.max_side_px))
        return self._asker.choose(prompt, question, (heading(1, view, letters), shown), options, (view,))

    def _look(self, question: Question, views: Sequence[Keyframe]) -> ReadReply:
        shown: list[Lettered] = [(view, {}) for view in views]
        pictures = self._pictures("answer", shown)
        read = partial(read_answer, question=question, views=len(views), pictures=pictures,
                       scale=self._scale)
        return self._ask("answer", question, shown, pictures, read,
                         partial(read_prose, question=question, views=len(views)))

    def _pictures(self, prompt: str, views: Sequence[Lettered]) -> list[bytes]:
        """Return each view's picture for a prompt, with its letters drawn in."""
        side_px = self._asker.side(prompt, self._config.max_side_px)
        return [picture(view, letters, side_px) for view, letters in views]

    def _ask(self, prompt: str, question: Question, views: Sequence[Lettered], pictures: Sequence[bytes],
             read: Callable[[dict[str, object]], T], prose: Callable[[str], T] | None = None) -> T:
        """Ask with each view's picture under a heading."""
        parts = [part for n, ((view, letters), shown) in enumerate(zip(views, pictures, strict=True), 1)
                 for part in (heading(n, view, letters), shown)]
        return self._asker.ask(prompt, question, parts, read, [view for view, _ in views], prose=prose)


def _noted(note: str, more: str) -> str:
    return "; ".join(filter(None, (note, more)))
