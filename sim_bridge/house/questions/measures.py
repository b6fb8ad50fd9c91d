"""Questions about sizes, distances, gaps and whether something fits, with answers from the house's own geometry.

They are a data set of their own (`house-measure`); the data set `house` contains none of them.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from eqa_nodes.core.language.quantities import said_length
from eqa_nodes.core.types.geometry import Pose2
from sim_bridge.house.questions.facts import HouseFacts, QuestionCandidate
from sim_bridge.house.questions.grounding import Grounding, over_houses, start_past
from sim_bridge.house.scene import HouseObject

CATEGORY = "measurement"
SIZE, DISTANCE, GAP, FIT, DOOR = KINDS = ("size", "distance", "gap", "fit", "door")
_HIGH = ("bookshelf", "wardrobe", "refrigerator", "dresser", "sideboard", "tv stand", "desk", "dining table",
         "kitchen table", "coffee table", "nightstand", "metal shelf", "pantry shelf", "display cabinet",
         "console table", "workbench", "floor lamp", "shoe rack", "bathroom shelf", "fireplace", "piano", "bench",
         "kitchen island", "filing cabinet", "mirror", "television")
_WIDE = ("wardrobe", "bookshelf", "dresser", "sideboard", "tv stand", "desk", "sofa", "display cabinet", "mirror",
         "console table", "workbench", "metal shelf", "piano", "fireplace", "shoe rack", "television", "whiteboard",
         "bed")
_LONG = ("dining table", "coffee table", "bed", "bathtub", "bench", "kitchen island")
_BOXES = ("wardrobe", "bookshelf", "dresser", "sideboard", "tv stand", "desk", "sofa", "display cabinet", "bed",
          "console table", "workbench", "metal shelf", "piano", "fireplace", "shoe rack", "bathtub", "refrigerator",
          "oven", "coffee table", "dining table", "kitchen table", "nightstand", "armchair", "washing machine", "dryer",
          "dishwasher", "toilet", "bench", "filing cabinet", "bathroom shelf", "pantry shelf", "kitchen island",
          "speaker", "aquarium", "weight bench", "treadmill", "bathroom sink")
# Objects that might be put into a gap, with the width stated in the question: (object, centimetres).
_THINGS = (("suitcase", 40), ("laundry basket", 50), ("washing machine", 60), ("fridge", 70), ("wheelchair", 70),
           ("armchair", 90), ("chest of drawers", 100), ("desk", 120), ("bookshelf", 150), ("sofa", 200),
           ("sideboard", 180), ("trash can", 30))
_THROUGH = (("wheelchair", 70), ("stroller", 60), ("fridge", 65), ("wheelchair", 65), ("crate", 120),
            ("sideboard", 130), ("piano", 150), ("robot", 110))
_RATIO = 1.25  # minimum ratio of two sides for a clear answer to which one is longer
_MARGIN, _MARGIN_M = 0.15, 0.12  # minimum difference of a gap and the object: share of the gap, and metres
_NEAR_M, _FAR_M = 0.8, 5.0  # distance range of two objects whose distance is asked, metres
_LEAST_GAP_M, _MOST_GAP_M = 0.3, 3.5
_FACING_M = 0.25  # minimum overlap of two objects that face each other across a gap
_OFF_M = 0.03  # tolerance between the size of an object and its drawn extent
_MOST_GAPS_OF_A_THING = 2


class MeasureCandidate(NamedTuple):
    """A question that geometry answers. metres: the true measure; targets: instance ids of the objects concerned."""

    kind: str
    question: str
    answer: str
    metres: float
    targets: tuple[int, ...]


class MeasureQuestion(NamedTuple):
    """A question about a measure in a house, with views of its targets: one of all, or one of each.

    start: pose from which no target is visible in any heading; l_steps, l_metres: atomic actions and metres of the
    shortest path from there past the views.
    """

    id: str
    scene: str
    kind: str
    question: str
    answer: str
    metres: float
    targets: tuple[int, ...]
    views: tuple[Pose2, ...]
    start: Pose2
    l_steps: int
    l_metres: float


class Extent(NamedTuple):
    """The drawn extent of an object along the axes of the map, metres: low and high corner."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @property
    def size(self) -> tuple[float, float, float]:
        """Return the side lengths."""
        x, y, z = (high - low for low, high in zip(self.low, self.high, strict=True))
        return x, y, z


