"""What a question may cost and has cost: its limits, steps, metres, seconds, and each call of a model."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import NamedTuple, TypeVar

from eqa_nodes.core.errors import BadQuestion, Canceled, LimitReached
from eqa_nodes.core.mapping.area import check_area
from eqa_nodes.core.model import Backend, Choice, Completion, Message, Schema, Usage, generate_with
from eqa_nodes.core.protocols import Answerer, Odometry, adviser_of
from eqa_nodes.core.types.advice import DecisionReply, DecisionRequest
from eqa_nodes.core.types.floor import Allowance, Travelled
from eqa_nodes.core.types.questions import Answer, Limits, Question, RankedRegion, Recalled, Receipt, ViewAssessment
from eqa_nodes.core.types.views import Keyframe

T = TypeVar("T")
MOST = 2 ** 32 - 1  # of what is counted: the messages hold no more
COUNTED, MEASURED = ("steps", "calls", "tokens", "poses"), ("metres", "seconds", "money")
KEPT = 1  # of the model's calls: the last one is for the answer
POSE_STEP_M = 3.0  # between two poses, at most
_MANY = 999.0  # drives left; a robot that has hardly moved tells nothing
_UNITS = {"steps": "steps", "metres": "metres", "seconds": "seconds", "calls": "model calls", "tokens": "model tokens",
          "money": "units of money", "poses": "poses"}
_SAID = "ended by the limit of "
_FOUND = re.compile(f"(?:^|; ){_SAID}([^;]+)$")
_NO_CALLS = "calls: the question may make no more of them"
_LEAST_REPLY = 32  # tokens: a shorter reply says nothing
_CHARS_PER_TOKEN, _IMAGE_TOKENS = 4, 255  # what a call reads, before the server has counted it


class Ledger:
    """All that one question costs, counted from where it begins, and held to its limits.

    limit: the limit that ended the search, in words; "" where none did. travelled: as of the last `update`; poses: of
    the drives so far and the start, as HM-EQA counts them. Before it begins a question may be worked on without moving
    (`apart`): that time and its calls count; what is driven meanwhile, for another question, does not.
    """

    def __init__(self, limits: Limits, odometry: Odometry, answerer: Answerer, canceled: Callable[[], bool]) -> None:
        self.limits, self.limit, self.canceled = limits, "", canceled
        self._odometry, self._answerer = odometry, answerer
        self._spent_before = answerer.spent()
        self._apart_s = 0.0
        self._dearest = Receipt()  # the most that one turn of the model took
        self._began_s: float | None = None
        self._at_start: Travelled | None = None
        self.travelled, self.poses = Travelled(0, 0.0), 1

    def begin(self) -> None:
        """Count steps, metres and seconds from here. Raises EqaError when the odometry does not answer."""
        self._began_s = time.monotonic()
        self._at_start = self._odometry.travelled()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Count the time of what is done for the question before it begins."""
        began_s = time.monotonic()
        try:
            yield
        finally:
            self._apart_s += time.monotonic() - began_s

    def update(self) -> Travelled:
        """Return steps and metres so far. Raises EqaError when the odometry does not answer."""
        if self._at_start is not None:
            now, start = self._odometry.travelled(), self._at_start
            self.travelled = Travelled(now.steps - start.steps, now.metres - start.metres)
        return self.travelled

    def receipt(self, privileged: tuple[str, ...] = ()) -> Receipt:
        """Return the receipt by the last update. privileged: what the answer rests on; empty = the answerer's own."""
        spent = self._answerer.spent().model_since(self._spent_before)
        worked_s = self._apart_s + (time.monotonic() - self._began_s if self._began_s is not None else 0.0)
        return replace(spent, steps=self.travelled.steps, metres=self.travelled.metres, seconds=worked_s,
                       privileged=privileged or spent.privileged, limit=self.limit)

    def seconds_left(self) -> float:
        """Return how long the question may still be worked on, inf for no limit."""
        return left(self.limits.seconds, self.receipt().seconds)

    def reached(self) -> bool:
        """Return whether a limit has ended the search. Raises Canceled."""
        self.check_canceled()
        self.limit = self.limit or self._reached(self.limits)
        return bool(self.limit)

    def used_up(self) -> bool:
        """Return whether nothing more may be done for the question."""
        return bool(self.limit or self._reached(self.limits))

    def note(self, name: str) -> None:
        """Note that a drive was ended by a limit; name: a field of Limits."""
        self.limit = self.limit or in_words(self.limits, name)

    def check_canceled(self) -> None:
        """Raise Canceled when the caller has canceled the question."""
        if self.canceled():
            raise Canceled("canceled by the caller")

    def calls_left(self) -> int:
        """Return how many calls of the model are left after the next one, the one kept for the answer included."""
        return max(0, self.limits.calls - self.receipt().calls - 1)

    def on_last_call(self) -> bool:
        """Return whether the call that is kept for the answer is the only one left, and no other limit is reached."""
        calls = self.limits.calls
        return bool(calls and self.receipt().calls + KEPT == calls and not self.limit
                    and not self._reached(self.limits._replace(calls=0)))

    def drives_left(self, driven: int) -> int:
        """Return about how many drives are left by the limits of steps, metres and poses, -1 where none can be told.

        driven: drives so far, which say how long one is.
        """
        spent, limits = self.receipt(), self.limits
        paths = ((limits.steps, spent.steps), (limits.metres, spent.metres), (limits.poses - 1, self.poses - 1))
        used = [(limit, now) for limit, now in paths if limit > 0 and now and driven]
        return min((int(min(max(0.0, limit - now) / now * driven, _MANY)) for limit, now in used), default=-1)

    def allowance(self) -> Allowance:
        """Return what a drive that begins now may use. Raises EqaError when the odometry does not answer."""
        self.update()
        spent = self.receipt()
        return Allowance(left(self.limits.steps, spent.steps), metres_left(self.limits, spent.metres, self.poses),
                         left(self.limits.seconds, spent.seconds), self.limits.area)

    @contextmanager
    def drive(self) -> Iterator[None]:
        """Count the poses of the drive inside."""
        before = self.update().metres
        yield
        self.poses += poses_of(self.update().metres - before)

    def asked(self, call: Callable[[], T], otherwise: T, keep: bool = True) -> T:
        """Return what a call of the answerer returns, held to what the model may still cost.

        keep: the last call is kept for the answer. otherwise: returned where the limits allow no call; then they have
        ended the search.
        """
        try:
            with self._turn(), spending(self._budget(keep)):
                return call()
        except LimitReached as error:
            self.limit = self.limit or exceeded(error, self.limits)
            return otherwise

    def _reached(self, limits: Limits) -> str:
        """Return the limit that is reached now, in words, "" where none is. The model's last call is kept."""
        self.update()
        spent = self.receipt()
        so_far = {"steps": spent.steps, "metres": spent.metres, "seconds": spent.seconds,
                  "calls": spent.calls + KEPT if spent.calls else 0, "tokens": spent.tokens_in + spent.tokens_out,
                  "money": spent.money, "poses": self.poses}
        names = (name for name, value in so_far.items() if 0 < getattr(limits, name) <= value)
        return next((in_words(limits, name) for name in names), "")

    def _budget(self, keep: bool) -> CallBudget:
        """Return what the model's next turn may cost. keep: leave enough for the answer, as far as that is known."""
        limits, spent, kept = self.limits, self.receipt(), self._dearest if keep else Receipt()
        return CallBudget(left(limits.calls, spent.calls + KEPT * keep),
                          left(limits.tokens, spent.tokens_in + spent.tokens_out + kept.tokens_in + kept.tokens_out),
                          left(limits.money, spent.money + kept.money))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Note what the model's turn inside costs: the answer may cost as much."""
        before = self._answerer.spent()
        try:
            yield
        finally:
            now, most = self._answerer.spent().model_since(before), self._dearest
            self._dearest = Receipt(tokens_in=max(most.tokens_in, now.tokens_in),
                                    tokens_out=max(most.tokens_out, now.tokens_out), money=max(most.money, now.money))


