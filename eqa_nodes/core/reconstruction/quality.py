"""How far found poses can be trusted: drift, stretches without poses, length, time, and how the floor was found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.reconstruction.localisation import Localisation
from eqa_nodes.core.reconstruction.tracking import CameraTrack

SEPARATE = "its frames fit each other, but not the rest"


class Stretch(NamedTuple):
    """Frames without poses, first and last by index, and the most frequent reason."""

    first: int
    last: int
    reason: str


class Drift(NamedTuple):
    """By how much loops are missed: metres (median, largest) and degrees (median, largest); nan without a loop."""

    median_m: float
    largest_m: float
    median_deg: float
    largest_deg: float


@dataclass(frozen=True)
class LocalisationReport:
    """What was found. frames: recorded; localised: with a pose; seconds: recorded, and covered by poses; joined: frames
    (last, next) that do not follow each other, but whose places were both found; odometry_drift: what closing loops
    corrected; loop_residual: what is left."""

    frames: int
    localised: int
    seconds: float
    covered_s: float
    length_m: float
    keyframes: int
    loops_found: int
    loops_kept: int
    odometry_drift: Drift
    loop_residual: Drift
    unusable: dict[str, int]
    refused: tuple[Stretch, ...]
    joined: tuple[tuple[int, int], ...]
    levelled_by: str
    level_sure: bool
    floor_points: int
    floor_rms_m: float
    tilt_deg: float
    walls_deg: float


def report_of(track: CameraTrack, found: Localisation, unread: Mapping[str, int]) -> LocalisationReport:
    """Return the report. unread: images that could not even be read, by reason."""
    stamps = {frame.number: frame.stamp_ns for frame in track.frames}
    placed = sorted(found.poses)
    missing = sorted({*stamps, *track.unusable} - found.poses.keys())
    seconds = [(stamps[b] - stamps[a]) / 1e9 for a, b in pairwise(sorted(stamps))]
    covered = [(stamps[b] - stamps[a]) / 1e9 for a, b in pairwise(placed) if not _between(missing, a, b)]
    steps = [float(np.linalg.norm(found.poses[b][:3, 3] - found.poses[a][:3, 3])) for a, b in pairwise(placed)]
    ground = found.ground
    return LocalisationReport(
        track.images + sum(unread.values()), len(placed), round(sum(seconds), 3), round(sum(covered), 3),
        round(sum(steps), 3), found.anchors, found.loops, len(found.drift),
        _drift([loop.before for loop in found.drift]), _drift([loop.after for loop in found.drift]),
        dict(Counter(track.unusable.values()) + Counter(unread)), _stretches(track, missing),
        tuple((gap.last, gap.next) for gap in track.breaks if {gap.last, gap.next} <= found.poses.keys()),
        ground.how, ground.sure, ground.points, ground.rms_m, ground.tilt_deg, ground.walls_deg)


def _between(missing: Sequence[int], a: int, b: int) -> bool:
    at = int(np.searchsorted(missing, a))
    return at < len(missing) and missing[at] < b


def _drift(missed: Sequence[tuple[float, float]]) -> Drift:
    if not missed:
        return Drift(math.nan, math.nan, math.nan, math.nan)
    metres, degrees = np.array(missed).T
    return Drift(float(np.median(metres)), float(metres.max()), float(np.median(degrees)), float(degrees.max()))


def _stretches(track: CameraTrack, missing: Sequence[int]) -> tuple[Stretch, ...]:
    """Return the runs of frames without poses."""
    began = {gap.next: gap.reason for gap in track.breaks}
    ended = {gap.last: gap.reason for gap in track.breaks}
    runs, known = list[list[int]](), sorted({frame.number for frame in track.frames} | track.unusable.keys())
    place = {index: k for k, index in enumerate(known)}
    for index in missing:
        if runs and place[index] == place[runs[-1][-1]] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    found = list[Stretch]()
    for run in runs:
        why = Counter(track.unusable.get(i) or began.get(i) or ended.get(i, "") for i in run)
        del why[""]
        found.append(Stretch(run[0], run[-1], why.most_common(1)[0][0] if why else SEPARATE))
    return tuple(found)
