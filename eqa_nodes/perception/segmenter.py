"""Masks for boxes by a promptable segmenter: SAM and similar models, through transformers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.perception.loading import load


class BoxSegmenter:
    """One mask a box. Raises ConfigError and MissingExtra when it is made, ModelError when it is used."""

    def __init__(self, config: DetectorConfig) -> None:
        self._batch = config.batch
        self._model = load("AutoModelForMaskGeneration", config.segmenter, config)

    def masks(self, rgb: np.ndarray, boxes: Sequence[tuple[int, int, int, int]]) -> list[np.ndarray]:
        """Return the (H, W) bool mask of each box, which does not leave it. rgb: (H, W, 3) uint8."""
        found: list[np.ndarray] = []
        for begin in range(0, len(boxes), self._batch):
            found += self._pass(rgb, boxes[begin:begin + self._batch])
        return found

    def _pass(self, rgb: np.ndarray, boxes: Sequence[tuple[int, int, int, int]]) -> list[np.ndarray]:
        m = self._model
        with m.named_failures(), m.torch.inference_mode():
            inputs = m.inputs([rgb], input_boxes=[[[float(edge) for edge in box] for box in boxes]])
            inputs["input_boxes"] = inputs["input_boxes"].to(m.model.dtype)
            out = m.model(**{k: v for k, v in inputs.items() if k not in ("original_sizes", "reshaped_input_sizes")},
                          multimask_output=False)
            sizes = [inputs["original_sizes"].cpu()]
            sizes += [inputs["reshaped_input_sizes"].cpu()] if "reshaped_input_sizes" in inputs else []  # not SAM 2
            whole = m.processor.post_process_masks(out.pred_masks.float(), *sizes)[0][:, 0].cpu().numpy()
        masks = []
        for (left, top, right, bottom), mask in zip(boxes, whole.astype(bool), strict=True):
            within = np.zeros(rgb.shape[:2], bool)
            within[top:bottom, left:right] = mask[top:bottom, left:right]
            masks.append(within)
        return masks
