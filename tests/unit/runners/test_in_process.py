"""The chain without ROS: what it could not use, and days of a simulated clock in one memory."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from eqa_nodes.core.errors import ConfigError, SimulatorError
from eqa_nodes.core.mapping.floors import MultiFloorMapper
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.times import WALL_NS
from eqa_nodes.core.observing import EpisodicMemory
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.runners.in_process import InProcessRunner, SimulatedRobot
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup, Simulator, Step, begin_episode
from tests.fixtures.courses import PLANT, course, parameters
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


def ran(folder: Path, sample: Sample = PLANT, start: str = "", file: str = "") -> EpisodeResult:
    runner = InProcessRunner(parameters(folder, {"bridge": {"clock_start": start}, "memory": {"file": file}}))
    with closing(runner):
        return runner.run(sample)


def test_a_date_changes_the_stamps_and_nothing_else(tmp_path: Path) -> None:
    plain, dated = ran(tmp_path / "plain"), ran(tmp_path / "dated", start="2026-11-12T08:30")
    assert plain.trace is not None and dated.trace is not None
    assert plain.trace.poses[0][0] < SECOND and dated.trace.poses[0][0] > WALL_NS
    assert course(dated) == course(plain)


def test_days_of_a_simulated_clock_are_remembered_as_days(tmp_path: Path) -> None:
    where = replace(PLANT, question="Where was the plant yesterday morning?")
    seen = ran(tmp_path, start="2026-11-12T08:30", file="home.sqlite")
    told = ran(tmp_path, where, "2026-11-13T19:00", "home.sqlite")
    later = ran(tmp_path, PLANT, "", "home.sqlite")  # without a date, the clock goes on after the newest view
    again = ran(tmp_path, PLANT, "2026-11-13T19:00", "home.sqlite")  # and so it does from a date that has passed
    assert seen.trace and told.trace and later.trace and again.trace
    assert "yesterday at 08:30" in told.answer.text and told.answer.receipt.steps == 0
    assert {e.stamp_ns for e in told.answer.evidence} <= {k.stamp_ns for k in seen.trace.keyframes}
    assert told.trace.poses[-1][0] < later.trace.poses[0][0] < later.trace.poses[-1][0] < again.trace.poses[0][0]


def test_a_simulator_that_ignores_the_date_ends_the_episode() -> None:
    stuttering: Any = Stuttering()
    with pytest.raises(SimulatorError, match="does not set its clock to EpisodeSetup.clock_ns"):
        begin_episode(stuttering, EpisodeSetup("toy", clock_ns=WALL_NS))
