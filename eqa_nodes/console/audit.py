"""Who asked, stopped and looked: JSON lines that are only appended to, rotated and bounded.

A thread writes, so that no request and no stop waits for a disk. What cannot be written waits in memory, is counted
when it must be dropped, and is told to the operator; questions go on.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from eqa_nodes.core.errors import ConfigError

BYTES, FILES = 5_000_000, 5  # of one file; files in all: the older ones end with .1 to .4
WAITING = 2000  # entries that wait for a disk; the oldest are dropped
SHOWN = 200  # newest entries that are shown
SELDOM_S = 60.0  # between two equal entries of what happens many times a second
_AGAIN_S = 2.0  # between two tries
_KEYS = 500  # of seldom entries that are remembered
_CLOSE_S = 3.0


class AuditLog:
    """The log of one console; use `close` at the end. trouble: why entries are not on the disk, "" = they are."""

    def __init__(self, path: Path, texts: bool = False, size: int = BYTES, again_s: float = _AGAIN_S,
                 ring: Callable[[], None] = lambda: None) -> None:
        """texts: questions are written too. ring: called when `trouble` changes. Raises ConfigError."""
        self.path, self.texts, self.trouble = path, texts, ""
        self.dropped = 0
        self._size, self._again_s, self._ring = size, again_s, ring
        self._waiting: deque[dict[str, object]] = deque()
        self._seldom: dict[object, float] = {}
        self._newest: deque[dict[str, object]] = deque(maxlen=SHOWN)
        self._turn = threading.Condition()
        self._closing = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = path.with_name(f"{path.name}.lock").open("w")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._open().close()
        except BlockingIOError as error:
            raise ConfigError(f"another console writes the audit log {path}: name another file (--audit)") from error
        except OSError as error:
            raise ConfigError(f"the audit log {path} cannot be written ({error}): name another file (--audit)"
                              ) from error
        self._thread = threading.Thread(target=self._write, name="audit", daemon=True)
        self._thread.start()

    def note(self, action: str, user: str = "", address: str = "", outcome: str = "ok", **more: object) -> None:
        """Write that somebody did something. more: what else is worth keeping, JSON values."""
        entry = {"time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), "user": user, "action": action,
                 "address": address, "outcome": outcome, **more}
        with self._turn:
            self._newest.append(entry)
            if len(self._waiting) >= WAITING:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(entry)
            self._turn.notify_all()

    def seldom(self, action: str, user: str, address: str, outcome: str = "ok", **more: object) -> None:
        """Write what happens many times a second once a minute."""
        key, now = (action, user, address, outcome, *more.items()), time.monotonic()
        with self._turn:
            if now - self._seldom.get(key, -SELDOM_S) < SELDOM_S:
                return
            self._seldom.pop(key, None)
            self._seldom[key] = now
            while len(self._seldom) > _KEYS:
                del self._seldom[next(iter(self._seldom))]
        self.note(action, user, address, outcome, **more)

    def newest(self) -> list[dict[str, object]]:
        """Return the newest entries, the newest first."""
        with self._turn:
            return list(self._newest)[::-1]

    def close(self) -> None:
        """Write what waits, if the disk takes it; a second call does nothing."""
        with self._turn:
            self._closing = True
            self._turn.notify_all()
        self._thread.join(_CLOSE_S)
        self._lock.close()

    def _write(self) -> None:
        while True:
            with self._turn:
                while not self._waiting and not self._closing:
                    self._turn.wait()
                if not self._waiting:
                    return
                batch, dropped = list(self._waiting), self.dropped
            if self._written(batch, dropped):
                with self._turn:
                    for entry in batch:
                        if self._waiting and self._waiting[0] is entry:
                            self._waiting.popleft()
                    self.dropped -= dropped
                self._tell("")
            elif self._closing:
                return
            else:
                with self._turn:
                    self._turn.wait_for(lambda: self._closing, self._again_s)

    def _written(self, batch: list[dict[str, object]], dropped: int) -> bool:
        lost = [{"time": batch[0]["time"], "action": "entries lost", "count": dropped}] if dropped else []
        text = "".join(json.dumps(entry) + "\n" for entry in (*lost, *batch)).encode()
        try:
            if self.path.exists() and self.path.stat().st_size + len(text) > self._size:
                self._rotate()
            with self._open() as file:
                before = file.seek(0, os.SEEK_END)
                try:
                    left = memoryview(text)
                    while left:
                        left = left[file.write(left):]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(before)  # no line may begin in the middle of another
                    raise
        except OSError as error:
            self._tell(f"the audit log {self.path} cannot be written ({error.strerror or error}): free space there; "
                       f"{len(self._waiting)} entries wait" + f", {self.dropped} are lost" * bool(self.dropped))
            return False
        return True

    def _open(self):  # type: ignore[no-untyped-def]
        return os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "r+b",
                         buffering=0)

    def _rotate(self) -> None:
        for number in range(FILES - 1, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            newer = self.path if number == 1 else self.path.with_name(f"{self.path.name}.{number - 1}")
            if newer.exists():
                os.replace(newer, older)

    def _tell(self, trouble: str) -> None:
        if trouble != self.trouble:
            self.trouble = trouble
            self._ring()
