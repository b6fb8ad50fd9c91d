"""Models of transformers, exported to ONNX by PyTorch: the library's own post-processing finds the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.perception import open_detector
from tests.fixtures.frames import frame
from tests.fixtures.needs import need_transformers

need_transformers()

import torch
import transformers as t

from tests.fixtures import onnx_models  # noqa: F401  (skips the module without onnx and onnxruntime)

NAMES = {0: "cup", 1: "bed", 2: "lamp"}
_RESNET = {"embedding_size": 8, "hidden_sizes": [8, 8, 8, 16], "depths": [1, 1, 1, 1], "layer_type": "basic"}


def rt_detr() -> tuple[Any, Any]:
    backbone = t.RTDetrResNetConfig(**_RESNET, out_features=["stage2", "stage3", "stage4"])
    config = t.RTDetrConfig(
        backbone_config=backbone, encoder_hidden_dim=16, encoder_in_channels=[8, 8, 16], encoder_ffn_dim=16, d_model=16,
        decoder_in_channels=[16, 16, 16], num_queries=20, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, decoder_ffn_dim=16, id2label=NAMES, label2id={n: i for i, n in NAMES.items()})
    return t.RTDetrForObjectDetection(config), t.RTDetrImageProcessorPil(size={"height": 64, "width": 64})


def detr() -> tuple[Any, Any]:
    backbone = t.ResNetConfig(**_RESNET, out_features=["stage4"])
    config = t.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone, d_model=16,
        encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16,
        decoder_ffn_dim=16, num_queries=12, id2label=NAMES, label2id={n: i for i, n in NAMES.items()})
    images = t.DetrImageProcessorPil(size={"height": 64, "width": 64}, do_pad=False)
    return t.DetrForObjectDetection(config), images


def segformer() -> tuple[Any, Any]:
    config = t.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 8, 8], num_attention_heads=[1, 1, 1, 1], decoder_hidden_size=16,
        sr_ratios=[8, 4, 2, 1], id2label=NAMES, label2id={n: i for i, n in NAMES.items()})
    return t.SegformerForSemanticSegmentation(config), t.SegformerImageProcessorPil(size={"height": 64, "width": 64})


class Boxes(torch.nn.Module):
    """A detection model whose outputs are a tuple, as optimum exports it."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixel_values: Any) -> Any:
        out = self.model(pixel_values=pixel_values)
        return (out.logits, out.pred_boxes) if hasattr(out, "pred_boxes") else out.logits


def exported(kind: Callable[[], tuple[Any, Any]], folder: Path) -> Any:
    """Write model.onnx, config.json and preprocessor_config.json, and return the processor."""
    torch.manual_seed(5)
    model, processor = kind()
    model.eval()
    for values in model.parameters():
        values.data *= 2.0  # otherwise all scores are alike
    names = ["logits"] if kind is segformer else ["logits", "pred_boxes"]
    torch.onnx.export(Boxes(model).eval(), (torch.rand(1, 3, 64, 64),), str(folder / "model.onnx"), opset_version=17,
                      input_names=["pixel_values"], output_names=names, dynamo=False)
    processor.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"id2label": NAMES}))
    return processor


def outputs(folder: Path, processor: Any, shown: Frame) -> Any:
    """Return what the file computes for a picture that the library has prepared, as the library has it."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
    names = [node.name for node in session.get_outputs()]
    pixels = processor([Image.fromarray(shown.rgb)], return_tensors="pt")["pixel_values"]
    values = session.run(names, {"pixel_values": pixels.numpy()})
    return SimpleNamespace(**{name: torch.from_numpy(value) for name, value in zip(names, values, strict=True)})


@pytest.fixture
def shown() -> Frame:
    """Return a view of soft spots, of the size of the inputs: each library enlarges pictures a little differently."""
    spots = np.random.default_rng(7).integers(0, 256, (8, 8, 3), np.uint8)
    rgb = np.asarray(Image.fromarray(spots).resize((64, 64), Image.Resampling.BICUBIC))
    return replace(frame(1), rgb=rgb, depth_m=np.full((64, 64), 2.0, np.float32),
                   intrinsics=Intrinsics(64, 64, 40.0, 40.0, 32.0, 32.0))


@pytest.mark.filterwarnings("ignore")  # of the exporter
@pytest.mark.parametrize("kind", [rt_detr, detr])
def test_boxes_are_those_of_the_library(kind: Callable[[], tuple[Any, Any]], shown: Frame, tmp_path: Path) -> None:
    processor = exported(kind, tmp_path)
    found = open_detector(DetectorConfig("onnx", str(tmp_path), threshold=0.0), ()).detect(shown, {})
    out = outputs(tmp_path, processor, shown)
    read = processor.post_process_object_detection(out, threshold=0.0, target_sizes=[(64, 64)])[0]
    wanted = {(NAMES[int(c)], tuple(b)): float(s) for s, c, b in
              zip(read["scores"], read["labels"], read["boxes"].tolist(), strict=True)}
    least = min(wanted.values()) if kind is rt_detr else 0.0  # of all pairs of box and class, it keeps the best
    assert sum(d.score > least + 1e-4 for d in found) > 4
    for d in (d for d in found if d.score > least + 1e-4):
        near = [score for (name, box), score in wanted.items() if name == d.name and
                max(abs(min(max(edge, 0), 64) - own) for edge, own in zip(box, d.box, strict=True)) <= 0.51]
        assert any(abs(score - d.score) < 1e-4 for score in near), d


@pytest.mark.filterwarnings("ignore")
def test_a_segmentation_map_is_that_of_the_library(shown: Frame, tmp_path: Path) -> None:
    """The library enlarges logits, and here the nearest class is taken: they may differ along edges."""
    processor = exported(segformer, tmp_path)
    found = open_detector(DetectorConfig("onnx", str(tmp_path)), ()).detect(shown, {})
    out = outputs(tmp_path, processor, shown)
    wanted = processor.post_process_semantic_segmentation(out, target_sizes=[(64, 64)])[0].numpy()
    kinds = np.full((64, 64), -1)
    for d in found:
        assert d.mask is not None and (kinds[d.mask] == -1).all()
        kinds[d.mask] = next(number for number, name in NAMES.items() if name == d.name)
    assert len({d.name for d in found}) > 1 and (kinds == wanted).mean() > 0.8
