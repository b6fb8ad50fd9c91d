"""Begins a training with the weights of another one, read back from the files that it wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.learn.export import layers_in
from eqa_nodes.learn.network import PerceiverNetwork
from eqa_nodes.learn.pool import Batch, Vocabulary
from eqa_nodes.learn.training_inputs import plain
from eqa_nodes.learn.views import FIELDS
from eqa_nodes.perception.perceiver import METADATA, NETWORK, names_in, weights_folder

PACKAGE = "package"  # the name of the weights in the package


def folder_of(start: str) -> Path:
    """Return the folder of the weights that a run begins with: that of the package, or another one."""
    return weights_folder("" if start == PACKAGE else start)


@torch.no_grad()
def begin_with(network: PerceiverNetwork, vocabulary: Vocabulary, start: str, shown: Iterable[Batch]) -> None:
    """Set a network on the CPU to the weights in a folder of write_perceiver, or to those of the package.

    Classes are matched by their names; new ones keep their random weights. The files have batch normalisations only as
    part of the kernels; here they are set to the means and deviations of `shown`, so that the network computes the
    same. Raises ConfigError for weights of another network, MissingExtra without onnx.
    """
    layers = layers_in(network)
    import onnx

    folder = folder_of(start)
    models = {file: onnx.load(folder / file) for file in layers}
    metadata = {entry.key: entry.value for entry in models[NETWORK].metadata_props}
    known = names_in(metadata.get(METADATA, ""), folder / NETWORK).of_heads()
    names = dict(zip([id(head) for head in network.heads.each], zip(
        (known[field] for field in FIELDS), vocabulary.names(), strict=True), strict=True))
    names[id(network.pixels[2])] = known["kind"], vocabulary.kinds
    for file, own in layers.items():
        values = [torch.from_numpy(onnx.numpy_helper.to_array(value).astype("float32"))
                  for value in models[file].graph.initializer if value.data_type == onnx.TensorProto.FLOAT16]
        if len(values) != 2 * len(own):
            raise ConfigError(f"{folder / file} is of another network: {len(values)} constants where {2 * len(own)} "
                              "were expected. Train from nothing")
        for layer, kernel, bias in zip(own, values[::2], values[1::2], strict=True):
            _set(layer, kernel, bias, *names.get(id(layer), ((), ())), file=folder / file)
    _normalise(network, shown)


def _set(layer: Any, kernel: Tensor, bias: Tensor, before: tuple[str, ...], now: tuple[str, ...], file: Path) -> None:
    """Set the weights of a layer. before, now: names of its outputs in the file and in the network, () = none."""
    linear = isinstance(layer, nn.Linear)
    weight, shift = (layer.weight, layer.bias) if linear else (layer[0].weight, layer[1].bias)
    kernel = kernel.flatten(1) if linear else kernel
    rows = [(now.index(name), k) for k, name in enumerate(before) if name in now] if now else [
        (k, k) for k in range(len(weight))]
    if kernel.shape[1:] != weight.shape[1:] or (not now and len(kernel) != len(weight)):
        raise ConfigError(f"{file} is of another network: a layer has the shape {json.dumps(list(kernel.shape))}, and "
                          f"{json.dumps(list(weight.shape))} was expected. Train from nothing")
    to, of = ([row[k] for row in rows] for k in range(2))
    weight[to], shift[to] = kernel[of], bias[of]
    if not linear:
        norm = layer[1]
        norm.weight.fill_(1.0)
        norm.running_mean.zero_()
        norm.running_var.fill_(1.0 - norm.eps)


def _normalise(network: PerceiverNetwork, shown: Iterable[Batch]) -> None:
    """Set all batch normalisations to what passes through them, without changing what the network computes."""
    norms = [module for module in network.backbone.modules() if isinstance(module, nn.BatchNorm2d)]
    seen: dict[int, list[Tensor]] = {id(norm): [] for norm in norms}
    hooks = [norm.register_forward_pre_hook(
        lambda module, given: seen[id(module)].append(torch.stack([given[0].mean((0, 2, 3)), given[0].var((0, 2, 3))])))
        for norm in norms]
    network.eval()
    for batch in shown:
        network.backbone(torch.from_numpy(plain(batch)))
    for hook in hooks:
        hook.remove()
    for norm in norms:
        mean, variance = torch.stack(seen[id(norm)]).mean(0)
        assert norm.running_mean is not None and norm.running_var is not None
        norm.bias += mean
        norm.weight.copy_((variance + norm.eps).sqrt())
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
