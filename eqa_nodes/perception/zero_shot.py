"""Open-vocabulary detection through transformers: OWL-ViT and OWLv2, Grounding DINO and its MM variant.

If configured, a segmenter (SAM) turns boxes into masks, and an embedder (CLIP, SigLIP) turns crops into vectors.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.perception.detection import Detection, DetectorConfig
from eqa_nodes.core.traits import DetectorTraits
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.loading import BoxSegmenter, LoadedModel, PictureEmbedder, load
from eqa_nodes.perception.words import TRANSFORMERS

DEFAULT_MODEL = "google/owlv2-base-patch16-ensemble"


class Raw(NamedTuple):
    """A model's output for one image. boxes: (n, 4) left, top, right, bottom in pixels; scores, names: (n,)."""

    boxes: np.ndarray
    scores: np.ndarray
    names: list[str]


class ZeroShotDetector:
    """Finds the objects of the vocabulary. The constructor raises ConfigError, MissingExtra."""

    privileged = False
    traits = DetectorTraits(library="torch", extra="local")

    def __init__(self, config: DetectorConfig, vocabulary: Sequence[str]) -> None:
        self._config, self._vocabulary = config, list(vocabulary)
        name = config.model or DEFAULT_MODEL
        self._model = load("AutoModelForZeroShotObjectDetection", name, config)
        if self._model.kind not in READERS:
            raise ConfigError(unknown(f"architecture of the detector {name!r},", self._model.kind, READERS))
        self._segmenter = BoxSegmenter(config) if config.segmenter else None
        self._embedder = PictureEmbedder(config) if config.embedder else None
        self._space = f"{TRANSFORMERS} {config.embedder}"

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        """Return the detections in the image, the highest score first. Raises ModelError."""
        rgb, (height, width) = frame.rgb, frame.depth_m.shape
        with self._model.named_failures(), self._model.torch.inference_mode():
            raw = list(READERS[self._model.kind](self._model, rgb, self._vocabulary, self._config))
        found = [Detection(name, float(score), box) for r in raw for box, score, name
                 in zip(_whole(r.boxes, width, height), r.scores, r.names, strict=True)
                 if _has_area(box) and 0.0 <= score <= 1.0]
        found = heapq.nsmallest(self._config.most, found, key=lambda d: (-d.score, d.name, d.box))
        return self._described(rgb, found)

    def _described(self, rgb: np.ndarray, found: list[Detection]) -> list[Detection]:
        boxes = [d.box for d in found]
        if self._segmenter is not None and found:
            found = [d._replace(mask=m) for d, m in zip(found, self._segmenter.masks(rgb, boxes), strict=True)]
        if self._embedder is not None and found:
            crops = [rgb[top:bottom, left:right] for left, top, right, bottom in boxes]
            vectors = self._embedder.pictures(crops)
            found = [d._replace(vector=v, space=self._space) for d, v in zip(found, vectors, strict=True)]
        return found


def _whole(boxes: np.ndarray, width: int, height: int) -> list[tuple[int, int, int, int]]:
    """Return boxes in whole pixels, clipped to the image; NaN becomes 0."""
    ends = np.array([width, height, width, height])
    clipped = np.rint(np.clip(np.nan_to_num(boxes, nan=0.0), 0, ends)).astype(int)
    return [(int(x), int(y), int(u), int(v)) for x, y, u, v in clipped]


def _has_area(box: tuple[int, int, int, int]) -> bool:
    return box[2] > box[0] and box[3] > box[1]


def _owl(model: LoadedModel, rgb: np.ndarray, names: list[str], config: DetectorConfig) -> Iterator[Raw]:
    """Run OWL-ViT or OWLv2 (Minderer et al. 2022, 2023): one pass for all names, a score for each patch and name."""
    inputs = model.inputs([rgb], text=[[f"a photo of a {name}" for name in names]], truncation=True)
    read = model.processor.post_process_grounded_object_detection(
        model.model(**inputs), threshold=config.threshold, target_sizes=[rgb.shape[:2]])[0]
    yield Raw(_numbers(read["boxes"]), _numbers(read["scores"]), [names[i] for i in read["labels"].tolist()])


def _grounding(model: LoadedModel, rgb: np.ndarray, names: list[str], config: DetectorConfig) -> Iterator[Raw]:
    """Run Grounding DINO (Liu et al. 2023): names in one sentence, as many per pass as its text encoder accepts.

    A box has a score per token; its name is the one whose tokens have the highest mean, and its score is that mean.
    """
    height, width = rgb.shape[:2]
    for part in _sentences(model, names):
        text = sentence(part)
        out = model.model(**model.inputs([rgb], text=[text]))
        tokens = _numbers(model.torch.sigmoid(out.logits[0].float()))  # (queries, tokens)
        spans = _spans(model, text, part)
        shares = np.stack([tokens[:, span].mean(axis=1) for span in spans], axis=1)
        best = shares.argmax(axis=1)
        scores = shares[np.arange(len(best)), best]
        sure = scores >= config.threshold
        x, y, w, h = _numbers(out.pred_boxes[0].float())[sure].T * np.array([[width], [height], [width], [height]])
        yield Raw(np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], axis=1), scores[sure],
                  [part[i] for i in best[sure].tolist()])


def sentence(names: Sequence[str]) -> str:
    """Return names in the format of Grounding DINO's training: lower case, a full stop after each."""
    return " ".join(f"{name.lower()}." for name in names)


def _sentences(model: LoadedModel, names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the names in parts that fit the text encoder. Raises ConfigError for a single name that is too long."""
    limit, part = int(model.model.config.max_text_len), list[str]()
    for name in names:
        if len(model.processor.tokenizer(sentence([*part, name]))["input_ids"]) <= limit:
            part.append(name)
            continue
        if not part:
            raise ConfigError(f"the name {name!r} of the vocabulary has more tokens than the {limit} that the detector "
                              "reads: shorten it")
        yield part
        part = [name]
    if part:
        yield part


def _spans(model: LoadedModel, text: str, names: Sequence[str]) -> list[np.ndarray]:
    """Return the indices of the tokens of each name."""
    offsets = np.array(model.processor.tokenizer(text, return_offsets_mapping=True)["offset_mapping"])
    spans, begin = [], 0
    for name in names:
        end = begin + len(name)
        inside = (offsets[:, 0] >= begin) & (offsets[:, 1] <= end) & (offsets[:, 1] > offsets[:, 0])
        spans.append(np.flatnonzero(inside))
        begin = end + 2
    return spans


def _numbers(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.float().cpu().numpy(), np.float64)


READERS: dict[str, Callable[[LoadedModel, np.ndarray, list[str], DetectorConfig], Iterator[Raw]]] = {
    "owlvit": _owl, "owlv2": _owl, "grounding-dino": _grounding, "mm-grounding-dino": _grounding}
