"""Separates detections from their background by depth, and paints them into an instance image.

After the sparse voxel map of OpenEQA (supplement F): a detection's pixels with depth in 0.1..4 m are kept, DBSCAN drops
the background, and the rest is one object. Here connected voxels (of DBSCAN's radius, each with some points) replace
the clusters of DBSCAN: the same idea in linear time, without a library and with the same result on every machine.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.perception.instances import NoiseConfig, PerceptionConfig, points_of
from eqa_nodes.core.ranges import Count, Counted, NotNegative, Part, Positive, Share, check_ranges
from eqa_nodes.core.settings import NOW, constant, setting
from eqa_nodes.core.storage.text import printable
from eqa_nodes.core.types.views import Frame, Label

VOCABULARY = tuple("""
armchair, backpack, bathtub, bed, bench, blanket, book, bookshelf, bottle, bowl, box, broom, bucket, cabinet, candle,
ceiling lamp, chair, chest of drawers, clock, coat, coffee table, computer, counter, cup, curtain, cushion, desk,
desk lamp, dining table, dishwasher, door, fan, faucet, floor lamp, fork, fruit bowl, glasses, guitar, hair dryer, hat,
iron, kettle, keys, keyboard, knife, lamp, laptop, microwave, mirror, mobile phone, monitor, nightstand, painting, pan,
piano, pillow, plant, plate, pot, printer, radiator, refrigerator, rug, scissors, shelf, shoes, shower, sink, sofa,
stairs, stool, stove, suitcase, table, teddy bear, television, toaster, toilet, towel, toy, trash can, umbrella,
vacuum cleaner, vase, wardrobe, washing machine, watch, window""".replace("\n", " ").strip().split(", "))

PIXEL_VALUES = ("", "unit", "imagenet", "bytes")
SURROUNDINGS = ("background", "ceiling", "floor", "ground", "other", "sky", "unlabeled", "unlabelled", "void", "wall")

_MOST = 1000  # maximum number of detections per image that are used, those with the highest scores
_NAME = 100  # maximum number of characters of an object's name, of an attribute, and of a line of text
ATTRIBUTES = ("colour", "material", "state")  # that a detection may have
_PLAIN = str.maketrans('<>"', "()'")  # text read in the world must not end a quotation or a marked part of a prompt
Crop = tuple[slice, slice]  # rows and columns of an image


@dataclass(frozen=True)
class DetectorConfig:
    """Settings of a detector."""

    name: str = setting("",
        'Detector: labels (from the simulator, privileged) | perceiver (weights in the package, for the built-in '
        'houses) | transformers | onnx | ocr | topic (messages of another node), a name that an installed package '
        'registers, or package.module:Class; "" runs none.')
    model: str = setting("",
        "Name or folder of the transformers detection model, file of the ONNX model, or folder of the perceiver's "
        'weights; "" uses google/owlv2-base-patch16-ensemble for transformers, and the weights of the package for '
        'perceiver.')
    names: str = constant("",
        'File with the class names of an ONNX model, or of received detections with class numbers: one a line, or JSON '
        'or YAML; "" uses those in the metadata of the model, or in config.json beside it.')
    input_px: Count = constant(0,
        "Side of the square input of an ONNX model with dynamic shapes, in pixels; 0 uses the size in its metadata, "
        "else 640.")
    segmenter: str = setting("", 'Model that segments the boxes; "" takes what stands out of a box by depth.')
    embedder: str = setting("", 'Model that distinguishes objects by appearance; "" compares their names.')
    threshold: Share = constant(0.1, "Minimum score (0 to 1) that the detection model reports.")
    most: Counted = constant(100,
        "Maximum number of detections per image. The ones with the highest scores go to segmenter and embedder.")
    batch: Counted = constant(32, "Number of boxes or crops that segmenter and embedder process at once.")
    device: str = setting("", 'Device of the models: cpu | cuda | cuda:1 | mps; "" chooses the available one.')
    dtype: str = constant("", 'Number format of the models: float32 | float16 | bfloat16; "" is float32.')
    pixels: str = constant("",
        'Pixel values of an ONNX model: unit (0 to 1) | imagenet (normalised) | bytes (0 to 255); "" uses '
        'preprocessor_config.json beside it, else unit.')
    same: Part = constant(0.7,
        "Overlap of two boxes of one class (intersection over union, 0 to 1) above which they are one object. For ONNX "
        "models without non-maximum suppression.")
    surroundings: tuple[str, ...] = constant(SURROUNDINGS,
        "Classes of a segmentation map that are no objects.")
    threads: Counted = constant(1, "Number of threads of an ONNX model. With one, results are the same on every run.")
    masks: bool = constant(True, "Return masks from the detector 'labels'.")
    noise: NoiseConfig = constant(NoiseConfig())  # simulated errors of the detector labels

    def __post_init__(self) -> None:
        if self.pixels not in PIXEL_VALUES:
            raise ConfigError("detector: " + unknown("pixels", self.pixels, PIXEL_VALUES))


class Detection(NamedTuple):
    """One object in an image.

    box: left, top, right, bottom in pixels, the last two exclusive; mask: (H, W) bool, None without a segmenter;
    vector: (D,) float32 of length 1, an embedding of its crop, None without an embedder; text: text read on it;
    attributes: of ATTRIBUTES those that are known; room: type of the room around it, "" = unknown; space: vector space
    of the vector (core/perception/vectors.py), "" = it cannot be compared with words.
    """

    name: str
    score: float  # 0..1
    box: tuple[int, int, int, int]
    mask: np.ndarray | None = None
    vector: np.ndarray | None = None
    text: str = ""
    attributes: Mapping[str, str] = {}
    room: str = ""
    space: str = ""


class Detector(Protocol):
    """Detects objects in a frame. privileged: it reads the simulator's labels, which a robot does not have (for tests).
    """

    privileged: bool

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> Sequence[Detection]:
        """Return the objects in the image. labels: labels by id in frame.labels, for a privileged one. Raises
        ModelError."""


@dataclass(frozen=True)
class DetectionConfig:
    """Settings of how a detector's output is used."""

    vocabulary: tuple[str, ...] = setting(VOCABULARY, "Kinds of objects that the detector looks for.")
    score: float = setting(0.2, "Minimum score (0 to 1) of a detection that is used.", live=NOW)
    near_m: NotNegative = constant(0.1, "Minimum depth in metres of a pixel that is used.")
    far_m: Positive = constant(4.0, "Maximum depth in metres of a pixel that is used.")
    eps_m: Positive = constant(0.1, "Radius in metres of the depth clusters.")
    doubled: Part = constant(0.6,
        "Overlap of two masks (intersection over union, 0 to 1) from which they are "
        "one object detected twice.")
    around: NotNegative = constant(0.15,
        "Share of the box that is examined on each side of it where no segmenter is used.")
    floor_m: NotNegative = constant(0.05,
        "Height above the floor in metres below which a point belongs to the floor, unless the object lies flat on "
        "it.")
    perception: PerceptionConfig = constant(PerceptionConfig())

    def __post_init__(self) -> None:
        check_ranges(self, "detection")
        if not (self.near_m < self.far_m and self.vocabulary):
            raise ConfigError(f"detection: near_m {self.near_m} must be less than far_m {self.far_m}, and the "
                              "vocabulary not empty")


