"""Devices and number formats, and what an error of a device says, lets go of, and advises."""

from __future__ import annotations

import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.models.accelerator import named_failures, placed, quick_dtype
from eqa_nodes.perception.loading import BoxSegmenter, PictureEmbedder
from eqa_nodes.perception.zero_shot import ZeroShotDetector
from tests.fixtures.frames import frame
from tests.fixtures.needs import need_transformers
from tests.fixtures.tiny_detectors import save_tiny

need_transformers()

import torch


@pytest.mark.parametrize(("kind", "major", "expected"), [
    ("cuda", 9, "bfloat16"), ("cuda", 7, "float16"), ("mps", 0, "bfloat16"), ("cpu", 0, "float32")])
def test_a_card_that_only_emulates_bfloat16_computes_in_float16(kind: str, major: int, expected: str) -> None:
    def is_bf16_supported(including_emulation: bool = True) -> bool:
        """Return what PyTorch does for a card of this compute capability."""
        return major >= 8 or including_emulation

    fake = SimpleNamespace(cuda=SimpleNamespace(is_bf16_supported=is_bf16_supported))
    assert quick_dtype(fake, SimpleNamespace(type=kind)) == expected


@pytest.mark.parametrize("words", ["CUDA out of memory. Tried to allocate", "MPS backend out of memory",
                                   "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"])
def test_too_little_memory_is_told_from_other_errors(words: str) -> None:
    with pytest.raises(ModelError, match=r"^out of memory: m on cpu \(.*\): buy more"), \
            named_failures(torch, torch.device("cpu"), "m", "buy more"):
        raise RuntimeError(words)


def test_after_an_error_of_a_kernel_the_process_must_be_restarted() -> None:
    if not hasattr(torch, "AcceleratorError"):
        pytest.skip("PyTorch before 2.8 has no AcceleratorError")
    said = r"^failed: m on cpu: AcceleratorError: CUDA error: device-side assert triggered. The GPU .*restart it$"
    with pytest.raises(ModelError, match=said), \
            named_failures(torch, torch.device("cpu"), "m", ""):
        raise torch.AcceleratorError("CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in ...")
    with pytest.raises(ModelError, match=r"^failed: m on cpu: RuntimeError: mat1$"), \
            named_failures(torch, torch.device("cpu"), "m", ""):
        raise RuntimeError("mat1")


def test_weights_are_let_go_where_a_model_does_not_fit() -> None:
    class Layer(torch.nn.Linear):
        """A layer that moves to the CPU only as long as there is room: never."""

        def to(self, device: Any) -> Any:
            if str(device) == "cpu":
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().to(device)

    layer = Layer(3, 3)
    data = weakref.ref(layer.weight.untyped_storage())
    with pytest.raises(ConfigError, match=r"the model m does not fit on cpu.*detector.device, detector.dtype"):
        placed(torch, layer, torch.device("cpu"), "the model m", "detector")
    assert data() is None and layer.weight.device.type == "meta"


@pytest.mark.parametrize("kind", ["owlv2", "sam", "clip"])
def test_what_fails_in_perception_is_a_named_error(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node counts named errors and goes on; any other one would end its thread."""
    folder = str(save_tiny(kind, tmp_path))
    config = DetectorConfig("transformers", folder, segmenter=folder, embedder=folder)
    pixels = np.zeros((48, 64, 3), np.uint8)
    if kind == "owlv2":
        detector = ZeroShotDetector(DetectorConfig("transformers", config.model), ("chair",))
        model, look = detector._model, lambda: detector.detect(frame(1), {})
    elif kind == "sam":
        segmenter = BoxSegmenter(config)
        model, look = segmenter._model, lambda: segmenter.masks(pixels, [(1, 1, 9, 9)])
    else:
        embedder = PictureEmbedder(config)
        model, look = embedder._model, lambda: embedder.pictures([pixels])

    def fails(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(type(model.model), "forward", fails)
        patch.setattr(type(model.model), "get_image_features", fails, raising=False)
        with pytest.raises(ModelError, match=r"^out of memory: .* on .*detector.batch 1"):
            look()
    look()
