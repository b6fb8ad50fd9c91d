"""A fortnight of patrols in a built-in house, and how much of what was true on each of them the memory file holds.

Seven mornings and seven evenings, two days apart. The laptop alternates between two tables, two mugs change places,
states follow routines, a cardboard box and a suitcase come and go, the bathroom is seen in the mornings only, and the
garage only through its open door.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.timing import Figure
from benchmarks.weeks_asked import outcomes
from benchmarks.weeks_year import year_figures
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.ledger import SEEN
from eqa_nodes.core.types.geometry import Pose2, camera_mount, wrap
from eqa_nodes.core.types.questions import MemoryObject, Question, RecallQuery
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.views import Frame, Label
from sim_bridge.house.generate import generate_house
from sim_bridge.house.handling import rebuilt
from sim_bridge.house.scene import House, HouseObject
from sim_bridge.house.world import HouseWorld

SEED, PATROLS, CAMERA = 16, 14, CameraModel(width=160, height=120)
START_NS = round(datetime(2026, 11, 12, 8, 30).timestamp()) * 10 ** 9
_EVENING_NS, _TWO_DAYS_NS = 10 * 3600 * 10 ** 9, 2 * 86_400 * 10 ** 9
LAPTOP, PINK, GREEN, BOX, SUITCASE, COFFEE_TABLE, KITCHEN_TABLE = 61, 62, 121, 95, 129, 59, 116
# Rooms of a patrol in their order, each with a place to turn around; the bathroom is entered in the mornings.
ROUTE = ((0, 8.0, 5.1), (1, 8.6, 1.2), (2, 6.2, 2.9), (0, 5.0, 5.1), (5, 6.2, 7.0), (4, 8.6, 6.4), (6, 3.6, 7.2))
BATHROOM = (7, 1.2, 7.2)
_CLEAR_PIXELS = 240 / (640 * 480)  # share of the image from which an object was certainly seen
_SAME_M = 0.6  # an object of memory within this distance of a true one of its kind and colour is that one


class Fact(NamedTuple):
    """What is true of one object on one patrol. value: its state, or what it stands on, or else its room."""

    object: int
    kind: str
    colour: str
    value: str


class Patrol(NamedTuple):
    """One drive through the house. facts: those of which the robot has seen the object; seen: ids of all of these."""

    number: int
    house: House
    labels: Mapping[int, Label]
    frames: Sequence[Frame]
    facts: tuple[Fact, ...]
    seen: frozenset[int]
    rooms: frozenset[int]


def figures() -> list[Figure]:
    """Return what the file of a fortnight holds: true facts, false ones, and its size for each patrol."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weeks.sqlite"
        found = _fortnight(file)
        return found + year_figures(file)


def _fortnight(file: Path) -> list[Figure]:
    with closing(MemoryStore(file)) as store:
        true = false = lost = asked = right = declined = 0
        for patrol in patrols():
            remember(store, patrol)
            held = [fact for fact in patrol.facts if holds(store, patrol, fact)]
            wrong, missing = ghosts(store.objects(), patrol), overlooked(store.objects(), patrol)
            replies = [answered(store, fact) for fact in patrol.facts]
            right, declined = right + replies.count(True), declined + replies.count(None)
            true, asked, false, lost = (true + len(held), asked + len(patrol.facts), false + len(wrong),
                                        lost + len(missing))
        facts = store._db.value("SELECT sum(pgsize) FROM dbstat WHERE name IN ('patrols', 'looks', 'looks_by_patrol', "
                                "'room_looks')")
        views = store._db.used_bytes() - facts
        return [Figure("facts in the file", ratio=round(true / asked, 2), note=f"{true} of {asked}"),
                Figure("objects where they are not", note=f"{false} after {PATROLS} patrols"),
                Figure("questions about the present", ratio=round(right / asked, 2),
                       note=f"{right} right, {declined} declined, {asked - right - declined} wrong"),
                Figure("objects that were seen and count as gone", note=f"{lost} after {PATROLS} patrols"),
                *asked_over_weeks(store),
                Figure("size of the facts of a patrol", note=f"{facts / 1e3 / PATROLS:.1f} kB"),
                Figure("size of the views of a patrol", note=f"{views / 1e6 / PATROLS:.2f} MB")]


