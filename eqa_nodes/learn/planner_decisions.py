"""Decisions from which AQ-Nav's planner learns: teacher and planner drive by turns, and the teacher labels them all."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import EqaError, SimulatorError
from eqa_nodes.core.perception.instances import NoiseConfig
from eqa_nodes.core.policies.planner import GraphPlanner, PlannerInput, best_of, input_of, softmax
from eqa_nodes.core.storage.codec import write_bytes
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.worlds.places import PlacesEpisode, WorldQuestion
from sim_bridge.registry import SimulatorPool
from sim_bridge.robots import DEFAULT, robot_of

STOP_M = 1.5  # distance to a viewpoint within which the teacher stops
MOST_MOVES = 20
SHARP = 0.5  # scores are divided by this where moves are drawn: the teacher's shares are soft
_IMAGE = 128, 96  # the map and the labels need no more
_SOFT_M = 1.0  # a place whose way is longer by this has e times less of the target
_NOISE = NoiseConfig(0.2, 0.1, 4.5)  # of the labels: "moderate", in every other episode


class LabelledDecision(NamedTuple):
    """A decision: its input, what can be chosen, (n,) bool, and the teacher's share of each node, (n,) float32.

    shows: visited nodes from which a thing in the answer's room was seen, (n,) float32; chosen: the node that the
    planner drew, -1 if it drew none; last, reward: whether the episode ended with it, and what it then got.
    """

    given: PlannerInput
    open: np.ndarray
    wanted: np.ndarray
    shows: np.ndarray
    chosen: int = -1
    last: bool = False
    reward: float = 0.0


class EpisodeScore(NamedTuple):
    """How an episode ended: SPL, whether it stopped within 3 m, whether what was seen gives the right answer, steps,
    metres, places driven to, whether it stopped.
    """

    spl: float
    success: bool
    right: bool
    steps: int
    metres: float
    moves: int
    stopped: bool


class Shard(NamedTuple):
    """Episodes of one process. file: of the decisions; beside: questions about the same scenes, which learn from the
    same drives; teacher: share of the moves that the teacher chooses, in 0..1; planner: chooses the others, None: they
    are drawn. answers: share of the right answer in the reward, for which the planner draws all moves; None: no reward.
    """

    file: Path
    samples: tuple[Sample, ...]
    beside: tuple[Sample, ...]
    seed: int
    teacher: float
    planner: Path | None
    answers: float | None = None


def teach(asked: WorldQuestion, pose: Pose2) -> np.ndarray:
    """Return the teacher's share of each node, (n,) float32: stop within STOP_M, else the shortest way over a ghost."""
    graph, wanted = asked.graph, np.zeros(len(asked.graph.open), np.float32)
    to_go = np.array(asked.to_go())
    if asked.to_viewpoint(pose) <= STOP_M or not np.isfinite(to_go).any():
        wanted[0] = 1.0
    else:
        wanted[graph.first:] = softmax(-(to_go - to_go.min()) / _SOFT_M)
    return wanted


def play(episode: PlacesEpisode, planner: GraphPlanner | None, teacher: float, rng: np.random.Generator
         ) -> list[LabelledDecision]:
    """Drive an episode until the teacher stops it, and return its decisions, and those of the questions beside it."""
    found: list[LabelledDecision] = []
    while not episode.ended and episode.moves < MOST_MOVES:
        labelled = [_labelled(asked, episode) for asked in episode.asked]
        found += labelled
        node = int(labelled[0].wanted.argmax())
        if node == 0:
            break
        if rng.random() >= teacher:
            choices = np.arange(len(labelled[0].open)) >= episode.graph.first
            node = best_of(planner.scores(labelled[0].given) if planner is not None else rng.random(len(choices)),
                           choices)
        episode.drive(node)
    return found


def draw(episode: PlacesEpisode, planner: GraphPlanner, answers: float, rng: np.random.Generator
         ) -> list[LabelledDecision]:
    """Drive an episode with moves that are drawn from the planner's shares, and return its decisions with the reward.

    reward (ExploraQA, equation 3) = answers * [answer fully right] + (1 - answers) * [stopped within 3 m].
    """
    found, node = list[LabelledDecision](), -1
    while node != 0 and not episode.ended and episode.moves < MOST_MOVES:
        at = _labelled(episode.asked[0], episode)
        shares = softmax(np.where(at.open, planner.scores(at.given).astype(np.float64) / SHARP, -np.inf))
        node = int(rng.choice(len(shares), p=shares))
        found.append(at._replace(chosen=node))
        if node != 0:
            episode.drive(node)
    stopped = episode.success and (node == 0 or not episode.graph.ghosts)
    reward = answers * episode.right(planner) + (1.0 - answers) * stopped
    return [*found[:-1], *(one._replace(last=True, reward=reward) for one in found[-1:])]


def _labelled(asked: WorldQuestion, episode: PlacesEpisode) -> LabelledDecision:
    return LabelledDecision(input_of(asked.graph, asked.question), asked.graph.open, teach(asked, episode.pose),
                            asked.shows_room(episode.views))


