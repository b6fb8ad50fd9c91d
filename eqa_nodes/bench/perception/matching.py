"""Matches the detections in a view with its labelled objects: which were found, missed, confused or invented.

A detection and an object match by intersection over union: of their masks, or of their boxes if the detection has no
mask. Each belongs to at most one pair. Pairs of one kind come first, the largest overlap first, then the others: those
are confused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import ndimage

from eqa_nodes.bench.perception.views import LabelledView
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.perception.detection import ATTRIBUTES, SURROUNDINGS, Detection
from eqa_nodes.core.perception.instances import PerceptionConfig, sightings
from eqa_nodes.core.types.views import Label

ROOM = "room"
_WIDTH = 320  # widths are stated in pixels of an image that is this wide
SURROUNDING_KINDS = frozenset(map(canonical, SURROUNDINGS))  # of labels that are no objects
Box: TypeAlias = tuple[int, int, int, int]


class TruthObject(NamedTuple):
    """A labelled object in a view. width_px: of its box, in an image 320 px wide; distance_m: median depth.

    counted: it has enough pixels, is within range, and is no wall or floor; recall is about these. found_as: kind of
    the detection that matches it, "" = missed; facts: its attributes and room; said: those of a detection of its kind.
    """

    kind: str
    box: Box
    width_px: float
    distance_m: float
    counted: bool
    facts: Mapping[str, str]
    found_as: str = ""
    said: Mapping[str, str] = {}

    @property
    def right(self) -> bool:
        """Return whether it was found as what it is."""
        return self.found_as == self.kind


class FoundObject(NamedTuple):
    """A detection. true_kind: kind of the object that it matches, "" = none; counted: False if that object does not
    count although the kind is right. true_box: the object's box; part: it matches none, but most of it is on an object
    of its kind, so that it is a part of one or a second detection of it.
    """

    kind: str
    score: float
    box: Box
    width_px: float
    distance_m: float
    counted: bool
    true_kind: str = ""
    true_box: Box | None = None
    part: bool = False

    @property
    def right(self) -> bool:
        """Return whether it matches an object of its kind."""
        return self.true_kind == self.kind


class MatchedView(NamedTuple):
    """The objects and the detections of one view."""

    truth: tuple[TruthObject, ...]
    found: tuple[FoundObject, ...]


class _Instance(NamedTuple):
    """A labelled instance of a view: its id, number of pixels and box."""

    label: Label
    pixels: int
    box: Box


def match(view: LabelledView, found: Sequence[Detection], least_iou: float) -> MatchedView:
    """Match detections with boxes inside the image (see core.perception.detection.sound) and a view's objects."""
    instances = _instances(view)
    shares = np.array([_overlaps(d, view, instances) for d in found]).reshape(len(found), len(instances))
    kinds, names = [canonical(i.label.kind) for i in instances], [canonical(d.name) for d in found]
    pairs = _pairs(shares, names, kinds, least_iou)
    counted = _counted(view)
    truth = [_truth(view, i, i.label.instance in counted) for i in instances]
    objects = []
    for n, (d, name) in enumerate(zip(found, names, strict=True)):
        one, k = _found(view, d, name), pairs.get(n)
        if k is not None:
            same = name == kinds[k]
            one = one._replace(true_kind=kinds[k], true_box=truth[k].box, counted=truth[k].counted or not same)
            truth[k] = truth[k]._replace(found_as=name, said=_said(d) if same else {})
        else:
            own = [i.label.instance for i, kind in zip(instances, kinds, strict=True) if kind == name]
            one = one._replace(part=_mostly_on(d, view, own))
        objects.append(one)
    return MatchedView(tuple(truth), tuple(objects))


def _instances(view: LabelledView) -> list[_Instance]:
    image = view.frame.labels
    assert image is not None
    ids, compact = np.unique(image, return_inverse=True)
    compact = compact.reshape(image.shape)
    counts = np.bincount(compact.ravel()).tolist()
    boxes = ndimage.find_objects(compact + 1)
    return [_Instance(view.labels[i], count, (columns.start, rows.start, columns.stop, rows.stop))
            for i, count, (rows, columns) in zip(ids.tolist(), counts, boxes, strict=True) if i in view.labels]


def _counted(view: LabelledView) -> set[int]:
    """Return the ids that memory would count as seen, without walls and floors."""
    seen = sightings(replace(view.frame, depth_m=view.depth_m), view.labels, PerceptionConfig())
    return {s.label.instance for s in seen if canonical(s.label.kind) not in SURROUNDING_KINDS}


def _overlaps(d: Detection, view: LabelledView, instances: Sequence[_Instance]) -> list[float]:
    """Return the intersection over union of a detection with each instance."""
    if d.mask is None:
        return [_box_overlap(d.box, i.box) for i in instances]
    assert view.frame.labels is not None
    inside = np.bincount(view.frame.labels[d.mask], minlength=2 ** 16)
    size = int(np.count_nonzero(d.mask))
    return [float(inside[i.label.instance] / (size + i.pixels - inside[i.label.instance])) for i in instances]


def _mostly_on(d: Detection, view: LabelledView, ids: Sequence[int]) -> bool:
    """Return whether more than half of a detection's pixels belong to one of these instances."""
    assert view.frame.labels is not None
    left, top, right, bottom = d.box
    pixels = view.frame.labels[top:bottom, left:right] if d.mask is None else view.frame.labels[d.mask]
    return any(2 * np.count_nonzero(pixels == i) > pixels.size for i in ids)


def _box_overlap(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(0, wide) * max(0, high)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def _pairs(shares: np.ndarray, names: Sequence[str], kinds: Sequence[str], least_iou: float) -> dict[int, int]:
    """Return {detection: instance}, one to one; shares: (detections, instances)."""
    alike = sorted((names[n] != kinds[k], -shares[n, k], n, k) for n, k in np.argwhere(shares >= least_iou).tolist())
    pairs: dict[int, int] = {}
    for _, _, n, k in alike:
        if n not in pairs and k not in pairs.values():
            pairs[n] = k
    return pairs


def _truth(view: LabelledView, one: _Instance, counted: bool) -> TruthObject:
    facts = {name: one.label.attributes.get(name, "") for name in ATTRIBUTES} | {ROOM: one.label.room}
    depth = view.depth_m[view.frame.labels == one.label.instance]
    return TruthObject(canonical(one.label.kind), one.box, _width(one.box, view), _median(depth), counted,
                       {name: value for name, value in facts.items() if value})


def _found(view: LabelledView, d: Detection, name: str) -> FoundObject:
    left, top, right, bottom = d.box
    depth = view.frame.depth_m[top:bottom, left:right] if d.mask is None else view.frame.depth_m[d.mask]
    return FoundObject(name, d.score, d.box, _width(d.box, view), _median(depth), name not in SURROUNDING_KINDS)


def _said(d: Detection) -> dict[str, str]:
    """Return what a detection states about its object; detectors may leave it out."""
    said = {name: d.attributes.get(name, "") for name in ATTRIBUTES} | {ROOM: d.room}
    return {name: value for name, value in said.items() if value}


def _width(box: Box, view: LabelledView) -> float:
    return (box[2] - box[0]) * _WIDTH / view.frame.intrinsics.width


def _median(depth_m: np.ndarray) -> float:
    """Return the median of the depths that are known, metres; inf if none is."""
    known = depth_m[depth_m > 0]
    return float(np.median(known)) if known.size else np.inf
