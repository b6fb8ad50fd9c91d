"""Labelled instances of a frame with their position and size in the map, and captions for them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import numpy as np

from eqa_nodes.core.ranges import Count, Counted, NotNegative, Positive, Range, Share, check_ranges
from eqa_nodes.core.settings import constant, setting
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame, Label, Sighting

_DISTANCE_M = 0.75  # views within the same step of distance and bearing repeat an error
_BEARING_RAD = math.radians(30)
_Half: TypeAlias = Annotated[float, Range(0.0, 0.5)]  # share that doubles at range_m
_RELATIONS = {"on": "on", "in": "in", "under": "under", "wall": "on", "ceiling": "on"}


@dataclass(frozen=True)
class NoiseConfig:
    """Simulated label errors. The shares hold at half of range_m; they grow from 0 at the object to twice at range_m.
    """

    miss: _Half = setting(0.0, "Share of sightings (0 to 1) that are missed.")
    confuse: _Half = setting(0.0,
        "Share of sightings (0 to 1) with a wrong label: another kind of object from the same room, or a wrong "
        "colour, material or state.")
    range_m: NotNegative = setting(0.0, "Distance in metres beyond which objects are missed; 0 sets no limit.")
    seed: int = constant(0, "Seed of the simulated label errors.")

    def __post_init__(self) -> None:
        check_ranges(self, "perception.noise")


def disturbed(seen: Sequence[Sighting], pose: Pose2, labels: Mapping[int, Label],
              config: NoiseConfig) -> tuple[Sighting, ...]:
    """Return the sightings of a detector with these errors from `pose`; labels: source of the wrong labels."""
    if not (config.miss or config.confuse or config.range_m):
        return tuple(seen)
    names = sorted(labels.values(), key=lambda label: label.instance)
    kept = (_disturbed(s, pose, names, config) for s in seen)
    return tuple(s for s in kept if s is not None)


def _disturbed(s: Sighting, pose: Pose2, names: Sequence[Label], config: NoiseConfig) -> Sighting | None:
    dx, dy = s.centre[0] - pose.x, s.centre[1] - pose.y
    off = math.hypot(dx, dy)
    if config.range_m and off > config.range_m:
        return None
    worse = min(2.0, 2.0 * off / (config.range_m or 6.0))
    spot = f"{config.seed} {s.label.instance} {int(off / _DISTANCE_M)} {round(math.atan2(dy, dx) / _BEARING_RAD)}"
    if _draw("miss", spot) < config.miss * worse:
        return None
    if _draw("confuse", spot) < config.confuse * worse:
        return s._replace(label=_mistaken(s.label, names, spot))
    return s


def _mistaken(label: Label, names: Sequence[Label], spot: str) -> Label:
    """Return the label with another kind, or with one attribute replaced by that of another object."""
    attribute = ("", "colour", "state", "material")[int(4 * _draw("which", spot))]
    if attribute in label.attributes:
        values = sorted({n.attributes[attribute] for n in names
                         if attribute in n.attributes and (n.kind == label.kind or attribute != "state")}
                        - {label.attributes[attribute]})
        if values:
            value = values[int(len(values) * _draw("value", spot))]
            return label._replace(attributes={**label.attributes, attribute: value})
    kinds = sorted({n.kind for n in names if n.room == label.room} - {label.kind})
    return label._replace(kind=kinds[int(len(kinds) * _draw("kind", spot))]) if kinds else label


def _draw(what: str, spot: str) -> float:
    """Return a pseudo-random number in [0, 1) that depends only on the arguments."""
    return zlib.crc32(f"{what} {spot}".encode()) * 2.0 ** -32


@dataclass(frozen=True)
class PerceptionConfig:
    """Conditions for an instance to count as seen."""

    min_share: Share = constant(60 / (640 * 480),
        "Minimum share of the image's pixels (0 to 1) that an instance must cover.")
    max_range_m: Positive = constant(6.0, "Maximum median depth of an instance along the optical axis, in metres.")
    points: Counted = constant(250,
        "Approximate number of depth samples per instance, which limits the cost of a frame.")
    caption_items: Count = constant(24, "Maximum number of instances that a caption names; the largest are named.")
    noise: NoiseConfig = NoiseConfig()


def instances(frame: Frame, labels: Mapping[int, Label], config: PerceptionConfig | None = None) -> dict[int, int]:
    """Return the number of pixels, by id, of the named instances with enough pixels: a cheap superset of `sightings`.
    """
    config = config or PerceptionConfig()
    if frame.labels is None:
        return {}
    counts = np.bincount(frame.labels.ravel())
    enough = np.flatnonzero(counts >= max(1.0, config.min_share * frame.labels.size))
    return {int(i): int(counts[i]) for i in enough if int(i) in labels}


def sightings(frame: Frame, labels: Mapping[int, Label], config: PerceptionConfig | None = None,
              counts: Mapping[int, int] | None = None) -> tuple[Sighting, ...]:
    """Return the labelled instances in view, sorted by decreasing number of pixels, then by id.

    An instance needs enough pixels, depth, and a median depth in range; ids missing in `labels` are ignored.
    Centre and size are those of the box between the 5th and 95th percentile of its points along the axes of the map,
    rounded to millimetres. counts: result of `instances` for the frame, if known.
    """
    config = config or PerceptionConfig()
    counts = instances(frame, labels, config) if counts is None else counts
    if not counts or frame.labels is None:
        return ()
    ids = list(counts)
    compact_of = np.zeros(2 ** 16, np.uint16)
    compact_of[ids] = np.arange(1, len(ids) + 1)
    compact = np.take(compact_of, frame.labels)
    from scipy.ndimage import find_objects  # half a second, saved in nodes without a camera

    boxes = find_objects(compact, max_label=len(ids))
    pixels = [_sample(compact, n, box, counts[i] / config.points)
              for n, (i, box) in enumerate(zip(ids, boxes, strict=True), start=1)]
    ends = np.cumsum([len(v) for v, _ in pixels], dtype=int).tolist()
    z, points = points_of(frame, *(np.concatenate(axis) for axis in zip(*pixels, strict=True)))
    found = []
    for i, (rows, cols), start, end in zip(ids, boxes, [0, *ends], ends, strict=False):
        extent = _extent(z[start:end], points[:, start:end], config.max_range_m)
        if extent is not None:
            found.append(Sighting(labels[i], counts[i], (cols.start, rows.start, cols.stop, rows.stop), *extent))
    found.sort(key=lambda s: (-s.pixels, s.label.instance))
    return disturbed(found, frame.pose, labels, config.noise)


def _sample(compact: np.ndarray, n: int, box: tuple[slice, slice], excess: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of every k-th pixel of instance n, so that large instances cost no more than small ones.
    """
    rows, cols = box
    k = max(1, round(math.sqrt(excess)))
    v, u = np.nonzero(compact[rows.start:rows.stop:k, cols.start:cols.stop:k] == n)
    return rows.start + v * k, cols.start + u * k


