"""Several recordings in a row as one history: the visits of a robot to a place, each at a time of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.views import Label
from eqa_nodes.recordings.episode_history import EpisodeHistory, FramesAlone, RecordedFrame
from eqa_nodes.recordings.formats.pictures import ColourHistory


class Visit(NamedTuple):
    """A recording, and the stamp at which it begins, ns."""

    history: EpisodeHistory
    begin_ns: int


class JoinedHistory(FramesAlone):
    """The frames of several visits, oldest first, in the map frame that they share. They have no labels."""

    labels: Mapping[int, Label] = MappingProxyType({})

    def __init__(self, name: str, visits: Sequence[Visit]) -> None:
        """visits: oldest first."""
        self.name, self._visits = name, visits
        self.dropped: Counter[str] = Counter()
        self.notes = tuple(dict.fromkeys(note for visit in visits for note in visit.history.notes))

    def __len__(self) -> int:
        return sum(len(visit.history) for visit in self._visits)

    def recorded(self) -> Iterator[RecordedFrame]:
        """As in EpisodeHistory; images count through all visits."""
        self.dropped, before = Counter(), 0
        for visit in self._visits:
            first_ns = None
            for recorded in visit.history.recorded():
                stamp_ns = recorded.frame.stamp_ns
                first_ns = stamp_ns if first_ns is None else first_ns
                frame = replace(recorded.frame, stamp_ns=visit.begin_ns + stamp_ns - first_ns)
                yield replace(recorded, index=before + recorded.index, frame=frame)
            self.dropped.update(visit.history.dropped)
            before += len(visit.history)


def joined(name: str, visits: Sequence[Visit]) -> EpisodeHistory:
    """Return the visits as one history; colour images without poses stay such. Raises StorageError if only some are."""
    plain = [visit.history.name for visit in visits if isinstance(visit.history, ColourHistory)]
    if not plain:
        return JoinedHistory(name, visits)
    if len(plain) < len(visits):
        raise StorageError(f"the history {name} has poses in some episodes, and none in {', '.join(plain)}: add them "
                           "there, or leave them out everywhere")
    pictures, before = [], 0
    for visit in visits:
        assert isinstance(visit.history, ColourHistory)
        own = visit.history.pictures
        pictures += [replace(picture, number=before + picture.number,
                             stamp_ns=visit.begin_ns + picture.stamp_ns - own[0].stamp_ns) for picture in own]
        before = pictures[-1].number + 1
    return ColourHistory(name, tuple(pictures))
