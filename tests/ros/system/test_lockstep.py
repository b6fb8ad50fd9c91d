"""The same seed gives the same poses, goals and answers: in process, in one process of nodes, in a process a node,
with delays in the nodes, and on a machine that is busy with something else."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.config.graph import of_robot
from eqa_nodes.core.components import DEFAULT_POLICY, POLICIES
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.samples import EpisodeRunner, Sample
from eqa_nodes.ros.faults import Faults
from eqa_nodes.ros.node import FAULTS
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from sim_bridge.house.world import storeyed
from tests.fixtures.courses import SAMPLES, Course, course, parameters

LIMITS, CLIMB = Limits(steps=40), Limits(steps=125)


def courses(runner: EpisodeRunner, samples: Sequence[Sample] = SAMPLES) -> list[Course]:
    with closing(runner):
        return [course(runner.run(sample)) for sample in samples]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> list[Course]:
    found = courses(InProcessRunner(parameters(tmp_path_factory.mktemp("reference")), LIMITS))
    assert all(len(c.poses) > 20 and len(c.decisions) > 1 and c.keyframes for c in found), "too short to compare"
    assert all(geometry is not None for c in found for _, _, geometry in c.keyframes)
    return found


def busy() -> None:
    while True:
        pass


@contextmanager
def loaded_machine() -> Iterator[None]:
    """Keep every core busy with something else."""
    workers = [multiprocessing.Process(target=busy, daemon=True) for _ in range(multiprocessing.cpu_count())]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


@pytest.mark.parametrize("limits", [
    pytest.param(Limits(steps=5), marks=pytest.mark.thorough),
    pytest.param(Limits(metres=1.4), marks=pytest.mark.thorough),
    Limits(steps=30, metres=8.0, area=((0.0, 4.5), (3.5, 4.5), (3.5, 8.0), (0.0, 8.0)))])
def test_limits_hold_in_the_graph_as_they_do_in_process(limits: Limits, tmp_path: Path) -> None:
    """The navigator node is told what its drive may use, and stops where the in-process one does."""
    with closing(InProcessRunner(parameters(tmp_path / "here"), limits)) as runner:
        here = course(runner.run(SAMPLES[0]))
    with closing(GraphRunner(tmp_path / "there", parameters(tmp_path / "there"), limits)) as graph:
        there = graph.run(SAMPLES[0])
    assert course(there) == here
    receipt = there.answer.receipt
    assert 0 < receipt.steps <= (limits.steps or math.inf) and receipt.metres <= (limits.metres or math.inf) + 1e-6
    assert receipt.limit in there.answer.message
    assert all(is_inside(limits.area, pose.x, pose.y) for _, pose in there.trace.poses)


def test_in_process_twice(reference: list[Course], tmp_path: Path) -> None:
    assert courses(InProcessRunner(parameters(tmp_path), LIMITS)) == reference


def test_one_process_of_nodes(reference: list[Course], tmp_path: Path) -> None:
    assert courses(GraphRunner(tmp_path, parameters(tmp_path), LIMITS)) == reference


def test_a_reconstructor_beside_it_changes_nothing(reference: list[Course], tmp_path: Path) -> None:
    pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
    with closing(GraphRunner(tmp_path, parameters(tmp_path, {"reconstructor": {"enabled": True}}), LIMITS)) as runner:
        assert "reconstructor" in runner.graph.nodes
        assert [course(runner.run(sample)) for sample in SAMPLES[:1]] == reference[:1]


@pytest.mark.parametrize("load", [nullcontext, pytest.param(loaded_machine, marks=pytest.mark.thorough)])
def test_a_process_a_node_also_on_a_busy_machine(
        reference: list[Course], tmp_path: Path, load: Callable[[], AbstractContextManager[None]]) -> None:
    with load():
        graph = GraphRunner(tmp_path, parameters(tmp_path), LIMITS, isolate=True)
        assert courses(graph, SAMPLES[:1]) == reference[:1]


def policies() -> list[Any]:
    """Return the policies other than the default; by default, one whose state outlives a decision stands for all."""
    return [name if name == "snapshot" else pytest.param(name, marks=pytest.mark.thorough)
            for name in POLICIES if name != DEFAULT_POLICY]


@pytest.mark.parametrize("policy", policies())
def test_every_policy_goes_the_same_way_through_the_graph(policy: str, tmp_path: Path) -> None:
    chosen = {"explorer": {"policy": policy}}
    with closing(InProcessRunner(parameters(tmp_path / "here", chosen), LIMITS)) as runner:
        here = course(runner.run(SAMPLES[0]))
    with closing(GraphRunner(tmp_path / "there", parameters(tmp_path / "there", chosen), LIMITS)) as runner:
        assert course(runner.run(SAMPLES[0])) == here
    assert len(here.decisions) > 1


def test_stairs_are_taken_the_same_way_through_the_graph(tmp_path: Path) -> None:
    stairs, robot = storeyed(1000).stairs, RobotModel(stairs=True, camera=CameraModel(width=160, height=120))
    north = math.pi / 2 + 2 * math.pi  # data sets have headings beyond half a turn, which messages have not
    below = Pose2(stairs.middle[0], stairs.y0 - 0.5 * stairs.landing_m, north)
    sample = Sample("stairs", "Is the bed in the main bedroom made?", "", scene="house:1000@2", start=below, seed=4,
                    start_height_m=0.0)
    with closing(InProcessRunner(parameters(tmp_path / "here", of_robot(robot)), CLIMB)) as runner:
        here = course(runner.run(sample))
    with closing(GraphRunner(tmp_path / "there", parameters(tmp_path / "there", of_robot(robot)), CLIMB)) as runner:
        assert course(runner.run(sample)) == here
    assert any("takes the stairs up" in reason for _, _, reason, _ in here.decisions)
    assert max(base.xyz[2] for _, base, _ in here.keyframes) > 0.9 * stairs.rise_m  # it may answer on the last steps


@pytest.mark.parametrize("slow", [
    ("mapper", "answerer", "agent"), pytest.param(("memory", "explorer", "bridge"), marks=pytest.mark.thorough),
    pytest.param(("recorder", "navigator"), marks=pytest.mark.thorough)])
def test_slow_nodes(reference: list[Course], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                    slow: tuple[str, ...]) -> None:
    faults = tmp_path / "faults.json"
    Faults(delay_s=dict.fromkeys(slow, 0.02)).write(faults)
    monkeypatch.setenv(FAULTS, str(faults))
    with closing(GraphRunner(tmp_path, parameters(tmp_path), LIMITS)) as runner:
        assert course(runner.run(SAMPLES[0])) == reference[0]
