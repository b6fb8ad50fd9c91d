"""The agent asks the person: one inquiry at a time, with numbered options and a deadline, and the reply comes back."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Protocol

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.floor import Decision
from eqa_nodes.core.types.inquiries import NO_REPLY, Inquiry
from eqa_nodes.core.types.questions import Question

_POLL_S = 0.1  # how often it is looked whether the question was called off


class Person(Protocol):
    """Who may be asked something while a question is worked on."""

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        """Announce an inquiry and wait for the reply: the number of an option, NO_REPLY at its deadline."""


class Nobody:
    """Nobody is there, as in a benchmark: no inquiry gets a reply. Implements Person."""

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        """Return at once."""
        announce()
        return NO_REPLY


NOBODY = Nobody()


class Replies:
    """Waits for replies that any thread hands in. Implements Person."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: dict[str, Inquiry] = {}
        self._replies: dict[str, int] = {}

    def ask(self, inquiry: Inquiry, announce: Callable[[], None], canceled: Callable[[], bool]) -> int:
        """Announce an inquiry and wait for its reply."""
        with self._changed:
            self._open[inquiry.id] = inquiry
        try:
            announce()
            end = time.monotonic() + inquiry.deadline_s
            with self._changed:
                while inquiry.id not in self._replies and not canceled() and time.monotonic() < end:
                    self._changed.wait(max(0.0, min(_POLL_S, end - time.monotonic())))
                return self._replies.get(inquiry.id, NO_REPLY)
        finally:
            with self._changed:
                del self._open[inquiry.id]
                self._replies.pop(inquiry.id, None)

    def reply(self, identity: str, option: int) -> None:
        """Hand in a reply; the first one counts. Raises ConfigError where nothing with this id waits for it."""
        with self._changed:
            inquiry = self._open.get(identity)
            if inquiry is None or identity in self._replies:
                raise ConfigError(f"nothing with the id {identity!r:.80} waits for a reply (any more)")
            if not 1 <= option <= len(inquiry.options):
                raise ConfigError(f"option {option} is none of 1 to {len(inquiry.options)}: {inquiry.in_words()}")
            self._replies[identity] = option
            self._changed.notify_all()


class Dialogue:
    """What is asked for one question. tell: shows an inquiry when it opens, and again with its reply when it ends."""

    def __init__(self, question: Question, person: Person, reply_s: float, left_s: Callable[[], float],
                 canceled: Callable[[], bool], tell: Callable[[Inquiry, Decision | None], None]) -> None:
        """reply_s: how long a reply is waited for; left_s: what the question's limit of seconds leaves."""
        self._question, self._person, self._reply_s, self._left_s = question, person, reply_s, left_s
        self._canceled, self._tell = canceled, tell

    def ask(self, kind: str, text: str, options: tuple[str, ...], decision: Decision | None = None) -> int:
        """Return the number of the chosen option, NO_REPLY where none came. decision: that it is about."""
        inquiry = Inquiry(uuid.uuid4().hex[:12], kind, text, options, max(0.0, min(self._reply_s, self._left_s())),
                          self._question.id, self._question.text)
        reply = self._person.ask(inquiry, lambda: self._tell(inquiry, decision), self._canceled)
        self._tell(inquiry._replace(reply=reply), None)
        return reply