def asked_over_weeks(store: MemoryStore) -> list[Figure]:
    """Return how many questions over the fortnight are answered rightly, of each kind."""
    found: dict[str, list[bool]] = {}
    for asked, right, _ in outcomes(store):
        found.setdefault(asked.kind, []).append(right)
    return [Figure(f"questions over weeks: {kind}", ratio=round(sum(rights) / len(rights), 2),
                   note=f"{sum(rights)} of {len(rights)}") for kind, rights in found.items()]


def remember(store: MemoryStore, patrol: Patrol) -> int:
    """Let a memory see a patrol; return the number of views that it stored."""
    store.reset(f"patrol {patrol.number}", keep=True, map_name="home")
    return sum(store.take(frame, patrol.labels) is not None for frame in patrol.frames)


def holds(store: MemoryStore, patrol: Patrol, fact: Fact) -> bool:
    """Return whether the ledger has a fact of the patrol that it has seen last."""
    histories = (store.history(o.id)[-1] for o in store.objects() if o.kind == fact.kind and (
        not fact.colour or o.attributes.get("colour", "") == fact.colour))
    return any(fact.value in (one.now.state, one.now.support, one.now.room) for one in histories
               if one.outcome == SEEN and one.now is not None and one.patrol.first_ns == patrol.frames[0].stamp_ns)


def answered(store: MemoryStore, fact: Fact) -> bool | None:
    """Return whether the label answerer states a fact from what memory recalls for a question, None if it declines."""
    name = " ".join(filter(None, (fact.colour, fact.kind)))
    text = f"Is the {fact.kind} {fact.value}?" if fact.object in _TRACKED else f"Where is the {name}?"
    items = store.recall(RecallQuery(text))
    answer = LabelAnswerer().answer(Question(text, may_explore=False), items)
    return None if answer.abstained else ("yes" if fact.object in _TRACKED else fact.value) in answer.text


def ghosts(known: Sequence[MemoryObject], patrol: Patrol) -> list[MemoryObject]:
    """Return the objects that memory believes to stand in a room of the patrol where no such object stands."""
    rooms = {r.name or r.kind for r in patrol.house.rooms if r.id in patrol.rooms}
    true = [(t, patrol.labels[t.id]) for t in patrol.house.objects]
    return [o for o in known if not o.gone_ns and o.room in rooms
            and not any(_is(o, label) and _off(o, t) <= _SAME_M + max(t.size) / 2 for t, label in true)]


def overlooked(known: Sequence[MemoryObject], patrol: Patrol) -> list[int]:
    """Return the objects that were seen on the patrol, and that memory does not believe to stand there."""
    there = [o for o in known if not o.gone_ns]
    return [t.id for t in patrol.house.objects if t.id in patrol.seen
            and not any(_is(o, patrol.labels[t.id]) and _off(o, t) <= _SAME_M + max(t.size) / 2 for o in there)]


def _is(o: MemoryObject, label: Label) -> bool:
    return o.kind == label.kind and o.attributes.get("colour", "") == label.attributes.get("colour", "")


def _off(o: MemoryObject, t: HouseObject) -> float:
    x, y, z = o.centre
    return math.dist((x, y, z), (t.position[0], t.position[1], t.position[2] + t.size[2] / 2))


@cache
def patrols(camera: CameraModel = CAMERA, count: int = PATROLS) -> tuple[Patrol, ...]:
    """Return the first patrols of the fortnight."""
    return tuple(_patrol(number, camera) for number in range(count))


