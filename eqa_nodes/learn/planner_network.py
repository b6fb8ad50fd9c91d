"""AQ-Nav's planner as a torch module; eqa_nodes/core/policies/planner.py computes the same with NumPy."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from eqa_nodes.core.policies.planner import (
    BUCKETS,
    CLOSED,
    VISITED,
    WORDS,
    GraphPlanner,
    PlannerInput,
    PlannerShape,
    near_of,
)
from eqa_nodes.core.policies.topo_graph import FEATURES


class PlannerBatch(NamedTuple):
    """Decisions of a batch, padded to the same number of nodes. there: (B, n) bool, which nodes are not padding."""

    numbers: Tensor
    names: Tensor
    paths: Tensor
    words: Tensor
    there: Tensor


class _Attention(nn.Module):
    """Attention with a residual and a norm after it. biased: whether it has a scale for distances, per head."""

    def __init__(self, shape: PlannerShape, biased: bool = False) -> None:
        super().__init__()
        self._heads, width = shape.heads, shape.width
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width)
        if biased:
            self.scale = nn.Parameter(torch.zeros(shape.heads))

    def forward(self, of: Tensor, to: Tensor, bias: Tensor) -> Tensor:
        """Return (B, n, width). bias: broadcast to (B, heads, n, m)."""
        q, k, v = (part(x).unflatten(2, (self._heads, -1)).transpose(1, 2)
                   for part, x in ((self.query, of), (self.key, to), (self.value, to)))
        found = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        normed: Tensor = self.norm(of + self.out(found.transpose(1, 2).flatten(2)))
        return normed


class _Recurrent(nn.Module):
    """A GRU over the visited nodes in their order; its last state is added to every node, with a norm after it."""

    def __init__(self, shape: PlannerShape) -> None:
        super().__init__()
        self.gru, self.norm = nn.GRU(shape.width, shape.width, batch_first=True), nn.LayerNorm(shape.width)

    def forward(self, x: Tensor, visited: Tensor) -> Tensor:
        """Return (B, n, width). visited: (B,) int64, how many nodes after the first were visited, at least 1."""
        states, _ = self.gru(x[:, 1:1 + int(visited.max())])
        last = states.gather(1, (visited - 1)[:, None, None].expand(-1, 1, states.shape[2]))
        normed: Tensor = self.norm(x + last)
        return normed


class _Mix(nn.Module):
    """Two linear layers. within: whether with a residual and a norm after it."""

    def __init__(self, width: int, wide: int, out: int, within: bool = True) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, wide), nn.Linear(wide, out)
        if within:
            self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, n, out)."""
        mixed: Tensor = self.second(torch.relu(self.first(x)))
        return self.norm(x + mixed) if hasattr(self, "norm") else mixed


class PlannerNetwork(nn.Module):
    """The network; its parameters have the names that GraphPlanner reads."""

    def __init__(self, shape: PlannerShape = PlannerShape()) -> None:
        super().__init__()
        self.shape, width = shape, shape.width
        self.word, self.place = nn.Embedding(BUCKETS, width), nn.Embedding(WORDS, width)
        self.said, self.enter, self.numbers = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(FEATURES, width)
        self.text = nn.ModuleList(_Attention(shape) for _ in range(shape.text_layers))
        self.spoken = nn.ModuleList(_Mix(width, 2 * width, width) for _ in range(shape.text_layers))
        self.graph = nn.ModuleList(_Recurrent(shape) if shape.kind == "gru" else _Attention(shape, biased=True)
                                   for _ in range(shape.layers))
        self.cross = nn.ModuleList(_Attention(shape) for _ in range(shape.layers))
        self.mix = nn.ModuleList(_Mix(width, 2 * width, width) for _ in range(shape.layers))
        self.score = _Mix(width, width, 1, within=False)
        nn.init.normal_(self.word.weight, std=0.3)
        nn.init.normal_(self.place.weight, std=0.1)
        self.keys = nn.ModuleList(_Attention(shape) for _ in range(shape.keys))
        self.keyed = nn.ModuleList(_Mix(width, 2 * width, width) for _ in range(shape.keys))
        if shape.keys:
            self.key = _Mix(width, width, 1, within=False)

    def forward(self, batch: PlannerBatch) -> tuple[Tensor, Tensor]:
        """Return the scores of the nodes, (B, n), and the nodes after all layers, (B, n, width)."""
        missing = torch.where(batch.words == 0, CLOSED, 0.0)
        missing[:, 0] = 0.0
        missing = missing[:, None, None]
        words = self.said(self.word(batch.words) + self.place.weight)
        for attend, mix in zip(self.text, self.spoken, strict=True):
            words = mix(attend(words, words, missing))
        known = (batch.names > 0).float()[..., None]
        named = (self.word(batch.names) * known).sum(2) / known.sum(2).clamp(min=1.0)
        x = self.enter(self.numbers(batch.numbers) + named)
        near = near_of(batch.numbers) if self.shape.kind == "local" else torch.ones_like(batch.there)
        closed = torch.where(batch.there & near, 0.0, CLOSED)[:, None, None]
        for graph, cross, mix in zip(self.graph, self.cross, self.mix, strict=True):
            x = (graph(x, (batch.numbers[..., VISITED] > 0).sum(1)) if self.shape.kind == "gru" else
                 graph(x, x, closed + batch.paths[:, None] * graph.scale[:, None, None]))
            x = mix(cross(x, words, missing))
        return self.score(x)[..., 0].masked_fill(~near, CLOSED), x

    def keyframes(self, batch: PlannerBatch, nodes: Tensor) -> Tensor:
        """Return the scores of keyframes, (B, n), 0..1; only those of visited nodes mean something."""
        closed = torch.where(batch.numbers[..., VISITED] > 0, 0.0, CLOSED)[:, None, None]
        for attend, mix in zip(self.keys, self.keyed, strict=True):
            nodes = mix(attend(nodes, nodes, closed))
        found: Tensor = self.key(nodes)[..., 0].sigmoid()
        return found

    def load(self, planner: GraphPlanner) -> None:
        """Set the weights to those of a planner; layers that it does not have keep theirs."""
        self.load_state_dict({**self.state_dict(), **{name: torch.from_numpy(value)
                                                      for name, value in planner.weights.items()}})

    def planner(self, trained: str) -> GraphPlanner:
        """Return the same planner for NumPy. trained: what it was trained on, in words."""
        return GraphPlanner({name: value.detach().cpu().numpy() for name, value in self.state_dict().items()},
                            self.shape, trained)


def batch_of(given: list[PlannerInput]) -> PlannerBatch:
    """Return decisions as a batch."""
    n = max(len(one.numbers) for one in given)
    numbers = torch.zeros(len(given), n, given[0].numbers.shape[1])
    names = torch.zeros(len(given), n, given[0].names.shape[1], dtype=torch.long)
    paths, there = torch.zeros(len(given), n, n), torch.zeros(len(given), n, dtype=torch.bool)
    for i, one in enumerate(given):
        m = len(one.numbers)
        numbers[i, :m], names[i, :m] = torch.from_numpy(one.numbers), torch.from_numpy(one.names)
        paths[i, :m, :m], there[i, :m] = torch.from_numpy(one.paths), True
    words = torch.stack([torch.from_numpy(one.words.copy()) for one in given])
    return PlannerBatch(numbers, names, paths, words, there)
