"""Layouts of the outputs of detection models in ONNX, recognised from their shapes, and how each is read.

Boxes are read in pixels of the model's input. The layouts are those of the exporters of Ultralytics (YOLOv5 to YOLO26,
RT-DETR), of RT-DETR and its successors, of transformers (DETR and its kin), and maps of semantic segmentation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

Outputs = Mapping[str, np.ndarray]
_STRIDES = ((8, 16, 32), (4, 8, 16, 32), (8, 16, 32, 64), (16, 32))  # of the feature maps of YOLO models
_ANCHORS = 3  # boxes per cell up to YOLOv5 and YOLOv7; later models have one


class ModelFacts(NamedTuple):
    """What is known of a model besides its outputs.

    height, width: size of its input in pixels; classes: number of class names; detr: its metadata name a DETR.
    """

    height: int
    width: int
    classes: int
    detr: bool = False


class Candidates(NamedTuple):
    """Boxes of one image. boxes: (n, 4) left, top, right, bottom in pixels of the input; scores, classes: (n,).

    coefficients: (n, m) of the prototypes of masks, (m, h, w) over the whole input; None without masks. overlapping:
    one object may have several boxes, so that non-maximum suppression is needed.
    """

    boxes: np.ndarray
    scores: np.ndarray
    classes: np.ndarray
    coefficients: np.ndarray | None = None
    prototypes: np.ndarray | None = None
    overlapping: bool = False


class KindMap(NamedTuple):
    """A class for each pixel of an image of the whole input. kinds: (h, w) int, -1 = none; confidence: (h, w) 0..1."""

    kinds: np.ndarray
    confidence: np.ndarray


class Layout(NamedTuple):
    """A layout of outputs. stretched: pictures are resized without keeping their proportions."""

    name: str
    fits: Callable[[Outputs, ModelFacts], bool]
    read: Callable[[Outputs, ModelFacts], Candidates | KindMap]
    stretched: bool = False


def recognise(outputs: Outputs, facts: ModelFacts) -> Layout | None:
    """Return the layout of a model's outputs for one image, None if it is unknown."""
    return next((layout for layout in LAYOUTS if outputs and layout.fits(outputs, facts)), None)


# YOLO: one output with boxes, scores and coefficients of masks, and perhaps one with prototypes of masks.

def _rows(outputs: Outputs) -> np.ndarray:
    """Return the first output of three axes without its batch axis; an empty array if there is none."""
    return next((o[0] for o in outputs.values() if o.ndim == 3 and o.shape[0] == 1 and o.dtype.kind == "f"),
                np.zeros((0, 0), np.float32))


def _prototypes(outputs: Outputs) -> np.ndarray | None:
    return next((o[0] for o in outputs.values() if o.ndim == 4 and o.shape[0] == 1), None)


def _masks(outputs: Outputs) -> int:
    """Return the number of mask coefficients of a box, 0 without masks."""
    prototypes = _prototypes(outputs)
    return 0 if prototypes is None else int(prototypes.shape[0])


