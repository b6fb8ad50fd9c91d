"""The ledger of a question: its limits, and the steps, metres, seconds and model calls used so far."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TypeVar

from eqa_nodes.core.errors import BadQuestion, Canceled, LimitReached
from eqa_nodes.core.mapping.area import check_area
from eqa_nodes.core.model import ChargedBackend, Choice, Completion, Message, Schema
from eqa_nodes.core.protocols import Answerer, Odometry
from eqa_nodes.core.types.costs import UNLIMITED, CallAccount, CallBudget, Usage
from eqa_nodes.core.types.floor import Allowance, Travelled
from eqa_nodes.core.types.questions import (
    Limits,
    Question,
    Receipt,
    receipt_of,
)

T = TypeVar("T")
MOST = 2 ** 32 - 1  # maximum of a counted limit: the messages hold uint32
COUNTED, MEASURED = ("steps", "calls", "tokens", "poses"), ("metres", "seconds", "money")
KEPT = 1  # model calls reserved for the answer
POSE_STEP_M = 3.0  # maximum distance between two poses, m
_MANY = 999.0  # maximum estimate of the drives left, for a robot that has hardly moved
_UNITS = {"steps": "steps", "metres": "metres", "seconds": "seconds", "calls": "model calls", "tokens": "model tokens",
          "money": "units of money", "poses": "poses"}
_SAID = "ended by the limit of "
_FOUND = re.compile(f"(?:^|; ){_SAID}([^;]+)$")
_NO_CALLS = "calls: the question may make no further model call"
_LEAST_REPLY = 32  # minimum useful length of a reply, tokens
_CHARS_PER_TOKEN, _IMAGE_TOKENS = 4, 255  # to estimate the input of a call before the server has counted it


class Ledger:
    """Counts everything that one question costs from its beginning, and enforces its limits.

    limit: the limit that ended the search, in words; "" if none did. travelled: steps and metres at the last `update`;
    poses: number of poses of the drives so far and the start, counted as in HM-EQA. Work on a question before it begins
    (`apart`) counts its time and calls, but not what is driven in the meantime for another question.
    """

    def __init__(self, question: Question, odometry: Odometry, answerer: Answerer, canceled: Callable[[], bool],
                 turn: AbstractContextManager[object] = nullcontext()) -> None:
        """turn: lock held while the answerer is asked, if several questions share it."""
        self.limits, self.limit, self.canceled = question.limits, "", canceled
        self._question, self._odometry, self._answerer, self._turn = question, odometry, answerer, turn
        self._paid = CallAccount()  # all calls of the model for this question
        self._dearest = Usage()  # the maximum that one turn of the model used
        self._apart_s = 0.0
        self._began_s: float | None = None
        self._at_start: Travelled | None = None
        self.travelled, self.poses = Travelled(0, 0.0), 1

    def begin(self) -> None:
        """Count steps, metres and seconds from here. Raises EqaError if the odometry does not answer."""
        self._began_s = time.monotonic()
        self._at_start = self._odometry.travelled()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Count the time of work on the question before it begins."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            self._apart_s += time.monotonic() - began_s

    def update(self) -> Travelled:
        """Return steps and metres so far. Raises EqaError if the odometry does not answer."""
        if self._at_start is not None:
            now, start = self._odometry.travelled(), self._at_start
            self.travelled = Travelled(now.steps - start.steps, now.metres - start.metres)
        return self.travelled

    def receipt(self, privileged: tuple[str, ...] = ()) -> Receipt:
        """Return the receipt as of the last update. privileged: sources of the answer; empty = those of the answerer.
        """
        spent = receipt_of(self._paid, privileged or self._answerer.spent().privileged)
        worked_s = self._apart_s + (time.monotonic() - self._began_s if self._began_s is not None else 0.0)
        return replace(spent, steps=self.travelled.steps, metres=self.travelled.metres, seconds=worked_s,
                       limit=self.limit)

    def seconds_left(self) -> float:
        """Return the remaining time of the question, s; inf without a limit."""
        return left(self.limits.seconds, self.receipt().seconds)

    def reached(self) -> bool:
        """Return whether a limit has ended the search. Raises Canceled."""
        self.check_canceled()
        self.limit = self.limit or self._reached(self.limits)
        return bool(self.limit)

    def used_up(self) -> bool:
        """Return whether a limit is reached, without ending the search or checking for cancellation."""
        return bool(self.limit or self._reached(self.limits))

    def note(self, name: str) -> None:
        """Note that a limit ended a drive; name: a field of Limits."""
        self.limit = self.limit or in_words(self.limits, name)

    def check_canceled(self) -> None:
        """Raise Canceled if the caller has canceled the question."""
        if self.canceled():
            raise Canceled("canceled by the caller")

    def calls_left(self) -> int:
        """Return how many model calls are left after the next one, including the one reserved for the answer."""
        return max(0, self.limits.calls - self.receipt().calls - 1)

    def on_last_call(self) -> bool:
        """Return whether only the call reserved for the answer is left and no other limit is reached."""
        calls = self.limits.calls
        return bool(calls and self.receipt().calls + KEPT == calls and not self.limit
                    and not self._reached(self.limits._replace(calls=0)))

    def drives_left(self, driven: int) -> int:
        """Estimate how many drives are left within the limits of steps, metres and poses; -1 if unknown.

        driven: number of drives so far, from which their average length follows.
        """
        spent, limits = self.receipt(), self.limits
        paths = ((limits.steps, spent.steps), (limits.metres, spent.metres), (limits.poses - 1, self.poses - 1))
        used = [(limit, now) for limit, now in paths if limit > 0 and now and driven]
        return min((int(min(max(0.0, limit - now) / now * driven, _MANY)) for limit, now in used), default=-1)

    def allowance(self) -> Allowance:
        """Return what a drive that begins now may use. Raises EqaError if the odometry does not answer."""
        self.update()
        spent = self.receipt()
        return Allowance(left(self.limits.steps, spent.steps), metres_left(self.limits, spent.metres, self.poses),
                         left(self.limits.seconds, spent.seconds), self.limits.area)

    @contextmanager
    def drive(self) -> Iterator[None]:
        """Count the poses of the drive inside the `with` block."""
        before = self.update().metres
        yield
        self.poses += poses_of(self.update().metres - before)

    def asked(self, call: Callable[[Question], T], otherwise: T, keep: bool = True) -> T:
        """Return the result of a call of the answerer, limited to the remaining budget of the model.

        call: function of the question with its account. keep: reserve the last call for the answer. otherwise: value
        returned if the limits allow no call, which ends the search.
        """
        account = CallAccount(self._budget(keep))
        try:
            with self._turn:
                return call(self._question._replace(account=account))
        except LimitReached as error:
            self.limit = self.limit or exceeded(error, self.limits)
            return otherwise
        finally:  # failed calls cost too
            self._take(account)

    def _reached(self, limits: Limits) -> str:
        """Return the limit that is reached now, in words; "" if none. The model's last call is reserved."""
        self.update()
        spent = self.receipt()
        so_far = {"steps": spent.steps, "metres": spent.metres, "seconds": spent.seconds,
                  "calls": spent.calls + KEPT if spent.calls else 0, "tokens": spent.tokens_in + spent.tokens_out,
                  "money": spent.money, "poses": self.poses}
        names = (name for name, value in so_far.items() if 0 < getattr(limits, name) <= value)
        return next((in_words(limits, name) for name in names), "")

    def _budget(self, keep: bool) -> CallBudget:
        """Return the budget of the model's next turn. keep: reserve the estimated cost of the answer."""
        limits, spent, kept = self.limits, self._paid.total, self._dearest if keep else Usage()
        return CallBudget(left(limits.calls, spent.calls + KEPT * keep),
                          left(limits.tokens, spent.tokens_in + spent.tokens_out + kept.tokens_in + kept.tokens_out),
                          left(limits.money, spent.money + kept.money))

    def _take(self, account: CallAccount) -> None:
        """Add the cost of a turn of the model, and record the maximum: the answer may cost as much."""
        for (role, model), usage in account.by_role.items():
            self._paid.charge(usage, role, model)
        now, most = account.total, self._dearest
        self._dearest = Usage(tokens_in=max(most.tokens_in, now.tokens_in),
                              tokens_out=max(most.tokens_out, now.tokens_out), money=max(most.money, now.money))