def check_limits(limits: Limits) -> None:
    """Raises BadQuestion for a limit that is negative, infinite or no number; 0 is no limit."""
    for name in (*COUNTED, *MEASURED):
        value = getattr(limits, name)
        if not (math.isfinite(value) and value >= 0):
            raise BadQuestion(f"the limit of {name} is {value}: it must be a number above 0, or 0 for no limit")
        if name in COUNTED and (value != int(value) or value > MOST):
            raise BadQuestion(f"the limit of {name} is {value}: it must be a whole number up to {MOST}, 0 = no limit")
    check_area(limits.area)


def poses_of(drive_m: float) -> int:
    """Return how many poses a drive of that length adds. HM-EQA (Ren et al. 2024).

    Its robot moves at most 3 m from one pose to the next, and each drive ends in a pose, however short it is.
    """
    return max(1, math.ceil(round(drive_m, 6) / POSE_STEP_M))


def left(limit: float, spent: float) -> float:
    """Return what is left of a limit; inf for none, which is 0."""
    return max(limit - spent, 0) if limit else math.inf


def metres_left(limits: Limits, metres: float, poses: int) -> float:
    """Return how far a drive may go by the limits of metres and of poses. metres, poses: so far."""
    return min(left(limits.metres, metres), POSE_STEP_M * left(limits.poses, poses))


