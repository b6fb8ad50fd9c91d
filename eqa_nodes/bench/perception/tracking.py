"""Measures detection with tracking along a tour: recall, precision, positions and stable numbers by kind of object."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.perception.detection import DetectionConfig
from eqa_nodes.core.perception.instances import PerceptionConfig, sightings
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.views import Frame, Label, Sighting

MATCH_M = 0.5  # maximum distance between the centres of a right detection and an object of its kind


@dataclass
class DetectionCounts:
    """Counts for one kind. numbers: per instance, how often it got each track number; off_m: distances of centres."""

    labelled: int = 0
    detected: int = 0
    off_m: list[float] = field(default_factory=list)
    numbers: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))


class TrackedKind(NamedTuple):
    """One row. labelled, detected: sightings over all frames; recall: share of the labelled ones correctly detected;

    precision: share of the detections that are right; off_m: median distance of the centres, metres; stable: share of
    an instance's detections that have its most frequent number. NaN if there is nothing to divide by.
    """

    kind: str
    labelled: int
    detected: int
    recall: float
    precision: float
    off_m: float
    stable: float


def measure(frames: Iterable[Frame], labels: Mapping[int, Label], perceiver: Perceiver,
            tallies: dict[str, DetectionCounts] | None = None) -> dict[str, DetectionCounts]:
    """Return the counts by kind, added to `tallies` if given; the perceiver starts a new episode.

    Only objects count that have enough pixels and are within the detector's range.
    """
    found = defaultdict[str, DetectionCounts](DetectionCounts) if tallies is None else tallies
    config = PerceptionConfig(max_range_m=DetectionConfig().far_m)
    perceiver.reset()
    for frame in frames:
        perceived = perceiver.take(frame, labels)
        _count(found, sightings(frame, labels, config), [s for _, s in perceived.found])
    return found


def _count(tallies: dict[str, DetectionCounts], truth: Iterable[Sighting], seen: Iterable[Sighting]) -> None:
    """Count one frame: detections and objects of a kind are paired, the nearest first."""
    here: dict[str, tuple[list[Sighting], list[Sighting]]] = defaultdict(lambda: ([], []))
    for side, group in enumerate((truth, seen)):
        for s in group:
            here[canonical(s.label.kind)][side].append(s)
    for kind, (objects, detections) in here.items():
        tally = tallies.setdefault(kind, DetectionCounts())
        tally.labelled += len(objects)
        tally.detected += len(detections)
        for obj, detection, off in _pairs(objects, detections):
            tally.off_m.append(off)
            tally.numbers[obj.label.instance][detection.label.instance] += 1


def _pairs(objects: list[Sighting], detections: list[Sighting]) -> list[tuple[Sighting, Sighting, float]]:
    near = sorted((math.dist(t.centre, d.centre), i, j)
                  for i, t in enumerate(objects) for j, d in enumerate(detections))
    left, right, pairs = set(range(len(objects))), set(range(len(detections))), []
    for off, i, j in near:
        if off <= MATCH_M and i in left and j in right:
            left.remove(i)
            right.remove(j)
            pairs.append((objects[i], detections[j], off))
    return pairs


def scores_of(tallies: Mapping[str, DetectionCounts]) -> list[TrackedKind]:
    """Return a row per kind, the most frequent first, and a last one for all kinds together."""
    rows = [_score(kind, [tally]) for kind, tally in sorted(tallies.items(), key=lambda i: (-i[1].labelled, i[0]))]
    return [*rows, _score("all", list(tallies.values()))]


def _score(kind: str, tallies: list[DetectionCounts]) -> TrackedKind:
    labelled, detected = sum(t.labelled for t in tallies), sum(t.detected for t in tallies)
    offs = [off for t in tallies for off in t.off_m]
    most = sum(max(numbers.values()) for t in tallies for numbers in t.numbers.values())
    return TrackedKind(kind, labelled, detected, _share(len(offs), labelled), _share(len(offs), detected),
                     float(np.median(offs)) if offs else math.nan, _share(most, len(offs)))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
