"""Decides which stamps are believed: none from the future, so that a clock that was wrong once does no lasting harm."""

from __future__ import annotations

import json

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.memory.database import Database
from eqa_nodes.core.memory.windows import FOR_EVER
from eqa_nodes.core.types.remembered import MemoryObject


class Trust:
    """until_ns: the latest stamp that is believed, FOR_EVER while the time is unknown."""

    def __init__(self) -> None:
        self.now_ns, self.until_ns = 0, FOR_EVER

    def set_now(self, now_ns: int, ahead_s: float) -> None:
        """Return what time it is, 0 = unknown. ahead_s: by which clocks may differ, 0 = every stamp is believed."""
        self.now_ns = now_ns
        self.until_ns = now_ns + round(ahead_s * 1e9) if now_ns and ahead_s else FOR_EVER

    def check(self, stamp_ns: int) -> None:
        """Raise BadFrame for a stamp from the future."""
        if stamp_ns > self.until_ns:
            raise BadFrame("camera frame from the future, which is not remembered: it is stamped over "
                           f"{_rounded((stamp_ns - self.now_ns) / 1e9)} after now; synchronise the clocks of camera "
                           "and computer (chrony), or raise memory.ahead_s")

    def objects(self, db: Database, found: list[MemoryObject]) -> list[MemoryObject]:
        """Return the objects as known from trusted looks, in their order."""
        until = self.until_ns
        believed = (o if max(o.last_ns, o.gone_ns) <= until else _as_believed(db, o, until) for o in found)
        return [o for o in believed if o is not None]


def _as_believed(db: Database, o: MemoryObject, until: int) -> MemoryObject | None:
    """Return an object as its views up to a stamp show it, None where none of them does."""
    views = db.execute("SELECT stamp_ns, pixels, keyframe, bbox, attributes FROM seen JOIN keyframes "
                       "ON keyframes.id = keyframe WHERE object = ? AND stamp_ns <= ?", (o.id, until)).fetchall()
    if not views:
        return None
    newest, best = max(views), max(views, key=lambda view: view[1:3])
    return o._replace(attributes=json.loads(newest[4]), first_ns=min(o.first_ns, min(views)[0]),
                      last_ns=newest[0] if o.last_ns > until else o.last_ns,
                      gone_ns=o.gone_ns if o.gone_ns <= until else 0, keyframe_id=best[2],
                      bbox=tuple(json.loads(best[3])))


def _rounded(seconds: float) -> str:
    """Return a span in one of few words, so that counting by reason counts."""
    return next((words for least, words in ((365 * 86400, "a year"), (86400, "a day"), (3600, "an hour"),
                                            (60, "a minute")) if seconds >= least), "a second")
