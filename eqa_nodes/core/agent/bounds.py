"""What may end a question early: its limits, and whoever cancels it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from eqa_nodes.core.agent.cost import KEPT, CostTracker
from eqa_nodes.core.agent.limits import exceeded, in_words
from eqa_nodes.core.agent.spending import spending
from eqa_nodes.core.errors import Canceled, LimitReached
from eqa_nodes.core.types.questions import Limits

T = TypeVar("T")


_MANY = 999.0  # drives left; a robot that has hardly moved tells nothing


class Bounds:
    """Checks the limits of one question. limit: the one that ended the search, in words; "" where none did."""

    def __init__(self, limits: Limits, cost: CostTracker, canceled: Callable[[], bool]) -> None:
        self._limits, self._cost, self._canceled = limits, cost, canceled
        self.limit = ""

    def reached(self) -> bool:
        """Say whether a limit has ended the search. Raises Canceled."""
        self.check_canceled()
        self.limit = self.limit or self._cost.reached(self._limits)
        return bool(self.limit)

    def used_up(self) -> bool:
        """Say whether nothing more may be done for the question."""
        return bool(self.limit or self._cost.reached(self._limits))

    def calls_left(self) -> int:
        """Return how many calls of the model are left after the next one, the one kept for the answer included."""
        return max(0, self._limits.calls - self._cost.receipt().calls - 1)

    def on_last_call(self) -> bool:
        """Say whether the call that is kept for the answer is the only one left, and no other limit is reached."""
        calls = self._limits.calls
        return bool(calls and self._cost.receipt().calls + KEPT == calls and not self.limit
                    and not self._cost.reached(self._limits._replace(calls=0)))

    def legs_left(self, driven: int) -> int:
        """Return about how many drives are left by the limits of steps, metres and poses, -1 where none can be told.

        driven: drives so far, which say how long one is.
        """
        spent = self._cost.receipt()
        paths = ((self._limits.steps, spent.steps), (self._limits.metres, spent.metres),
                 (self._limits.poses - 1, self._cost.poses - 1))
        used = [(limit, now) for limit, now in paths if limit > 0 and now and driven]
        return min((int(min(max(0.0, limit - now) / now * driven, _MANY)) for limit, now in used), default=-1)

    def check_canceled(self) -> None:
        """Raises Canceled when the caller has called the question off."""
        if self._canceled():
            raise Canceled("canceled by the caller")

    def note(self, name: str) -> None:
        """Note that a drive was ended by a limit; name: a field of Limits."""
        self.limit = self.limit or in_words(self._limits, name)

    def asked(self, call: Callable[[], T], otherwise: T, keep: bool = True) -> T:
        """Return what a call of the answerer returns, held to what the model may still cost.

        keep: the last call is kept for the answer. otherwise: returned where the limits allow no call; then they have
        ended the search.
        """
        try:
            with self._cost.turn(), spending(self._cost.purse(self._limits, keep)):
                return call()
        except LimitReached as error:
            self.limit = self.limit or exceeded(error, self._limits)
            return otherwise
