"""Shared by all answerers with a model: roles and prompts, the question as data, costs, and the blind guess."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import resources
from typing import NamedTuple, TypeVar

from eqa_nodes.core.answerers.common import check_question, evidence_from, labelled
from eqa_nodes.core.answerers.vlm_replies import (
    NOTHING_SEEN,
    REGIONS,
    ReadReply,
    read_abstention,
    read_answer,
    read_prose,
)
from eqa_nodes.core.answerers.wordings import OWN
from eqa_nodes.core.errors import LimitReached
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.ledger import BudgetedBackend
from eqa_nodes.core.model import Backend, Choice, Completion, Message, Schema, ask_json
from eqa_nodes.core.types.costs import CallAccount, RoleAccount, Usage
from eqa_nodes.core.types.measures import with_point
from eqa_nodes.core.types.questions import Answer, Evidence, Question, Receipt, receipt_of
from eqa_nodes.core.types.views import Keyframe

STATED, CHOOSE = "stated", "choose"  # source of a role's numbers: written by the model, or probabilities of options


class Role(NamedTuple):
    """The task of a model in a role, and the prompts of eqa_nodes/prompts for it.

    chooses: prompts of single choices, used if `how` is "choose"; () = the role has none.
    """

    does: str
    prompts: tuple[str, ...]
    chooses: tuple[str, ...] = ()


ROLES: Mapping[str, Role] = {
    "caption": Role("describes pictures and objects", ("caption", "caption_question", "caption_thing")),
    "answer": Role("answers from what it is shown; with options, it also says where to go",
                   ("answer", "answer_captions", "answer_graph", "answer_snapshots", "decide", "decide_answer",
                    "decide_place")),
    "blind": Role("guesses without any picture", ("blind",)),
    "abstention": Role("says whether an answer is one, before a guess takes its place", ("abstention",)),
    "regions": Role("names the kinds of room where the answer may be", ("regions",)),
    "values": Role("judges views: what they show, and where going on is worth it", ("assess",),
                   ("value_places", "value_worth")),
    "stop": Role("says whether a single view is enough", (), ("stop_view",)),
    "filter": Role("chooses the kinds of objects that matter to the question", ("classes",)),
}
_OF_PROMPT = {prompt: name for name, role in ROLES.items() for prompt in (*role.prompts, *role.chooses)}


def role_of(prompt: str) -> str:
    """Return the role that a prompt of eqa_nodes/prompts belongs to; "answer" for an unknown prompt."""
    return _OF_PROMPT.get(prompt, "answer")


@cache
def prompt_text(name: str) -> str:
    """Return the text of a prompt of the package."""
    return _filled(resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").read_text(encoding="utf-8"))


def worded(prompt: str, wording: str) -> str:
    """Return the text of a prompt in a wording, or the package's if the wording has none for it."""
    name = f"{prompt}_{wording}"
    return prompt_text(name if wording and _there(name) else prompt)


def _there(name: str) -> bool:
    return resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").is_file()


def _filled(text: str) -> str:
    return text.replace("$REGIONS", ", ".join(REGIONS))


@dataclass(frozen=True)
class RoleModel:
    """The model of one role. prompt: text that replaces the package's prompt; "" = none.

    side_px: longest side of a picture, None = the answerer's. how: STATED or CHOOSE. wording: one of WORDINGS.
    """

    backend: Backend
    prompt: str = ""
    side_px: int | None = None
    how: str = STATED
    wording: str = OWN

    def text(self, prompt: str) -> str:
        """Return the text of a prompt. An own prompt replaces single-choice prompts only if the role has no others."""
        role = ROLES[role_of(prompt)]
        own = self.prompt and prompt in (role.prompts or role.chooses)
        return _filled(self.prompt) if own else worded(prompt, self.wording)

    def side(self, side_px: int) -> int:
        """Return the longest side of a picture for this role; side_px: default for roles that set none."""
        return side_px if self.side_px is None else self.side_px


