"""A question in a simulated place as a Gymnasium environment whose actions are the places of a topological map.

The robot drives, maps and assesses its views as in a scored episode with the rules as answerer (worlds/places.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded

from eqa_nodes.core.policies.planner import BUCKETS, NAMED, WORDS, input_of
from eqa_nodes.core.policies.topo_graph import FEATURES, MOST
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.worlds.places import PlacesEpisode
from eqa_nodes.worlds.questions import SLACK, STOPPED, Observation, QuestionsEnv, nearer
from sim_bridge.robots import DEFAULT, robot_of


class TopoEnv(QuestionsEnv):
    """Episodes in which the agent chooses where to drive next on a graph of places, or to stop.

    Actions: 0 stop, k drive to node k of the graph; `action_masks()` says which are possible, (64,) bool, as the
    MaskablePPO of sb3-contrib asks. Observations are those of TopoGraph, padded with zeros:

    numbers  (64, 22) float32, features of the nodes
    names    (64, 4) int64, words of the room of each node by hash, 0 = none
    paths    (64, 64) float32, lengths of paths between nodes / 30 m
    words    (48,) int64, words of question and directions by hash, 0 = none

    The views are assessed by rules over the simulator's labels (privileged). Reward, end and info are those of
    eqa/House-v0, a drive costs what its steps cost; info has `moves`, too.
    """

    def __init__(self, questions: str | Path | Sequence[Sample] = "house", split: str = "train", count: int = 200,
                 image: tuple[int, int] = (128, 96), max_steps: int = 300, robot: str = DEFAULT) -> None:
        """questions, split, count, max_steps: as for QuestionsEnv. Raises ConfigError, also for an unknown robot."""
        super().__init__(questions, split, count, max_steps)
        self._robot = replace(robot_of(robot), camera=CameraModel(width=image[0], height=image[1], color=False))
        self.action_space = spaces.Discrete(MOST)
        self.observation_space = spaces.Dict({
            "numbers": spaces.Box(-3.0, 3.0, (MOST, FEATURES), np.float32),
            "names": spaces.Box(0, BUCKETS - 1, (MOST, NAMED), np.int64),
            "paths": spaces.Box(0.0, 2.0, (MOST, MOST), np.float32),
            "words": spaces.Box(0, BUCKETS - 1, (WORDS,), np.int64)})
        self._begun: PlacesEpisode | None = None
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with a question drawn by the seed, or options["question"] (its number).

        Raises BadPose, UnknownScene, ConfigError for a number that no question has.
        """
        super().reset(seed=seed)
        sample, about = self.draw(options)
        self._begun = PlacesEpisode(self._pool.get(sample.scene), sample, self._robot, self._max_steps)
        self._over = False
        return self._observation(self._begun), self._info(self._begun) | about

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Drive to a node, or stop. Raises ResetNeeded before a reset and after the end, InvalidAction if masked."""
        if self._over:
            raise ResetNeeded("the episode has ended, or none was begun: call reset() first")
        if not self.action_space.contains(np.int64(action)) or not self.action_masks()[int(action)]:
            raise InvalidAction(f"the action is {action!r}: it must be 0 (stop) or a node that action_masks() allows")
        episode = self.episode
        before_m, before = episode.distance_m, episode.steps
        if action != 0:
            episode.drive(int(action))
        terminated, truncated = bool(action == 0), bool(action != 0 and episode.ended)
        info = self._info(episode)
        reward = nearer(before_m, info["distance_m"]) - SLACK * max(1, episode.steps - before)
        if terminated or truncated:
            info |= {"success": terminated and episode.success, "spl": episode.spl if terminated else 0.0}
            reward += STOPPED * info["spl"]
            self._over = True
        return self._observation(episode), float(reward), terminated, truncated, info

    def action_masks(self) -> np.ndarray:
        """Return which actions are possible now, (64,) bool. Raises ResetNeeded before a reset."""
        return _padded(self.episode.graph.open, (MOST,))

    @property
    def episode(self) -> PlacesEpisode:
        """The episode, for teachers (privileged). Raises ResetNeeded before a reset."""
        if self._begun is None:
            raise ResetNeeded("no episode was begun: call reset() first")
        return self._begun

    def close(self) -> None:
        """Release the simulators; a second call does nothing."""
        super().close()
        self._begun, self._over = None, True

    def _info(self, episode: PlacesEpisode) -> dict[str, Any]:
        return {"steps": episode.steps, "metres": episode.metres, "distance_m": episode.distance_m,
                "moves": episode.moves}

    def _observation(self, episode: PlacesEpisode) -> Observation:
        given = input_of(episode.graph, episode.asked[0].question)
        return {"numbers": _padded(given.numbers, (MOST, FEATURES)), "names": _padded(given.names, (MOST, NAMED)),
                "paths": _padded(given.paths, (MOST, MOST)), "words": given.words.copy()}


def _padded(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of this shape with the values at its beginning, and zeros after them."""
    found = np.zeros(shape, values.dtype)
    found[tuple(map(slice, values.shape))] = values
    return found
