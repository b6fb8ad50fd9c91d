"""Training of AQ-Nav's planner: the same numbers in torch and NumPy, runs that continue, and labels by the teacher."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.fixtures.needs import need_training

need_training()
pytest.importorskip("gymnasium", reason="training needs gymnasium: pip install 'eqa-nodes[learn]'")

import torch

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.policies.planner import BUCKETS, NAMED, GraphPlanner, PlannerInput, text_of
from eqa_nodes.core.policies.topo_graph import FEATURES
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.learn.planner_decisions import (
    LabelledDecision,
    follow,
    play,
    read_decisions,
    teach,
    write_decisions,
)
from eqa_nodes.learn.planner_network import PlannerNetwork, batch_of
from eqa_nodes.learn.planner_training import ImitationConfig, ImitationRun
from eqa_nodes.worlds.places import PlacesEpisode
from sim_bridge.registry import SimulatorPool
from sim_bridge.robots import robot_of

SHORT = ImitationConfig(rounds=2, episodes=2, batches=4, batch=4)


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    return open_dataset("house", split="train", limit=2)


def given(n: int, seed: int = 0, text: str = "What is on the table?") -> PlannerInput:
    """Return a decision among n nodes with random numbers."""
    rng = np.random.default_rng(seed)
    return PlannerInput(rng.normal(size=(n, FEATURES)).astype(np.float32), rng.integers(0, BUCKETS, (n, NAMED)),
                        rng.random((n, n)).astype(np.float32), text_of(text, ""))


def test_numpy_computes_what_torch_trained() -> None:
    torch.manual_seed(3)
    network = PlannerNetwork().eval()
    for parameter in network.parameters():
        if parameter.dim() == 1:  # norms, biases and scales would be 0 and 1 otherwise
            torch.nn.init.normal_(parameter, std=0.5)
    decisions = [given(5), given(30, 1, "Go to the kitchen. Is the oven off?"), given(9, 2, "")]
    planner = network.planner("nothing")
    with torch.no_grad():
        scores, _ = network(batch_of(decisions))  # padded to 30 nodes, which must not matter
    for row, one in zip(scores.numpy(), decisions, strict=True):
        assert planner.scores(one) == pytest.approx(row[:len(one.numbers)], abs=2e-3)


def test_a_run_that_was_interrupted_ends_with_the_same_planner(samples: list[Sample], tmp_path: Path) -> None:
    whole = ImitationRun(tmp_path / "whole", samples, samples[:1], SHORT, workers=1)
    results = list(whole.rounds())
    assert [one.round for one in results] == [0, 1] and results[1].decisions > results[0].decisions >= 4
    assert all(0 <= one.spl <= 1 and one.steps > 0 for one in results)
    next(ImitationRun(tmp_path / "parts", samples, samples[:1], SHORT, workers=1).rounds())
    rest = list(ImitationRun(tmp_path / "parts", samples, samples[:1], SHORT, workers=1).rounds())
    assert [one._replace(seconds=0.0) for one in rest] == [results[1]._replace(seconds=0.0)]
    one, other = (GraphPlanner.load(tmp_path / name / "round-1.npz") for name in ("whole", "parts"))
    assert (one.scores(given(9)) == other.scores(given(9))).all() and "2 rounds" in one.trained
    with pytest.raises(ConfigError, match="continue with the same settings"):
        ImitationRun(tmp_path / "whole", samples, samples[:1], replace(SHORT, rate=0.1))
    (tmp_path / "whole/checkpoint.pt").write_bytes(b"broken")
    with pytest.raises(ConfigError, match="cannot be read"):
        ImitationRun(tmp_path / "whole", samples, samples[:1], SHORT)
    with pytest.raises(ConfigError, match="no questions to train on"):
        ImitationRun(tmp_path / "none", [], samples)


def test_a_loss_that_is_no_number_ends_the_training_by_name(samples: list[Sample], tmp_path: Path) -> None:
    run = ImitationRun(tmp_path, samples, samples[:1], SHORT)
    broken = given(4)._replace(numbers=np.full((4, FEATURES), np.nan, np.float32))
    wanted = np.array([0, 0, 1, 0], np.float32)
    with pytest.raises(ModelError, match="the loss of round 0, batch 0 is nan"):
        run._train(0, [LabelledDecision(broken, np.ones(4, bool), wanted)])


def test_decisions_come_back_from_their_file(tmp_path: Path) -> None:
    decisions = [LabelledDecision(given(n, n), np.arange(n) != 1, np.eye(n, dtype=np.float32)[2]) for n in (4, 9)]
    write_decisions(tmp_path / "some.npz", decisions)
    for one, other in zip(decisions, read_decisions(tmp_path / "some.npz"), strict=True):
        assert (one.open == other.open).all() and (one.wanted == other.wanted).all()
        assert (one.given.names == other.given.names).all() and (one.given.words == other.given.words).all()
        assert one.given.numbers == pytest.approx(other.given.numbers, abs=2e-3)
        assert one.given.paths == pytest.approx(other.given.paths, abs=2e-3)
    write_decisions(tmp_path / "none.npz", [])
    assert read_decisions(tmp_path / "none.npz") == []


def test_the_teacher_drives_the_shortest_way_and_stops_near_the_answer(samples: list[Sample]) -> None:
    pool, robot = SimulatorPool(), robot_of("default")
    episode = PlacesEpisode(pool.get(samples[0].scene), samples[0], robot)
    decisions = play(episode, None, 1.0, np.random.default_rng(0))
    assert decisions[-1].wanted[0] == 1.0 and all(one.wanted[0] == 0.0 for one in decisions[:-1])
    assert all(one.wanted.sum() == pytest.approx(1.0) and not one.wanted[~one.open].any() for one in decisions)
    assert episode.distance_m <= 1.5 and episode.spl > 0.6
    assert teach(episode.asked[0], episode.pose).argmax() == 0

    class Stops(GraphPlanner):
        def scores(self, given: PlannerInput) -> np.ndarray:
            return given.numbers[:, 0]

    begun = PlacesEpisode(pool.get(samples[0].scene), samples[0], robot)
    ended = follow(begun, Stops({}, PlannerNetwork().shape))
    assert ended.stopped and ended.moves == 0 and ended.metres == 0.0 and not ended.success
    pool.close()
