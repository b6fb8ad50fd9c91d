"""Questions about places, times and durations in tours of the built-in houses, after NaVQA (ReMEmbR, 2024).

The truth comes from the scene graph, the poses of the tour and the objects in each frame, not from a memory. Questions
are about objects that can be named unambiguously and that the tour shows well at least once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice

import numpy as np

from eqa_nodes.core.errors import ConfigError, SimulatorError, unknown
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.tours.tours import house_tour, pixels_by_frame
from sim_bridge.house.catalogue import KINDS
from sim_bridge.house.questions import lexicon
from sim_bridge.house.questions.dataset import SPLITS
from sim_bridge.house.questions.facts import HouseFacts, article
from sim_bridge.house.questions.grounding import SEEN_PIXELS, VIEW_PIXELS
from sim_bridge.house.scene import HouseObject
from sim_bridge.house.world import seed_of, world

WITHIN_M, WITHIN_S = 2.0, 10.0  # tolerances: houses are smaller and tours shorter than NaVQA's
CATEGORIES = ("position", "time", "duration", "yes-no", "text")
_CLEAR_S = 20.0  # minimum difference of compared durations or starts of stays


def house_navqa(split: str, n: int, seed: int = 0) -> list[Sample]:
    """Return n questions (fewer at the end of the split), one per category and house. Raises ConfigError."""
    if split not in SPLITS:
        raise ConfigError(unknown("split", split, SPLITS))
    seeds = np.random.default_rng(seed).permutation(SPLITS[split])
    return list(islice((q for house_seed in seeds for q in questions_about(f"house:{house_seed}")), max(n, 0)))


def questions_about(scene: str) -> Iterator[Sample]:
    """Yield one question of each category about the tour of a house; none if the house is too small for a tour."""
    try:
        asker = _Asker(scene)
    except SimulatorError:
        return
    for category in CATEGORIES:
        found = asker.ask(category)
        if found is not None:
            yield found


class _Asker:
    """The tour of one house, and questions about it."""

    def __init__(self, scene: str) -> None:
        tour = house_tour(scene)
        self._scene, self._tour, self._seed = scene, tour, seed_of(scene)
        self._house = world(self._seed).house
        self._facts = HouseFacts(self._house)
        self._pixels = pixels_by_frame(tour)
        self._end_s = (len(tour.poses) - 1) * tour.robot.step_s

    def ask(self, category: str) -> Sample | None:
        """Return the question of a category, drawn by the house's seed; None if there is none."""
        forms = {"position": (self._where_is, self._where_was), "time": (self._first, self._last),
                 "duration": (self._how_long_ago, self._how_long_in), "yes-no": (self._seen_any,),
                 "text": (self._longest_stay,)}[category]
        first = zlib.crc32(f"{self._scene} {category}".encode()) % len(forms)
        for ask_form in (*forms[first:], *forms[:first]):
            found = ask_form()
            if found is not None:
                return found
        return None

    def _where_is(self) -> Sample | None:
        obj, name = next(self._named("where is"), (None, ""))
        if obj is None:
            return None
        place = [round(v, 3) for v in obj.position[:2]]
        return self._sample("position", f"Where is {name}?", f"({place[0]:.1f}, {place[1]:.1f})", place)

    def _where_was(self) -> Sample | None:
        obj, name = next(self._named("where was"), (None, ""))
        if obj is None:
            return None
        pose = self._tour.poses[self._frames_of(obj)[-1]]
        place = [round(pose.x, 3), round(pose.y, 3)]
        return self._sample("position", f"Where were you when you last saw {name}?",
                            f"({place[0]:.1f}, {place[1]:.1f})", place)

    def _first(self) -> Sample | None:
        return self._moment(0, "When did you first see {}?")

    def _last(self) -> Sample | None:
        return self._moment(-1, "When did you last see {}?")

    def _moment(self, which: int, form: str) -> Sample | None:
        for obj, name in self._named(form):
            frames = self._frames_of(obj)
            if 0 < frames[which] < len(self._pixels) - 1:  # not if in view from the beginning or until the end
                seconds = frames[which] * self._tour.robot.step_s
                return self._sample("time", form.format(name), f"{seconds:.1f} s after the start", seconds)
        return None

    def _how_long_ago(self) -> Sample | None:
        for obj, name in self._named("ago"):
            last = self._frames_of(obj)[-1]
            if last < len(self._pixels) - 1:
                seconds = self._end_s - last * self._tour.robot.step_s
                return self._sample("duration", f"How long ago did you last see {name}?", f"{seconds:.1f} s", seconds)
        return None

    def _how_long_in(self) -> Sample | None:
        stays = self._stays()
        for room in sorted(stays, key=lambda room: zlib.crc32(f"{self._scene} {room}".encode())):
            return self._sample("duration", f"How long were you in {room}?", f"{stays[room]:.1f} s", stays[room])
        return None

    def _longest_stay(self) -> Sample | None:
        stays = sorted(((seconds, room) for room, seconds in self._stays().items()), reverse=True)
        if len(stays) < 2 or stays[0][0] - stays[1][0] < _CLEAR_S:
            return None
        return self._sample("text", "In which room did you spend the most time?", stays[0][1], None)

    def _seen_any(self) -> Sample | None:
        kinds = sorted(kind for kind in KINDS if kind not in lexicon.OBVIOUS and kind not in lexicon.OPENINGS)
        kind = kinds[zlib.crc32(f"{self._scene} any".encode()) % len(kinds)]
        seen = [t for t in self._facts.objects
                if t.kind == kind and self._frames_of(t) and self._best(t) >= VIEW_PIXELS]
        if zlib.crc32(f"{self._scene} seen".encode()) % 2:
            obj, _ = next(self._named("any"), (None, ""))
            kind = obj.kind if obj is not None and obj.kind in kinds else kind
            seen = [obj] if obj is not None and obj.kind == kind else seen
        alike = any(lexicon.confusable(kind, t.kind) for t in self._facts.objects)
        if not seen and alike:
            return None  # one exists, or something similar: the answer would be doubtful
        return self._sample("yes-no", f"Did you see {article(kind)}?", "yes" if seen else "no", None)

    def _sample(self, expects: str, question: str, answer: str, truth: object) -> Sample:
        measured = {} if truth is None else {"truth": truth, "end_s": self._end_s, "within_m": WITHIN_M,
                                             "within_s": WITHIN_S}
        return Sample(f"navqa-{self._seed}-{expects}", question, answer, category=expects, scene=self._scene,
                      needs_exploration=False,
                      metadata={"expects": expects, "episode_history": f"house-v0/{self._scene.replace(':', '-')}",
                                **measured})

    def _named(self, *key: object) -> Iterator[tuple[HouseObject, str]]:
        """Yield objects that the tour shows well and a person can name, in an order drawn by the house's seed."""
        found = [(t, name) for t in self._facts.objects if t.kind not in lexicon.OPENINGS
                 and self._best(t) >= VIEW_PIXELS and (name := self._facts.name(t)) is not None]
        yield from sorted(found, key=lambda pair: zlib.crc32(repr((self._scene, key, pair[0].id)).encode()))

    def _frames_of(self, obj: HouseObject) -> list[int]:
        """Return the frames that show an object, oldest first."""
        return [i for i, seen in enumerate(self._pixels) if seen.get(obj.id, 0) >= SEEN_PIXELS]

    def _best(self, obj: HouseObject) -> int:
        return max((seen.get(obj.id, 0) for seen in self._pixels), default=0)

    def _stays(self) -> dict[str, float]:
        """Return the total time of the tour in each named room, seconds."""
        stays: dict[str, float] = {}
        for pose in self._tour.poses[1:]:
            room = self._house.room_at(pose.x, pose.y)
            if room is not None and room.id in self._facts.rooms:
                name = self._facts.rooms[room.id]
                stays[name] = stays.get(name, 0.0) + self._tour.robot.step_s
        return stays