def extent_of(obj: HouseObject) -> Extent | None:
    """Return the extent of an object aligned with the walls; None for others, and if `size` differs from it."""
    quarter = obj.yaw / (math.pi / 2)
    if abs(quarter - round(quarter)) > 0.01:
        return None
    low, high = [math.inf] * 3, [-math.inf] * 3
    for part in obj.parts:
        c, s = abs(math.cos(part.yaw)), abs(math.sin(part.yaw))
        across = (part.size[0] * c + part.size[1] * s, part.size[0] * s + part.size[1] * c, part.size[2])
        for i in range(3):
            low[i] = min(low[i], part.centre[i] - across[i] / 2)
            high[i] = max(high[i], part.centre[i] + across[i] / 2)
    if any(abs(high[i] - low[i] - obj.size[i]) > _OFF_M for i in (0, 1)):
        return None
    c, s = round(math.cos(obj.yaw)), round(math.sin(obj.yaw))
    xs = sorted(c * x - s * y for x, y in ((low[0], low[1]), (high[0], high[1])))
    ys = sorted(s * x + c * y for x, y in ((low[0], low[1]), (high[0], high[1])))
    x, y, z = obj.position
    return Extent((x + xs[0], y + ys[0], z + low[2]), (x + xs[1], y + ys[1], z + high[2]))


def measure_candidates(facts: HouseFacts) -> Iterator[MeasureCandidate]:
    """Yield every question about a measure that the geometry of a house answers."""
    yield from _sizes(facts)
    for room in sorted(facts.rooms):
        pairs = list(_pairs(facts, room))
        yield from (_distance(facts, *pair) for pair in pairs if _NEAR_M <= _apart(*pair) <= _FAR_M)
        for a, b in pairs:
            if (gap := _gap(facts, a, b)) is not None:
                yield _gap_question(facts, a, b, gap)
                yield from _fits(facts, a, b, gap)
    yield from _doors(facts)


def _sizes(facts: HouseFacts) -> Iterator[MeasureCandidate]:
    for obj in facts.objects:
        name, extent = facts.name(obj), extent_of(obj)
        if name is None or extent is None:
            continue
        longer, shorter = max(extent.size[:2]), min(extent.size[:2])
        plain = longer >= _RATIO * shorter
        if obj.kind in _HIGH:
            word = "high" if "table" in obj.kind or obj.kind in ("desk", "bench", "workbench") else "tall"
            yield _size(facts, obj, word, name, extent.size[2])
        if obj.kind in _WIDE and (plain or obj.kind == "bed"):
            yield _size(facts, obj, "wide", name, shorter if obj.kind == "bed" else longer)
        if obj.kind in _LONG and longer >= 1.1 * shorter:
            yield _size(facts, obj, "long", name, longer)


def _size(facts: HouseFacts, obj: HouseObject, word: str, name: str, metres: float) -> MeasureCandidate:
    noun = {"high": "height", "tall": "height", "wide": "width", "long": "length"}[word]
    question = facts.pick((f"How {word} is {name}?", f"How {word} is {name}?", f"What is the {noun} of {name}?"),
                          word, obj.id)
    return MeasureCandidate(SIZE, question, said_length(metres), metres, (obj.id,))


def _pairs(facts: HouseFacts, room: int) -> Iterator[tuple[HouseObject, HouseObject]]:
    """Yield pairs of furniture of a room with unambiguous names."""
    inside = [t for t in facts.inside(room, *_BOXES) if t.relation == "floor" and facts.short(t) and extent_of(t)]
    for a, b in combinations(inside, 2):
        yield (b, a) if facts.coin("order", a.id, b.id) else (a, b)


