"""The attempts of one call: a refused request is changed and sent again, as far as its refusal says how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eqa_nodes.core.ledger import spare_tokens
from eqa_nodes.core.model import Completion, Usage
from eqa_nodes.models.dialect import Dialect, Lesson, Memory, lesson_from
from eqa_nodes.models.openai_request import Ask, longest_side
from eqa_nodes.models.refusals import Refusal

_MOST = 8  # of one call: a server that refuses more is not asked again
_LEAST_TOKENS = 64  # a shorter reply says nothing, and thoughts are not worth their price for it


class Attempts:
    """Decides after each attempt whether the request is sent again, and lets the memory learn what was refused.

    A lesson after which the server says the same again is dropped: it was about something else. Only forms are tried
    one after another, and the limits of pictures stay, which the next call reaches further with.
    """

    def __init__(self, memory: Memory, ask: Ask) -> None:
        self._memory, self._ask = memory, ask
        self._room = ask.max_tokens
        self._made = 0
        self._last: tuple[Refusal, Dialect] | None = None

    def max_tokens(self, dialect: Dialect, usage: Usage) -> int:
        """Return the limit of the reply, with what the model needs for its thoughts where budgets allow it.

        usage: of the model so far.
        """
        most = self._room
        if dialect.thoughts and not self._ask.logprobs:
            most += spare_tokens(usage, self._ask.messages, most, dialect.thoughts)
        return min(most, dialect.most_tokens or most)

    def again(self, refusal: Refusal, dialect: Dialect, body: Mapping[str, Any]) -> bool:
        """Return whether to send it again after a refusal. dialect, body: those of the refused request."""
        self._made += 1
        if self._made >= _MOST or (self._ask.logprobs and refusal.names("logprobs")):
            return False  # without log-probabilities such a request is of no use
        if _LEAST_TOKENS <= refusal.room() < self._room:
            self._room, self._last = refusal.room(), None
            return True
        lesson = lesson_from(refusal, dialect, body, longest_side(self._ask.messages, dialect))
        before = dialect
        if self._last is not None and refusal.alike(self._last[0]):
            before = self._last[1]
            if lesson is None or "form" not in lesson.changes:
                if not refusal.kind():
                    self._memory.restore(before)
                return False
        return lesson is not None and self._learn(lesson, (refusal, before))

    def again_for_thoughts(self, done: Completion, dialect: Dialect, usage: Usage) -> bool:
        """Return whether to send it again after a reply: one that was empty at its limit was all thoughts."""
        if done.text or done.finish_reason != "length" or self._ask.logprobs or self._ask.max_tokens < _LEAST_TOKENS:
            return False
        self._made += 1
        lesson = dialect.with_thoughts()
        if self._made >= _MOST or lesson is None:
            return False
        most = lesson.changes["thoughts"]
        if spare_tokens(usage, self._ask.messages, self._ask.max_tokens, most) <= dialect.thoughts:
            return False  # the budget allows no more than was allowed already
        return self._learn(lesson, None)

    def _learn(self, lesson: Lesson, why: tuple[Refusal, Dialect] | None) -> bool:
        self._memory.learn(lesson)
        self._last = why
        return True