def follow(episode: PlacesEpisode, planner: GraphPlanner) -> EpisodeScore:
    """Let the planner drive an episode and stop it, and return how it ended."""
    stopped = False
    while not (stopped or episode.ended or episode.moves >= MOST_MOVES):
        given = input_of(episode.graph, episode.asked[0].question)
        node = best_of(planner.scores(given), episode.graph.open)
        stopped = node == 0
        if not stopped:
            episode.drive(node)
    return EpisodeScore(episode.spl, episode.success, episode.right(planner), episode.steps, episode.metres,
                        episode.moves, stopped)


def gather(shards: Sequence[Shard], workers: int) -> Iterator[tuple[Shard, int]]:
    """Play the shards whose files are missing, and yield each with its number of decisions. Raises SimulatorError."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        jobs = {pool.submit(_play_shard, shard): shard for shard in shards if not shard.file.exists()}
        for job in as_completed(jobs):
            yield jobs[job], job.result()


def score(samples: Sequence[Sample], planner: Path, workers: int) -> list[EpisodeScore]:
    """Return how episodes end that the planner drives, in the order of the samples."""
    parts = [samples[k::workers] for k in range(workers)]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        found = list(pool.map(_follow_all, parts, [planner] * workers))
    return [found[k % workers][k // workers] for k in range(len(samples))]


def _play_shard(shard: Shard) -> int:
    planner = GraphPlanner.load(shard.planner) if shard.planner is not None else None
    rng, pool, decisions = np.random.default_rng(shard.seed), SimulatorPool(), list[LabelledDecision]()
    try:
        for sample in shard.samples:
            noise = replace(_NOISE, seed=int(rng.integers(2**31))) if rng.random() < 0.5 else NoiseConfig()
            beside = [one for one in shard.beside if one.scene == sample.scene and one != sample]
            episode = _begun(pool, sample, noise, beside)
            decisions += (play(episode, planner, shard.teacher, rng) if planner is None or shard.answers is None else
                          draw(episode, planner, shard.answers, rng))
    except EqaError as error:
        raise SimulatorError(f"{sample.id}: {error}") from error
    finally:
        pool.close()
    write_decisions(shard.file, decisions)
    return len(decisions)


def _follow_all(samples: Sequence[Sample], planner: Path) -> list[EpisodeScore]:
    pool, loaded = SimulatorPool(), GraphPlanner.load(planner)
    try:
        return [follow(_begun(pool, sample, NoiseConfig()), loaded) for sample in samples]
    finally:
        pool.close()


def _begun(pool: SimulatorPool, sample: Sample, noise: NoiseConfig, beside: Sequence[Sample] = ()) -> PlacesEpisode:
    robot = replace(robot_of(DEFAULT), camera=CameraModel(width=_IMAGE[0], height=_IMAGE[1], color=False))
    return PlacesEpisode(pool.get(sample.scene), sample, robot, noise=noise, beside=beside)


def write_decisions(file: Path, decisions: Sequence[LabelledDecision]) -> None:
    """Write decisions to one file. Raises StorageError."""
    data = io.BytesIO()
    parts: dict[str, list[np.ndarray]] = {
        "numbers": [d.given.numbers.astype(np.float16) for d in decisions],
        "names": [d.given.names.astype(np.int16) for d in decisions],
        "paths": [d.given.paths.astype(np.float16).ravel() for d in decisions],
        "words": [d.given.words.astype(np.int16) for d in decisions],
        "open": [d.open for d in decisions], "wanted": [d.wanted for d in decisions],
        "shows": [d.shows for d in decisions], "end": [np.array([(d.chosen, d.last, d.reward)]) for d in decisions]}
    joined = {name: np.concatenate(values) if values else np.zeros(0) for name, values in parts.items()}
    np.savez_compressed(data, allow_pickle=False, counts=np.array([len(d.open) for d in decisions], np.int64), **joined)
    write_bytes(file, data.getvalue())


def read_decisions(file: Path) -> list[LabelledDecision]:
    """Return the decisions of a file."""
    with np.load(file, allow_pickle=False) as stored:
        data = {name: stored[name] for name in stored.files}
    found: list[LabelledDecision] = []
    at = square = 0
    for k, n in enumerate(data["counts"].tolist()):
        rows = slice(at, at + n)
        words = data["words"].reshape(len(data["counts"]), -1)[k].astype(np.int64)
        given = PlannerInput(data["numbers"][rows].astype(np.float32), data["names"][rows].astype(np.int64),
                             data["paths"][square:square + n * n].reshape(n, n).astype(np.float32), words)
        chosen, last, reward = data["end"][k].tolist()
        found.append(LabelledDecision(given, data["open"][rows], data["wanted"][rows], data["shows"][rows],
                                      int(chosen), bool(last), reward))
        at, square = at + n, square + n * n
    return found
