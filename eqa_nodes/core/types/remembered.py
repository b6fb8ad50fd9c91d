"""Queries to memory and their results."""

from __future__ import annotations

from typing import NamedTuple

from eqa_nodes.core.types.questions import Evidence
from eqa_nodes.core.types.views import Keyframe


class Recalled(NamedTuple):
    """A keyframe that memory returns for a query, with its score (higher is better) and why."""

    keyframe: Keyframe
    score: float
    why: str


class RecallQuery(NamedTuple):
    """What to look for in memory. Conditions combine; an empty text, near or window does not restrict.

    A time that the text names ("yesterday evening", "last time") is the window where none is given; a room that it
    names as a place ("near the kitchen") counts as one more reason.
    """

    text: str = ""
    limit: int = 12
    after_ns: int = 0
    before_ns: int = 0  # 0 = now
    near: tuple[float, float, float] | None = None  # x, y, radius in metres, map frame


class MemoryObject(NamedTuple):
    """One object as memory knows it, put together from many views.

    low, high: corners of its box, metres, map frame (of the session it was last seen in: here False means that no
    transform from there to this session's map is known); times: looks in which it was seen; gone_ns: stamp of the look
    that found its place empty, 0 = it was there when last looked; keyframe_id, bbox: its best view.
    """

    id: int
    kind: str
    room: str
    attributes: dict[str, str]  # at its last sighting: colour, material, state, support, relation
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    times: int
    first_ns: int
    last_ns: int
    gone_ns: int
    keyframe_id: int
    bbox: tuple[int, int, int, int]
    here: bool = True

    @property
    def centre(self) -> tuple[float, float, float]:
        """Return the middle of its box."""
        (x, y, z), (u, v, w) = self.low, self.high
        return (x + u) / 2, (y + v) / 2, (z + w) / 2


class Recollection(NamedTuple):
    """What memory itself says to a question about the past ("When did you last see ...?"), with its proof.

    verify: it says where something is now, so that it is worth looking when it is long ago.
    """

    text: str
    confidence: float
    evidence: tuple[Evidence, ...]
    verify: bool = False
