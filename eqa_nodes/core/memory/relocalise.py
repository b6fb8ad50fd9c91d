"""Finds the map of the running session among those of earlier sessions, by the depth of their views."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from eqa_nodes.core.errors import BadFrame, EqaError, StorageError
from eqa_nodes.core.memory.store import MemoryStore
from eqa_nodes.core.relocalisation.place import KnownStorey, places_of
from eqa_nodes.core.relocalisation.registration import Registration, register
from eqa_nodes.core.types.views import Keyframe

EVERY = 6  # keyframes of the running session from one attempt to the next
AFTER_NS = 2_000_000_000  # by the stamps: when the result of an attempt is taken in


def register_maps(store: MemoryStore, name: str, known: str) -> Registration:
    """Return where one map of a memory lies in another. Raises StorageError for an unknown map or without depth."""
    if name == known:
        raise StorageError(f"the map {name!r} cannot lie in itself: name another one that is known")
    return register(_places(store.views_of_map(name), name), _places(store.views_of_map(known), known))


def _places(views: list[Keyframe], name: str) -> list[KnownStorey]:
    try:
        return places_of(views)
    except BadFrame as error:
        raise StorageError(f"the map {name!r} cannot be aligned: {error}") from error


class Attempt(NamedTuple):
    """One comparison under way. due_ns: the stamp from which on its result is taken in."""

    known: str
    due_ns: int
    thread: threading.Thread
    result: list[Registration | EqaError]


class Relocaliser:
    """Compares the running session's map with the known ones, one of them after every EVERY keyframes.

    The comparison runs in a thread; its result is taken in with the first frame that is stamped AFTER_NS later, or when
    memory is asked, whichever is first, and is waited for then. So what memory holds depends on frames and questions
    alone, not on the speed of the machine, and a robot does not wait.
    """

    def __init__(self, store: MemoryStore, tell: Callable[[str], None] = lambda text: None) -> None:
        """tell: gets one line when a map is found, and when a comparison could not be made."""
        self._store, self._tell = store, tell
        self._running: Attempt | None = None
        self._places: dict[str, tuple[list[int], list[KnownStorey]]] = {}
        self.begin()

    def begin(self) -> None:
        """A session begins."""
        self.drop()
        self._kept = self._tried = 0
        self.last = ""  # how the last attempt ended

    def saw(self, stamp_ns: int, kept: bool) -> None:
        """Note a frame; kept: it became a keyframe."""
        if self._running is not None and stamp_ns >= self._running.due_ns:
            self.settle()
        self._kept += kept
        if kept and self._kept % EVERY == 0 and self._running is None:
            self._attempt(stamp_ns)

    def settle(self) -> None:
        """Wait for the attempt under way, if there is one, and align the maps where it is certain."""
        if self._running is None:
            return
        attempt, self._running = self._running, None
        attempt.thread.join()
        outcome = attempt.result[0] if attempt.result else EqaError("it ended in an error that the log shows")
        if isinstance(outcome, EqaError):
            self._end(f"the map could not be compared with {attempt.known!r}: {outcome}", True)
        elif outcome.refused:
            self._end(f"not in the map {attempt.known!r}: {outcome.refused}", False)
        elif attempt.known in self._store.unrelated_maps():  # nobody has aligned them meanwhile
            self._store.align(self._store.running_map(), attempt.known, outcome.transform())
            self._end(f"the map was found to lie in {attempt.known!r}: what is known of it counts here ("
                      f"{describe(outcome)})", True)

    def _end(self, text: str, worth_telling: bool) -> None:
        self.last = text
        if worth_telling:
            self._tell(text)

    def _attempt(self, stamp_ns: int) -> None:
        """Begin to compare with the next of the known maps, where the running one is unknown."""
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
            result.append(register(_places(mine, self._store.running_map()), self._places[known][1]))
        except EqaError as error:
            result.append(error)

    def drop(self) -> None:
        """Give up the attempt under way, and all that was read for it: something of it may have been forgotten."""
        if self._running is not None:
            self._running.thread.join()
        self._running = None
        self._places = {}


def describe(found: Registration) -> str:
    """Return how well two maps fit, for people."""
    return (f"overlap {found.overlap:.2f}, agreement {found.agreement:.2f}, of walls {found.structure:.2f}, lying "
            f"{found.lying:.2f}, second best {found.second:.2f}")