@contextmanager
def paying(question: Question) -> Iterator[Question]:
    """Yield the question with its own account; `paid_until` returns what was paid before an error raised inside."""
    account = CallAccount()
    try:
        yield question._replace(account=account)
    except Exception as error:
        error.__dict__["paid"] = receipt_of(account)
        raise


def paid_until(error: Exception) -> Receipt:
    """Return what was paid to a model before an error ended the work on a question (`paying`)."""
    paid = error.__dict__.get("paid")
    return paid if isinstance(paid, Receipt) else Receipt()


def check_limits(limits: Limits) -> None:
    """Raise BadQuestion for a limit that is negative, infinite or not a number; 0 means no limit."""
    for name in (*COUNTED, *MEASURED):
        value = getattr(limits, name)
        if not (math.isfinite(value) and value >= 0):
            raise BadQuestion(f"the limit of {name} is {value}: it must be a number above 0, or 0 for no limit")
        if name in COUNTED and (value != int(value) or value > MOST):
            raise BadQuestion(f"the limit of {name} is {value}: it must be a whole number up to {MOST}, 0 = no limit")
    check_area(limits.area)


def poses_of(drive_m: float) -> int:
    """Return how many poses a drive of this length adds, as in HM-EQA (Ren et al. 2024).

    Its robot moves at most 3 m between poses, and each drive ends in a pose, however short it is.
    """
    return max(1, math.ceil(round(drive_m, 6) / POSE_STEP_M))


