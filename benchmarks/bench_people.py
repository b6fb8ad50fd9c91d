"""Questions in houses with three people who sit, stand and walk about, with each driver: answers, drives, contacts."""

from __future__ import annotations

from benchmarks.bench_drivers import measured


def rows() -> list[dict[str, object]]:
    """Return a row a driver."""
    return measured("house-people", 1)
