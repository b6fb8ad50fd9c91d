"""Writes a trained perceiver as ONNX files: weights in half precision, computed in single precision."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from eqa_nodes.core.errors import MissingExtra
from eqa_nodes.core.version import __version__
from eqa_nodes.learn.network import DECODER, FEATURES, VECTOR, PerceiverNetwork, of_pixels, pooled
from eqa_nodes.learn.pool import Batch, Vocabulary
from eqa_nodes.learn.training import LEAST, possible_states
from eqa_nodes.learn.training_inputs import plain
from eqa_nodes.learn.views import FIELDS
from eqa_nodes.perception.perceiver_input import HEIGHT, PLANES, WIDTH
from eqa_nodes.perception.words import WORDS

PIXELS, HEADS, ABOUT = "perceiver.onnx", "heads.onnx", "perceiver.json"
_OPSET, _IR = 17, 9
_TEMPERATURES = np.geomspace(0.5, 4.0, 36)


class _Graph:
    """An ONNX graph that is built node by node; names of values are numbers."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtra("onnx", "learn") from error
        self._onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.layers: list[nn.Module] = []  # those with weights: each has two constants, in this order

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weights(self, values: np.ndarray) -> str:
        """Add a float constant in half precision and return the name of its value in single precision."""
        name = f"w{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(values, np.float16), name))
        return self.add("Cast", name, to=self._onnx.TensorProto.FLOAT)

    def numbers(self, values: Sequence[int]) -> str:
        """Add an integer constant and return its name."""
        name = f"w{len(self.constants)}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def layer(self, x: str, layer: nn.Sequential) -> str:
        """Add a convolution with its batch normalisation folded into it, and its ReLU."""
        self.layers.append(layer)
        convolution, norm = layer[0], layer[1]
        assert isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d)
        assert norm.running_var is not None and norm.running_mean is not None
        scale = (norm.weight / torch.sqrt(norm.running_var + norm.eps)).detach()
        kernel = convolution.weight.detach() * scale[:, None, None, None]
        bias = norm.bias.detach() - norm.running_mean * scale
        pad = int(convolution.padding[0])
        x = self.add("Conv", x, self.weights(kernel.numpy()), self.weights(bias.numpy()),
                     strides=list(convolution.stride), pads=[pad] * 4)
        return self.add("Relu", x) if len(layer) > 2 else x

    def model(self, inputs: dict[str, list[Any]], outputs: dict[str, tuple[str, Any]], metadata: dict[str, str]) -> Any:
        """Return the model. outputs: name -> value and its type and shape."""
        helper, float32 = self._onnx.helper, self._onnx.TensorProto.FLOAT
        for name, (value, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        graph = helper.make_graph(
            self.nodes, "perceiver", [helper.make_tensor_value_info(n, float32, s) for n, s in inputs.items()],
            [helper.make_tensor_value_info(n, *kind) for n, (_, kind) in outputs.items()], self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR,
                                 producer_name="eqa_nodes")
        helper.set_model_props(made, metadata)
        self._onnx.checker.check_model(made)
        return made


class HeadScales(NamedTuple):
    """What is measured after the training. temperatures: divisor of the logits of each head; length: mean length of the
    vectors, which are stored with length 1."""

    temperatures: tuple[float, ...]
    length: float


def write_perceiver(network: PerceiverNetwork, vocabulary: Vocabulary, scales: HeadScales, folder: Path,
                    trained: str, licence: str = "Apache-2.0") -> None:
    """Write the two models, the words of the vectors, and their hashes and origin, into a folder.

    Raises MissingExtra without onnx.
    """
    network = network.eval().cpu()
    about = {**asdict(vocabulary), "format": 1, "trained": trained}
    files = {PIXELS: _pixels(_Graph(), network, {"perceiver": json.dumps(about)}),
             HEADS: _heads(_Graph(), network, scales.temperatures)}
    folder.mkdir(parents=True, exist_ok=True)
    stored = {name: model.SerializeToString() for name, model in files.items()}
    stored[WORDS] = _words(network, vocabulary, scales)
    for name, data in stored.items():
        (folder / name).write_bytes(data)
    said = {"format": 1, "licence": licence, "trained": trained, "version": __version__,
            "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in stored.items()}}
    (folder / ABOUT).write_text(json.dumps(said, indent=1) + "\n")


def layers_in(network: PerceiverNetwork) -> dict[str, list[nn.Module]]:
    """Return the layers by file, in the order of their weights in it: a kernel and a bias each.

    A layer is a linear one, or a convolution with its batch normalisation. Raises MissingExtra without onnx.
    """
    pixels, heads = _Graph(), _Graph()
    _pixels(pixels, network, {})
    _heads(heads, network, [1.0] * len(FIELDS))
    return {PIXELS: pixels.layers, HEADS: heads.layers}


def _pixels(graph: _Graph, network: PerceiverNetwork, metadata: dict[str, str]) -> Any:
    net, levels, x = network.backbone, [], "picture"
    for down in net.down:
        assert isinstance(down, nn.Sequential)
        x = graph.layer(x, down[0])
        for block in list(down)[1:]:
            x = graph.add("Relu", graph.add("Add", x, graph.layer(graph.layer(x, block.first), block.second)))
        levels.append(x)
    scene = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    scene = _linear(graph, scene, net.scene)
    scene = graph.add("Unsqueeze", scene, graph.numbers([2, 3]))
    x = graph.layer(graph.add("Add", x, scene), net.top)
    for level in range(len(DECODER) - 1, -1, -1):
        rows, columns = HEIGHT, WIDTH
        for _ in range(level + 1):
            rows, columns = (rows + 1) // 2, (columns + 1) // 2
        x = graph.add("Resize", x, "", "", graph.numbers([1, DECODER[level], rows, columns]), mode="nearest",
                      coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        x = graph.layer(graph.add("Add", x, graph.layer(levels[level], net.across[level])), net.mix[level])
        if level == 1:
            coarser = graph.add("Resize", x, "", "", graph.numbers([1, DECODER[1], HEIGHT // 2, WIDTH // 2]),
                                mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        if level:
            x = graph.layer(x, net.narrow[level - 1])
    x = graph.add("Concat", x, coarser, axis=1)
    hidden = graph.add("Relu", _at_each_pixel(graph, x, network.pixels[0]))
    logits = _at_each_pixel(graph, hidden, network.pixels[2])
    types = graph._onnx.TensorProto
    by_pixel = graph.add("Transpose", logits, perm=[0, 2, 3, 1])  # ten times as fast as over channels
    kind = graph.add("Cast", graph.add("ArgMax", by_pixel, axis=3, keepdims=0), to=types.UINT8)
    confidence = graph.add("ReduceMax", graph.add("Softmax", by_pixel, axis=3), axes=[3], keepdims=0)
    half = [1, HEIGHT // 2, WIDTH // 2]
    return graph.model({"picture": [1, PLANES, HEIGHT, WIDTH]}, {
        "kind": (kind, (types.UINT8, half)), "confidence": (confidence, (types.FLOAT, half)),
        "features": (x, (types.FLOAT, [1, FEATURES, *half[1:]]))}, metadata)


def _heads(graph: _Graph, network: PerceiverNetwork, temperatures: Sequence[float]) -> Any:
    heads = network.heads
    float32 = graph._onnx.TensorProto.FLOAT
    first, last = heads.body[0], heads.body[2]
    x = graph.add("Relu", _linear(graph, "pooled", first))
    x = graph.add("Relu", _linear(graph, x, last))
    outputs = {name: (_linear(graph, x, head, 1 / t), (float32, ["n", head.out_features])) for name, head, t in zip(
        FIELDS, heads.each, temperatures, strict=True)}
    return graph.model({"pooled": ["n", 2 * FEATURES]}, {**outputs, "vector": (x, (float32, ["n", VECTOR]))}, {})


def _words(network: PerceiverNetwork, vocabulary: Vocabulary, scales: HeadScales) -> bytes:
    """Return the last layer of each head with its names, as perception/words.py reads it."""
    stored: dict[str, Any] = {"heads": np.array(FIELDS), "scale": np.array(scales.length)}
    for field, head, t, names in zip(FIELDS, network.heads.each, scales.temperatures, vocabulary.names(),
                                     strict=True):
        assert isinstance(head, nn.Linear)
        stored |= {field: (head.weight.detach().numpy().T / t).astype(np.float16), f"{field}_names": np.array(names),
                   f"{field}_bias": (head.bias.detach().numpy() / t).astype(np.float16)}
    file = io.BytesIO()
    np.savez(file, **stored)
    return file.getvalue()


def _at_each_pixel(graph: _Graph, x: str, layer: nn.Module) -> str:
    assert isinstance(layer, nn.Linear)
    graph.layers.append(layer)
    return graph.add("Conv", x, graph.weights(layer.weight.detach().numpy()[:, :, None, None]),
                     graph.weights(layer.bias.detach().numpy()))


def _linear(graph: _Graph, x: str, layer: nn.Module, scale: float = 1.0) -> str:
    assert isinstance(layer, nn.Linear)
    graph.layers.append(layer)
    return graph.add("Gemm", x, graph.weights(layer.weight.detach().numpy() * scale),
                     graph.weights(layer.bias.detach().numpy() * scale), transB=1)


@torch.no_grad()
def scales_of(network: PerceiverNetwork, vocabulary: Vocabulary, shown: Iterator[Batch], count: int) -> HeadScales:
    """Measure over `count` batches. The temperatures have the least cross-entropy (Guo et al. 2017, eq. 9)."""
    network.eval()
    kept: list[list[tuple[torch.Tensor, torch.Tensor]]] = [[] for _ in FIELDS]
    possible, lengths = possible_states(vocabulary), list[torch.Tensor]()
    for _ in range(count):
        batch = next(shown)
        features = of_pixels(*network.backbone(torch.from_numpy(plain(batch)))[:2])
        flat = features.permute(0, 2, 3, 1).reshape(-1, features.shape[1])
        numbers, classes = torch.from_numpy(batch.segments).reshape(-1), torch.from_numpy(batch.classes)
        numbers = torch.where(numbers >= len(batch.rgb), numbers, -1)
        large = torch.bincount(numbers[numbers >= 0], minlength=len(classes)) >= LEAST
        *logits, vectors = network.heads(pooled(flat, numbers, len(classes))[large])
        lengths.append(vectors.norm(dim=1))
        for k, out in enumerate(logits):
            out = out.masked_fill(~possible[classes[large, 0]], -1e4) if FIELDS[k] == "state" else out
            kept[k].append((out, classes[large, k]))
    found = []
    for pairs in kept:
        out, wanted = torch.cat([a for a, _ in pairs]), torch.cat([b for _, b in pairs])
        costs = [float(nn.functional.cross_entropy(out / t, wanted)) for t in _TEMPERATURES]
        found.append(round(float(_TEMPERATURES[int(np.argmin(costs))]), 3))
    return HeadScales(tuple(found), round(float(torch.cat(lengths).mean()), 3))