def _patrol(number: int, camera: CameraModel) -> Patrol:
    house = house_of(number)
    world, stamp = HouseWorld(house), START_NS + number // 2 * _TWO_DAYS_NS + number % 2 * _EVENING_NS
    route = ROUTE if number % 2 else (*ROUTE, BATHROOM)
    mount = camera_mount(camera.height_m, math.radians(camera.tilt_down_deg))
    frames, clear = [], set[int]()
    for second, pose in enumerate(_poses(world, route)):
        image = world.image(camera, pose.transform().matrix() @ mount.matrix())
        frames.append(Frame(stamp + second * 10 ** 9, image.rgb, image.depth_m, camera.intrinsics, pose.transform(),
                            mount, image.labels))
        ids, pixels = np.unique(image.labels[(image.depth_m > 0) & (image.depth_m < 5.0)], return_counts=True)
        clear |= set(ids[pixels >= _CLEAR_PIXELS * image.labels.size].tolist())
    facts = (_fact(world, i) for i in (*_TRACKED, LAPTOP, PINK, GREEN, BOX, SUITCASE) if i in clear)
    return Patrol(number, house, world.labels, frames, tuple(facts), frozenset(clear - {0}),
                  frozenset(room for room, *_ in route))


# Object: its states in the morning and in the evening, and the patrols on which it is in the other one.
_TRACKED: dict[int, tuple[tuple[str, str], tuple[int, ...]]] = {
    71: (("unmade", "made"), (6,)),  # bed
    106: (("off", "on"), (3, 9)),  # oven
    10: (("open", "closed"), (4, 5)),  # window of the laundry room
    52: (("off", "on"), (7,)),  # television
    158: (("full", "empty"), (4, 8)),  # bathtub
    101: (("running", "off"), (2, 10))}  # kitchen sink


def house_of(number: int) -> House:
    """Return the house as it is on a patrol."""
    house = generate_house(SEED)
    by_id = {t.id: t for t in house.objects}
    for i, (states, others) in _TRACKED.items():
        by_id[i] = rebuilt(by_id[i], states[(number + (number in others)) % 2])
    if number % 2 == 0:
        by_id[LAPTOP] = _put(by_id[LAPTOP], by_id[KITCHEN_TABLE], (9.75, 7.35, 0.75))
    if 4 <= number <= 8:  # each where the other was
        pink, green = by_id[PINK], by_id[GREEN]
        by_id[PINK] = _put(pink, by_id[KITCHEN_TABLE], green.position)
        by_id[GREEN] = _put(green, by_id[COFFEE_TABLE], pink.position)
    by_id[BOX] = replace(by_id[BOX], position=(5.35, 7.0, 0.0), room=5)
    if not 3 <= number <= 6:
        del by_id[BOX]
    if number >= 9:
        del by_id[SUITCASE]
    return replace(house, objects=list(by_id.values()))


def _put(obj: HouseObject, support: HouseObject, position: tuple[float, float, float]) -> HouseObject:
    return replace(obj, position=position, room=support.room, support=support.id, relation="on")


def _fact(world: HouseWorld, i: int) -> Fact:
    label = world.labels[i]
    a = label.attributes
    value = a["state"] if i in _TRACKED else a.get("support", label.room)
    return Fact(i, label.kind, a.get("colour", ""), value)


def _poses(world: HouseWorld, route: Sequence[tuple[int, float, float]]) -> Iterator[Pose2]:
    """Yield the poses of a robot that drives from place to place and turns around at each."""
    here, yaw = route[0][1:], 0.0
    for _, x, y in route:
        corners = world.shortest_path(here, (x, y))
        for a, b in pairwise(corners):
            steps = max(1, round(math.dist(a, b) / 1.0))
            yaw = math.atan2(b[1] - a[1], b[0] - a[0])
            yield from (Pose2(a[0] + (b[0] - a[0]) * i / steps, a[1] + (b[1] - a[1]) * i / steps, yaw)
                        for i in range(steps))
        assert corners or here == (x, y), (here, x, y)
        here = (x, y)
        yield from (Pose2(x, y, wrap(yaw + math.radians(45 * i))) for i in range(8))
