"""Wait for what other nodes derive from an observation: nobody decides on anything older."""

from __future__ import annotations

import threading
from typing import Any

from eqa_nodes.core.errors import StaleData
from eqa_nodes.wire import messages


class LatestMessages:
    """The newest message of each of several stamped topics."""

    def __init__(self, *keys: str) -> None:
        self._messages: dict[str, Any] = dict.fromkeys(keys)
        self._changed = threading.Condition()

    def put(self, key: str, message: Any) -> None:
        """Take in a message."""
        with self._changed:
            self._messages[key] = message
            self._changed.notify_all()

    def at(self, stamp_ns: int, deadline_s: float) -> dict[str, Any]:
        """Return all messages once none is older than the stamp. Raises StaleData naming what is late."""
        with self._changed:
            if self._changed.wait_for(lambda: not self._older(stamp_ns), deadline_s):
                return dict(self._messages)
            late = f"did not come within {deadline_s:g} s" if deadline_s else "has not come yet"
            raise StaleData(f"{', '.join(self._older(stamp_ns))} for the observation at {stamp_ns / 1e9:.3f} s {late}")

    def _older(self, stamp_ns: int) -> list[str]:
        return [k for k, m in self._messages.items() if m is None or messages.ns_of(m.header.stamp) < stamp_ns]
