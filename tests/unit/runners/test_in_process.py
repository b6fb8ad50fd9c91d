"""The chain without ROS counts what it could not use."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.observing import EpisodicMemory
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.runners.in_process import InProcessRunner, SimulatedRobot
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup, Simulator, Step
from tests.fixtures.frames import frame

SECOND = 10**9


class Stuttering:
    """A simulator whose second and third frame are older than the first."""

    def __init__(self) -> None:
        self._stamps = iter((2, 1, 1, 3))

    def reset(self, episode: EpisodeSetup) -> Step:
        return self.act(Action.TURN_LEFT)

    def act(self, action: Action) -> Step:
        return Step(frame(next(self._stamps) * SECOND), False, 0, 0.0)

    def labels(self) -> dict[int, Any]:
        return {}


def test_a_world_without_labels_ends_an_episode_that_reads_them(tmp_path: Path) -> None:
    class Pool(SimulatorPool):
        def get(self, scene: str) -> Simulator:
            return cast(Simulator, Stuttering())

    parameters = {"memory": {"labels": True, "folder": str(tmp_path)}}
    runner = InProcessRunner(parameters, pool=Pool())
    with pytest.raises(ConfigError, match="'other:room' has no labels.*the answerer vlm"):
        runner.run(Sample("q", "Is there a cup?", "", scene="other:room"))
    runner.close()


def test_refused_frames_are_counted_and_the_episode_goes_on(tmp_path: Path) -> None:
    memory = MemoryStore(tmp_path / "m.sqlite")
    simulator: Any = Stuttering()
    body = SimulatedRobot(simulator, MultiFloorMapper(), EpisodicMemory(memory, labels=False))
    body.begin(EpisodeSetup("toy", "e", Pose2(0.0, 0.0, 0.0)))
    assert body.refused() == {}
    for _ in range(3):
        body.act(Action.TURN_LEFT)
    assert body.refused() == {"mapper": 2, "memory": 2}
    assert body.last()[0] == 3 * SECOND == body.floors.grid().stamp_ns
    memory.close()
