"""What models are asked for: the table of roles, and which model each of them asks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import NamedTuple, TypeVar

from eqa_nodes.core.answerers.vlm_replies import REGIONS
from eqa_nodes.core.answerers.wordings import OWN
from eqa_nodes.core.model import (
    Backend,
    Choice,
    Completion,
    Message,
    Schema,
    Usage,
    counted,
    generate_with,
    note_spent,
)
from eqa_nodes.core.types.questions import Receipt, RoleCost

T = TypeVar("T")
STATED, CHOOSE = "stated", "choose"  # how a role gets a number: the model writes it, or probabilities of options


class Role(NamedTuple):
    """What a model does in a role, and by which prompts of eqa_nodes/prompts.

    chooses: prompts of single choices, which are asked where `how` is "choose"; () = the role has none.
    """

    does: str
    prompts: tuple[str, ...]
    chooses: tuple[str, ...] = ()


ROLES: Mapping[str, Role] = {
    "caption": Role("describes pictures and objects", ("caption", "caption_question", "caption_thing")),
    "answer": Role("answers from what it is shown; with options, it also says where to go",
                   ("answer", "answer_captions", "answer_graph", "answer_snapshots", "decide")),
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
    """Return the role that a prompt of eqa_nodes/prompts belongs to; "answer" for a prompt of nobody's."""
    return _OF_PROMPT.get(prompt, "answer")


@cache
def prompt_text(name: str) -> str:
    """Return a prompt of the package."""
    return _filled(resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").read_text(encoding="utf-8"))


def worded(prompt: str, wording: str) -> str:
    """Return the text of a prompt in a wording; in one that has none of its own, the package's."""
    name = f"{prompt}_{wording}"
    return prompt_text(name if wording and _there(name) else prompt)


def _there(name: str) -> bool:
    return resources.files("eqa_nodes.prompts").joinpath(f"{name}.txt").is_file()


def _filled(text: str) -> str:
    return text.replace("$REGIONS", ", ".join(REGIONS))


@dataclass(frozen=True)
class RoleModel:
    """The model of one role. prompt: text that takes the place of the package's; "" = none.

    side_px: longest side of a picture, None = as the answerer has it. how: STATED or CHOOSE. wording: of WORDINGS.
    """

    backend: Backend
    prompt: str = ""
    side_px: int | None = None
    how: str = STATED
    wording: str = OWN

    def text(self, prompt: str) -> str:
        """Return the text of a prompt. One of single choices stays that of the package where the role has others."""
        role = ROLES[role_of(prompt)]
        own = self.prompt and prompt in (role.prompts or role.chooses)
        return _filled(self.prompt) if own else worded(prompt, self.wording)

    def side(self, side_px: int) -> int:
        """Return the longest side of a picture for this role; side_px: for the others."""
        return side_px if self.side_px is None else self.side_px


@dataclass
class _Ledger:
    """What each role and model has cost."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    paid: dict[tuple[str, str], Usage] = field(default_factory=dict)

    def add(self, role: str, model: str, usage: Usage) -> None:
        with self.lock:
            self.paid[role, model] = self.paid.get((role, model), Usage()) + usage


class _InRole:
    """A backend whose calls are counted for a role. Implements Backend."""

    def __init__(self, backend: Backend, role: str, ledger: _Ledger) -> None:
        self._backend, self._role, self._ledger, self.model = backend, role, ledger, backend.model

    @property
    def usage(self) -> Usage:
        """The model's counts, in all its roles."""
        return self._backend.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None) -> Completion:
        """As the model does."""
        return self._counted(lambda: generate_with(self._backend, messages, max_tokens, seed, schema))

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        """As the model does."""
        return self._counted(lambda: self._backend.choose(messages, options, seed))

    def close(self) -> None:
        """Release the model."""
        self._backend.close()

    def _counted(self, call: Callable[[], T]) -> T:
        spent: list[Usage] = []
        try:
            with counted() as spent:  # apart from other roles that ask the same model meanwhile
                return call()
        finally:  # failed calls cost too
            paid = sum(spent, Usage())
            self._ledger.add(self._role, self.model, paid)
            note_spent(paid)  # to who counts around this


class RoleModels:
    """The model of an answerer with those that single roles have for themselves. Implements Backend: the model."""

    def __init__(self, main: Backend, own: Mapping[str, RoleModel] | None = None, wording: str = OWN) -> None:
        """own: by role; a role that has none asks `main`. wording: of all prompts that no role replaces."""
        self._main, self.model, self._ledger = main, main.model, _Ledger()
        own = own or {}
        asked = (main, *(one.backend for one in own.values()))
        self._every = list({id(backend): backend for backend in asked}.values())
        self._roles = {name: self._counted(name, own.get(name) or RoleModel(main), wording) for name in ROLES}

    @classmethod
    def of(cls, backend: Backend) -> RoleModels:
        """Return a backend as what asks it in roles; one that is that already unchanged, so that counts are shared."""
        return backend if isinstance(backend, cls) else cls(backend)

    @property
    def usage(self) -> Usage:
        """The sum over all models."""
        return sum((backend.usage for backend in self._every), Usage())

    @property
    def privileged(self) -> tuple[str, ...]:
        """What a model that is none but in name knows (models/simulated)."""
        said = (getattr(backend, "privileged", ()) for backend in self._every)
        return tuple(dict.fromkeys(name for names in said for name in names))

    def role(self, name: str) -> RoleModel:
        """Return the model of a role. Raises KeyError for an unknown one."""
        return self._roles[name]

    def spent(self) -> Receipt:
        """Return what all models cost so far, and each in each role."""
        with self._ledger.lock:
            paid = dict(self._ledger.paid)
        used, roles = self.usage, tuple(RoleCost(*key, one.calls, one.tokens_in, one.tokens_out, one.money)
                                        for key, one in paid.items())
        return Receipt(calls=used.calls, tokens_in=used.tokens_in, tokens_out=used.tokens_out, money=used.money,
                       privileged=self.privileged, roles=roles)

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None) -> Completion:
        """Ask the answerer's own model."""
        return self.role("answer").backend.generate(messages, max_tokens, seed, schema)

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        """Ask the answerer's own model."""
        return self.role("answer").backend.choose(messages, options, seed)

    def close(self) -> None:
        """Release all models."""
        for backend in self._every:
            backend.close()

    def _counted(self, name: str, model: RoleModel, wording: str) -> RoleModel:
        return replace(model, backend=_InRole(model.backend, name, self._ledger), wording=wording)