def _between(a: HouseObject, b: HouseObject) -> tuple[float, float, float]:
    """Return the gaps between two objects along the axes of the map, 0 if they overlap."""
    one, other = extent_of(a), extent_of(b)
    assert one is not None and other is not None
    x, y, z = (max(one.low[i] - other.high[i], other.low[i] - one.high[i], 0.0) for i in range(3))
    return x, y, z


def _apart(a: HouseObject, b: HouseObject) -> float:
    return math.hypot(*_between(a, b))


def _both(facts: HouseFacts, a: HouseObject, b: HouseObject, joint: str) -> str:
    return f"{facts.short(a)} {joint} {facts.short(b)} in {facts.room(a)}"


def _distance(facts: HouseFacts, a: HouseObject, b: HouseObject) -> MeasureCandidate:
    metres = _apart(a, b)
    question = facts.pick((f"How far is {_both(facts, a, b, 'from')}?",
                           f"What is the distance between {_both(facts, a, b, 'and')}?",
                           f"How far apart are {_both(facts, a, b, 'and')}?"), "distance", a.id, b.id)
    return MeasureCandidate(DISTANCE, question, said_length(metres), metres, (a.id, b.id))


def _gap(facts: HouseFacts, a: HouseObject, b: HouseObject) -> float | None:
    """Return the width of the free gap across which two objects face each other, None if there is none."""
    one, other = extent_of(a), extent_of(b)
    assert one is not None and other is not None
    x, y, _ = _between(a, b)
    across, along = (0, 1) if x > 0 else (1, 0)
    metres = max(x, y)
    shared = min(one.high[along], other.high[along]) - max(one.low[along], other.low[along])
    if min(x, y) > 0 or shared < _FACING_M or not _LEAST_GAP_M <= metres <= _MOST_GAP_M:
        return None
    low, high = [0.0, 0.0], [0.0, 0.0]
    low[across], high[across] = min(one.high[across], other.high[across]), max(one.low[across], other.low[across])
    low[along], high[along] = (max(one.low[along], other.low[along]), min(one.high[along], other.high[along]))
    for thing in facts.standing(a.room):
        c, s = abs(math.cos(thing.yaw)), abs(math.sin(thing.yaw))
        half = ((thing.size[0] * c + thing.size[1] * s) / 2, (thing.size[0] * s + thing.size[1] * c) / 2)
        inside = all(thing.position[i] + half[i] > low[i] + 0.01 and thing.position[i] - half[i] < high[i] - 0.01
                     for i in (0, 1))
        if thing.id not in (a.id, b.id) and inside:
            return None
    return metres


def _gap_question(facts: HouseFacts, a: HouseObject, b: HouseObject, metres: float) -> MeasureCandidate:
    both = _both(facts, a, b, "and")
    question = facts.pick((f"How wide is the gap between {both}?", f"How much space is there between {both}?"),
                          "gap", a.id, b.id)
    return MeasureCandidate(GAP, question, said_length(metres), metres, (a.id, b.id))


def _fits(facts: HouseFacts, a: HouseObject, b: HouseObject, metres: float) -> Iterator[MeasureCandidate]:
    """Yield whether objects fit into a gap: the widest that does and the narrowest that does not, by a margin."""
    margin = max(_MARGIN * metres, _MARGIN_M)
    there = {facts.house.object_by_id(t.id).kind for t in (a, b)}
    wide = sorted(((cm / 100, thing) for thing, cm in _THINGS if thing not in there), key=lambda one: one[0])
    fit = [one for one in wide if one[0] <= metres - margin][-_MOST_GAPS_OF_A_THING:]
    too_wide = [one for one in wide if one[0] >= metres + margin][:_MOST_GAPS_OF_A_THING]
    for answer, options in (("yes", fit), ("no", too_wide)):
        if options:
            width, thing = facts.pick(options, "thing", answer, a.id, b.id)
            what = f"a {said_length(width).replace('.00', '')} wide {thing}"
            both = _both(facts, a, b, "and")
            question = facts.pick((f"Would {what} fit between {both}?",
                                   f"Is there enough room for {what} between {both}?"), "fits", answer, a.id, b.id)
            yield MeasureCandidate(FIT, question, answer, metres, (a.id, b.id))


