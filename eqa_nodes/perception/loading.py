"""Local models through transformers, by folder or hub name: loading, segmentation of boxes, embeddings of pictures.

Code that is shipped with a model is never executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.models.accelerator import device_of, dtype_of, named_failures, placed

_SMALLER = "set detector.batch 1, look for fewer kinds of objects, or choose a smaller model"


class LoadedModel(NamedTuple):
    """A model in evaluation mode with its processor, on its device."""

    torch: Any
    model: Any
    processor: Any

    @property
    def kind(self) -> str:
        """Return the architecture, such as "owlv2"."""
        return str(self.model.config.model_type)

    def named_failures(self) -> AbstractContextManager[None]:
        """Return a context that turns errors of the libraries into ModelError."""
        return named_failures(self.torch, self.model.device, str(self.model.name_or_path), _SMALLER)

    def inputs(self, pictures: Sequence[np.ndarray] = (), **given: Any) -> Any:
        """Return images ((H, W, 3) uint8) and texts as tensors on the device, images in the model's dtype."""
        if pictures:  # as images: in an array with three rows the colour axis is ambiguous
            given["images"] = [Image.fromarray(np.ascontiguousarray(picture)) for picture in pictures]
        made = self.processor(return_tensors="pt", **given).to(self.model.device)
        if "pixel_values" in made:
            made["pixel_values"] = made["pixel_values"].to(self.model.dtype)
        return made


def load(auto_class: str, name: str, config: DetectorConfig, fetch: bool = True) -> LoadedModel:
    """Return a model of one of transformers' auto classes. fetch: it may be downloaded where it is not on this machine.

    Raises ConfigError if it cannot be loaded or does not fit, or if device or dtype are unavailable; MissingExtra
    without transformers.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(error.name or "transformers", "local") from error
    device = device_of(torch, config.device, "detector.device")
    dtype = dtype_of(torch, config.dtype or "float32", "detector.dtype")  # for accurate boxes
    try:
        model = getattr(transformers, auto_class).from_pretrained(name, dtype=dtype, trust_remote_code=False,
                                                                  local_files_only=not fetch)
        processor = transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False,
                                                               local_files_only=not fetch)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ConfigError(f"{name!r} cannot be loaded as {auto_class}: {' '.join(str(error).split())[:300]}. Name a "
                          "folder that save_pretrained wrote, or a model that is in the cache or can be "
                          "fetched") from error
    return LoadedModel(torch, placed(torch, model, device, f"the model {name}", "detector"), processor)


class BoxSegmenter:
    """Segments boxes into masks. The constructor raises ConfigError and MissingExtra, `masks` ModelError."""

    def __init__(self, config: DetectorConfig) -> None:
        self._batch = config.batch
        self._model = load("AutoModelForMaskGeneration", config.segmenter, config)

    def masks(self, rgb: np.ndarray, boxes: Sequence[tuple[int, int, int, int]]) -> list[np.ndarray]:
        """Return the (H, W) bool mask of each box, clipped to the box. rgb: (H, W, 3) uint8."""
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
            sizes += [inputs["reshaped_input_sizes"].cpu()] if "reshaped_input_sizes" in inputs else []  # not in SAM 2
            whole = m.processor.post_process_masks(out.pred_masks.float(), *sizes)[0][:, 0].cpu().numpy()
        masks = []
        for (left, top, right, bottom), mask in zip(boxes, whole.astype(bool), strict=True):
            within = np.zeros(rgb.shape[:2], bool)
            within[top:bottom, left:right] = mask[top:bottom, left:right]
            masks.append(within)
        return masks


class PictureEmbedder:
    """Embeds images and texts as unit vectors, similar for similar images and matching texts.

    The constructor raises ConfigError and MissingExtra, the methods ModelError.
    """

    def __init__(self, config: DetectorConfig, fetch: bool = True) -> None:
        """fetch: see `load`."""
        self._batch = config.batch
        self._model = load("AutoModel", config.embedder, config, fetch)

    def pictures(self, crops: Sequence[np.ndarray]) -> np.ndarray:
        """Return embeddings (n, D) float32. crops: n images (H, W, 3) uint8, each of any size."""
        return self._vectors("get_image_features", [{"pictures": part} for part in _parts(crops, self._batch)])

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return embeddings (n, D) float32 of n texts."""
        padding = "max_length" if self._model.kind.startswith("siglip") else True  # SigLIP was trained on padded texts
        return self._vectors("get_text_features", [{"text": part, "padding": padding, "truncation": True}
                                                   for part in _parts(texts, self._batch)])

    def scale_and_bias(self) -> tuple[float, float | None]:
        """Return the factor of a cosine, and the summand, that make the logit of "they match"; None: CLIP has none."""
        scale, bias = self._model.model.logit_scale, getattr(self._model.model, "logit_bias", None)
        return float(scale.detach().exp()), None if bias is None else float(bias.detach())

    def _vectors(self, features: str, batches: list[dict[str, Any]]) -> np.ndarray:
        found = []
        with self._model.named_failures(), self._model.torch.inference_mode():
            for batch in batches:
                out = getattr(self._model.model, features)(**self._model.inputs(**batch))
                tensor = out if self._model.torch.is_tensor(out) else out.pooler_output
                found.append(tensor.float().cpu().numpy())
        if not found:
            return np.zeros((0, 0), np.float32)
        raw = np.concatenate(found).astype(np.float64)
        length = np.sqrt((raw * raw).sum(axis=1, keepdims=True))
        return (raw / np.where(length > 0, length, 1.0)).astype(np.float32)


def _parts(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