class Piece(NamedTuple):
    """The pixels of one detection. mask: (rows, columns) bool within the crop of the image."""

    detection: Detection
    crop: Crop
    mask: np.ndarray

    @property
    def pixels(self) -> int:
        """Return the number of pixels."""
        return int(np.count_nonzero(self.mask))


def sound(found: Sequence[Detection], shape: tuple[int, ...]) -> list[Detection]:
    """Return the valid detections, with boxes in whole pixels of an image of `shape`: a model may return anything.

    Detections with an invalid score, a box that is not finite or outside the image, or a mask of another size are
    dropped; a vector that is not finite and unknown attributes are removed.
    """
    height, width = shape
    kept = []
    for d in found:
        if not 0.0 <= d.score <= 1.0 or not all(map(math.isfinite, d.box)):
            continue
        if d.mask is not None and np.shape(d.mask) != tuple(shape):
            continue
        ends = (width, height, width, height)
        left, top, right, bottom = (min(max(round(edge), 0), end) for edge, end in zip(d.box, ends, strict=True))
        if left < right and top < bottom:
            finite = d.vector is not None and bool(np.isfinite(d.vector).all())
            kept.append(Detection(printable(d.name[:_NAME]), float(d.score), (left, top, right, bottom),
                                  None if d.mask is None else np.asarray(d.mask, bool), d.vector if finite else None,
                                  _plain(d.text), _known_attributes(d.attributes), _plain(d.room), d.space))
    return kept


def _known_attributes(attributes: Mapping[str, str]) -> dict[str, str]:
    named = ((name, _plain(str(attributes[name]))) for name in ATTRIBUTES if name in attributes)
    return {name: value for name, value in named if value}


def _plain(text: str) -> str:
    return printable(text[:_NAME]).translate(_PLAIN)


def painted(frame: Frame, found: Sequence[Detection], config: DetectionConfig) -> tuple[np.ndarray, list[Detection]]:
    """Return an image (H, W) uint16 in which n is the n-th of the returned detections and 0 is background.

    Of two detections of one object the one with the higher score is kept; smaller ones are painted over larger ones (a
    cup on its table). Detections without pixels with depth in range are dropped.
    """
    sure = (d for d in found if d.score >= config.score)
    wanted = heapq.nsmallest(_MOST, sure, key=lambda d: (-d.score, d.name, d.box))
    pieces: list[Piece] = []
    least = config.perception.min_share * frame.depth_m.size
    for detection in wanted:
        piece = _piece(frame, detection, config)
        if piece is not None and piece.pixels >= max(1.0, least) and not _known(piece, pieces, config.doubled):
            pieces.append(piece)
    image = np.zeros(frame.depth_m.shape, np.uint16)
    for n in sorted(range(len(pieces)), key=lambda i: (-pieces[i].pixels, i)):
        image[pieces[n].crop][pieces[n].mask] = n + 1
    return image, [piece.detection for piece in pieces]