def _cells(facts: ModelFacts) -> set[int]:
    """Return the numbers of cells that the feature maps of a YOLO model may have."""
    return {sum((facts.height // s) * (facts.width // s) for s in strides) for strides in _STRIDES}


def _is_yolo8(outputs: Outputs, facts: ModelFacts) -> bool:
    rows, n = _rows(outputs), 4 + facts.classes + _masks(outputs)
    return rows.shape[0] == n and rows.shape[1] in _cells(facts)


def _is_yolo8_turned(outputs: Outputs, facts: ModelFacts) -> bool:
    return not facts.detr and _is_yolo8({k: o.swapaxes(1, 2) if o.ndim == 3 else o for k, o in outputs.items()}, facts)


def _is_yolo5(outputs: Outputs, facts: ModelFacts) -> bool:
    rows, n, cells = _rows(outputs), 5 + facts.classes + _masks(outputs), _cells(facts)
    return rows.shape[1] == n and rows.shape[0] in cells | {_ANCHORS * c for c in cells}


def _is_selected(outputs: Outputs, facts: ModelFacts) -> bool:
    return not facts.detr and len(_rows(outputs)) > 0 and _rows(outputs).shape[1] == 6 + _masks(outputs)


def _is_selected_detr(outputs: Outputs, facts: ModelFacts) -> bool:
    rows = _rows(outputs)
    whole = facts.classes != 2 or bool((rows[:, 5:] == np.rint(rows[:, 5:])).all())  # or a score of the second class
    return facts.detr and len(rows) > 0 and rows.shape[1] == 6 and whole


def _is_joined_detr(outputs: Outputs, facts: ModelFacts) -> bool:
    rows = _rows(outputs)
    return len(outputs) == 1 and len(rows) > 0 and rows.shape[1] == 4 + facts.classes and len(rows) not in _cells(facts)


def _yolo8(outputs: Outputs, facts: ModelFacts) -> Candidates:
    return _read_yolo(_rows(outputs).T, _prototypes(outputs), facts.classes, objectness=False)


def _yolo8_turned(outputs: Outputs, facts: ModelFacts) -> Candidates:
    return _read_yolo(_rows(outputs), _prototypes(outputs), facts.classes, objectness=False)


def _yolo5(outputs: Outputs, facts: ModelFacts) -> Candidates:
    return _read_yolo(_rows(outputs), _prototypes(outputs), facts.classes, objectness=True)


def _read_yolo(rows: np.ndarray, prototypes: np.ndarray | None, classes: int, objectness: bool) -> Candidates:
    """Read rows of centre, size, perhaps a score that there is an object, a score of each class, and coefficients."""
    first = 4 + objectness
    shares = rows[:, first:first + classes]
    best = shares.argmax(axis=1)
    scores = shares[np.arange(len(best)), best] * (rows[:, 4] if objectness else np.float32(1))
    rest = rows[:, first + classes:] if prototypes is not None else None
    return Candidates(_corners(rows[:, :4]), scores, best, rest, prototypes, overlapping=True)


def _selected(outputs: Outputs, facts: ModelFacts) -> Candidates:
    """Read rows of corners, score, class, and coefficients: non-maximum suppression is part of the model."""
    rows, prototypes = _rows(outputs), _prototypes(outputs)
    rest = rows[:, 6:] if prototypes is not None else None
    return Candidates(rows[:, :4], rows[:, 4], _numbers(rows[:, 5]), rest, prototypes)


# DETR: boxes as shares of the input, one for each query, so that no suppression is needed.

def _selected_detr(outputs: Outputs, facts: ModelFacts) -> Candidates:
    """Read rows of centre and size as shares, score, and class: RT-DETR of Ultralytics from 8.4 on."""
    rows = _rows(outputs)
    return Candidates(_scaled(_corners(rows[:, :4]), facts), rows[:, 4], _numbers(rows[:, 5]))


def _joined_detr(outputs: Outputs, facts: ModelFacts) -> Candidates:
    """Read rows of centre and size as shares, and a score of each class: earlier RT-DETR of Ultralytics."""
    rows = _rows(outputs)
    best = rows[:, 4:].argmax(axis=1)
    return Candidates(_scaled(_corners(rows[:, :4]), facts), rows[:, 4:].max(axis=1), best)


def _detr_outputs(outputs: Outputs, facts: ModelFacts) -> tuple[np.ndarray, np.ndarray] | None:
    """Return logits (n, classes or one more) and boxes (n, 4); None if the outputs are others."""
    three = {k: o[0] for k, o in outputs.items() if o.ndim == 3 and o.shape[0] == 1 and o.dtype.kind == "f"}
    named = [k for k in three if "box" in k or "det" in k]
    for key in named or list(three)[1:]:
        for other, logits in three.items():
            if (other != key and three[key].shape == (len(logits), 4)
                    and logits.shape[1] in (facts.classes, facts.classes + 1)):
                return logits, three[key]
    return None


def _is_detr(outputs: Outputs, facts: ModelFacts) -> bool:
    return _detr_outputs(outputs, facts) is not None


def _detr(outputs: Outputs, facts: ModelFacts) -> Candidates:
    """Read logits and boxes. One logit more than classes means "no object", as in DETR (Carion et al. 2020); otherwise
    each class has a probability of its own, as in RT-DETR (Zhao et al. 2024)."""
    found = _detr_outputs(outputs, facts)
    assert found is not None
    logits, boxes = found[0].astype(np.float64), found[1]
    if logits.shape[1] > facts.classes:
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = (shares / shares.sum(axis=1, keepdims=True))[:, :-1]
    else:
        shares = _sigmoid(logits)
    best = shares.argmax(axis=1)
    return Candidates(_scaled(_corners(boxes), facts), shares[np.arange(len(best)), best], best)


def _named(outputs: Outputs) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the outputs labels (n,), boxes (n, 4) and scores (n,), None if a model has no such outputs."""
    if not {"labels", "boxes", "scores"} <= outputs.keys():
        return None
    labels, boxes, scores = outputs["labels"], outputs["boxes"], outputs["scores"]
    if boxes.ndim == 3 and boxes.shape[0] == len(labels) == len(scores) == 1:
        labels, boxes, scores = labels[0], boxes[0], scores[0]
    fits = boxes.ndim == 2 and boxes.shape[1] == 4 and labels.shape == scores.shape == boxes.shape[:1]
    return (labels, boxes, scores) if fits else None


def _labels_boxes_scores(outputs: Outputs, facts: ModelFacts) -> Candidates:
    found = _named(outputs)
    assert found is not None
    labels, boxes, scores = found
    return Candidates(boxes, scores, _numbers(labels))


# Maps of semantic segmentation

def _is_scored_map(outputs: Outputs, facts: ModelFacts) -> bool:
    first = next(iter(outputs.values()))
    return first.ndim == 4 and first.shape[:2] == (1, facts.classes) and first.dtype.kind == "f" and first.size > 0


def _is_numbered_map(outputs: Outputs, facts: ModelFacts) -> bool:
    first = next(iter(outputs.values()))
    one = first.ndim in (3, 4) and first.shape[:-2] in ((1,), (1, 1))
    return one and first.dtype.kind in "iu" and first.size > 0


def _scored_map(outputs: Outputs, facts: ModelFacts) -> KindMap:
    """Read a logit of each class for each pixel; with a single class, a logit below 0 is none."""
    logits = next(iter(outputs.values()))[0].astype(np.float32)
    if len(logits) == 1:
        share = _sigmoid(logits[0])
        return KindMap(np.where(share > 0.5, 0, -1), share)
    kinds = logits.argmax(axis=0)
    total = np.exp(logits - logits.max(axis=0, keepdims=True)).sum(axis=0)
    return KindMap(kinds, np.float32(1) / total)


def _numbered_map(outputs: Outputs, facts: ModelFacts) -> KindMap:
    """Read the number of a class for each pixel. Such a map has no confidence: it is 1."""
    first = next(iter(outputs.values()))
    kinds = first.reshape(first.shape[-2:]).astype(np.int64)
    return KindMap(kinds, np.ones(kinds.shape, np.float32))


def _corners(boxes: np.ndarray) -> np.ndarray:
    """Return left, top, right, bottom of boxes (n, 4) with centre and size."""
    x, y, w, h = boxes.astype(np.float64).T
    return np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], axis=1)


def _scaled(boxes: np.ndarray, facts: ModelFacts) -> np.ndarray:
    return boxes * np.array([facts.width, facts.height, facts.width, facts.height], np.float64)


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0))))


def _numbers(values: np.ndarray) -> np.ndarray:
    return np.rint(values.astype(np.float64)).astype(np.int64)


LAYOUTS = (
    Layout("RT-DETR: labels (1, n), boxes (1, n, 4), scores (1, n)", lambda o, f: _named(o) is not None,
           _labels_boxes_scores, stretched=True),
    Layout("DETR: logits (1, n, classes) or (1, n, classes + 1), boxes (1, n, 4)", _is_detr, _detr, stretched=True),
    Layout("YOLO from version 8: (1, 4 + classes, n)", _is_yolo8, _yolo8),
    Layout("YOLO from version 8, turned: (1, n, 4 + classes)", _is_yolo8_turned, _yolo8_turned),
    Layout("YOLO up to version 7: (1, n, 5 + classes)", _is_yolo5, _yolo5),
    Layout("YOLO with non-maximum suppression: (1, n, 6)", _is_selected, _selected),
    Layout("Ultralytics' RT-DETR: (1, n, 6)", _is_selected_detr, _selected_detr, stretched=True),
    Layout("Ultralytics' RT-DETR: (1, n, 4 + classes)", _is_joined_detr, _joined_detr, stretched=True),
    Layout("a segmentation map: (1, classes, h, w)", _is_scored_map, _scored_map, stretched=True),
    Layout("a segmentation map of numbers: (1, h, w) or (1, 1, h, w)", _is_numbered_map, _numbered_map, stretched=True),
)
