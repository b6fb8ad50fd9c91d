"""Training of the perceiver: augmented batches, losses of pixels and instances, checkpoints that continue a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.ranges import Counted, Positive, Share, check_ranges
from eqa_nodes.core.settings import setting
from eqa_nodes.learn.checkpoints import read_checkpoint, write_checkpoint
from eqa_nodes.learn.network import PerceiverNetwork, Sizes, of_pixels, pooled
from eqa_nodes.learn.pool import Batch, Vocabulary, batches, vocabulary_of
from eqa_nodes.learn.training_inputs import augmented, plain, smaller
from eqa_nodes.learn.views import FIELDS

_WEIGHTS = (0.5, 0.3, 0.2, 0.3, 0.2)  # of the heads' losses, by FIELDS; the pixels' loss has 1
_SAMPLED, _COARSELY = 2048, 256  # pixels of a view whose kind counts in a step, and those of each coarser level
_COARSE = 0.5  # weight of the coarser levels' loss
LEAST = 12  # pixels of the output that a segment needs
_MISTAKEN = 4  # views of a batch whose wrongly named segments are shown to the heads
_POOLED = 96  # pixels of an instance from which its features are pooled in a step
_NAMING = 0.5  # share of the steps before that: at first nearly all segments are named wrongly
_KEPT = 0.998  # share that the averaged weights keep in a step
_STATE = FIELDS.index("state")


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a training run. They belong to the run: a run that is continued keeps them."""

    steps: Counted = setting(13000, "Number of steps.")
    batch: Counted = setting(16, "Number of views in a step.")
    small: Share = setting(0.87,
        "Share of the steps, the first ones, with views of half the width and height: they take a quarter of the time.")
    rate: Positive = setting(3e-3,
        "Highest learning rate; it rises over the first 300 steps (a tenth of a short run) and then falls to 0.")
    seed: int = setting(0, "Seed of weights, order and augmentation.")

    def __post_init__(self) -> None:
        check_ranges(self, "training")


class Losses(NamedTuple):
    """Losses of one step: of pixels, of pixels of the coarser levels, and of the heads by FIELDS."""

    pixels: Tensor
    coarse: Tensor
    heads: tuple[Tensor, ...]

    def values(self) -> dict[str, float]:
        """Return the losses by name."""
        return {name: float(loss.detach()) for name, loss in zip(("pixels", "coarse", *FIELDS), (
            self.pixels, self.coarse, *self.heads), strict=True)}

    @property
    def total(self) -> Tensor:
        """Return the weighted sum."""
        total = self.pixels + _COARSE * self.coarse
        for weight, loss in zip(_WEIGHTS, self.heads, strict=True):
            total = total + weight * loss
        return total


