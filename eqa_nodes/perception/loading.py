"""Loads local models through transformers, by folder or hub name. Code that comes with a model is never executed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
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
        """Turn what the libraries raise inside into ModelError."""
        return named_failures(self.torch, self.model.device, str(self.model.name_or_path), _SMALLER)

    def inputs(self, pictures: Sequence[np.ndarray] = (), **given: Any) -> Any:
        """Return images ((H, W, 3) uint8) and texts as tensors on the device, images in the model's dtype."""
        if pictures:  # of an array with three rows nobody knows which axis is colour
            given["images"] = [Image.fromarray(np.ascontiguousarray(picture)) for picture in pictures]
        made = self.processor(return_tensors="pt", **given).to(self.model.device)
        if "pixel_values" in made:
            made["pixel_values"] = made["pixel_values"].to(self.model.dtype)
        return made


def load(auto_class: str, name: str, config: DetectorConfig) -> LoadedModel:
    """Return a model of one of transformers' auto classes.

    Raises ConfigError where it cannot be loaded or does not fit, or device or dtype are not there; MissingExtra
    without transformers.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtra(error.name or "transformers", "local") from error
    device = device_of(torch, config.device, "detector.device")
    dtype = dtype_of(torch, config.dtype or "float32", "detector.dtype")  # boxes are measured with it
    try:
        model = getattr(transformers, auto_class).from_pretrained(name, dtype=dtype, trust_remote_code=False)
        processor = transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ConfigError(f"{name!r} cannot be loaded as {auto_class}: {' '.join(str(error).split())[:300]}. Name a "
                          "folder that save_pretrained wrote, or a model that is in the cache or can be "
                          "fetched") from error
    return LoadedModel(torch, placed(torch, model, device, f"the model {name}", "detector"), processor)