def _doors(facts: HouseFacts) -> Iterator[MeasureCandidate]:
    for opening in facts.house.openings:
        if opening.kind != "door" or not opening.object_id:
            continue
        leaf = facts.house.object_by_id(opening.object_id)
        name, extent = facts.name(leaf), extent_of(leaf)
        if name is None or extent is None:
            continue
        clear = math.hypot(opening.x1 - opening.x0, opening.y1 - opening.y0)
        widths = (clear, max(extent.size[:2]))  # width of the hole, and of the visible leaf
        for answer in ("yes", "no"):
            fits = [(cm, thing) for thing, cm in _THROUGH
                    if all((cm / 100 <= w / (1 + _MARGIN)) if answer == "yes" else (cm / 100 >= w * (1 + _MARGIN))
                           for w in widths)]
            cm, thing = facts.pick(fits, "through", answer, leaf.id)
            what = f"a {said_length(cm / 100).replace('.00', '')} wide {thing}"
            yield MeasureCandidate(DOOR, f"Is {name} wide enough for {what}?", answer, widths[1], (leaf.id,))


def measure_questions(seeds: Iterable[int], n: int, per_house: int = 4) -> Iterator[MeasureQuestion]:
    """Yield n questions (fewer if the houses run out), no kind twice in a house; rare kinds and answers first.
    """
    return over_houses(seeds, n, per_house, _of_house)


def _of_house(grounding: Grounding, seed: int, most: int, used: Counter[str]) -> list[MeasureQuestion]:
    found = list[MeasureQuestion]()
    left = dict(enumerate(measure_candidates(HouseFacts(grounding.house))))
    kinds: set[str] = set()
    tries: Counter[str] = Counter()
    while left and len(found) < most:
        number = min(left, key=lambda i: (*_staleness(left[i], used), zlib.crc32(f"{seed} {i}".encode())))
        candidate = left.pop(number)
        tries[candidate.kind] += 1
        if candidate.kind in kinds or tries[candidate.kind] > _TRIES:
            continue
        question = _grounded(grounding, seed, number, candidate)
        if question is not None:
            kinds.add(candidate.kind)
            used.update((candidate.kind, f"{candidate.kind} {_said(candidate)}", _form(candidate)))
            found.append(question)
    return found


_TRIES = 6  # candidates of a kind for which a view is searched in a house, because rendering is slow


def _said(candidate: MeasureCandidate) -> str:
    return candidate.answer if candidate.answer in ("yes", "no") else ""


def _form(candidate: MeasureCandidate) -> str:
    """Return the phrasing without its objects: "How tall is"."""
    return f"{candidate.kind} {candidate.question.split(' the ')[0]}"


def _staleness(candidate: MeasureCandidate, used: Counter[str]) -> tuple[int, int, int]:
    """Return how often the kind, its answer and its phrasing have been used."""
    return used[candidate.kind], used[f"{candidate.kind} {_said(candidate)}"], used[_form(candidate)]


def _grounded(grounding: Grounding, seed: int, number: int, candidate: MeasureCandidate) -> MeasureQuestion | None:
    """Return the question with a view of all targets, or one of each, and a hidden start; None if there are none."""
    views = _views(grounding, candidate)
    past = start_past(grounding, candidate.targets, views)
    if past is None:
        return None
    return MeasureQuestion(f"house-{seed}-measure-{number}", f"house:{seed}", candidate.kind, candidate.question,
                           candidate.answer, candidate.metres, candidate.targets, views, *past)


def _views(grounding: Grounding, candidate: MeasureCandidate) -> tuple[Pose2, ...]:
    def view(*targets: int) -> Pose2 | None:
        return grounding.find_view(QuestionCandidate(CATEGORY, candidate.question, candidate.answer, targets,
                                                     need=len(targets)))

    together = view(*candidate.targets)
    if together is not None:
        return (together,)
    each = [view(target) for target in candidate.targets] if len(candidate.targets) > 1 else []
    found = tuple(pose for pose in each if pose is not None)
    return found if len(found) == len(each) else ()
