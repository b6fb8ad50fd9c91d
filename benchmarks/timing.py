"""Timing functions and the form of a figure, shared by all benchmarks."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class Figure(NamedTuple):
    """A row of the table. baseline: value measured in the same run for comparison; ratio: our value / baseline."""

    name: str
    median_ms: float | None = None
    baseline: str = ""
    ratio: float | None = None
    note: str = ""


def times_ms(work: Callable[[], object], repeats: int, warm_up: int = 0) -> list[float]:
    """Return the duration of each repetition, milliseconds, without the warm-up."""
    return [time_ms(work) for _ in range(warm_up + repeats)][warm_up:]


def time_ms(work: Callable[[], object]) -> float:
    """Return the duration of a call, milliseconds."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def median_ms(work: Callable[[], object], repeats: int, warm_up: int = 0) -> float:
    """Return the median of `times_ms`."""
    return statistics.median(times_ms(work, repeats, warm_up))


def resident_mb(pid: int | str = "self") -> float:
    """Return the current resident memory of a process, MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process so far, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
