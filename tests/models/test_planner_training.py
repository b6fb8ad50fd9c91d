"""Training of AQ-Nav's planner: the same numbers in torch and NumPy, runs that continue, and labels by the teacher."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from tests.fixtures.needs import need_training

need_training()
pytest.importorskip("gymnasium", reason="training needs gymnasium: pip install 'eqa-nodes[learn]'")

import torch

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.cli.failures import in_one_line
from eqa_nodes.cli.learn import LearnAqNav
from eqa_nodes.core.errors import ConfigError, ModelError
from eqa_nodes.core.policies.planner import (
    BUCKETS,
    KINDS,
    NAMED,
    VISITED,
    WEIGHTS,
    GraphPlanner,
    PlannerInput,
    PlannerShape,
    softmax,
    text_of,
)
from eqa_nodes.core.policies.topo_graph import FEATURES, NUMBERS
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.learn.planner_decisions import (
    LabelledDecision,
    draw,
    follow,
    play,
    read_decisions,
    teach,
    write_decisions,
)
from eqa_nodes.learn.planner_keyframes import KeyframeRun
from eqa_nodes.learn.planner_network import PlannerNetwork, batch_of
from eqa_nodes.learn.planner_reward import RewardRun
from eqa_nodes.learn.planner_training import ImitationConfig, ImitationRun, RoundResult
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


@pytest.mark.parametrize("kind", KINDS)
def test_numpy_computes_what_torch_trained(kind: str) -> None:
    torch.manual_seed(3)
    network = PlannerNetwork(PlannerShape(keys=2, kind=kind)).eval()
    for parameter in network.parameters():
        if parameter.dim() == 1:  # norms, biases and scales would be 0 and 1 otherwise
            torch.nn.init.normal_(parameter, std=0.5)
    decisions = [given(5), given(30, 1, "Go to the kitchen. Is the oven off?"), given(9, 2, "")]
    planner = network.planner("nothing")
    with torch.no_grad():
        batch = batch_of(decisions)  # padded to 30 nodes, which must not matter
        scores, nodes = network(batch)
        keys = network.keyframes(batch, nodes).numpy()
    for row, key, one in zip(scores.numpy(), keys, decisions, strict=True):
        assert planner.scores(one) == pytest.approx(row[:len(one.numbers)], abs=1e-3)
        visited = one.numbers[:, VISITED] > 0
        assert visited.any() and not planner.keyframes(one)[~visited].any()
        assert planner.keyframes(one)[visited] == pytest.approx(key[:len(visited)][visited], abs=2e-3)


def test_a_local_planner_learns_the_teachers_choice_among_what_it_sees(samples: list[Sample], tmp_path: Path) -> None:
    run = ImitationRun(tmp_path, samples, samples[:1], replace(SHORT, planner="local"), 1)
    numbers = np.zeros((4, FEATURES), np.float32)
    numbers[1:, NUMBERS.index("floor")], numbers[:, NUMBERS.index("straight")] = 1.0, (0.0, 0.1, 0.2, 0.9)
    numbers[2, NUMBERS.index("path")] = 1.0  # otherwise both near ones would be the same
    one, wanted = given(4)._replace(numbers=numbers), np.array([0, 0.1, 0.2, 0.7], np.float32)
    run._train(0, [LabelledDecision(one, np.ones(4, bool), wanted, 0 * wanted)] * 2)
    run.config = replace(run.config, batches=80)
    loss, agreed = run._train(1, [LabelledDecision(one, np.ones(4, bool), wanted, 0 * wanted)] * 2)
    shares = softmax(run.network.planner("").scores(one))
    assert shares == pytest.approx([0, 1 / 3, 2 / 3, 0], abs=0.1) and agreed == 1.0 and 0.5 < loss < 0.8


def test_decisions_that_were_gathered_train_another_kind_of_planner(samples: list[Sample], tmp_path: Path) -> None:
    once = replace(SHORT, rounds=1)
    next(ImitationRun(tmp_path / "graph", samples, samples[:1], once, 1).rounds())
    copytree(tmp_path / "graph/decisions", tmp_path / "gru/decisions")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "gru/decisions").iterdir()}
    other = LearnAqNav(out=tmp_path / "gru", planner="gru", rounds=1, episodes=2, batches=4, workers=1)
    (result,) = other._run(samples, samples[:1]).rounds()
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "gru/decisions").iterdir()}
    assert GraphPlanner.load(tmp_path / "gru/aqnav.npz").shape.kind == "gru" and result.decisions >= 2
    with pytest.raises(ConfigError, match="continue with the same settings"):
        ImitationRun(tmp_path / "gru", samples, samples[:1], once, 1)


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
        run._train(0, [LabelledDecision(broken, np.ones(4, bool), wanted, wanted)])


def test_the_second_stage_begins_with_a_planner_and_continues(samples: list[Sample], tmp_path: Path) -> None:
    rewarded = replace(SHORT, answers=0.25, batches=8, rate=1e-3)
    whole = list(RewardRun(tmp_path / "whole", samples, samples[:1], rewarded, 1, WEIGHTS).rounds())
    next(RewardRun(tmp_path / "parts", samples, samples[:1], rewarded, 1, WEIGHTS).rounds())
    rest = list(RewardRun(tmp_path / "parts", samples, samples[:1], rewarded, 1, WEIGHTS).rounds())
    assert [one._replace(seconds=0.0) for one in rest] == [whole[1]._replace(seconds=0.0)]
    one, other, begun = (GraphPlanner.load(file) for file in (
        tmp_path / "whole/round-1.npz", tmp_path / "parts/round-1.npz", WEIGHTS))
    first, second, old = (planner.scores(given(9)) for planner in (one, other, begun))
    assert (first == second).all() and (first != old).any()
    assert one.trained.startswith(f"{begun.trained}; then imitation and PPO, 2 rounds of 2 episodes")
    with pytest.raises(ConfigError, match="continue with the same settings"):  # another planner to begin with
        RewardRun(tmp_path / "whole", samples, samples[:1], rewarded, 1, tmp_path / "whole/round-0.npz")
    with pytest.raises(ConfigError, match="there is no planner"):
        RewardRun(tmp_path / "new", samples, samples[:1], rewarded, 1, tmp_path / "none.npz")
    with pytest.raises(ConfigError, match=r"aqnav.answers is nan"):
        replace(rewarded, answers=float("nan"))


def test_a_reward_is_of_the_answer_and_of_where_it_stopped(samples: list[Sample]) -> None:
    class Knows(GraphPlanner):
        """Goes where the teacher would go, and stops there; or at once."""

        def __init__(self, episode: PlacesEpisode, goes: bool) -> None:
            super().__init__({}, PlannerShape())
            self._episode, self._goes = episode, goes

        def scores(self, given: PlannerInput) -> np.ndarray:
            """Return scores of which one is surely drawn."""
            here = teach(self._episode.asked[0], self._episode.pose)
            return 40.0 * (np.eye(len(here))[here.argmax()] if self._goes else given.numbers[:, 0])

    pool, robot, rng = SimulatorPool(), robot_of("default"), np.random.default_rng(0)
    ends = []
    for goes in (True, False):
        episode = PlacesEpisode(pool.get(samples[0].scene), samples[0], robot)
        drawn = draw(episode, Knows(episode, goes), 0.25, rng)
        ends.append(drawn[-1])
        assert [one.last for one in drawn] == [False] * (len(drawn) - 1) + [True]
        assert not any(one.reward for one in drawn[:-1]) and drawn[-1].chosen == 0
        assert all(not one.shows[len(one.shows) - int((one.given.numbers[:, VISITED] == 0).sum()) + 1:].any()
                   for one in drawn)
    pool.close()
    assert ends[0].reward == 1.0 and ends[0].shows.any() and ends[1].reward == 0.0


def test_ppo_prefers_what_was_rewarded(samples: list[Sample], tmp_path: Path) -> None:
    run = RewardRun(tmp_path, samples, samples[:1], replace(SHORT, answers=0.25, batch=16), 1, WEIGHTS)
    one, wanted = given(6), np.eye(6, dtype=np.float32)[3]
    open_ = np.array([True, False, False, True, True, True])
    own = [LabelledDecision(one, open_, wanted, 0 * wanted, chosen=k % 2 * 4, last=True, reward=float(k % 2))
           for k in range(16)]  # to stop got nothing, node 4 all
    run._moves = run._weighed(own)
    assert np.mean([move.gain for move in run._moves]) == pytest.approx(0.0, abs=1e-6)
    assert all((move.gain > 0) == (move.decision.chosen == 4) for move in run._moves)
    optimiser, rng = torch.optim.Adam(run.learner.parameters(), 1e-3), np.random.default_rng(0)
    before, _ = run._judged(own[:1])
    for _ in range(8):
        loss, agreed = run._loss(3, [], rng)
        assert agreed is None
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    after, _ = run._judged(own[:1])
    assert after[0, 4] > before[0, 4] + 0.05 and after[0, 0] < before[0, 0]
    with pytest.raises(ModelError, match="round 0 has no rewards, or one that is not finite"):
        run._train(0, [own[0]._replace(reward=float("nan"))])
    with pytest.raises(ModelError, match="round 0 has no rewards"):
        run._train(0, [])


def test_the_third_stage_learns_places_and_leaves_the_navigator(samples: list[Sample], tmp_path: Path) -> None:
    settings = replace(SHORT, rounds=1, answers=0.25, batches=60, batch=8, rate=3e-3)
    run = KeyframeRun(tmp_path, samples, samples[:1], settings, 1, WEIGHTS)
    (result,) = run.rounds()
    trained, begun = GraphPlanner.load(tmp_path / "aqnav.npz"), GraphPlanner.load()
    assert (trained.scores(given(9)) == begun.scores(given(9))).all() and trained.shape.keys == 2
    decisions = [d for file in sorted((tmp_path / "decisions").glob("*.npz")) for d in read_decisions(file)]
    sides = [(score > 0.5) == (shows > 0.5) for d in decisions for score, shows, visited in zip(
        trained.keyframes(d.given), d.shows, d.given.numbers[:, VISITED] > 0, strict=True) if visited]
    assert np.mean(sides) > 0.8 and result.agreed > 0.7
    again = KeyframeRun(tmp_path, samples, samples[:1], settings, 1, WEIGHTS)
    assert list(again.rounds()) == [] and again.results == [result]
    with pytest.raises(ConfigError, match="no question names the objects of its answer"):
        run._train(0, [d._replace(shows=0 * d.shows) for d in decisions])


def test_a_run_without_a_better_round_ends(samples: list[Sample], tmp_path: Path) -> None:
    run = ImitationRun(tmp_path, samples, samples[:1], replace(SHORT, rounds=9, patience=2), 1)
    best = RoundResult(0, 10, 1.0, 0.5, 0.9, 1.0, 1.0, 50.0, 1.0, 1.0)
    run.results = [best._replace(round=k, spl=spl) for k, spl in enumerate((0.9, 0.5, 0.8))]
    assert list(run.rounds()) == [] and run._best() == 0


def test_a_full_disk_is_an_error_of_the_file_system(samples: list[Sample], tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = ImitationRun(tmp_path, samples, samples[:1], SHORT, 1)
    run._save()
    before = (tmp_path / "checkpoint.pt").read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    for name, write in (("checkpoint.pt", run._save), ("some.npz", lambda: write_decisions(tmp_path / "some.npz", [])),
                        ("aqnav.npz", lambda: run.network.planner("").save(tmp_path / "aqnav.npz"))):
        with pytest.raises(OSError, match="No space left") as caught:
            write()
        assert in_one_line(caught.value) == f"{tmp_path / name}: No space left on device"
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    assert not list(tmp_path.glob("*.part")) and not (tmp_path / "aqnav.npz").exists()


def test_decisions_come_back_from_their_file(tmp_path: Path) -> None:
    decisions = [LabelledDecision(given(n, n), np.arange(n) != 1, np.eye(n, dtype=np.float32)[2],
                                  np.eye(n, dtype=np.float32)[1], n, n == 9, n / 8) for n in (4, 9)]
    write_decisions(tmp_path / "some.npz", decisions)
    for one, other in zip(decisions, read_decisions(tmp_path / "some.npz"), strict=True):
        assert (one.open == other.open).all() and (one.wanted == other.wanted).all()
        assert (one.shows == other.shows).all() and one[-3:] == other[-3:]
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
