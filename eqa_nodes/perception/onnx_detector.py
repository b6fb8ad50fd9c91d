"""Detection models in ONNX files: exports of YOLO, RT-DETR and DETR, and maps of semantic segmentation.

The layout of the outputs is recognised from their shapes (onnx_layouts.py), in a first run on a grey picture when the
detector is created, so that a model that does not fit is refused before an episode begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.perception.detection import Detection, DetectorConfig
from eqa_nodes.core.perception.kind_maps import instances_of_kinds
from eqa_nodes.core.traits import DetectorTraits
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.class_names import parse_class_names, read_class_names
from eqa_nodes.perception.onnx_layouts import (
    LAYOUTS,
    Candidates,
    KindMap,
    Layout,
    ModelFacts,
    Outputs,
    recognise,
)
from eqa_nodes.perception.onnx_model import OnnxModel, shape_text
from eqa_nodes.perception.picture_fit import PictureFit, letterboxed, shortest_side, stretched

_TASKS = ("detect", "segment", "semantic")  # of Ultralytics' models
_TRIAL = (640, 640)  # height and width of the first picture of a model that takes any size, pixels
_GREY = 114  # colour around a picture that keeps its proportions, as in the training of YOLO models
_COMPARED = 3000  # number of boxes, those with the highest scores, that non-maximum suppression compares


class OnnxDetector:
    """Finds objects with a model in an ONNX file. The constructor raises ConfigError, MissingExtra, ModelError."""

    privileged = False
    traits = DetectorTraits(library="onnxruntime", extra="onnx")

    def __init__(self, config: DetectorConfig, vocabulary: Sequence[str]) -> None:
        self._config, self._model = config, OnnxModel(config)
        said = self._model.metadata
        if said.get("task", _TASKS[0]) not in _TASKS:
            raise ConfigError(f"{self._model.file.name} is a model for the task {said['task']!r}: choose one for "
                              f"{', '.join(_TASKS)}")
        self._names = self._class_names()
        self._is_detr = "detr" in (said.get("head", "") + said.get("description", "")).lower().replace("-", "")
        self._layout = self._recognised()
        self._letters = not self._layout.stretched or said.get("task") == "semantic"

    def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
        """Return the objects in the image, the highest score first. Raises ModelError."""
        fit = self._fit((frame.rgb.shape[0], frame.rgb.shape[1]))
        outputs, facts = self._model.run(fit.filled(frame.rgb, _GREY)), self._facts(fit.canvas)
        if not self._layout.fits(outputs, facts):
            raise ModelError(f"{self._model.file.name} returned {_shapes(outputs)}, which differ from the layout of "
                             f"its first outputs ({self._layout.name}): export it with fixed shapes")
        read = self._layout.read(outputs, facts)
        if isinstance(read, KindMap):
            names = {n: name for n, name in self._names.items() if name.lower() not in self._config.surroundings}
            kinds, confidence = fit.map_back(read.kinds), fit.map_back(read.confidence)
            return instances_of_kinds(frame, kinds, confidence, names)[:self._config.most]
        return self._found(read, fit)

    def _found(self, read: Candidates, fit: PictureFit) -> list[Detection]:
        best = np.argsort(-read.scores, kind="stable")[:_COMPARED]
        best = best[read.scores[best] >= self._config.threshold]
        if read.overlapping:
            best = best[suppressed(read.boxes[best], read.classes[best], self._config.same)]
        boxes = fit.boxes_back(read.boxes[best])
        inside = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        found = []
        for i, box in list(zip(best[inside].tolist(), boxes[inside].tolist(), strict=True))[:self._config.most]:
            mask = None
            if read.coefficients is not None and read.prototypes is not None:
                mask = fit.mask_back(np.tensordot(read.coefficients[i], read.prototypes, axes=1), box)
            found.append(Detection(self._name(int(read.classes[i])), float(np.clip(read.scores[i], 0.0, 1.0)),
                                   (box[0], box[1], box[2], box[3]), mask))
        return sorted(found, key=lambda d: (-d.score, d.name, d.box))

    def _name(self, number: int) -> str:
        if number not in self._names:
            raise ModelError(f"{self._model.file.name} found class {number}, and there are {len(self._names)} names up "
                             f"to class {max(self._names)}: give detector.names a file with the names of this model")
        return self._names[number]

    def _class_names(self) -> dict[int, str]:
        """Return the names of the classes from the settings, the metadata, or a config.json beside the model."""
        file, beside = self._model.file, self._model.file.with_name("config.json")
        if self._config.names:
            return read_class_names(self._config.names)
        if "names" in self._model.metadata:
            return parse_class_names(self._model.metadata["names"], file.name)
        if beside.is_file():
            return read_class_names(beside)
        raise ConfigError(f"{file.name} has no class names in its metadata: give detector.names (--detector-names) a "
                          "file with one name a line, or a JSON or YAML file")

    def _recognised(self) -> Layout:
        """Return the layout of the outputs for a grey picture. Raises ConfigError if it is unknown."""
        canvas = self._model.size or _TRIAL
        outputs, facts = self._model.run(np.full((*canvas, 3), _GREY, np.uint8), checked=False), self._facts(canvas)
        layout = recognise(outputs, facts)
        if layout is None:
            raise ConfigError(f"{self._model.file.name} has an unknown layout of outputs: {_shapes(outputs)}, for "
                              f"{facts.classes} class names and a picture of {canvas[1]}x{canvas[0]}. Known are "
                              f"{'; '.join(known.name for known in LAYOUTS)}")
        return layout

    def _facts(self, canvas: tuple[int, int]) -> ModelFacts:
        return ModelFacts(*canvas, max(self._names) + 1, self._is_detr)

    def _fit(self, picture: tuple[int, int]) -> PictureFit:
        """Return how an image of this size is fitted into the input."""
        if self._model.size is None:
            size = self._model.processor["size"]
            return shortest_side(picture, int(size["shortest_edge"]), int(size.get("longest_edge", 1333)))
        return (letterboxed if self._letters else stretched)(picture, self._model.size)


def _shapes(outputs: Outputs) -> str:
    return ", ".join(f"{name} {shape_text(o.shape)} {o.dtype}" for name, o in outputs.items())


def suppressed(boxes: np.ndarray, classes: np.ndarray, same: float) -> np.ndarray:
    """Return the indices of the boxes that remain after non-maximum suppression within each class.

    boxes: (n, 4), the highest score first; same: intersection over union above which two boxes are one object.
    """
    left, top, right, bottom = boxes.astype(np.float64).T
    area = np.clip(right - left, 0, None) * np.clip(bottom - top, 0, None)
    rest, kept = np.arange(len(boxes)), []
    while len(rest):
        i, rest = rest[0], rest[1:]
        kept.append(i)
        wide = np.clip(np.minimum(right[rest], right[i]) - np.maximum(left[rest], left[i]), 0, None)
        high = np.clip(np.minimum(bottom[rest], bottom[i]) - np.maximum(top[rest], top[i]), 0, None)
        common = wide * high
        rest = rest[(classes[rest] != classes[i]) | (common <= same * (area[rest] + area[i] - common))]
    return np.array(kept, np.intp)
