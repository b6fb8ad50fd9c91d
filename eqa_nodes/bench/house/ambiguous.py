"""Which questions about built-in houses fit several things of their house, by the words and the whole scene graph."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from eqa_nodes.core.language.ambiguity import KnownPlaces, ambiguity, known_of
from eqa_nodes.core.types.samples import Sample
from sim_bridge.house.world import PREFIX, world_of


def house_marks(samples: Iterable[Sample]) -> list[bool]:
    """Return for each question about a built-in house whether its words fit several rooms or objects there.

    Privileged: a robot knows only what it has seen. Samples of other places are left out. Raises UnknownScene.
    """
    return [ambiguity(s.question, _known(s.scene)) is not None for s in samples if s.scene.startswith(PREFIX)]


@lru_cache(maxsize=4)
def _known(scene: str) -> KnownPlaces:
    house = world_of(scene).side_by_side()
    rooms = {room.id: room.name for room in house.rooms}
    return known_of(rooms.values(), ((thing.kind, rooms.get(thing.room, "")) for thing in house.objects))
