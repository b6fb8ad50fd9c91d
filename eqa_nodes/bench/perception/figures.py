"""The figures of one detector over many views: recall, precision, pixels, attributes, calibration, confusions, time.

Intervals are 95 % bootstrap intervals over scenes, because the objects of one scene resemble each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from eqa_nodes.bench.metrics.intervals import wilson
from eqa_nodes.bench.perception.matching import ROOM, FoundObject, MatchedView, TruthObject
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.perception.detection import ATTRIBUTES, Detection, DetectionConfig

BINS, CONFUSIONS = 10, 15
WANTED, ALL = "wider than 20 px, within 4 m", "all"
_WIDE_PX, _NEAR_M = 20.0, 4.0
SIZES = (("under 10 px", 0.0, 10.0), ("10 to 20 px", 10.0, 20.0), ("20 to 40 px", 20.0, 40.0),
         ("over 40 px", 40.0, np.inf))  # widths in a picture 320 px wide
DISTANCES = (("0 to 2 m", 0.0, 2.0), ("2 to 4 m", 2.0, 4.0), ("over 4 m", 4.0, np.inf))
_RESAMPLES = 1000
Item = TypeVar("Item", TruthObject, FoundObject)
Items: TypeAlias = Sequence[tuple[str, Item]]  # objects or detections with their scenes


class Rate(NamedTuple):
    """A share with its interval over scenes. value: None if there is nothing to divide by; low, high: None if there is
    one scene only."""

    value: float | None
    low: float | None
    high: float | None
    right: int
    of: int


class GroupScore(NamedTuple):
    """Recall of the objects and precision of the detections in one group."""

    name: str
    recall: Rate
    precision: Rate


class KindScore(NamedTuple):
    """One kind of object. wanted: those of the wanted class; iou: of its pixels, None without masks or pixels."""

    kind: str
    all: GroupScore
    wanted: GroupScore
    iou: float | None


class AttributeScore(NamedTuple):
    """One attribute of the objects that were found as what they are. accuracy: of the stated values; left_out: share
    of the objects with a value for which none was stated."""

    name: str
    accuracy: Rate
    left_out: float | None


class ScoreBin(NamedTuple):
    """Detections whose score is in a bin. score: mean score; right: share of right ones."""

    low: float
    high: float
    detections: int
    score: float
    right: float


class Confusion(NamedTuple):
    """How often one kind was taken for another."""

    true_kind: str
    found_as: str
    times: int


class DetectorFigures(NamedTuple):
    """All figures of one detector.

    miou: mean over kinds of the intersection over union of their pixels with depth in range, None without masks; ece:
    expected calibration error of the scores; errors: views on which the detector failed, by message; unusable:
    detections that were dropped because of an invalid box, mask or score; false: detections that match no object;
    parts: those of them that are parts or second detections of an object of their kind.
    """

    name: str
    privileged: bool
    scenes: int
    views: int
    wanted: GroupScore
    all: GroupScore
    sizes: tuple[GroupScore, ...]
    distances: tuple[GroupScore, ...]
    kinds: tuple[KindScore, ...]
    miou: float | None
    attributes: tuple[AttributeScore, ...]
    ece: float | None
    bins: tuple[ScoreBin, ...]
    confusions: tuple[Confusion, ...]
    median_ms: float | None
    p95_ms: float | None
    errors: Mapping[str, int]
    unusable: int
    false: int
    parts: int


class KindPixels:
    """Counts pixels by kind, to compare segmentations. Pixels without depth in range are left out."""

    def __init__(self) -> None:
        self._common, self._truth, self._found = Counter[str](), Counter[str](), Counter[str]()
        self.masked = False

    def add(self, truth: np.ndarray, kinds: Mapping[int, str], depth_m: np.ndarray, found: Sequence[Detection]) -> None:
        """Add a view. truth: (H, W) instance ids; kinds: kind by id; smaller masks cover larger ones."""
        config = DetectionConfig()
        inside = (depth_m >= config.near_m) & (depth_m <= config.far_m)
        masks = [(d.mask, canonical(d.name)) for d in found if d.mask is not None]
        self.masked |= bool(masks)
        numbers = {kind: n for n, kind in enumerate(sorted({*kinds.values(), *(name for _, name in masks)}), start=1)}
        table = np.zeros(2 ** 16, np.intp)
        for i, kind in kinds.items():
            table[i] = numbers[kind]
        painted = np.zeros(truth.shape, np.intp)
        for mask, name in sorted(masks, key=lambda item: -np.count_nonzero(item[0])):
            painted[mask] = numbers[name]
        true, seen = table[truth[inside]], painted[inside]
        for into, pixels in ((self._common, true[true == seen]), (self._truth, true), (self._found, seen)):
            counts = np.bincount(pixels, minlength=len(numbers) + 1)
            into.update({kind: int(counts[n]) for kind, n in numbers.items() if counts[n]})

    def ious(self) -> dict[str, float]:
        """Return the intersection over union by kind, for the kinds that the views show; {} without masks."""
        return {kind: self._common[kind] / (pixels + self._found[kind] - self._common[kind])
                for kind, pixels in self._truth.items()} if self.masked else {}


def rate(parts: Mapping[str, tuple[int, int]], seed: int = 0) -> Rate:
    """Return the share of the sums of (right, of) by scene, with its bootstrap interval over scenes."""
    pairs = np.array(list(parts.values()), float).reshape(-1, 2)
    right, total = pairs.sum(axis=0).tolist()
    if not total:
        return Rate(None, None, None, 0, 0)
    value, scenes = right / total, int(np.count_nonzero(pairs[:, 1]))
    if scenes < 2:
        return Rate(value, None, None, int(right), int(total))
    pairs = pairs[pairs[:, 1] > 0]
    if right in (0, total):  # the bootstrap of equal shares has no width
        low, high = wilson(value, scenes)
    else:
        drawn = np.random.default_rng(seed).multinomial(scenes, np.full(scenes, 1 / scenes), _RESAMPLES) @ pairs
        low, high = np.percentile(drawn[:, 0] / drawn[:, 1], (2.5, 97.5)).tolist()
    return Rate(value, float(low), float(high), int(right), int(total))


class DetectorTally:
    """Collects what one detector does, view by view."""

    def __init__(self, name: str, privileged: bool) -> None:
        self.name, self.privileged, self.pixels = name, privileged, KindPixels()
        self.errors, self.unusable = Counter[str](), 0
        self._scenes, self._views = set[str](), 0
        self._truth: list[tuple[str, TruthObject]] = []
        self._found: list[tuple[str, FoundObject]] = []
        self._seconds: list[float] = []

    def add(self, scene: str, matched: MatchedView, seconds: float | None) -> None:
        """Add a view; seconds: duration of the detection, None if it failed."""
        self._scenes.add(scene)
        self._views += 1
        self._truth += [(scene, t) for t in matched.truth if t.counted]
        self._found += [(scene, f) for f in matched.found if f.counted]
        if seconds is not None:
            self._seconds.append(seconds)

    def figures(self) -> DetectorFigures:
        """Return the figures of everything added so far."""
        ious = self.pixels.ious()
        ms = np.array(self._seconds) * 1000
        bins = score_bins([f for _, f in self._found])
        return DetectorFigures(
            self.name, self.privileged, len(self._scenes), self._views,
            _group(WANTED, self._truth, self._found, is_wanted), _group(ALL, self._truth, self._found),
            tuple(_group(name, self._truth, self._found, _between("width_px", *ends)) for name, *ends in SIZES),
            tuple(_group(name, self._truth, self._found, _between("distance_m", *ends)) for name, *ends in DISTANCES),
            self._kinds(ious), float(np.mean(list(ious.values()))) if ious else None,
            tuple(self._attribute(name) for name in (*ATTRIBUTES, ROOM)),
            sum(b.detections * abs(b.score - b.right) for b in bins) / len(self._found) if bins else None, bins,
            self._confusions(), float(np.median(ms)) if ms.size else None,
            float(np.percentile(ms, 95)) if ms.size else None, dict(self.errors), self.unusable,
            sum(not f.true_kind for _, f in self._found), sum(f.part for _, f in self._found))

    def _kinds(self, ious: Mapping[str, float]) -> tuple[KindScore, ...]:
        """Return a row for each kind, the most frequent first."""
        truth, found = _by_kind(self._truth), _by_kind(self._found)
        order = sorted({*truth, *found}, key=lambda kind: (-len(truth[kind]), kind))
        return tuple(KindScore(kind, _group(ALL, truth[kind], found[kind]),
                               _group(WANTED, truth[kind], found[kind], is_wanted), ious.get(kind)) for kind in order)

    def _attribute(self, name: str) -> AttributeScore:
        known = [(scene, t) for scene, t in self._truth if t.right and name in t.facts]
        said = [(scene, _agrees(name, t)) for scene, t in known if name in t.said]
        return AttributeScore(name, rate(_by_scene(said)), 1 - len(said) / len(known) if known else None)

    def _confusions(self) -> tuple[Confusion, ...]:
        """Return the most frequent confusions."""
        pairs = Counter((t.kind, t.found_as) for _, t in self._truth if t.found_as and not t.right)
        return tuple(Confusion(*pair, count) for pair, count in
                     sorted(pairs.items(), key=lambda item: (-item[1], item[0]))[:CONFUSIONS])


def score_bins(found: Iterable[FoundObject]) -> tuple[ScoreBin, ...]:
    """Return the bins of equal width that hold detections, to compare scores with the share of right detections."""
    pairs = np.array([(f.score, f.right) for f in found], float).reshape(-1, 2)
    numbers = np.minimum((pairs[:, 0] * BINS).astype(int), BINS - 1)
    return tuple(ScoreBin(n / BINS, (n + 1) / BINS, int(np.count_nonzero(numbers == n)),
                          *pairs[numbers == n].mean(axis=0).tolist()) for n in np.unique(numbers).tolist())


def is_wanted(one: TruthObject | FoundObject) -> bool:
    """Return whether an object or a detection belongs to the class on which detectors are compared."""
    return one.width_px > _WIDE_PX and one.distance_m <= _NEAR_M


def _between(field: str, low: float, high: float) -> Callable[[TruthObject | FoundObject], bool]:
    return lambda one: low <= getattr(one, field) < high


def _group(name: str, truth: Items[TruthObject], found: Items[FoundObject],
           holds: Callable[[TruthObject | FoundObject], bool] = lambda one: True) -> GroupScore:
    """Return recall and precision of the objects and the detections for which a condition holds."""
    return GroupScore(name, rate(_by_scene([(scene, t.right) for scene, t in truth if holds(t)])),
                      rate(_by_scene([(scene, f.right) for scene, f in found if holds(f)])))


def _by_scene(rights: Iterable[tuple[str, bool]]) -> dict[str, tuple[int, int]]:
    """Return {scene: (number of right ones, number)}."""
    sums: dict[str, tuple[int, int]] = {}
    for scene, right in rights:
        before = sums.get(scene, (0, 0))
        sums[scene] = before[0] + right, before[1] + 1
    return sums


def _by_kind(items: Items[Item]) -> dict[str, list[tuple[str, Item]]]:
    kinds = defaultdict[str, list[tuple[str, Item]]](list)
    for scene, one in items:
        kinds[one.kind].append((scene, one))
    return kinds


def _agrees(name: str, t: TruthObject) -> bool:
    """Return whether a detection stated the true value; "bedroom" is right for the "second bedroom"."""
    true, said = canonical(t.facts[name]), canonical(t.said[name])
    return true == said or (name == ROOM and true.endswith(f" {said}"))