class RoleModels:
    """The main model of an answerer and the models of single roles. Implements Backend with the main model."""

    def __init__(self, main: Backend, own: Mapping[str, RoleModel] | None = None, wording: str = OWN) -> None:
        """own: models by role; a role without one asks `main`. wording: wording of all prompts that no role replaces.
        """
        self.model, self._paid = main.model, CallAccount()
        own = own or {}
        asked = (main, *(one.backend for one in own.values()))
        self._every = list({id(backend): backend for backend in asked}.values())
        self._roles = {name: replace(own.get(name) or RoleModel(main), wording=wording) for name in ROLES}

    @classmethod
    def of(cls, backend: Backend) -> RoleModels:
        """Return a backend as RoleModels; an instance is returned unchanged, so that counts are shared."""
        return backend if isinstance(backend, cls) else cls(backend)

    @property
    def usage(self) -> Usage:
        """Sum of the usage of all models."""
        return sum((backend.usage for backend in self._every), Usage())

    @property
    def privileged(self) -> tuple[str, ...]:
        """Privileged knowledge of a simulated model (models/simulated)."""
        said = (getattr(backend, "privileged", ()) for backend in self._every)
        return tuple(dict.fromkeys(name for names in said for name in names))

    def role(self, name: str) -> RoleModel:
        """Return the model of a role. Raises KeyError for an unknown one."""
        return self._roles[name]

    def asked(self, name: str, account: CallAccount | None) -> BudgetedBackend:
        """Return the model of a role for one request, charged to `account`."""
        backend = self._roles[name].backend
        accounts = (self._paid,) if account is None else (account, self._paid)
        return BudgetedBackend(backend, RoleAccount(name, backend.model, *accounts))

    def spent(self) -> Receipt:
        """Return the costs of all models so far, in total and by role and model."""
        return receipt_of(self._paid, self.privileged)

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Ask the answerer's own model."""
        return self.asked("answer", account).generate(messages, max_tokens, seed, schema)

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Ask the answerer's own model."""
        return self.asked("answer", account).choose(messages, options, seed)

    def close(self) -> None:
        """Release all models."""
        for backend in self._every:
            backend.close()


T = TypeVar("T")
DIRECTIONS = "Directions to the place that it is about"
NO_ANSWER = "the views do not answer the question"


