"""Estimates the poses of a recording: track the camera, close loops, optimise the pose graph, level the map."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.config import PoseSearchConfig
from eqa_nodes.core.reconstruction.levelling import Ground, levelled
from eqa_nodes.core.reconstruction.library import open3d
from eqa_nodes.core.reconstruction.odometry import moved
from eqa_nodes.core.reconstruction.tracking import CameraTrack, PoseLink, Tried, close_loops, join_pieces

_ROUNDS = 2  # rounds of closing loops: better poses reveal more of them
_TRIED_FRAMES = 3  # minimum number of frames of a piece that is compared with others
_MOST_PIECES = 12  # maximum number of pieces that are compared with each other: the longest
_LOOP_M = 0.05  # a loop with a much larger error after optimisation is dropped
SEPARATE = "its frames fit each other, but not the rest"


class Closure(NamedTuple):
    """The error at a loop of odometry alone (before) and of the result (after): metres and degrees."""

    before: tuple[float, float]
    after: tuple[float, float]


class Localisation(NamedTuple):
    """The estimated poses. poses: map_from_camera (4, 4) by index of the image; drift: errors at each loop kept.

    anchors: number of keyframes; loops: number of loops confirmed by the images, kept or not.
    """

    poses: dict[int, np.ndarray]
    ground: Ground
    anchors: int
    loops: int
    drift: tuple[Closure, ...]


def localised(track: CameraTrack, config: PoseSearchConfig = PoseSearchConfig(),
              progress: Callable[[int], None] = lambda done: None) -> Localisation:
    """Return the poses of the largest group of connected frames.

    progress: called with the number of keyframes compared, in _ROUNDS rounds. Raises BadFrame if no image is usable,
    or no two of them fit together.
    """
    if len(track.frames) < 2:
        raise BadFrame(_nothing(track))
    links = track.links + join_pieces(track.anchors, _worth_joining(track), config)
    members = _largest(track, links)
    frames = [frame for frame in track.frames if frame.anchor in members]
    if len(frames) < 2:
        raise BadFrame(_nothing(track))
    place = {anchor: k for k, anchor in enumerate(members)}
    inside = [link._replace(source=place[link.source], target=place[link.target])
              for link in links if link.source in place]
    anchors = [track.anchors[k] for k in members]
    poses, tried, kept = _chained(len(members), inside), Tried(), set[tuple[int, int]]()
    for turn in range(_ROUNDS if config.loops else 1):
        offset = turn * len(anchors)
        if config.loops:
            inside += close_loops(anchors, poses, config, tried, partial(_further, progress, offset))
        poses, kept = optimised(poses, inside)
    ground = levelled([(anchor.view.depth_m, anchor.view.small) for anchor in anchors], poses)
    found = {frame.number: ground.map_from_common @ poses[place[frame.anchor]] @ frame.anchor_from_camera
             for frame in frames}
    loops = [link for link in inside if link.loop]
    odometry = [anchor.piece_from_camera for anchor in anchors]
    drift = tuple(Closure(_missed(link, odometry), _missed(link, poses)) for link in loops
                  if (link.source, link.target) in kept and anchors[link.source].piece == anchors[link.target].piece)
    return Localisation(found, ground, len(anchors), len(loops), drift)


def _further(progress: Callable[[int], None], offset: int, done: int) -> None:
    progress(offset + done)


def _missed(link: PoseLink, poses: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the difference between a measured link and the poses, metres and degrees."""
    said = np.linalg.inv(poses[link.target]) @ poses[link.source]
    return moved(np.linalg.inv(link.target_from_source) @ said)


def _worth_joining(track: CameraTrack) -> list[int]:
    """Return the numbers of the longest pieces."""
    lengths = Counter(track.anchors[frame.anchor].piece for frame in track.frames)
    return [piece for piece, n in lengths.most_common(_MOST_PIECES) if n >= _TRIED_FRAMES]


