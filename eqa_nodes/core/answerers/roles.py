"""Roles of models: the table of roles, and the model that is asked in each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import NamedTuple

from eqa_nodes.core.answerers.vlm_replies import REGIONS
from eqa_nodes.core.answerers.wordings import OWN
from eqa_nodes.core.ledger import BudgetedBackend
from eqa_nodes.core.model import Backend, Choice, Completion, Message, Schema
from eqa_nodes.core.types.costs import CallAccount, RoleAccount, Usage
from eqa_nodes.core.types.questions import Receipt, receipt_of

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