def in_words(limits: Limits, name: str) -> str:
    """Return a limit with its value, as in "30 steps"."""
    value = getattr(limits, name)
    return f"{value if name in COUNTED else format(value, 'g')} {_UNITS[name]}"


def exceeded(error: LimitReached, limits: Limits) -> str:
    """Return the limit that an error of the model's turn names, in words."""
    name = str(error).partition(":")[0]
    return in_words(limits, name) if name in _UNITS else str(error)


def limit_in_words(limit: str) -> str:
    """Return what an answer's message says of the limit that ended the search; "" for none."""
    return f"{_SAID}{limit}" if limit else ""


def limit_in(message: str) -> str:
    """Return the limit that `limit_in_words` put into a message, "" if there is none."""
    found = _FOUND.search(message)
    return found[1] if found else ""


class CallBudget(NamedTuple):
    """What may be spent; inf = no limit."""

    calls: float = math.inf
    tokens: float = math.inf
    money: float = math.inf


UNLIMITED = CallBudget()


class _Open:
    """A purse that is being spent. kept: calls of it that are for something else.

    running: what the call that is being made has cost so far; a backend may send several requests for one.
    """

    def __init__(self, purse: CallBudget) -> None:
        self.purse, self.spent, self.kept = purse, Usage(), 0
        self.running: Callable[[], Usage] = Usage

    def left(self) -> CallBudget:
        spent = self.spent + self.running()
        return CallBudget(self.purse.calls - self.kept - spent.calls,
                          self.purse.tokens - spent.tokens_in - spent.tokens_out, self.purse.money - spent.money)


_OPEN: ContextVar[_Open | None] = ContextVar("_OPEN", default=None)


@contextmanager
def spending(purse: CallBudget) -> Iterator[None]:
    """Hold the calls that are made inside, by this thread, to a purse. They raise LimitReached when it is empty."""
    token = _OPEN.set(_Open(purse) if purse != UNLIMITED else None)
    try:
        yield
    finally:
        _OPEN.reset(token)


@contextmanager
def keeping(calls: int) -> Iterator[None]:
    """Keep so many calls of the purse for what comes after."""
    purse = _OPEN.get()
    if purse is None:
        yield
        return
    purse.kept += calls
    try:
        yield
    finally:
        purse.kept -= calls