class Training:
    """A training run in a folder: its checkpoint is `checkpoint.pt`, which continues the run to the same result.

    step: number of steps done. Raises ConfigError for a checkpoint of another format or other settings.
    """

    def __init__(self, folder: Path, files: list[Path], config: TrainingConfig, device: str = "cpu") -> None:
        self.folder, self.config, self.step = folder, config, 0
        self._device = torch.device(device)
        self._file = folder / "checkpoint.pt"
        stored = read_checkpoint(self._file, config, self._device)
        self.vocabulary = Vocabulary(**stored["vocabulary"]) if stored else vocabulary_of(files)
        torch.manual_seed(config.seed)
        sizes = Sizes(*map(len, self.vocabulary.names()))
        self.network = PerceiverNetwork(sizes).to(self._device, memory_format=torch.channels_last)
        self.averaged = PerceiverNetwork(sizes).to(self._device, memory_format=torch.channels_last)
        self.averaged.load_state_dict(self.network.state_dict())
        self._optimiser = torch.optim.AdamW(self.network.parameters(), config.rate, (0.9, 0.98), weight_decay=1e-2)
        if stored:
            self.network.load_state_dict(stored["network"])
            self.averaged.load_state_dict(stored["averaged"])
            self._optimiser.load_state_dict(stored["optimiser"])
            self.step = stored["step"]
        self._possible = possible_states(self.vocabulary).to(self._device)
        self._batches = batches(files, self.vocabulary, config.batch, config.seed, self.step)

    def save(self) -> None:
        """Write the checkpoint; the one before it is there until the new one is complete."""
        write_checkpoint(self._file, self.config, vocabulary=asdict(self.vocabulary), network=self.network.state_dict(),
                         averaged=self.averaged.state_dict(), optimiser=self._optimiser.state_dict(), step=self.step)

    def steps(self) -> Iterator[tuple[int, Losses]]:
        """Yield the number of each step that is left, after it is done, and its losses."""
        while self.step < self.config.steps:
            yield self.step + 1, self._advance(next(self._batches))

    def _advance(self, batch: Batch) -> Losses:
        rng = np.random.default_rng([self.config.seed, 1, self.step])
        torch.manual_seed(self.config.seed * 1_000_003 + self.step)
        for group in self._optimiser.param_groups:
            group["lr"] = self.config.rate * rate_at(self.step, self.config.steps)
        pictures, segments = augmented(smaller(batch, rng) if self._is_small else batch, rng)
        losses = self._losses(torch.from_numpy(pictures).to(self._device), torch.from_numpy(segments).to(self._device),
                              torch.from_numpy(batch.classes).to(self._device))
        total = losses.total
        if not bool(torch.isfinite(total)):
            raise ModelError(f"the loss of step {self.step + 1} is {float(total.detach())}; the checkpoint is from "
                             "before that. Look at the training views, or begin again in another folder")
        self._optimiser.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self._optimiser.step()
        self.step += 1
        self._average()
        return losses

    @property
    def _is_small(self) -> bool:
        return self.step < self.config.small * self.config.steps

    def _losses(self, pictures: Tensor, segments: Tensor, classes: Tensor) -> Losses:
        network = self.network.train()
        with torch.autocast(self._device.type, torch.bfloat16):
            levels = network.backbone(pictures.to(memory_format=torch.channels_last))
        features = _Features(levels[0], levels[1])
        n, kinds = len(segments), classes[:, 0]
        numbers = segments.reshape(n, -1)
        chosen = _sample(numbers, len(classes), _SAMPLED)
        pixels = functional.cross_entropy(network.kinds(features.of(chosen)), kinds[numbers.reshape(-1)[chosen]])
        coarse = torch.zeros((), device=self._device)
        for level, head in zip(levels[1:], network.coarse, strict=True):
            there = functional.interpolate(segments[:, None].double(), level.shape[2:]).long().reshape(n, -1)
            chosen = _sample(there, len(classes), _COARSELY)
            said = head(_rows(level).index_select(0, chosen).float())
            coarse = coarse + functional.cross_entropy(said, kinds[there.reshape(-1)[chosen]])
        return Losses(pixels, coarse / len(network.coarse), self._of_heads(features, numbers, classes))

    def _of_heads(self, features: _Features, numbers: Tensor, classes: Tensor) -> tuple[Tensor, ...]:
        """Return the losses of the heads over all instances, and over the segments that the pixels name wrongly.

        Of a large instance only some pixels count: their mean and deviation are nearly those of all.
        """
        network, n = self.network, len(numbers)
        whole = torch.where(numbers >= n, numbers, -1).reshape(-1)
        mistaken, sources = self._wrongly_named(features, numbers, classes)
        targets = torch.cat([classes, classes[sources]])
        of_parts = torch.cat([whole, torch.where(mistaken >= 0, mistaken + len(classes), -1)])
        pixels = torch.arange(len(whole), device=whole.device)
        pixels = torch.cat([pixels, pixels[:len(mistaken)]])
        parts = torch.bincount(of_parts[of_parts >= 0], minlength=len(targets))
        share = _POOLED / parts.clamp(min=1)[of_parts.clamp(min=0)]
        used = torch.where((of_parts >= 0) & (torch.rand(share.shape, device=share.device) < share))[0]
        both = pooled(features.of(pixels[used]), of_parts[used], len(targets))
        large = parts >= (max(1, LEAST // 4) if self._is_small else LEAST)
        if not bool(large.any()):
            return tuple(both.sum() * 0.0 for _ in FIELDS)
        *logits, _ = network.heads(both[large])
        targets = targets[large]
        logits[_STATE] = logits[_STATE].masked_fill(~self._possible[targets[:, 0]], -1e4)
        objects = targets[:, 0] > 0
        return tuple(functional.cross_entropy(out, wanted) if k == 0 else
                     functional.cross_entropy(out[objects], wanted[objects]) if bool(objects.any()) else out.sum() * 0
                     for k, (out, wanted) in enumerate(zip(logits, targets.T, strict=True)))

    @torch.no_grad()
    def _wrongly_named(self, features: _Features, numbers: Tensor, classes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the segment of each pixel of the first views, -1 = none, and the instance of each segment.

        A segment is the pixels of one instance, or of the surroundings, that are wrongly named alike.
        """
        if self.step < _NAMING * self.config.steps:
            return numbers.new_zeros(0), numbers.new_zeros(0)
        truth = numbers[:_MISTAKEN].reshape(-1)
        said = self.network.kinds(features.of(torch.arange(len(truth), device=truth.device))).argmax(1)
        wrong = (said != classes[truth, 0]) & (said > 0)
        kinds = len(self.vocabulary.kinds)
        names, found = torch.where(wrong, truth * kinds + said, -1).unique(return_inverse=True)
        none = int(names[0] == -1)
        return found - none, names[none:] // kinds

    @torch.no_grad()
    def _average(self) -> None:
        kept = min(_KEPT, self.step / (self.step + 10))
        for mean, now in zip(self.averaged.state_dict().values(), self.network.state_dict().values(), strict=True):
            if mean.dtype.is_floating_point:
                mean.lerp_(now, 1 - kept)
            else:
                mean.copy_(now)


class _Features:
    """Features of pixels as of_pixels gives them, without joining the images of which few pixels are used."""

    def __init__(self, fine: Tensor, coarser: Tensor) -> None:
        self._fine, self._coarser = _rows(fine), _rows(coarser)
        (self._height, self._width), (self._rows, self._columns) = fine.shape[2:], coarser.shape[2:]

    def of(self, pixels: Tensor) -> Tensor:
        """Return the features (m, FEATURES) float32 of pixels, which are numbered over all views."""
        view, inside = pixels // (self._height * self._width), pixels % (self._height * self._width)
        y, x = inside // self._width // 2, inside % self._width // 2
        there = (view * self._rows + y) * self._columns + x
        return torch.cat([self._fine.index_select(0, pixels), self._coarser.index_select(0, there)], 1).float()


def rate_at(step: int, steps: int) -> float:
    """Return the share of the learning rate at a step: linear to 1, then a cosine to 0."""
    rising = max(1, min(300, steps // 10))
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - rising) / max(1, steps - rising))))


def possible_states(vocabulary: Vocabulary) -> Tensor:
    """Return (kinds, states) bool: which states a kind can have; "" only where it has none."""
    possible = torch.zeros(len(vocabulary.kinds), len(vocabulary.states), dtype=torch.bool)
    for k, kind in enumerate(vocabulary.kinds):
        for state in vocabulary.states_of.get(kind, ("",)):
            possible[k, vocabulary.states.index(state)] = True
        if kind in vocabulary.states_of:
            possible[k, 0] = True
    return possible


def _rows(features: Tensor) -> Tensor:
    """Return features (n, F, H, W) as rows (n * H * W, F)."""
    return features.permute(0, 2, 3, 1).reshape(-1, features.shape[1])


def _sample(numbers: Tensor, count: int, wanted: int) -> Tensor:
    """Return indices of `wanted` pixels of each view; numbers: (n, pixels), below `count`.

    A third of the probability is uniform; of the rest each segment has a share that grows with the root of its size, so
    that walls do not outweigh cups, nor a cup 6 m away the table that it stands on.
    """
    n, per_view = numbers.shape
    rare = torch.bincount(numbers.reshape(-1), minlength=count).clamp(min=1).float().rsqrt()[numbers]
    weights = 1 / (3 * per_view) + 2 / 3 * rare / rare.sum(1, keepdim=True)
    ends = weights.double().cumsum(1)
    drawn = torch.rand(n, wanted, dtype=torch.float64, device=numbers.device) * ends[:, -1:]
    index = torch.searchsorted(ends, drawn).clamp(max=per_view - 1)
    return (index + torch.arange(n, device=numbers.device)[:, None] * per_view).reshape(-1)


@torch.no_grad()
def accuracy(network: PerceiverNetwork, vocabulary: Vocabulary, shown: Iterator[Batch], count: int
             ) -> Mapping[str, float]:
    """Return shares over `count` batches without augmentation: right pixels ("pixels"), pixels of objects ("objects"),
    and right instances by field, of those that the truth names."""
    network.eval()
    right, total = np.zeros(2 + len(FIELDS)), np.zeros(2 + len(FIELDS))
    possible = possible_states(vocabulary)
    for _ in range(count):
        batch = next(shown)
        flat = _rows(of_pixels(*network.backbone(torch.from_numpy(plain(batch)))[:2]))
        classes, numbers = torch.from_numpy(batch.classes), torch.from_numpy(batch.segments).reshape(-1)
        truth = classes[numbers, 0]
        same = network.kinds(flat).argmax(1) == truth
        for k, where in enumerate((torch.ones_like(same), truth > 0)):
            right[k] += int(same[where].sum())
            total[k] += int(where.sum())
        whole = torch.where(numbers >= len(batch.rgb), numbers, -1)
        large = torch.bincount(whole[whole >= 0], minlength=len(classes)) >= LEAST
        *logits, _ = network.heads(pooled(flat, whole, len(classes))[large])
        wanted = classes[large]
        logits[_STATE] = logits[_STATE].masked_fill(~possible[wanted[:, 0]], -1e4)
        for k, out in enumerate(logits):
            known = wanted[:, k] > 0
            right[2 + k] += int((out.argmax(1) == wanted[:, k])[known].sum())
            total[2 + k] += int(known.sum())
    return {name: float(r / t) if t else math.nan
            for name, r, t in zip(("pixels", "objects", *FIELDS), right, total, strict=True)}

