"""The core's interface to vision-language models. Backends are in eqa_nodes/models; nothing here uses the network."""

from __future__ import annotations

import inspect
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

from PIL import Image

from eqa_nodes.core.errors import BudgetSpent, ModelError
from eqa_nodes.core.storage.text import plain, printable
from eqa_nodes.core.types.calls import OptionMark
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.core.types.views import Keyframe

T = TypeVar("T")
CONTEXT = "context"  # finish_reason of a reply that ended because the model's context was full
MORE_CONTEXT = ("show fewer pictures (max_images) or smaller ones (--image-side), or serve the model with more context")
WRONG_FORM = "wrong form:"  # beginning of the message of a ModelError about the form of a reply
MOST_TOKENS = 10_000_000  # upper bound of the tokens that one call can read or write
_MAX_DIGITS = 18  # maximum number of digits of a whole number in a reply
_LONGEST_REPLY = 400_000  # maximum number of characters that are searched for an object; models write fewer
_OBJECT = re.compile(r'\{\s*["}]')  # beginning of an object
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")
_TRIES = 32  # maximum number of braces tried as the beginning of an object: each try parses all that follows
_SHOWN_AGAIN, _RESTATED = 2000, 8000  # maximum characters of a wrong reply that is shown, or to be restated
_NOT_SHOWN_AGAIN = "(A picture was shown here.)"


# JSON schemas of replies, in the subset that OpenAI's strict mode, Gemini's endpoint and local grammars all accept: all
# keys are required, no others are allowed, and there are no bounds or patterns, which servers refuse. The order of the
# keys is the order in which a model writes them. An optional value is requested as an empty one.
Schema = Mapping[str, object]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}


def an_object(**properties: Schema) -> Schema:
    """Return the schema of an object with these keys."""
    return {"type": "object", "properties": dict(properties), "required": list(properties),
            "additionalProperties": False}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


class Picture(bytes):
    """A JPEG image for a model, with the stored view that it shows and the numbers drawn on it.

    Only the bytes are sent. The rest is for traces and for the simulated model, which sees labels instead of pixels.
    """

    view: Keyframe
    marks: tuple[OptionMark, ...]
    box: tuple[float, float, float, float] | None  # the part of the stored image that it shows, None = all

    def __new__(cls, jpeg: bytes, view: Keyframe, marks: Sequence[OptionMark] = (),
                box: tuple[float, float, float, float] | None = None) -> Picture:
        """Return the picture of a view. box: left, top, right, bottom in pixels of the stored image."""
        picture = super().__new__(cls, jpeg)
        picture.view, picture.marks, picture.box = view, tuple(marks), box
        return picture

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the sent image, pixels."""
        return Image.open(io.BytesIO(self)).size


class Message(NamedTuple):
    """One turn of a chat. role: system | user | assistant; parts in order, a str is text and bytes are a JPEG image."""

    role: str
    parts: tuple[str | bytes, ...]


def alternating(messages: Sequence[Message]) -> list[Message]:
    """Return the messages for a model without a system role that requires alternating roles."""
    turns: list[Message] = []
    for role, parts in messages:
        said = "user" if role == "system" else role
        before = turns.pop().parts if turns and turns[-1].role == said else ()
        turns.append(Message(said, (*before, *parts)))
    return turns


def images_in(messages: Sequence[Message]) -> int:
    """Return the number of images in the messages."""
    return sum(isinstance(part, bytes) for message in messages for part in message.parts)


class Completion(NamedTuple):
    """A reply of a model. finish_reason: "stop", "length" if it was cut off at the token limit, or CONTEXT."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    finish_reason: str = "stop"


class Choice(NamedTuple):
    """Probabilities of given options, in their order, with sum 1. how: source: logits | logprobs | verbalised."""

    probabilities: tuple[float, ...]
    how: str


class Budget(NamedTuple):
    """The budget of a backend over its lifetime; 0 = no limit."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def check(self, usage: Usage) -> None:
        """Raise BudgetSpent if nothing is left for another call."""
        if self.calls and usage.calls >= self.calls:
            raise BudgetSpent(f"the budget of {self.calls} model calls is spent: raise it, or ask less")
        if self.tokens and usage.tokens_in + usage.tokens_out >= self.tokens:
            raise BudgetSpent(f"the budget of {self.tokens} model tokens is spent: raise it, or ask less")
        if self.money and usage.money >= self.money:
            raise BudgetSpent(f"the budget of {self.money:g} for the model is spent ({usage.money:.4g}): raise it, "
                              "or ask less")


class Backend(Protocol):
    """A model. Calls are safe from several threads; every failure is a ModelError that begins with its kind."""

    model: str  # name for manifests

    @property
    def usage(self) -> Usage:
        """A copy of the current counts."""

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the model's next turn.

        schema: schema of the requested JSON, a hint for backends that can use it. account: charged for each request;
        it also limits what may be spent.
        """

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return the model's probability of each option as the answer to the last message."""

    def close(self) -> None:
        """Release connections; a second call does nothing."""


