"""Nav2's stand-in, which fails as Nav2 does: by its own codes, or because its BT navigator dies or hangs in a drive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.chaos.schedule import ABORTS, HANGS, KILLED
from eqa_nodes.testing.nav2 import Failed, StandIn


class Failing(StandIn):
    """Drives, but for the drives that the schedule takes away from it. failed: how many."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._fail = ("", 0, 0)
        self._drives = self.failed = 0
        self._mended = threading.Event()
        super().__init__(environment)

    def fail(self, how: str, first: int, drives: int) -> None:
        """Let drives fail from one on (counted from now), so many of them; "" = none, and all servers run again."""
        self._fail, self._drives, self.failed = (how, first, drives), 0, 0
        if how:
            self._mended.clear()
        else:
            self._mended.set()
            self.start_navigator()

    def _go(self, request: Any, going_on: Callable[[], bool]) -> None:
        how, first, drives = self._fail
        number, self._drives = self._drives, self._drives + 1
        if how and first <= number < first + drives:
            self.failed += 1
            if how in ABORTS:
                raise Failed(ABORTS[how], f"{how} (drill)")
            if how == KILLED:
                threading.Thread(target=self.kill_navigator, daemon=True).start()
            going_on = self._hanging(going_on) if how == HANGS else going_on
        super()._go(request, going_on)

    def _hanging(self, going_on: Callable[[], bool]) -> Callable[[], bool]:
        """Let a drive begin, and then neither feedback come nor a cancel be heard; the controller drives on."""
        begun = False

        def hangs() -> bool:
            nonlocal begun
            if begun:
                self._mended.wait()
            begun = True
            return going_on()

        return hangs
