"""What a question has cost so far, and whether that is as much as it may."""

from __future__ import annotations

import time

from eqa_nodes.core.protocols import Answerer, Odometry
from eqa_nodes.core.types import Limits, Receipt, Travelled


class Account:
    """Counts from where the question began. travelled: as last asked for by `update`, since then."""

    def __init__(self, odometry: Odometry, answerer: Answerer) -> None:
        self._odometry, self._answerer = odometry, answerer
        self._began_s, self._spent_before = time.monotonic(), answerer.spent()
        self._at_start = self.travelled = Travelled(0, 0.0)

    def begin(self) -> None:
        """Count steps and metres from here. Raises EqaError when the odometry does not answer."""
        self._at_start = self._odometry.travelled()

    def update(self) -> Travelled:
        """Return steps and metres so far. Raises EqaError when the odometry does not answer."""
        now, start = self._odometry.travelled(), self._at_start
        self.travelled = Travelled(now.steps - start.steps, now.metres - start.metres)
        return self.travelled

    def receipt(self, privileged: tuple[str, ...] = ()) -> Receipt:
        """Return the receipt by the last update. privileged: what the answer rests on; empty = the answerer's own."""
        before, now = self._spent_before, self._answerer.spent()
        return Receipt(*self.travelled, time.monotonic() - self._began_s, now.calls - before.calls,
                       now.tokens_in - before.tokens_in, now.tokens_out - before.tokens_out,
                       privileged or now.privileged, now.money - before.money)

    def reached(self, limits: Limits) -> bool:
        """Say whether any limit is reached now."""
        self.update()
        spent = self.receipt()
        pairs = ((limits.steps, spent.steps), (limits.metres, spent.metres), (limits.seconds, spent.seconds),
                 (limits.calls, spent.calls))
        return any(limit and so_far >= limit for limit, so_far in pairs)
