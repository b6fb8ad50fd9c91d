"""The body of a chat completions request, in the form that a server accepts."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from PIL import Image

from eqa_nodes.core.ledger import spare_tokens
from eqa_nodes.core.model import Completion, Message, Schema, alternating, images_in
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.quirks import NONE, OBJECT, ROLES, STRICT, Dialect, Quirk, Refusal, ServerQuirks, quirk_from
from eqa_nodes.models.reply import wire

_ATTEMPTS = 8  # maximum per call
_LEAST_TOKENS = 64  # below it a reply is not retried: it could say nothing useful
_TOP_LOGPROBS = 20  # the maximum of the interface
_JPEG_QUALITY = 90
_LEFT_OUT = "(This picture is left out: the server takes no more of them.)"
_BROKEN = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)  # errors of Pillow for damaged images


class ModelRequest(NamedTuple):
    """One call. logprobs: only the probabilities of the first token are wanted. account: charged for the call."""

    messages: Sequence[Message]
    max_tokens: int
    seed: int
    schema: Schema | None = None
    logprobs: bool = False
    account: CallAccount | None = None


def body_of(ask: ModelRequest, model: str, config: ModelConfig, dialect: Dialect, max_tokens: int) -> dict[str, Any]:
    """Return the body of a request without what the server refuses. max_tokens: including those for thoughts."""
    detail = "" if "detail" in dialect.refused else config.image_detail
    fitted = _fitted(ask.messages, dialect)
    turns = alternating(fitted) if ROLES in dialect.refused else fitted
    body: dict[str, Any] = {
        "model": model, "messages": [wire(message, detail) for message in turns],
        dialect.tokens_field: max_tokens, "seed": config.seed + ask.seed}
    if config.temperature >= 0.0:
        body["temperature"] = config.temperature
    if ask.logprobs:
        body |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
    if ask.schema is not None and dialect.form != NONE:
        body["response_format"] = _format(ask.schema, dialect.form)
    return {name: value for name, value in body.items() if name not in dialect.refused}


def longest_side(messages: Sequence[Message], dialect: Dialect) -> int:
    """Return the longest side of the pictures as sent, pixels; 0 if none can be read."""
    sides = [max(size) for message in _fitted(messages, dialect) for part in message.parts
             if isinstance(part, bytes) and (size := _picture_size(part)) is not None]
    return max(sides, default=0)


def _format(schema: Schema, form: str) -> dict[str, Any]:
    if form == OBJECT:
        return {"type": "json_object"}
    if form == STRICT:
        return {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": _open(schema)}}


def _open(schema: Any) -> Any:
    """Return a schema without `additionalProperties`, which older endpoints of Gemini do not know."""
    if isinstance(schema, Mapping):
        return {key: _open(value) for key, value in schema.items() if key != "additionalProperties"}
    return [_open(value) for value in schema] if isinstance(schema, list) else schema


def _fitted(messages: Sequence[Message], dialect: Dialect) -> Sequence[Message]:
    """Return the messages with the number and size of pictures limited to what the server accepts.

    Half of the allowed pictures are the first ones and half the last: the likeliest views stand first, the newest last.
    """
    count = images_in(messages)
    if not dialect.side_px and not 0 < dialect.images < count:
        return messages
    most = min(dialect.images or count, count)
    first = most - most // 2
    numbers: Iterator[int] = iter(range(count))

    def fit(part: str | bytes) -> str | bytes:
        if isinstance(part, str):
            return part
        number = next(numbers)
        return _scaled(part, dialect.side_px) if number < first or number >= count - (most - first) else _LEFT_OUT

    return [message._replace(parts=tuple(fit(part) for part in message.parts)) for message in messages]


def _scaled(jpeg: bytes, side_px: int) -> bytes:
    """Return a picture whose sides are at most side_px, 0 = no limit; one that cannot be read is unchanged."""
    size = _picture_size(jpeg) if side_px else None
    if size is None or max(size) <= side_px:
        return jpeg
    out = io.BytesIO()
    try:
        image = Image.open(io.BytesIO(jpeg)).convert("RGB")
    except _BROKEN:
        return jpeg  # the server reports what is wrong with it
    image.thumbnail((side_px, side_px))
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()


def _picture_size(jpeg: bytes) -> tuple[int, int] | None:
    try:
        return Image.open(io.BytesIO(jpeg)).size
    except _BROKEN:
        return None


class Attempts:
    """Decides after each attempt whether to send the request again, and stores what was refused in the quirks.

    A lesson is dropped if the server refuses the next request for the same reason. Only forms are tried one after
    another; limits of pictures are kept, so that the next call can lower them further.
    """

    def __init__(self, quirks: ServerQuirks, ask: ModelRequest) -> None:
        self._quirks, self._ask = quirks, ask
        self._room = ask.max_tokens
        self._made = 0
        self._last: tuple[Refusal, Dialect] | None = None

    def max_tokens(self, dialect: Dialect, usage: Usage) -> int:
        """Return the token limit of the reply, including tokens for thoughts as far as the budgets allow.

        usage: usage of the model so far.
        """
        most = self._room
        if dialect.thoughts and not self._ask.logprobs:
            most += spare_tokens(self._ask.account, usage, self._ask.messages, most, dialect.thoughts)
        return min(most, dialect.most_tokens or most)

    def again(self, refusal: Refusal, dialect: Dialect, body: Mapping[str, Any]) -> bool:
        """Return whether to send the request again after a refusal. dialect, body: of the refused request."""
        self._made += 1
        if self._made >= _ATTEMPTS or (self._ask.logprobs and refusal.names("logprobs")):
            return False  # without log-probabilities such a request is of no use
        if _LEAST_TOKENS <= refusal.room() < self._room:
            self._room, self._last = refusal.room(), None
            return True
        lesson = quirk_from(refusal, dialect, body, longest_side(self._ask.messages, dialect))
        before = dialect
        if self._last is not None and refusal.alike(self._last[0]):
            before = self._last[1]
            if lesson is None or "form" not in lesson.changes:
                if not refusal.kind():
                    self._quirks.restore(before)
                return False
        return lesson is not None and self._learn(lesson, (refusal, before))

    def again_for_thoughts(self, done: Completion, dialect: Dialect, usage: Usage) -> bool:
        """Return whether to send the request again after a reply that was all thoughts (empty at its limit)."""
        if done.text or done.finish_reason != "length" or self._ask.logprobs or self._ask.max_tokens < _LEAST_TOKENS:
            return False
        self._made += 1
        lesson = dialect.with_thoughts()
        if self._made >= _ATTEMPTS or lesson is None:
            return False
        most = lesson.changes["thoughts"]
        if spare_tokens(self._ask.account, usage, self._ask.messages, self._ask.max_tokens, most) <= dialect.thoughts:
            return False  # the budget allows no more than the last attempt had
        return self._learn(lesson, None)

    def _learn(self, lesson: Quirk, why: tuple[Refusal, Dialect] | None) -> bool:
        self._quirks.learn(lesson)
        self._last = why
        return True
