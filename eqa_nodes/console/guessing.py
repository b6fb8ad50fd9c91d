"""Limits wrong tokens of an address, so that none is found by trying and no log is filled.

A page that goes on asking with one revoked token counts once. Whoever has a right token is never held up by others.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

WRONG, WITHIN_S = 10, 60.0  # different wrong tokens of one address, after which it waits until the oldest is so old
_ADDRESSES = 1000  # that are remembered


class WrongTokens:
    """Wrong tokens of the last minute, by address. Any thread may call."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._lock = now, threading.Lock()
        self._wrong: OrderedDict[str, dict[bytes, float]] = OrderedDict()

    def wrong(self, address: str, token: str) -> bool:
        """Note a wrong token; return whether it is a new one, and not one too many."""
        with self._lock:
            tried = self._recent(address)
            key = hashlib.sha256(token.encode("utf-8", "replace")).digest()
            new = key not in tried and len(tried) < WRONG
            if new:
                tried[key] = self._now()
            self._wrong[address] = tried
            self._wrong.move_to_end(address)
            while len(self._wrong) > _ADDRESSES:
                self._wrong.popitem(last=False)
            return new

    def wait_s(self, address: str) -> float:
        """Return how long an address has to wait before it may try another token, 0 = not at all."""
        with self._lock:
            tried = self._recent(address)
            return max(0.0, min(tried.values()) + WITHIN_S - self._now()) if len(tried) >= WRONG else 0.0

    def _recent(self, address: str) -> dict[bytes, float]:
        after = self._now() - WITHIN_S
        return {key: at for key, at in self._wrong.get(address, {}).items() if at > after}