def affordable(asks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """Yield what each returns, up to the one that the purse does not allow; a call is kept for the answer itself."""
    for ask in asks:
        try:
            with keeping(1):
                said = ask()
        except LimitReached:
            return
        yield said


def budget_left() -> CallBudget:
    """Return what may be spent now."""
    purse = _OPEN.get()
    return UNLIMITED if purse is None else purse.left()


def repeats(most: int) -> int:
    """Return how often a request may be sent again when it fails. Raises LimitReached where it may not be sent at all.

    Each time counts as a call of the question. most: what the backend's settings allow.
    """
    calls = budget_left().calls
    if calls < 1:
        raise LimitReached(_NO_CALLS)
    return int(min(most, calls - 1))


def spare_tokens(usage: Usage, messages: Sequence[Message], max_tokens: int, most: int) -> int:
    """Return how many tokens a reply may have beyond max_tokens by what is left, at most `most`.

    usage: of the model so far.
    """
    purse = _OPEN.get()
    if purse is None:
        return most
    try:
        return max(0, _reply_within(purse.left(), usage, messages, max_tokens + most) - max_tokens)
    except LimitReached:
        return 0


class BudgetedBackend:
    """A backend whose calls are held to the purse around them. Implements Backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self.model = backend, backend.model

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._backend.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None) -> Completion:
        """Return the model's next turn, no longer than is left. Raises LimitReached, and what the backend raises."""
        return self._paid(messages, max_tokens,
                          lambda most: generate_with(self._backend, messages, most, seed, schema))

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        """Return how probable the model holds each option. Raises as `generate`."""
        return self._paid(messages, _LEAST_REPLY, lambda _: self._backend.choose(messages, options, seed))

    def close(self) -> None:
        """Release connections."""
        self._backend.close()

    def _paid(self, messages: Sequence[Message], max_tokens: int, call: Callable[[int], T]) -> T:
        purse = _OPEN.get()
        if purse is None:
            return call(max_tokens)
        before = self._backend.usage
        most = _reply_within(purse.left(), before, messages, max_tokens)
        purse.running = lambda: self._backend.usage - before
        try:
            return call(most)
        finally:  # failed calls cost too
            purse.spent, purse.running = purse.spent + purse.running(), Usage


def _reply_within(purse: CallBudget, usage: Usage, messages: Sequence[Message], max_tokens: int) -> int:
    """Return how long a reply may be, tokens. Raises LimitReached where no call may be made.

    usage: of the model so far, which tells what a token costs on average.
    """
    if purse.calls < 1:
        raise LimitReached(_NO_CALLS)
    tokens = usage.tokens_in + usage.tokens_out
    payable = purse.money * tokens / usage.money if usage.money else math.inf
    reply = min(purse.tokens, payable) - tokens_read(messages)
    if purse.money <= 0 or reply < min(_LEAST_REPLY, max_tokens):
        name = "tokens" if purse.tokens <= payable and purse.money > 0 else "money"
        raise LimitReached(f"{name}: what is left does not do for another call")
    return int(min(max_tokens, reply))


def tokens_read(messages: Sequence[Message]) -> float:
    """Return about how many tokens a model reads, before it has counted them."""
    parts = [part for message in messages for part in message.parts]
    return sum(len(part) / _CHARS_PER_TOKEN if isinstance(part, str) else _IMAGE_TOKENS for part in parts)


class MeteredAnswerer:
    """An answerer that several questions share, as one of them sees it: `spent` is what its own calls cost.

    Implements Answerer. turn: the same for all of them; one call at a time, or nobody could say whose cost is whose.
    """

    def __init__(self, answerer: Answerer, turn: threading.Lock) -> None:
        self._answerer, self._turn = answerer, turn
        nothing = Receipt()
        self._spans: list[tuple[Receipt, Receipt]] = [(nothing, nothing)]  # spent before and after

    def spent(self) -> Receipt:
        """Return what this question's calls cost."""
        spent = Receipt()
        for before, after in self._spans:
            spent = spent.with_model(after.model_since(before))
        return replace(spent, privileged=self._answerer.spent().privileged)

    def why_unanswerable(self, question: Question) -> str:
        """Return what the shared answerer objects to; that costs nothing."""
        return self._answerer.why_unanswerable(question)

    def regions(self, question: Question) -> list[RankedRegion]:
        """Return the regions of the shared answerer."""
        return self._paid(lambda: self._answerer.regions(question))

    def assess(self, question: Question, views: Sequence[Keyframe]) -> list[ViewAssessment]:
        """Let the shared answerer judge."""
        return self._paid(lambda: self._answerer.assess(question, views))

    @property
    def advises(self) -> bool:
        """Whether the shared answerer takes briefs."""
        return adviser_of(self._answerer) is not None

    def advise(self, question: Question, brief: DecisionRequest) -> DecisionReply:
        """Let the shared answerer advise. Raises TypeError for one that takes no briefs."""
        adviser = adviser_of(self._answerer)
        if adviser is None:
            raise TypeError("the shared answerer takes no briefs")
        return self._paid(lambda: adviser.advise(question, brief))

    def answer(self, question: Question, items: Sequence[Recalled]) -> Answer:
        """Let the shared answerer answer."""
        return self._paid(lambda: self._answerer.answer(question, items))

    def _paid(self, call: Callable[[], T]) -> T:
        with self._turn:
            before = self._answerer.spent()
            try:
                return call()
            finally:  # failed calls cost too
                self._put(before, self._answerer.spent())

    def _put(self, before: Receipt, after: Receipt) -> None:
        """Add a span; one that follows on the last, as alone they all do, joins it: money is not rounded twice."""
        first, last = self._spans[-1]
        self._spans = ([*self._spans[:-1], (first, after)] if last == before else [*self._spans, (before, after)])
