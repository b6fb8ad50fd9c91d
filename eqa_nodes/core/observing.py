"""Adds each observation to map and memory, for the in-process robot and for the nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.relocalise import Relocaliser
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.questions import Recalled, RecallQuery, Recollection
from eqa_nodes.core.types.views import Frame, Keyframe, Label

if TYPE_CHECKING:
    from eqa_nodes.core.mapping.floors import MultiFloorMapper  # scipy and numba, which memory alone does not need


class EpisodicMemory:
    """Stores observations in a memory and queries it. Implements ViewMemory.

    If a view could not be written, every later query fails, so that the question ends with a named error.
    """

    def __init__(self, store: MemoryStore, labels: bool = True, perceiver: Perceiver | None = None,
                 tell: Callable[[str], None] = lambda text: None) -> None:
        """labels: whether to store labels: those of the perceiver or, without one, those of the frames.

        tell: callback for a line of text when the map is recognised as a known one (memory.relocalise).
        """
        self.store, self.labels = store, labels
        self.stored: Callable[[Keyframe], object] = lambda keyframe: None  # callback for each new keyframe
        self.relocaliser = Relocaliser(store, tell)
        self._perceiver = perceiver
        self._failure: StorageError | None = None

    def begin(self, episode_id: str, keep: bool = False, map_name: str = "") -> None:
        """Begin an episode; without `keep`, forget everything first. map_name: as for MemoryStore.reset."""
        self._failure = None
        self.relocaliser.begin()
        self.store.reset(episode_id, keep, map_name)
        if self._perceiver is not None:
            self._perceiver.reset()

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> Keyframe | None:
        """Return the new keyframe, None if the frame shows nothing new. Raises BadFrame, StorageError."""
        if not self.labels:
            frame, labels = replace(frame, labels=None), {}
        elif self._perceiver is not None:
            perceived = self._perceiver.take(frame, labels)
            frame, labels = perceived.frame, perceived.table
        try:
            keyframe = self.store.take(frame, labels)
            if self.store.config.relocalise:
                self.relocaliser.saw(frame.stamp_ns, keyframe is not None)
            if keyframe is not None:
                self.stored(keyframe)
            return keyframe
        except StorageError as error:
            self._failure = error
            raise

    def recall(self, query: RecallQuery) -> list[Recalled]:
        """Return the best matches, best first. Raises StorageError."""
        return self._sound().recall(query)

    def recollect(self, question: str) -> Recollection | None:
        """Ask memory about the past. Raises StorageError."""
        return self._sound().recollect(question)

    def since(self, keyframe_id: int) -> list[Keyframe]:
        """Return the later keyframes of this episode, oldest first. Raises StorageError."""
        return self._sound().since(keyframe_id)

    def keep(self) -> None:
        """Store the newest frame, even if it shows nothing new. Raises StorageError."""
        if (keyframe := self._sound().keep()) is not None:
            self.stored(keyframe)

    def _sound(self) -> MemoryStore:
        if self._failure is not None:
            raise self._failure
        self.relocaliser.settle()
        return self.store


class MapAndMemory:
    """The map and the memory of one robot, as kept by the mapper, perception and memory nodes."""

    def __init__(self, floors: MultiFloorMapper, memory: EpisodicMemory) -> None:
        self.floors, self.memory = floors, memory

    def begin(self, episode_id: str, keep: bool = False, map_name: str = "") -> None:
        """Forget the map and begin an episode. keep, map_name: as for EpisodicMemory.begin."""
        self.floors.reset()
        self.memory.begin(episode_id, keep, map_name)

    def take(self, frame: Frame, labels: Mapping[int, Label]) -> Keyframe | None:
        """Add an observation to map and memory; return its keyframe. Raises ModelError of the perceiver.

        A frame refused by one of them is counted, and the other one still gets it.
        """
        with suppress(BadFrame):
            self.floors.integrate(frame)
        with suppress(BadFrame, StorageError):  # the next look-up raises the StorageError
            return self.memory.take(frame, labels)
        return None

    def refused(self) -> dict[str, int]:
        """Return the number of unusable frames of this episode by the component that refused them."""
        counts = {"mapper": self.floors.rejected, "mapper, between floors": self.floors.between,
                  "memory": self.memory.store.refused}
        return {who: count for who, count in counts.items() if count}
