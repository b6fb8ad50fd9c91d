"""Finds the running session's map among the maps of earlier sessions, from the depth of their views."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from eqa_nodes.core.errors import BadFrame, EqaError, StorageError
from eqa_nodes.core.memory.store import MemoryStore
from eqa_nodes.core.types.views import Keyframe

if TYPE_CHECKING:  # scipy and numba: half a second and 100 MB, which a memory without relocalisation does not need
    from eqa_nodes.core.relocalisation.place import KnownStorey
    from eqa_nodes.core.relocalisation.registration import Registration

EVERY = 6  # number of keyframes of the running session between attempts
AFTER_NS = 2_000_000_000  # difference of stamps after which the result of an attempt is used


def register_maps(store: MemoryStore, name: str, known: str) -> Registration:
    """Return the registration of one map in another. Raises StorageError for an unknown map or without depth."""
    if name == known:
        raise StorageError(f"the map {name!r} cannot lie in itself: name another one that is known")
    return _register(_places(store.views_of_map(name), name), _places(store.views_of_map(known), known))


def _register(places: list[KnownStorey], known: list[KnownStorey]) -> Registration:
    from eqa_nodes.core.relocalisation.registration import register

    return register(places, known)


def _places(views: list[Keyframe], name: str) -> list[KnownStorey]:
    from eqa_nodes.core.relocalisation.place import places_of

    try:
        return places_of(views)
    except BadFrame as error:
        raise StorageError(f"the map {name!r} cannot be aligned: {error}") from error


class Attempt(NamedTuple):
    """A running comparison. due_ns: stamp from which on its result is used."""

    known: str
    due_ns: int
    thread: threading.Thread
    result: list[Registration | EqaError]


class Relocaliser:
    """Compares the running session's map with the known maps, one map after every EVERY keyframes.

    The comparison runs in a thread. Its result is used at the first frame stamped AFTER_NS later, or at the first
    query of the memory, whichever is earlier; that call waits for it. So the contents of memory depend only on frames
    and queries, not on the speed of the computer, and the robot does not wait.
    """

    def __init__(self, store: MemoryStore, tell: Callable[[str], None] = lambda text: None) -> None:
        """tell: receives a line of text if a map is found, or if a comparison failed."""
        self._store, self._tell = store, tell
        self._running: Attempt | None = None
        self._places: dict[str, tuple[list[int], list[KnownStorey]]] = {}
        self.begin()

    def begin(self) -> None:
        """Reset for a new session."""
        self.drop()
        self._kept = self._tried = 0
        self.last = ""  # result of the last attempt

    def saw(self, stamp_ns: int, kept: bool) -> None:
        """Process a frame. kept: whether it became a keyframe."""
        if self._running is not None and stamp_ns >= self._running.due_ns:
            self.settle()
        self._kept += kept
        if kept and self._kept % EVERY == 0 and self._running is None:
            self._attempt(stamp_ns)

    def settle(self) -> None:
        """Wait for a running attempt, and align the maps if the result is certain."""
        if self._running is None:
            return
        attempt, self._running = self._running, None
        attempt.thread.join()
        outcome = attempt.result[0] if attempt.result else EqaError("it ended in an error that the log shows")
        if isinstance(outcome, EqaError):
            self._end(f"the map could not be compared with {attempt.known!r}: {outcome}", True)
        elif outcome.refused:
            self._end(f"not in the map {attempt.known!r}: {outcome.refused}", False)
        elif attempt.known in self._store.unrelated_maps():  # not aligned by another call meanwhile
            self._store.align(self._store.running_map(), attempt.known, outcome.transform())
            self._end(f"the map was found to lie in {attempt.known!r}: what is known of it counts here ("
                      f"{describe(outcome)})", True)

    def _end(self, text: str, worth_telling: bool) -> None:
        self.last = text
        if worth_telling:
            self._tell(text)

    def _attempt(self, stamp_ns: int) -> None:
        """Start a comparison with the next known map if the running map is unknown."""
        others = self._store.unrelated_maps()
        if not others:
            return
        known = others[self._tried % len(others)]
        self._tried += 1
        mine, theirs = self._store.views_of_map(self._store.running_map()), self._store.views_of_map(known, True)
        result: list[Registration | EqaError] = []
        thread = threading.Thread(target=self._compare, args=(mine, known, theirs, result), daemon=True)
        self._running = Attempt(known, stamp_ns + AFTER_NS, thread, result)
        thread.start()

    def _compare(self, mine: list[Keyframe], known: str, theirs: list[Keyframe],
                 result: list[Registration | EqaError]) -> None:
        try:
            ids = [k.id for k in theirs]
            if known not in self._places or self._places[known][0] != ids:
                self._places = {known: (ids, _places(theirs, known))}
            result.append(_register(_places(mine, self._store.running_map()), self._places[known][1]))
        except EqaError as error:
            result.append(error)

    def drop(self) -> None:
        """Drop the running attempt and all data read for it, because some of it may have been forgotten."""
        if self._running is not None:
            self._running.thread.join()
        self._running = None
        self._places = {}


def describe(found: Registration) -> str:
    """Return the quality of an alignment for display."""
    return (f"overlap {found.overlap:.2f}, agreement {found.agreement:.2f}, of walls {found.structure:.2f}, lying "
            f"{found.lying:.2f}, second best {found.second:.2f}")
