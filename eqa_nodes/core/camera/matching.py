"""Matches messages with slightly different stamps into observations, for cameras that trigger streams separately."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from typing import Any

Held = list[tuple[int, Any]]


class Matcher:
    """Finds to each message of an anchor part the one of every partner that is nearest, within a tolerance.

    The observation has the anchor's stamp. What is nearest is decided as soon as something is near enough: the
    tolerance must be less than half the time between two images. A message is used once. latest: parts of which the
    last one holds until another comes (intrinsics). At most `bound` messages of a part wait.
    """

    def __init__(self, anchor: str, partners: Iterable[str], latest: Iterable[str], tolerance_ns: int,
                 bound: int) -> None:
        self._anchor, self._partners = anchor, tuple(partners)
        self._latest: dict[str, Any] = dict.fromkeys(latest)
        self._tolerance_ns, self._bound = tolerance_ns, bound
        self._held: dict[str, Held] = {part: [] for part in (anchor, *self._partners)}
        self.unmatched: list[tuple[int, str]] = []  # stamps of anchors that were let go, and why; whoever reads empties

    @property
    def parts(self) -> frozenset[str]:
        """Return the parts that are matched."""
        return frozenset((*self._held, *self._latest))

    def put(self, part: str, stamp_ns: int, message: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        """Take in a message of one of the parts; yield stamp and messages of each observation that is complete."""
        if part in self._latest:
            self._latest[part] = message
        else:
            bisect.insort(self._held[part], (stamp_ns, message), key=lambda held: held[0])
            if part != self._anchor:
                del self._held[part][:-self._bound]
        anchors = self._held[self._anchor]
        while anchors:
            lacking = self._lacking(anchors[0][0])
            if lacking and len(anchors) <= self._bound and not self._passed(anchors[0][0]):
                return
            stamp_ns, message = anchors.pop(0)
            if lacking:
                self.unmatched.append((stamp_ns, f"no {' and '.join(lacking)}"))
            else:
                yield stamp_ns, {self._anchor: message, **self._latest, **self._parts_at(stamp_ns)}

    def clear(self) -> None:
        """Forget what waits; the latest ones still hold."""
        for held in self._held.values():
            held.clear()

    def _near(self, part: str, stamp_ns: int) -> int | None:
        """Return the index of the nearest message of a part; None when none is near enough."""
        held = self._held[part]
        at = min(range(len(held)), key=lambda i: abs(held[i][0] - stamp_ns), default=None)
        return at if at is not None and abs(held[at][0] - stamp_ns) <= self._tolerance_ns else None

    def _lacking(self, stamp_ns: int) -> list[str]:
        return ([part for part, message in self._latest.items() if message is None]
                + [part for part in self._partners if self._near(part, stamp_ns) is None])

    def _passed(self, stamp_ns: int) -> bool:
        """Return whether a missing partner is lost, because later ones have arrived."""
        return any(self._near(part, stamp_ns) is None and self._held[part]
                   and self._held[part][-1][0] > stamp_ns + self._tolerance_ns for part in self._partners)

    def _parts_at(self, stamp_ns: int) -> dict[str, Any]:
        """Remove and return the partners of an anchor, and drop older ones: anchors come in order."""
        parts = {}
        for part in self._partners:
            at = self._near(part, stamp_ns)
            assert at is not None
            parts[part] = self._held[part][at][1]
            del self._held[part][:at + 1]
        return parts
