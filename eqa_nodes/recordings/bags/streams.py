"""Checks that the streams of a bag belong together: as many depth images and camera_info as colour, or evenly fewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from eqa_nodes.core.findings import Finding

_ENOUGH = 10  # messages from which on numbers are compared
_SAME = 0.95  # share of the larger number that is as many
_HALF = 0.5
_ONCE = 0.05  # as few camera_info messages as this were sent once for many images
_EVEN = 0.9  # share of the steps of a stream with a rate of its own that are near their median
_NEAR = 0.5  # of the median


def compared(stamps_ns: Mapping[str, Sequence[int]]) -> Iterator[Finding]:
    """Compare the numbers of messages. stamps_ns: by role (color, depth, camera_info), as they were recorded."""
    color, depth, info = (stamps_ns[role] for role in ("color", "depth", "camera_info"))
    if color and depth:
        few, many = sorted((("color", color), ("depth", depth)), key=lambda stream: len(stream[1]))
        yield from _pair("counts of images", few, many)
    images = max(("color", color), ("depth", depth), key=lambda stream: len(stream[1]))
    if info and len(info) > _ONCE * len(images[1]):
        yield from _pair("counts of camera_info", ("camera_info", info), images)


def _pair(name: str, few: tuple[str, Sequence[int]], many: tuple[str, Sequence[int]]) -> Iterator[Finding]:
    share = len(few[1]) / max(len(many[1]), 1)
    if len(many[1]) < _ENOUGH:
        return
    found = f"{len(few[1])} of {few[0]}, {len(many[1])} of {many[0]}"
    if share >= _SAME:
        yield Finding(name, "ok", found)
    elif _even(few[1], many[1]):
        yield Finding(name, "ok", f"{found}: {few[0]} has a lower rate")
    else:
        yield Finding(name, "warning" if share >= _HALF else "error", f"{found}, in no even steps: {few[0]} was lost",
                      "look at what the recorder says it lost (its log, /diagnostics), at its disk and the network; a "
                      "rate that is meant to be lower keeps even steps")


def _even(few: Sequence[int], many: Sequence[int]) -> bool:
    """Return whether a stream goes on at a rate of its own for as long as the other."""
    stamps, others = np.unique(np.array(few, np.int64)), np.array(many, np.int64)
    steps = np.diff(stamps)
    if len(stamps) < 3 or np.ptp(stamps) < _HALF * np.ptp(others):
        return False
    period = float(np.median(steps))
    return bool((abs(steps - period) <= _NEAR * period).mean() >= _EVEN)
