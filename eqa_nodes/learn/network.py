"""The perceiver's network: a small encoder and decoder over colour, depth and height, and heads for instances."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from eqa_nodes.perception.perceiver_input import PLANES

ENCODER, DECODER = (16, 40, 80, 152, 224), (32, 48, 80, 112)  # channels at 1/2, 1/4 ... of the input's size
FEATURES = DECODER[0] + DECODER[1]  # of a pixel of the output
VECTOR, HIDDEN = 96, 256
PIXEL = 96  # channels between a pixel's features and its kind: 32 alone do not part 120 kinds


class Sizes(NamedTuple):
    """Number of classes of each head; class 0 is surroundings (kind) or nothing known (the others)."""

    kind: int
    colour: int
    material: int
    state: int
    room: int


class _Layer(nn.Sequential):
    def __init__(self, before: int, after: int, kernel: int = 3, stride: int = 1, active: bool = True) -> None:
        layers: list[nn.Module] = [nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False),
                                   nn.BatchNorm2d(after)]
        super().__init__(*layers, *([nn.ReLU(inplace=True)] if active else []))


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = _Layer(channels, channels), _Layer(channels, channels, active=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.second(self.first(x)))


class Backbone(nn.Module):
    """Turns pictures (n, PLANES, H, W) into features (n, DECODER[0], H/2, W/2), and coarser ones on the way to them."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList()
        before = PLANES
        for level, after in enumerate(ENCODER):
            blocks = (0, 1, 2, 2, 1)[level]
            self.down.append(nn.Sequential(_Layer(before, after, 3, 2), *(_Residual(after) for _ in range(blocks))))
            before = after
        self.scene = nn.Linear(before, before)  # what the whole picture says: the kind of room
        self.top = _Layer(before, DECODER[-1], 1)
        self.across = nn.ModuleList(_Layer(a, b, 1) for a, b in zip(ENCODER, DECODER, strict=False))
        self.mix = nn.ModuleList(_Layer(c, c) for c in DECODER)
        self.narrow = nn.ModuleList(_Layer(b, a, 1) for a, b in pairwise(DECODER))

    def forward(self, pictures: Tensor) -> list[Tensor]:
        """Return the features at H/2, then those of the coarser levels: (n, DECODER[k], H/2^(k+1), W/2^(k+1))."""
        levels, x = [], pictures
        for down in self.down:
            x = down(x)
            levels.append(x)
        x = self.top(x + self.scene(x.mean((2, 3)))[:, :, None, None])
        found: list[Tensor] = []
        for level in range(len(DECODER) - 1, -1, -1):
            x = functional.interpolate(x, size=levels[level].shape[2:], mode="nearest")
            x = self.mix[level](x + self.across[level](levels[level]))
            found.insert(0, x)
            if level:
                x = self.narrow[level - 1](x)
        return found


class Heads(nn.Module):
    """Says what an instance is, from the mean and the deviation (n, 2 * FEATURES) of its features."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2 * FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, VECTOR), nn.ReLU())
        self.each = nn.ModuleList(nn.Linear(VECTOR, n) for n in sizes)

    def forward(self, pooled: Tensor) -> tuple[Tensor, ...]:
        """Return the logits of each head in the order of Sizes, then the vector (n, VECTOR)."""
        vector = self.body(pooled)
        return (*(head(vector) for head in self.each), vector)


class PerceiverNetwork(nn.Module):
    """The whole network."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.backbone, self.heads = Backbone(), Heads(sizes)
        self.pixels = nn.Sequential(nn.Linear(FEATURES, PIXEL), nn.ReLU(), nn.Linear(PIXEL, sizes.kind))
        self.coarse = nn.ModuleList(nn.Linear(channels, sizes.kind) for channels in DECODER[1:])  # for training only

    def kinds(self, features: Tensor) -> Tensor:
        """Return the logits (m, kinds) of pixels with these features (m, FEATURES)."""
        logits: Tensor = self.pixels(features)
        return logits


def of_pixels(fine: Tensor, coarser: Tensor) -> Tensor:
    """Return the features (n, FEATURES, H/2, W/2) of pixels: the finest of a Backbone, and the next coarser ones."""
    return torch.cat([fine, functional.interpolate(coarser, size=fine.shape[2:], mode="nearest")], 1)


def pooled(features: Tensor, segments: Tensor, count: int) -> Tensor:
    """Return mean and deviation (count, 2F) of the features of each segment.

    features: (m, F); segments: (m,) int64, the number of each pixel's segment, -1 = none.
    """
    inside = segments >= 0
    values, numbers = features[inside].float(), segments[inside]
    pixels = torch.bincount(numbers, minlength=count).clamp(min=1)[:, None]
    mean = values.new_zeros(count, values.shape[1]).index_add(0, numbers, values) / pixels
    square = values.new_zeros(count, values.shape[1]).index_add(0, numbers, values * values) / pixels
    return torch.cat([mean, (square - mean * mean).clamp(min=0).add(1e-6).sqrt()], 1)