def _largest(track: CameraTrack, links: Sequence[PoseLink]) -> list[int]:
    """Return the anchors, in order, of the linked group with the most frames."""
    near = _neighbours(len(track.anchors), links)
    count = Counter(frame.anchor for frame in track.frames)
    left, best, most = set(range(len(track.anchors))), list[int](), 0
    while left:
        group, open_ = set[int](), [min(left)]
        while open_:
            here = open_.pop()
            if here not in group:
                group.add(here)
                open_ += [other for other, _ in near[here]]
        left -= group
        frames = sum(count[k] for k in group)
        if frames > most:
            best, most = sorted(group), frames
    return best


def _chained(count: int, links: Sequence[PoseLink]) -> list[np.ndarray]:
    """Return the poses of linked anchors, each along the fewest links from the first."""
    near, poses = _neighbours(count, links), {0: np.eye(4)}
    open_ = deque([0])
    while open_:
        here = open_.popleft()
        for other, here_from_other in near[here]:
            if other not in poses:
                poses[other] = poses[here] @ here_from_other
                open_.append(other)
    return [poses[k] for k in range(count)]


def _neighbours(count: int, links: Sequence[PoseLink]) -> list[list[tuple[int, np.ndarray]]]:
    """Return for each anchor the anchors linked to it, with here_from_there."""
    near: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(count)]
    for link in links:
        near[link.target].append((link.source, link.target_from_source))
        near[link.source].append((link.target, np.linalg.inv(link.target_from_source)))
    return near


def _nothing(track: CameraTrack) -> str:
    """Return why there are no poses."""
    if not track.images:
        return "the recording has no image"
    if track.unusable and len(track.frames) < 2:
        reason, n = Counter(track.unusable.values()).most_common(1)[0]
        return f"only {len(track.frames)} of {track.images} images can be used: {n} x {reason}"
    if track.breaks:
        first, last = track.breaks[0].last, track.breaks[-1].next
        reason, n = Counter(gap.reason for gap in track.breaks).most_common(1)[0]
        return (f"no two of {len(track.frames)} images can be joined, from frame {first} to frame {last}: {n} x "
                f"{reason}; record slower, with at least half of each view in the next")
    return f"{len(track.frames)} image has no motion: at least two are needed"


def optimised(poses: Sequence[np.ndarray], links: Sequence[PoseLink]) -> tuple[list[np.ndarray], set[tuple[int, int]]]:
    """Return the poses (4, 4) that fit the links best, with the first one fixed, and the pairs of the loops kept.

    poses: common_from_camera of each anchor, connected by the links, which refer to them by index.
    """
    registration = open3d().pipelines.registration
    graph = registration.PoseGraph()
    for pose in poses:
        graph.nodes.append(registration.PoseGraphNode(pose))
    for link in links:
        graph.edges.append(registration.PoseGraphEdge(link.source, link.target, link.target_from_source,
                                                      link.information, uncertain=link.loop))
    registration.global_optimization(
        graph, registration.GlobalOptimizationLevenbergMarquardt(),
        registration.GlobalOptimizationConvergenceCriteria(),
        registration.GlobalOptimizationOption(_LOOP_M, edge_prune_threshold=0.25, preference_loop_closure=1.0,
                                              reference_node=0))
    kept = {(edge.source_node_id, edge.target_node_id) for edge in graph.edges if edge.uncertain}
    return [np.array(node.pose) for node in graph.nodes], kept


class Stretch(NamedTuple):
    """A run of frames without poses: index of the first and the last one, and the most frequent reason."""

    first: int
    last: int
    reason: str


class Drift(NamedTuple):
    """Errors at loops: metres (median, largest) and degrees (median, largest); nan without a loop."""

    median_m: float
    largest_m: float
    median_deg: float
    largest_deg: float


@dataclass(frozen=True)
class LocalisationReport:
    """The result. frames: number recorded; localised: number with a pose; seconds, covered_s: time recorded, and time
    with poses; joined: frames (last, next) at a break of tracking that both have poses; odometry_drift: errors before
    closing loops; loop_residual: errors after it."""

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
    """Return the report. unread: number of unreadable images by reason."""
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
