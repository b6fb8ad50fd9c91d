"""Third stage of AQ-Nav's training (ExploraQA, 4.4): which visited places show the room of the answer (TAKS)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.policies.keyframes import BETA
from eqa_nodes.core.policies.planner import VISITED
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.learn.planner_decisions import LabelledDecision
from eqa_nodes.learn.planner_network import PlannerNetwork, batch_of
from eqa_nodes.learn.planner_training import ImitationConfig, ImitationRun

_LAYERS = 2


class KeyframeRun(ImitationRun):
    """The third stage: two layers over the visited places, by mean squared error. The planner it begins with stays.

    Targets are 1 for places from which a thing in the answer's room was seen. Of `agreed`, the share of places on the
    right side of beta.
    """

    by, draws = "keyframes", True

    def __init__(self, folder: Path, samples: Sequence[Sample], validation: Sequence[Sample], config: ImitationConfig,
                 workers: int, start: Path) -> None:
        """start: the planner to begin with. Raises ConfigError if it is none, and as ImitationRun does."""
        super().__init__(folder, samples, validation, config, workers, start=start)

    def _learner(self) -> nn.ModuleList:
        begun = self.network
        self.network = PlannerNetwork(begun.shape._replace(keys=_LAYERS))
        self.network.load(begun.planner(""))
        return nn.ModuleList([self.network.keys, self.network.keyed, self.network.key])

    def _train(self, number: int, decisions: list[LabelledDecision]) -> tuple[float, float]:
        if not any(one.shows.any() for one in decisions):
            raise ConfigError("no question names the objects of its answer, so no place has a target: train with "
                              "questions of the data set house")
        return super()._train(number, decisions)

    def _loss(self, step: int, drawn: list[LabelledDecision], rng: np.random.Generator) -> tuple[Tensor, float]:
        """Return the mean squared error over the visited places, and the share of them on the right side of beta."""
        batch = batch_of([one.given for one in drawn])
        with torch.no_grad():
            _, nodes = self.network(batch)
        wanted = torch.zeros(nodes.shape[:2])
        for i, one in enumerate(drawn):
            wanted[i, :len(one.shows)] = torch.from_numpy(one.shows)
        visited = batch.numbers[..., VISITED] > 0
        scores, targets = self.network.keyframes(batch, nodes)[visited], wanted[visited]
        return (scores - targets).square().mean(), float(((scores > BETA) == (targets > BETA)).float().mean())
