"""Training of AQ-Nav's planner: imitation of a teacher that labels what both meet by turns (DAgger), then rewards."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.policies.planner import CLOSED, GraphPlanner, PlannerShape
from eqa_nodes.core.ranges import Counted, Positive, Share, check_ranges
from eqa_nodes.core.settings import setting
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.learn.checkpoints import read_checkpoint, write_checkpoint
from eqa_nodes.learn.planner_decisions import (
    EpisodeScore,
    LabelledDecision,
    Shard,
    gather,
    read_decisions,
    score,
)
from eqa_nodes.learn.planner_network import PlannerNetwork, batch_of
from eqa_nodes.learn.training import rate_at

_SHARD = 14  # episodes of a file
_CLIP = 1.0


@dataclass(frozen=True)
class ImitationConfig:
    """Settings of a run. They belong to the run: a run that is continued keeps them."""

    rounds: Counted = setting(6, "Number of rounds: each gathers episodes, and trains on all that were gathered.")
    episodes: Counted = setting(350, "Number of episodes of a round.")
    batches: Counted = setting(700, "Number of batches of a round.")
    batch: Counted = setting(32, "Number of decisions in a batch.")
    rate: Positive = setting(1e-3, "Highest learning rate of a round.")
    teacher: Share = setting(0.75, "Share of the moves that the teacher chooses, to the power of the round, from 1.")
    forget: Share = setting(0.1, "Share of the words that are hidden from the network in training.")
    seed: int = setting(0, "Seed of weights, episodes and order.")
    planner: str = setting("graph", "Kind of the planner: graph, local or gru.")
    start: str = setting("", "SHA-256 of the planner that the run begins with, empty: random weights.")
    answers: Share = setting(0.0, "Share of right answers in the reward and in what is best, the paper's lambda.")
    patience: Counted = setting(3, "Number of rounds without a better one on the validation questions that end it.")

    def __post_init__(self) -> None:
        check_ranges(self, "aqnav")


class RoundResult(NamedTuple):
    """What a round reached: decisions so far, mean loss, share of decisions in which the teacher's best was chosen.

    spl, success, right, steps, stopped: means over the validation questions.
    """

    round: int
    decisions: int
    loss: float
    agreed: float
    spl: float
    success: float
    right: float
    steps: float
    stopped: float
    seconds: float


class ImitationRun:
    """A run in a folder: decisions in `decisions/`, `checkpoint.pt` after each round, `aqnav.npz` of the best round.

    by: the way of learning, in words; draws: whether the planner draws all moves of the episodes, for a reward.
    Raises ConfigError for a checkpoint of another format or other settings, and without questions.
    """

    by, draws = "imitation", False

    def __init__(self, folder: Path, samples: Sequence[Sample], validation: Sequence[Sample],
                 config: ImitationConfig = ImitationConfig(), workers: int = 2, start: Path | None = None) -> None:
        """start: a planner whose kind and weights the run begins with, None: random weights."""
        if not samples or not validation:
            raise ConfigError("there are no questions to train on, or none to validate with: choose more scenes")
        begun = GraphPlanner.load(start) if start is not None else None
        if begun is not None and start is not None:
            config = replace(config, start=sha256(start.read_bytes()).hexdigest(), planner=begun.shape.kind)
        self.folder, self.config, self.workers, self._start = folder, config, workers, start
        self._samples, self._validation = samples, validation
        self._file, self.best_file = folder / "checkpoint.pt", folder / "aqnav.npz"
        torch.manual_seed(config.seed)
        self.network = PlannerNetwork(PlannerShape(kind=config.planner) if begun is None else begun.shape)
        self._since = "" if begun is None else f"{begun.trained}; then "
        if begun is not None:
            self.network.load(begun)
        self.learner = self._learner()
        stored = read_checkpoint(self._file, config)
        self.results = [RoundResult(*row) for row in stored["results"]] if stored else []
        if stored:
            self.learner.load_state_dict(stored["learner"])

    def _learner(self) -> nn.ModuleList:
        """Return what is trained."""
        return nn.ModuleList([self.network])

    def rounds(self) -> Iterator[RoundResult]:
        """Yield the result of each round that is left. Raises ModelError if the loss is not finite."""
        for number in range(len(self.results), self.config.rounds):
            if number - self._best() > self.config.patience:
                return
            begun = time.monotonic()
            decisions = self._gathered(number)
            loss, agreed = self._train(number, decisions)
            planner = self.network.planner(self._trained(number + 1))
            planner.save(self.folder / f"round-{number}.npz")
            ended = score(self._validation, self.folder / f"round-{number}.npz", self.workers)
            means = {name: round(value, 4) for name, value in means_of(ended).items()}
            result = RoundResult(number, len(decisions), round(loss, 4), round(agreed, 4), means["spl"],
                                 means["success"], means["right"], means["steps"], means["stopped"],
                                 round(time.monotonic() - begun, 1))
            self.results.append(result)
            if self._best() == number:
                planner.save(self.best_file)
            self._save()
            yield result

    def _best(self) -> int:
        """Return the newest of the best rounds, -1 without any: SPL, and right answers by their share in the reward."""
        share = self.config.answers
        return max((((1 - share) * r.spl + share * r.right, r.round) for r in self.results), default=(0.0, -1))[1]

    def _gathered(self, number: int) -> list[LabelledDecision]:
        """Play the episodes of a round, and return the decisions of all rounds until now."""
        c, order = self.config, np.random.default_rng([self.config.seed, number])
        houses: dict[str, list[Sample]] = {}
        for sample in self._samples:
            houses.setdefault(sample.scene, []).append(sample)
        scenes = sorted(houses)
        drawn = [sample for k in order.permutation(len(scenes)).tolist() for sample in houses[scenes[k]]]
        while len(drawn) < c.episodes:
            drawn += drawn
        drawn = drawn[:c.episodes]
        planner = self.folder / f"round-{number - 1}.npz" if number else self._start
        shards = [Shard(self.folder / "decisions" / f"{number}-{k // _SHARD:04}.npz", tuple(drawn[k:k + _SHARD]),
                        () if self.draws else tuple(
                            one for scene in sorted({s.scene for s in drawn[k:k + _SHARD]}) for one in houses[scene]),
                        int(order.integers(2**31)), c.teacher ** (1 + number), planner,
                        c.answers if self.draws else None)
                  for k in range(0, len(drawn), _SHARD)]
        for _ in gather(shards, self.workers):
            pass
        files = sorted((self.folder / "decisions").glob("*.npz"), key=lambda file: (_round_of(file), file.name))
        return [decision for file in files if _round_of(file) <= number for decision in read_decisions(file)]

    def _train(self, number: int, decisions: list[LabelledDecision]) -> tuple[float, float]:
        c, rng = self.config, np.random.default_rng([self.config.seed, 7, number])
        torch.manual_seed(c.seed * 1_000_003 + number)
        optimiser = torch.optim.AdamW(self.learner.train().parameters(), c.rate, weight_decay=1e-2)
        losses, agreed = list[float](), list[float]()
        for step in range(c.batches):
            for group in optimiser.param_groups:
                group["lr"] = c.rate * rate_at(step, c.batches)
            loss, right = self._loss(step, [decisions[k] for k in rng.integers(len(decisions), size=c.batch).tolist()],
                                     rng)
            if not bool(torch.isfinite(loss)):
                raise ModelError(f"the loss of round {number}, batch {step} is {float(loss.detach())}: the checkpoint "
                                 "is from before this round. Train with a lower rate in another folder")
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.learner.parameters(), _CLIP)
            optimiser.step()
            if right is not None:
                losses.append(float(loss.detach()))
                agreed.append(right)
        self.learner.eval()
        last = max(1, len(losses) // 5)
        return float(np.mean(losses[-last:])), float(np.mean(agreed[-last:]))

    def _loss(self, step: int, drawn: list[LabelledDecision], rng: np.random.Generator
              ) -> tuple[Tensor, float | None]:
        """Return the cross-entropy with the teacher's shares, and the share of decisions on which both agree.

        That is None for a batch of another loss, which the means leave out.
        """
        batch = batch_of([d.given for d in drawn])
        hidden = torch.from_numpy(rng.random(batch.words.shape) < self.config.forget)
        scores, _ = self.network(batch._replace(words=batch.words.masked_fill(hidden, 0)))
        wanted = torch.zeros_like(scores)
        for i, d in enumerate(drawn):
            wanted[i, :len(d.open)] = torch.from_numpy(d.wanted)
        wanted *= scores > CLOSED  # a local planner cannot choose what it does not see
        wanted /= wanted.sum(1, keepdim=True).clamp(min=1e-30)
        shares = scores.masked_fill(closed_to(drawn, scores), CLOSED).log_softmax(1)
        right = (shares.argmax(1) == wanted.argmax(1)).float().mean()
        return -(wanted * shares).sum(1).mean(), float(right)

    def _trained(self, rounds: int) -> str:
        scenes = sorted({sample.scene for sample in self._samples})
        return (f"{self._since}{self.by}, {rounds} rounds of {self.config.episodes} episodes and "
                f"{self.config.batches} batches of "
                f"{self.config.batch}; {len(self._samples)} questions of {len(scenes)} scenes such as {scenes[0]}; "
                f"seed {self.config.seed}")

    def _save(self) -> None:
        write_checkpoint(self._file, self.config, learner=self.learner.state_dict(),
                         results=[tuple(r) for r in self.results])
        lines = "".join(json.dumps(r._asdict()) + "\n" for r in self.results)
        write_bytes(self.folder / "curves.jsonl", lines.encode())


def closed_to(decisions: Sequence[LabelledDecision], scores: Tensor) -> Tensor:
    """Return which nodes of a batch cannot be chosen, (B, n) bool."""
    shut = torch.ones_like(scores, dtype=torch.bool)
    for i, one in enumerate(decisions):
        shut[i, :len(one.open)] = torch.from_numpy(~one.open)
    return shut


def _round_of(file: Path) -> int:
    return int(file.stem.split("-")[0])


def means_of(ended: Sequence[EpisodeScore]) -> dict[str, float]:
    """Return the means of episodes by name."""
    return {name: float(np.mean([getattr(e, name) for e in ended])) for name in EpisodeScore._fields}
