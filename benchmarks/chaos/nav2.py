"""Nav2's stand-in, which gives up drives with Nav2's own codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.chaos.schedule import ABORTS
from eqa_nodes.testing.nav2 import Failed, StandIn


class Aborting(StandIn):
    """Drives, but for the drives that the schedule takes away from it. failed: how many."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._fail = ("", 0, 0)
        self._drives = self.failed = 0
        super().__init__(environment)

    def fail(self, how: str, first: int, drives: int) -> None:
        """Give up drives from one on (counted from now), so many of them; "" = none."""
        self._fail, self._drives, self.failed = (how, first, drives), 0, 0

    def _go(self, handle: Any) -> None:
        how, first, drives = self._fail
        number, self._drives = self._drives, self._drives + 1
        if how and first <= number < first + drives:
            self.failed += 1
            raise Failed(ABORTS[how], f"{how} (drill)")
        super()._go(handle)