class PromptedModel:
    """A model with prompts and costs. Raises ModelError (BudgetSpent), BadQuestion.

    Privileged from the first view with a simulator's labels on: its caption says what a robot would not know.
    max_tokens: maximum length of a reply.
    """

    def __init__(self, backend: Backend, max_tokens: int = 2048) -> None:
        self.models, self._max_tokens = RoleModels.of(backend), max_tokens
        self._before = self.models.spent()
        self._guessed: dict[tuple[object, ...], ReadReply] = {}  # the last guess
        self._own = self.models.privileged  # set for a simulated model
        self._privileged = self._own

    def spent(self) -> Receipt:
        """Return calls and tokens so far, including failed calls."""
        return replace(self.models.spent().model_since(self._before), privileged=self._privileged)

    def side(self, prompt: str, side_px: int) -> int:
        """Return the longest side of pictures for a prompt, 0 = as stored. side_px: default if its role sets none."""
        return self.models.role(role_of(prompt)).side(side_px)

    def chooses(self, role: str) -> bool:
        """Return whether a role derives its numbers from the probabilities of options."""
        return self.models.role(role).how == CHOOSE

    def ask(self, prompt: str, question: Question, parts: Sequence[str | bytes],
            read: Callable[[dict[str, object]], T], views: Sequence[Keyframe] = (),
            schema: Schema | None = None, prose: Callable[[str], T] | None = None) -> T:
        """Ask with a prompt of eqa_nodes/prompts and return read(reply). views: the views that parts describe.

        schema: schema of the reply, for servers that enforce one. prose: reads a second reply in another form
        (read_prose).
        """
        messages = self._messages(prompt, question, parts, views)
        backend = self.models.asked(role_of(prompt), question.account)
        return ask_json(backend, messages, read, self._max_tokens, question.seed, schema, prose)

    def choose(self, prompt: str, question: Question, parts: Sequence[str | bytes], options: Sequence[str],
               views: Sequence[Keyframe] = ()) -> Choice:
        """Return the probability of each option by the model of the prompt's role, and the source of the numbers."""
        messages = self._messages(prompt, question, parts, views)
        return self.models.asked(role_of(prompt), question.account).choose(messages, options, question.seed)

    def _messages(self, prompt: str, question: Question, parts: Sequence[str | bytes],
                  views: Sequence[Keyframe]) -> tuple[Message, Message]:
        self._privileged = self._privileged or labelled(views)
        role = self.models.role(role_of(prompt))
        asked = _as_data(question, in_other_words=role.wording == OWN)
        return Message("system", (role.text(prompt),)), Message("user", (asked, *parts))

    def settle(self, question: Question, views: Sequence[Keyframe],
               look: Callable[[Question], tuple[ReadReply, Sequence[Keyframe]]]) -> Answer:
        """Return the answer from the views; a blind guess without views, or if one is required after an abstention.

        look: function of the question with its account; returns a reply and the views that its numbers (from 1) refer
        to. If a guess is required, a model also judges whether the answer is one, as in OpenEQA's supplement G.
        """
        check_question(question.text)
        account = question.account or CallAccount()
        question, before = question._replace(account=account), receipt_of(account)
        reply, shown = look(question) if views else (NOTHING_SEEN, ())
        message = ": ".join(filter(None, (NO_ANSWER, reply.why))) if reply.abstain else ""
        if question.force_guess and views and not reply.abstain:
            reply, message = self._checked(question, reply)
        if not views or (reply.abstain and question.force_guess):
            try:
                reply = self._guess(question)
                message = f"forced guess: {message}" if views else "blind guess: no views"
            except LimitReached:
                if not views:
                    raise
                message += ", and the limits allow no guess"
        return Answer(reply.answer, reply.confidence, reply.abstain,
                      _pointed(evidence_from((shown[i - 1] for i in reply.images), reply.why), reply, shown),
                      replace(receipt_of(account).model_since(before), privileged=self._own or labelled(views)),
                      message="; ".join(filter(None, (message, reply.note))))

    def _guess(self, question: Question) -> ReadReply:
        """Return a guess without views. The next guess at the same question reuses it, so that it is not paid twice."""
        key = question.text, question.instruction, question.choices, question.seed
        if (guessed := self._guessed.pop(key, None)) is None:
            guessed = self._guessed[key] = self.ask("blind", question, (), partial(
                read_answer, question=question, views=0), prose=partial(read_prose, question=question, views=0))
        return guessed

    def _checked(self, question: Question, reply: ReadReply) -> tuple[ReadReply, str]:
        """Return the answer, or an abstention with a message if a model says that it is not an answer.

        One of the given options is always an answer. If the limits allow no call, the answer is kept.
        """
        if question.choices:
            return reply, ""
        said = f"<reply>\n{json.dumps(reply.answer)}\n</reply>"
        try:
            answers = self.ask("abstention", question, (said,), read_abstention)
        except LimitReached:
            return reply, "the limits allowed no check whether this is an answer"
        return (reply, "") if answers else (NOTHING_SEEN, f"{reply.answer!r} is no answer")


def _pointed(evidence: tuple[Evidence, ...], reply: ReadReply, shown: Sequence[Keyframe]) -> tuple[Evidence, ...]:
    """Return evidence whose notes also contain the points in the pictures that the model gave."""
    points = {shown[i - 1].id: point for i, point in zip(reply.images, reply.points, strict=False) if point}
    return tuple(e._replace(note=with_point(e.note, points[e.keyframe_id])) if e.keyframe_id in points else e
                 for e in evidence)


def _as_data(question: Question, in_other_words: bool) -> str:
    """Return the question as JSON between markers, so that quotes and line breaks in it cannot leave its string.

    in_other_words: add what the parser understood; the wordings of papers have no such line.
    """
    text = check_question(question.text)
    understood = understand(text).said if in_other_words else ""
    lines = [json.dumps(text), *([f"The question asks: {json.dumps(understood)}"] if understood else ())]
    if question.instruction:
        lines.append(f"{DIRECTIONS}: {json.dumps(question.instruction)}")
    if question.choices:
        lines.append(f"One of these options, word for word, is the answer: {json.dumps(question.choices)}")
    return "\n".join(("<question>", *lines, "</question>"))
