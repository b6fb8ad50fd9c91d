"""Reads text in images with RapidOCR (PP-OCR on onnxruntime). The weights are in the package: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.perception.detection import Detection, DetectorConfig
from eqa_nodes.core.traits import DetectorTraits
from eqa_nodes.core.types.views import TEXT, Frame, Label

# One thread each, which leaves the other cores to mapping and driving. Words are upright in a robot's view.
_PARAMETERS = {"EngineConfig.onnxruntime.intra_op_num_threads": 1, "EngineConfig.onnxruntime.inter_op_num_threads": 1,
               "Global.log_level": "error", "Global.use_cls": False}
_LEAST = 2  # minimum letters and digits of a text: a single one is more often a handle or a socket


class TextDetector:
    """Finds lines of text: detections of the kind "text" with the words. The constructor raises MissingExtra."""

    privileged = False
    traits = DetectorTraits(library="rapidocr", extra="ocr")

    def __init__(self, config: DetectorConfig, vocabulary: Sequence[str]) -> None:
        try:
            import onnxruntime  # noqa: F401  (rapidocr names no engine as a requirement)
            from rapidocr import RapidOCR
        except ImportError as error:
            raise MissingExtra(error.name or "rapidocr", "ocr") from error
        self._engine, self._least = RapidOCR(params=_PARAMETERS), config.threshold

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        """Return the lines of text in the image, with the boxes around them, the highest score first."""
        read = self._engine(np.ascontiguousarray(frame.rgb[..., ::-1]))  # the library expects BGR, like OpenCV
        if not read.txts:
            return []
        found = [_line(text, float(score), np.asarray(corners), frame.depth_m.shape)
                 for text, score, corners in zip(read.txts, read.scores, read.boxes, strict=True)
                 if score >= self._least and sum(map(str.isalnum, text)) >= _LEAST]
        return sorted(found, key=lambda d: (-d.score, d.text, d.box))


def _line(text: str, score: float, corners: np.ndarray, shape: tuple[int, ...]) -> Detection:
    """Return a line of text as a detection whose mask fills its axis-aligned box. corners: (4, 2) pixels."""
    height, width = shape
    left, top = np.clip(np.floor(corners.min(axis=0)), 0, (width - 1, height - 1)).astype(int).tolist()
    right, bottom = np.clip(np.ceil(corners.max(axis=0)), (left + 1, top + 1), (width, height)).astype(int).tolist()
    mask = np.zeros(shape, bool)
    mask[top:bottom, left:right] = True
    return Detection(TEXT, score, (left, top, right, bottom), mask, text=" ".join(text.split()))
