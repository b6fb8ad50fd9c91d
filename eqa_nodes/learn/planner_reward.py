"""Second stage of AQ-Nav's training (ExploraQA, 4.4): imitation and PPO, 3 to 1, rewarded by answer and stop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.learn.planner_decisions import SHARP, LabelledDecision
from eqa_nodes.learn.planner_network import batch_of
from eqa_nodes.learn.planner_training import ImitationConfig, ImitationRun, closed_to

REWARD_RATE = 2e-4  # highest learning rate of a round, a fifth of that of the first stage
_EVERY = 4  # of so many batches the last one is of PPO
_DISCOUNT, _TRACE = 0.97, 0.95  # of later rewards, a decision; of later advantages (GAE's lambda)
_NEAR, _VALUE, _SPREAD = 0.2, 0.5, 0.01  # PPO's clip, and the weights of the value's error and of the entropy
_AT_ONCE = 256  # decisions that are read together


class DrawnMove(NamedTuple):
    """A move that the planner drew. share: logarithm of its probability then; gain: its advantage; worth: its return.
    """

    decision: LabelledDecision
    share: float
    gain: float
    worth: float


class RewardRun(ImitationRun):
    """The second stage, with the files of the first: it begins with a planner, which draws the moves of all episodes.

    Three batches learn from the teacher's labels, one maximises the reward of `draw` by PPO over the moves of this
    round. A linear head on the state of stopping estimates the reward; the planner's file does not have it.
    """

    by, draws = "imitation and PPO", True

    def __init__(self, folder: Path, samples: Sequence[Sample], validation: Sequence[Sample], config: ImitationConfig,
                 workers: int, start: Path) -> None:
        """start: the planner to begin with. Raises ConfigError if it is none, and as ImitationRun does."""
        self._moves: list[DrawnMove] = []
        super().__init__(folder, samples, validation, config, workers, start=start)

    def _learner(self) -> nn.ModuleList:
        self.value = nn.Linear(self.network.shape.width, 1)
        return nn.ModuleList([self.network, self.value])

    def _train(self, number: int, decisions: list[LabelledDecision]) -> tuple[float, float]:
        """Weigh the moves of this round, then train. Raises ModelError for a reward or loss that is not finite."""
        own = decisions[self.results[-1].decisions if self.results else 0:]
        if not own or not all(np.isfinite(one.reward) for one in own):
            raise ModelError(f"round {number} has no rewards, or one that is not finite: delete "
                             f"{self.folder / 'decisions'}/{number}-*.npz, and the round begins again")
        self._moves = self._weighed(own)
        return super()._train(number, decisions)

    @torch.no_grad()
    def _weighed(self, own: list[LabelledDecision]) -> list[DrawnMove]:
        """Return the moves with their advantages (GAE), which have mean 0 and deviation 1."""
        shares, worth = list[float](), list[float]()
        for k in range(0, len(own), _AT_ONCE):
            logs, values = self._judged(own[k:k + _AT_ONCE])
            shares += logs.gather(1, _chosen(own[k:k + _AT_ONCE])).squeeze(1).tolist()
            worth += values.tolist()
        gains, gain, after = np.zeros(len(own)), 0.0, 0.0
        for k in range(len(own) - 1, -1, -1):
            if own[k].last:
                gain = after = 0.0
            gain = own[k].reward + _DISCOUNT * after - worth[k] + _DISCOUNT * _TRACE * gain
            after, gains[k] = worth[k], gain
        scaled = (gains - gains.mean()) / (gains.std() + 1e-6)
        return [DrawnMove(*row) for row in zip(own, shares, scaled.tolist(), (gains + worth).tolist(), strict=True)]

    def _loss(self, step: int, drawn: list[LabelledDecision], rng: np.random.Generator) -> tuple[Tensor, float | None]:
        if step % _EVERY != _EVERY - 1:
            return super()._loss(step, drawn, rng)
        moves = [self._moves[k] for k in rng.integers(len(self._moves), size=2 * self.config.batch).tolist()]
        logs, values = self._judged([one.decision for one in moves])
        share, gain, worth = (torch.tensor([getattr(one, name) for one in moves]) for name in DrawnMove._fields[1:])
        ratio = (logs.gather(1, _chosen([one.decision for one in moves])).squeeze(1) - share).exp()
        better = torch.minimum(ratio * gain, ratio.clamp(1.0 - _NEAR, 1.0 + _NEAR) * gain).mean()
        spread = -(logs.exp() * logs).sum(1).mean()
        return _VALUE * (values - worth).square().mean() - better - _SPREAD * spread, None

    def _judged(self, decisions: Sequence[LabelledDecision]) -> tuple[Tensor, Tensor]:
        """Return the logarithms of the shares from which moves are drawn, (B, n), and the estimated rewards, (B,)."""
        scores, nodes = self.network(batch_of([one.given for one in decisions]))
        logs = (scores / SHARP).masked_fill(closed_to(decisions, scores), -1e4).log_softmax(1)
        return logs, self.value(nodes[:, 0].detach())[:, 0]


def _chosen(decisions: Sequence[LabelledDecision]) -> Tensor:
    return torch.tensor([[one.chosen] for one in decisions])