def left(limit: float, spent: float) -> float:
    """Return what is left of a limit; inf if the limit is 0 (no limit)."""
    return max(limit - spent, 0) if limit else math.inf


def metres_left(limits: Limits, metres: float, poses: int) -> float:
    """Return how far a drive may go within the limits of metres and poses, m. metres, poses: used so far."""
    return min(left(limits.metres, metres), POSE_STEP_M * left(limits.poses, poses))


def in_words(limits: Limits, name: str) -> str:
    """Return a limit with its value, as in "30 steps"."""
    value = getattr(limits, name)
    return f"{value if name in COUNTED else format(value, 'g')} {_UNITS[name]}"


def exceeded(error: LimitReached, limits: Limits) -> str:
    """Return in words the limit that an error of the model's turn names."""
    name = str(error).partition(":")[0]
    return in_words(limits, name) if name in _UNITS else str(error)


def limit_in_words(limit: str) -> str:
    """Return the part of an answer's message about the limit that ended the search; "" for none."""
    return f"{_SAID}{limit}" if limit else ""


def limit_in(message: str) -> str:
    """Return the limit that `limit_in_words` put into a message, "" if there is none."""
    found = _FOUND.search(message)
    return found[1] if found else ""


def affordable(account: CallAccount | None, asks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """Yield the result of each call until the account allows no more; one call is reserved for the answer itself."""
    for ask in asks:
        try:
            with nullcontext() if account is None else account.keeping(1):
                said = ask()
        except LimitReached:
            return
        yield said


def repeats(account: CallAccount | None, most: int) -> int:
    """Return how often a failed request may be repeated. Raises LimitReached if it may not be sent at all.

    Each attempt counts as a call of the question. most: maximum from the backend's settings.
    """
    calls = math.inf if account is None else account.left().calls
    if calls < 1:
        raise LimitReached(_NO_CALLS)
    return int(min(most, calls - 1))


def spare_tokens(account: CallAccount | None, usage: Usage, messages: Sequence[Message], max_tokens: int,
                 most: int) -> int:
    """Return how many tokens beyond max_tokens the remaining budget allows for a reply, at most `most`.

    usage: usage of the model so far.
    """
    if account is None or (left := account.left()) == UNLIMITED:
        return most
    try:
        return max(0, _reply_within(left, usage, messages, max_tokens + most) - max_tokens)
    except LimitReached:
        return 0


class BudgetedBackend(ChargedBackend):
    """A backend whose calls are charged to an account and limited to its budget. Implements Backend."""

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the model's next turn, within the remaining budget. Raises LimitReached and the backend's errors."""
        return super().generate(messages, self._most(messages, max_tokens), seed, schema)

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return the model's probability of each option. Raises the same errors as `generate`."""
        self._most(messages, _LEAST_REPLY)
        return super().choose(messages, options, seed)

    def _most(self, messages: Sequence[Message], max_tokens: int) -> int:
        left = self.account.left()
        return max_tokens if left == UNLIMITED else _reply_within(left, self.usage, messages, max_tokens)


def _reply_within(left: CallBudget, usage: Usage, messages: Sequence[Message], max_tokens: int) -> int:
    """Return the maximum length of a reply, tokens. Raises LimitReached if no call may be made.

    usage: usage of the model so far, from which the average cost of a token follows.
    """
    if left.calls < 1:
        raise LimitReached(_NO_CALLS)
    tokens = usage.tokens_in + usage.tokens_out
    payable = left.money * tokens / usage.money if usage.money else math.inf
    reply = min(left.tokens, payable) - tokens_read(messages)
    if left.money <= 0 or reply < min(_LEAST_REPLY, max_tokens):
        name = "tokens" if left.tokens <= payable and left.money > 0 else "money"
        raise LimitReached(f"{name}: the remaining budget is too small for another call")
    return int(min(max_tokens, reply))


def tokens_read(messages: Sequence[Message]) -> float:
    """Estimate how many tokens a model reads, before it has counted them."""
    parts = [part for message in messages for part in message.parts]
    return sum(len(part) / _CHARS_PER_TOKEN if isinstance(part, str) else _IMAGE_TOKENS for part in parts)
