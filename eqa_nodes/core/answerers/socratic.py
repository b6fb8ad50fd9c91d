"""Socratic agent with frame captions (OpenEQA, section 3, supplement E.2): the answer is made from captions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from eqa_nodes.core.answerers.asker import MeteredModel
from eqa_nodes.core.answerers.captions import Captioner, CaptionStore
from eqa_nodes.core.answerers.common import JudgesNoView
from eqa_nodes.core.answerers.options import AnswererOptions
from eqa_nodes.core.answerers.roles import RoleModels
from eqa_nodes.core.answerers.vlm_replies import ReadReply, read_answer, read_prose
from eqa_nodes.core.answerers.vlm_views import picture
from eqa_nodes.core.ledger import affordable
from eqa_nodes.core.model import Backend
from eqa_nodes.core.traits import AnswererTraits
from eqa_nodes.core.types.questions import Answer, Question, Receipt
from eqa_nodes.core.types.remembered import Recalled
from eqa_nodes.core.types.views import Keyframe


def as_list(tag: str, lines: Sequence[str]) -> str:
    """Return lines as JSON strings between markers: nothing in them can leave its string."""
    return "\n".join((f"<{tag}>", *map(json.dumps, lines), f"</{tag}>"))


class CaptionAnswerer(JudgesNoView):
    """Each view is described once by the model (and kept); one call without images then answers from the words.

    A = LLM([prompt, z_1 ... z_K, Q]), z_i = Captioner(X_i). The paper's captioner and language model are two models;
    here one does both unless the role "caption" has its own. Raises ModelError (BudgetSpent), BadQuestion,
    StorageError.
    """

    traits = AnswererTraits(captions=True, asks_model=True)
    prompt = "caption"

    def __init__(self, backend: Backend, store: CaptionStore | None = None) -> None:
        models = RoleModels.of(backend)
        self._asker, self._captioner = MeteredModel(models), Captioner(models, store)

    @classmethod
    def from_options(cls, options: AnswererOptions) -> CaptionAnswerer:
        """Return it as the registry makes it. Raises as opening its model does, and StorageError."""
        return cls(options.open_model(), options.captions())

    def spent(self) -> Receipt:
        """Return calls and tokens so far; a caption that was kept costs nothing."""
        return self._asker.spent()

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Answer from the captions of all items, the oldest first."""
        views = sorted((item.keyframe for item in items), key=lambda view: (view.stamp_ns, view.id))
        return self._asker.settle(question, views, lambda: (self._look(question, views), views))

    def _look(self, question: Question, views: Sequence[Keyframe]) -> ReadReply:
        hint = self._hint(question)
        asks = (partial(self._captioner.caption, self.prompt,
                        picture(view, {}, self._captioner.side_px), hint) for view in views)
        lines = [f"{i}. {caption}" for i, caption in enumerate(affordable(asks), 1)]
        return self._asker.ask("answer_captions", question, (as_list("descriptions", lines),),
                               partial(read_answer, question=question, views=len(views)), views,
                                prose=partial(read_prose, question=question, views=len(views)))

    def _hint(self, question: Question) -> str:
        """Return what the captioner is told beside the picture: nothing, so that a caption serves all questions."""
        return ""


class QuestionCaptionAnswerer(CaptionAnswerer):
    """The Socratic models of EXPRESS-Bench (section 5.1): z_i = Captioner(Q, X_i), so each question costs its captions.

    A captioner that knows the question says what bears on it.
    """

    prompt = "caption_question"

    def _hint(self, question: Question) -> str:
        return json.dumps(question.text)