def points_of(frame: Frame, v: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the depth (n,) of pixels (v, u), metres, 0 = none, and their points (3, n) in the map frame."""
    z = frame.depth_m[v, u].astype(np.float64)
    z[~((z > 0) & (z < np.inf))] = 0.0
    k = frame.intrinsics
    x, y = (u + 0.5 - k.cx) / k.fx * z, (v + 0.5 - k.cy) / k.fy * z
    # written out, since the summation order of a matrix product depends on the processor
    return z, np.stack([row[0] * x + row[1] * y + row[2] * z + row[3] for row in frame.map_from_camera()[:3]])


def _extent(z: np.ndarray, points: np.ndarray, max_range_m: float) -> (
        tuple[tuple[float, float, float], tuple[float, float, float]] | None):
    """Return centre and size of the box between the 5th and 95th percentile of the points with depth.

    Return None if none has depth, or if their median depth is out of range.
    """
    valid = z > 0
    z, points = z[valid], points[:, valid]
    if not len(z) or np.partition(z, len(z) // 2)[len(z) // 2] > max_range_m:
        return None
    points.sort(axis=1)
    low, high = points[:, round(0.05 * (len(z) - 1))], points[:, round(0.95 * (len(z) - 1))]
    x, y, zz = ((low + high) / 2).round(3).tolist()
    sx, sy, sz = (high - low).round(3).tolist()
    return (x, y, zz), (sx, sy, sz)


def region_of(seen: Iterable[Sighting]) -> str:
    """Return the kind of room that most labelled pixels belong to; "" if no label names a room."""
    pixels: dict[str, int] = {}
    for s in seen:
        if s.label.room:
            pixels[s.label.room] = pixels.get(s.label.room, 0) + s.pixels
    return max(sorted(pixels), key=lambda room: pixels[room], default="")


def caption_of(seen: Iterable[Sighting], limit: int = PerceptionConfig.caption_items) -> str:
    """Return "kitchen: red kettle on counter (on), stove; hallway: door (open)", largest first; "" for nothing."""
    rooms: dict[str, list[str]] = {}
    for s in list(seen)[:limit]:
        rooms.setdefault(s.label.room, []).append(_phrase(s.label))
    return "; ".join(f"{room}: {', '.join(objects)}" if room else ", ".join(objects) for room, objects in rooms.items())


def _phrase(label: Label) -> str:
    """Return "red metal kettle on counter (on)", with text read on it: 'yellow jar on counter "RICE"'."""
    a = label.attributes
    words = [a.get("colour", ""), a.get("material", ""), label.kind]
    relation = _RELATIONS.get(a.get("relation", ""), "")
    support = a.get("support", "") or {"wall": "wall", "ceiling": "ceiling"}.get(a.get("relation", ""), "")
    if relation and support:
        words += [relation, support]
    state = f" ({a['state']})" if a.get("state") else ""
    written = f' "{a["text"]}"' if a.get("text") else ""
    return " ".join(filter(None, words)) + state + written
