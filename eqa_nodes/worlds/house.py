"""A question in a simulated place as a Gymnasium environment: the robot moves by atomic actions, and stops.

It is rewarded by the scorer's truth, as DD-PPO's agents are (Wijmans et al. 2020): each step by the metres that it came
nearer to where the answer can be seen, less a small cost, and the stop by 2.5 SPL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded

from eqa_nodes.bench.metrics.formulas import SUCCESS_RADIUS_M, path_ratio
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.robot import CameraModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.views import Frame
from eqa_nodes.worlds.questions import SLACK, STOPPED, Observation, QuestionsEnv, nearer, viewpoints_of
from sim_bridge.robots import DEFAULT, robot_of
from sim_bridge.simulator import EpisodeSetup, Simulator, Step, begin_episode

STOP = 0  # the action that ends an episode; the others have the numbers of Action
_LONGEST = 2000  # characters of a question or of directions
_CHARACTERS = "".join(map(chr, [*range(32, 127), *range(160, 384), 0x2018, 0x2019, 0x201C, 0x201D, 0x2013, 0x2026]))


class HouseEnv(QuestionsEnv):
    """Episodes of questions that need exploration, in any simulator that renders them.

    Actions: 0 stop, 1 move forward, 2 turn left, 3 turn right, 4 look up, 5 look down. Observations:

    rgb      (H, W, 3) uint8, grey if color is false
    depth    (H, W, 1) float32, metres, 0 = no return
    pose     (3,) float32, x and y in metres and heading in radians, relative to the start; REP 103
    labels   (H, W, 1) uint16, ids of instances (privileged), if asked for; info["kinds"] of a reset says what they are
    question, instruction: texts, if `texts`

    An episode ends with STOP, and is truncated after `max_steps` actions. info has steps, metres, distance_m (geodesic,
    to the nearest viewpoint) and, at the end, success (within 3 m) and spl. All of these are privileged.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 2}  # noqa: RUF012 - declared so by the base class

    def __init__(self, questions: str | Path | Sequence[Sample] = "house", split: str = "train", count: int = 200,
                 image: tuple[int, int] = (64, 48), color: bool = True, labels: bool = False, texts: bool = True,
                 max_steps: int = 300, robot: str = DEFAULT, render_mode: str | None = None) -> None:
        """questions, split, count, max_steps: as for QuestionsEnv. Raises ConfigError, also for an unknown robot."""
        super().__init__(questions, split, count, max_steps)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"render_mode is {render_mode!r}: it must be rgb_array or None")
        width, height = image
        camera = CameraModel(width=width, height=height, color=color)
        self._robot = replace(robot_of(robot), camera=camera)
        self._labels, self._texts, self.render_mode = labels, texts, render_mode
        self.action_space = spaces.Discrete(len(Action))
        self.observation_space = _space(width, height, labels, texts)
        self._step: Step | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None
              ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with a question drawn by the seed, or options["question"] (its number).

        Raises BadPose, UnknownScene, ConfigError for a number that no question has.
        """
        super().reset(seed=seed)
        self._sample, about = self.draw(options)
        self._simulator: Simulator = self._pool.get(self._sample.scene)
        self._step = begin_episode(self._simulator, EpisodeSetup.of(self._sample, self._robot))
        self._start, self._ended = self._step.frame.pose, False
        self._before_m, self._begun_m, self._begun_steps = self._distance(), self._step.metres, self._step.steps
        self._least_m = self._sample.reference_metres if self._sample.reference_metres is not None else self._before_m
        info = self._info() | about
        if self._labels:
            info["kinds"] = {i: label.kind for i, label in self._simulator.labels().items()}
        return self._observation(), info

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carry out an action. Raises ResetNeeded before a reset and after the end, InvalidAction for another number.
        """
        if self._step is None or self._ended:
            raise ResetNeeded("the episode has ended, or none was begun: call reset() first")
        if not self.action_space.contains(np.int64(action)):
            raise InvalidAction(f"the action is {action!r}: it must be 0 (stop) to {len(Action) - 1}")
        reward, terminated, at_m = -SLACK, int(action) == STOP, self._step.metres
        if not terminated:
            self._step = self._simulator.act(Action(int(action)))
        distance = self._before_m if self._step.metres == at_m else self._distance()
        reward += nearer(self._before_m, distance)
        self._before_m = distance
        info = self._info()
        truncated = not terminated and info["steps"] >= self._max_steps
        if terminated or truncated:
            info["success"] = terminated and distance <= SUCCESS_RADIUS_M
            info["spl"] = path_ratio(self._least_m, info["metres"]) if info["success"] else 0.0
            reward += STOPPED * info["spl"]
            self._ended = True
        return self._observation(), float(reward), terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """Return what the robot sees, (H, W, 3) uint8; None without render_mode="rgb_array"."""
        return self._frame.rgb.copy() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Release the simulators; a second call does nothing."""
        super().close()
        self._step = None

    @property
    def _frame(self) -> Frame:
        if self._step is None:
            raise ResetNeeded("no episode was begun: call reset() first")
        return self._step.frame

    def _distance(self) -> float:
        pose, z = self._frame.pose, self._frame.map_from_base.xyz[2]
        return min(self._simulator.geodesic((pose.x, pose.y, z), place) for place in viewpoints_of(self._sample))

    def _info(self) -> dict[str, Any]:
        assert self._step is not None
        return {"steps": self._step.steps - self._begun_steps, "metres": self._step.metres - self._begun_m,
                "distance_m": self._before_m, "collided": self._step.collided}

    def _observation(self) -> Observation:
        frame = self._frame
        found: Observation = {"rgb": frame.rgb.copy(), "depth": frame.depth_m[..., None].copy(),
                              "pose": np.array(_relative(frame.pose, self._start), np.float32)}
        if self._labels:
            if frame.labels is None:
                raise ConfigError(f"the scene {self._sample.scene!r} has no labels: leave out labels=True")
            found["labels"] = frame.labels[..., None].copy()
        if self._texts:
            found |= {"question": _text(self._sample.question), "instruction": _text(self._sample.instruction)}
        return found


def _space(width: int, height: int, labels: bool, texts: bool) -> spaces.Dict:
    found: dict[str, spaces.Space[Any]] = {
        "rgb": spaces.Box(0, 255, (height, width, 3), np.uint8),
        "depth": spaces.Box(0.0, np.inf, (height, width, 1), np.float32),
        "pose": spaces.Box(-np.inf, np.inf, (3,), np.float32)}
    if labels:
        found["labels"] = spaces.Box(0, 2**16 - 1, (height, width, 1), np.uint16)
    if texts:
        text = spaces.Text(_LONGEST, min_length=0, charset=_CHARACTERS)
        found |= {"question": text, "instruction": text}
    return spaces.Dict(found)


def _text(said: str) -> str:
    return "".join(c if c in _KNOWN else "?" for c in said)[:_LONGEST]


_KNOWN = frozenset(_CHARACTERS)


def _relative(pose: Pose2, start: Pose2) -> tuple[float, float, float]:
    x, y, cos, sin = pose.x - start.x, pose.y - start.y, math.cos(start.yaw), math.sin(start.yaw)
    return cos * x + sin * y, cos * y - sin * x, wrap(pose.yaw - start.yaw)
