"""A wall clock that is set is noticed; one that is slewed is not, nor a machine that sleeps."""

from __future__ import annotations

from eqa_nodes.core.clocks import ALARM_S, WallClockMonitor

S = 10**9


class Clocks:
    def __init__(self) -> None:
        self.wall, self.boot = 1_700_000_000 * S, 1000 * S
        self.watch = WallClockMonitor(5.0, lambda: self.wall, lambda: self.boot)

    def after(self, boot_s: float, wall_s: float) -> float | None:
        self.boot, self.wall = self.boot + round(boot_s * S), self.wall + round(wall_s * S)
        return self.watch.look()


def test_a_step_is_told_for_a_while() -> None:
    clocks = Clocks()
    assert clocks.after(1.0, 1.0) is None and clocks.after(60.0, 60.03) is None  # slewed by 500 ppm
    assert clocks.after(1.0, -3599.0) == 0.0 and clocks.watch.last_s == -3600.0
    assert clocks.after(10.0, 10.0) == 10.0 and clocks.watch.jumps == 1
    assert clocks.after(1.0, 7201.0) == 0.0 and clocks.watch.last_s == 7200.0 and clocks.watch.jumps == 2
    assert clocks.after(ALARM_S, ALARM_S) is None and clocks.watch.jumps == 2
    assert clocks.after(30_000.0, 30_000.0) is None  # asleep overnight


def test_less_than_the_threshold_and_none_is_no_step() -> None:
    clocks = Clocks()
    assert clocks.after(1.0, 5.9) is None and clocks.watch.jumps == 0
    clocks.watch = WallClockMonitor(0.0, lambda: clocks.wall, lambda: clocks.boot)
    assert clocks.after(1.0, 9999.0) is None