def generate_with(backend: Backend, messages: Sequence[Message], max_tokens: int, seed: int,
                  schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
    """Return the next turn, charged to the account. Schema and account are passed to backends that accept them."""
    more: dict[str, Any] = {"schema": schema} if schema is not None and _takes(backend.generate, "schema") else {}
    return _charged(backend, _takes(backend.generate, "account"), account, lambda own: backend.generate(
        messages, max_tokens, seed, **more, **own))


def choose_with(backend: Backend, messages: Sequence[Message], options: Sequence[str], seed: int,
                account: CallAccount | None = None) -> Choice:
    """Return the probabilities of options, charged to the account; otherwise like `generate_with`."""
    return _charged(backend, _takes(backend.choose, "account"), account,
                    lambda own: backend.choose(messages, options, seed, **own))


def _takes(call: Callable[..., object], name: str) -> bool:
    """Return whether a backend's method accepts an argument: the backend of another package may be simpler."""
    takes = inspect.signature(call).parameters
    return name in takes or any(one.kind is one.VAR_KEYWORD for one in takes.values())


def _charged(backend: Backend, takes: bool, account: CallAccount | None, call: Callable[[dict[str, Any]], T]) -> T:
    """Return the result of a call. A backend without an account argument is charged by its counts, also on failure."""
    if account is None or takes:
        return call({} if account is None else {"account": account})
    before = backend.usage
    try:
        return call({})
    finally:
        account.charge(backend.usage - before)


class ChargedBackend:
    """A backend whose calls are charged to one account. Implements Backend."""

    def __init__(self, backend: Backend, account: CallAccount) -> None:
        self.backend, self.account, self.model = backend, account, backend.model

    @property
    def usage(self) -> Usage:
        """A copy of the backend's counts so far."""
        return self.backend.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the model's next turn."""
        return generate_with(self.backend, messages, max_tokens, seed, schema, self.account)

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return the model's probability of each option."""
        return choose_with(self.backend, messages, options, seed, self.account)

    def close(self) -> None:
        """Release connections."""
        self.backend.close()


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letter_menu(options: Sequence[str]) -> Message:
    """Return the turn that asks a model to choose one of LETTERS. Raises ModelError for too few or too many options.
    """
    if not 2 <= len(options) <= len(LETTERS):
        raise ModelError(f"wrong form: a choice needs 2 to {len(LETTERS)} options, not {len(options)}")
    menu = "\n".join(f"{letter}) {option}" for letter, option in zip(LETTERS, options))
    return Message("user", (f"{menu}\nReply with the letter of the right option and nothing else.",))


def generate_many(backend: Backend, chats: Sequence[Sequence[Message]], max_tokens: int = 1024,
                  seed: int = 0) -> list[Completion]:
    """Return the next turn of each chat: in batches if the backend supports them, otherwise one after another."""
    batched: Callable[..., list[Completion]] | None = getattr(backend, "generate_many", None)
    if batched is not None:
        return batched(chats, max_tokens, seed)
    return [backend.generate(chat, max_tokens, seed) for chat in chats]


def json_object(text: str) -> dict[str, object]:
    """Return the JSON object of a reply, with printable texts. Prose and code fences around it are tolerated and, if
    the object is otherwise invalid, line breaks in its texts and commas before a closing bracket.

    Of several objects it is the one with most keys, and of equal ones the last: a model that thinks aloud writes parts
    of its reply, or a draft, before it replies.
    Raises NothingRead if there is none, if it is nested too deep or has a number with too many digits.
    The time is linear in the length of the reply, even if a hostile one has many braces.
    """
    as_it_is = text[:_LONGEST_REPLY]
    mended = _LAST_COMMA.sub(" ", as_it_is)
    decoder = json.JSONDecoder(parse_int=_whole, strict=False)
    found, position = list[dict[str, object]](), 0
    for _ in range(_TRIES):
        match = _OBJECT.search(as_it_is, position)
        if match is None:
            break
        position = match.end()
        for candidate in (as_it_is, mended):
            try:
                one, position = decoder.raw_decode(candidate, match.start())
            except (ValueError, RecursionError):
                continue
            found.append(one)
            break
    if not found:
        raise NothingRead(f"no JSON object in the reply {text[:80]!r}")
    return {printable(key): plain(item) for key, item in max(reversed(found), key=len).items()}


def _whole(number: str) -> int:
    digits = len(number.removeprefix("-"))
    if digits > _MAX_DIGITS:
        raise ValueError(f"a number of {digits} digits")
    return int(number)


class NothingRead(ValueError):
    """A reply in which nothing of the requested form was found."""


def ask_form(backend: Backend, messages: Sequence[Message], read: Callable[[str], T], form: str,
             max_tokens: int = 1024, seed: int = 0, schema: Schema | None = None,
             prose: Callable[[str], T] | None = None) -> T:
    """Ask for a reply in a form ("a number from 1 to 5") and return read(reply), which raises ValueError if it differs.

    One re-prompt states what was wrong; a second wrong reply raises ModelError. The pictures are shown again only if
    nothing could be read (NothingRead, an empty reply, one that was cut off): otherwise the model has judged them and
    only restates its reply. prose: reads a second wrong reply that was not cut off, and raises ValueError if it
    cannot; None = not tried.
    """
    turns = list(messages)
    wrong = ""
    for _ in range(2):
        reply = generate_with(backend, turns, max_tokens, seed, schema)
        try:
            return read(reply.text)
        except ValueError as error:
            if reply.finish_reason == CONTEXT:
                raise ModelError(f"too long: {reply.tokens_in} tokens of the request and {reply.tokens_out} of the "
                                 f"reply fill the context of {backend.model}: {MORE_CONTEXT}") from error
            cut = reply.finish_reason == "length"
            wrong = f"cut off at {reply.tokens_out or max_tokens} tokens" if cut else str(error)
            anew = cut or not reply.text.strip() or isinstance(error, NothingRead)
        turns = _asked_again(messages, reply.text, wrong, form, anew)
    if prose is not None and not cut:
        with suppress(ValueError):
            return prose(reply.text)
    raise ModelError(f"{WRONG_FORM} {backend.model} answered twice in another form than agreed: {wrong}; ask "
                     "again, or choose another model")


def _asked_again(messages: Sequence[Message], said: str, wrong: str, form: str, anew: bool) -> list[Message]:
    """Return the turns of a re-prompt. anew: whether the pictures are shown again."""
    again = f"That reply could not be used: {wrong}. Reply again, shorter, with nothing but {form}."
    before = list(messages)
    if not anew and any(isinstance(part, bytes) for message in messages for part in message.parts):
        again = (f"That reply could not be used: {wrong}. Say the same once more with nothing but {form}. The pictures "
                 "are not shown again: keep your judgements of them, and add none for what you did not look at.")
        before = [message._replace(parts=tuple(part if isinstance(part, str) else _NOT_SHOWN_AGAIN
                                               for part in message.parts)) for message in messages]
    most = _SHOWN_AGAIN if anew else _RESTATED
    return [*before, Message("assistant", (said[:most] or "(nothing)",)), Message("user", (again,))]


def ask_json(backend: Backend, messages: Sequence[Message], read: Callable[[dict[str, object]], T],
             max_tokens: int = 1024, seed: int = 0, schema: Schema | None = None,
             prose: Callable[[str], T] | None = None) -> T:
    """Ask for a JSON object and return read(object), which raises ValueError for a wrong form. Like `ask_form`."""
    return ask_form(backend, messages, lambda text: read(json_object(text)), "the JSON object that was asked for",
                    max_tokens, seed, schema, prose)


def fraction(value: object, name: str) -> float:
    """Return a number in 0..1 from a reply. Raises ValueError that names it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be a number from 0 to 1, not {value!r:.40}")
    return float(value)


def choose_verbalised(backend: Backend, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
                      account: CallAccount | None = None) -> Choice:
    """Let the model state its probabilities: for models that return neither logits nor logprobs."""
    names = [f"option_{i + 1}" for i in range(len(options))]
    menu = "\n".join(f"{name}: {json.dumps(option)}" for name, option in zip(names, options))

    def read(reply: dict[str, object]) -> Choice:
        if off := sorted(set(reply) - set(names)):
            raise ValueError(f"{off[0]!r:.40} is not on the menu of {', '.join(names)}")
        weights = [fraction(reply.get(name, 0.0), name) for name in names]
        if sum(weights) <= 0.0:
            raise ValueError("at least one option needs a probability above 0")
        return Choice(tuple(weight / sum(weights) for weight in weights), "verbalised")

    ask = (f"The options are:\n{menu}\nReply with one JSON object that gives each option's name the "
           "probability (0 to 1) that it is the right answer.")
    asked = backend if account is None else ChargedBackend(backend, account)
    return ask_json(asked, [*messages, Message("user", (ask,))], read, max_tokens=64 + 24 * len(options), seed=seed,
                    schema=an_object(**dict.fromkeys(names, NUMBER)))