def _piece(frame: Frame, d: Detection, config: DetectionConfig) -> Piece | None:
    """Return the spatially connected pixels of a detection, None if there are none in range."""
    height, width = frame.depth_m.shape
    left, top, right, bottom = max(0, d.box[0]), max(0, d.box[1]), min(width, d.box[2]), min(height, d.box[3])
    if left >= right or top >= bottom:
        return None
    box = left, top, right, bottom
    if d.mask is None:  # include the surroundings: a surface that continues beyond the box is not the object
        x, y = round(config.around * (right - left)), round(config.around * (bottom - top))
        left, top, right, bottom = max(0, left - x), max(0, top - y), min(width, right + x), min(height, bottom + y)
    crop = slice(top, bottom), slice(left, right)
    depth = frame.depth_m[crop]
    inside = (depth >= config.near_m) & (depth <= config.far_m)
    if d.mask is not None:
        inside &= d.mask[crop]
    v, u = np.nonzero(inside)
    if not len(v):
        return None
    z, points = points_of(frame, v + top, u + left)
    above = points[2] > frame.map_from_base.xyz[2] + config.floor_m
    if d.mask is None and 2 * np.count_nonzero(above) >= len(above):
        v, u, z, points = v[above], u[above], z[above], points[:, above]
    clusters = depth_clusters(points, config.eps_m, 1e-5 * frame.depth_m.size)
    kept = clusters == (_largest(clusters) if d.mask is not None else _fitting(clusters, v + top, u + left, z, box))
    mask = np.zeros(depth.shape, bool)
    mask[v[kept], u[kept]] = True
    inner = slice(box[1] - top, box[3] - top), slice(box[0] - left, box[2] - left)
    return Piece(d, (slice(box[1], box[3]), slice(box[0], box[2])), mask[inner])


def depth_clusters(points: np.ndarray, eps_m: float, dense: float) -> np.ndarray:
    """Return the cluster number (n,) of each of the points (3, n), from 1; 0 = none.

    A cluster is a connected set of voxels of eps_m with at least `dense` points each; without such voxels all count.
    """
    from scipy.ndimage import label  # half a second, saved in nodes without a detector

    low = points.min(axis=1)
    cells = np.floor((points - low[:, None]) / eps_m).astype(np.intp)
    shape = tuple((cells.max(axis=1) + 1).tolist())
    flat = np.ravel_multi_index(tuple(cells), shape)
    counts = np.bincount(flat, minlength=int(np.prod(shape)))
    full = counts >= dense if counts.max() >= dense else counts > 0
    numbers, _ = label(full.reshape(shape), structure=np.ones((3, 3, 3), bool))
    return np.asarray(numbers).ravel()[flat]


def _largest(clusters: np.ndarray) -> int:
    return int(np.argmax(np.bincount(clusters)[1:])) + 1


def _fitting(clusters: np.ndarray, v: np.ndarray, u: np.ndarray, z: np.ndarray, box: tuple[int, int, int, int]) -> int:
    """Return the cluster whose box fits the detector's best (intersection over union), of equals the nearest.

    Surfaces behind or in front of an object continue beyond its box.
    """
    left, top, right, bottom = box
    best: tuple[float, float, int] | None = None
    for number in range(1, int(clusters.max()) + 1):
        mine = clusters == number
        if not mine.any():
            continue
        low_u, high_u, low_v, high_v = u[mine].min(), u[mine].max() + 1, v[mine].min(), v[mine].max() + 1
        wide, high = min(right, high_u) - max(left, low_u), min(bottom, high_v) - max(top, low_v)
        common = float(max(0, wide) * max(0, high))
        union = (right - left) * (bottom - top) + float((high_u - low_u) * (high_v - low_v)) - common
        found = (-common / union, float(np.median(z[mine])), number)
        best = min(best, found) if best is not None else found
    return best[2] if best is not None else 0


def _known(piece: Piece, pieces: Sequence[Piece], doubled: float) -> bool:
    """Return whether another piece has nearly the same pixels."""
    return any(_common(piece, other) > doubled * (piece.pixels + other.pixels) / (1 + doubled) for other in pieces)


def _common(a: Piece, b: Piece) -> int:
    """Return the number of pixels that two pieces share."""
    (rows, columns), (others, across) = a.crop, b.crop
    top, bottom = max(rows.start, others.start), min(rows.stop, others.stop)
    left, right = max(columns.start, across.start), min(columns.stop, across.stop)
    if top >= bottom or left >= right:
        return 0
    mine = a.mask[top - rows.start:bottom - rows.start, left - columns.start:right - columns.start]
    theirs = b.mask[top - others.start:bottom - others.start, left - across.start:right - across.start]
    return int(np.count_nonzero(mine & theirs))
