"""The same seed gives the same poses, goals and answers: in process, in one process of nodes, in a process a node,
with delays in the nodes, and on a machine that is busy with something else."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import math
import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from eqa_nodes.config.graph import of_robot
from eqa_nodes.core.components import DEFAULT_POLICY, POLICIES
from eqa_nodes.core.mapping.area import is_inside
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.ros.faults import Faults
from eqa_nodes.ros.node import FAULTS
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from sim_bridge.house.world import storeyed
from tests.fixtures.courses import SAMPLES, Course, course, parameters
from tests.fixtures.planners import with_keyframes

LIMITS, CLIMB = Limits(steps=40), Limits(steps=150)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> list[Course]:
    with closing(InProcessRunner(parameters(tmp_path_factory.mktemp("reference")), LIMITS)) as runner:
        found = [course(runner.run(sample)) for sample in SAMPLES]
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


BOXED = Limits(steps=30, metres=8.0, area=((0.0, 4.5), (3.5, 4.5), (3.5, 8.0), (0.0, 8.0)))


@pytest.mark.parametrize("beside", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_one_process_of_nodes(reference: list[Course], tmp_path: Path, beside: bool) -> None:
    """beside: a reconstructor listens to the robot's images too, and changes nothing."""
    if beside:
        pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
    with closing(GraphRunner(tmp_path, parameters(tmp_path, {"reconstructor": {"enabled": beside}}), LIMITS)) as runner:
        assert ("reconstructor" in runner.graph.nodes) == beside
        assert [course(runner.run(sample)) for sample in SAMPLES] == reference


@pytest.mark.parametrize(("policy", "limits", "slow", "load"), [
    ("snapshot", BOXED, ("mapper", "answerer", "agent"), nullcontext),  # its state outlives a decision
    *(pytest.param(name, LIMITS, (), nullcontext, marks=pytest.mark.thorough) for name in POLICIES),
    *(pytest.param(DEFAULT_POLICY, *case, marks=pytest.mark.thorough) for case in (
        (Limits(steps=5), (), loaded_machine), (Limits(metres=1.4), ("memory", "explorer", "bridge"), nullcontext),
        (LIMITS, ("recorder", "navigator"), nullcontext)))])
def test_a_process_a_node_with_any_policy_limits_and_delays(
        policy: str, limits: Limits, slow: tuple[str, ...], load: Callable[[], AbstractContextManager[None]],
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The navigator node knows what its drive may use, and stops where the one in process does."""
    chosen = {"explorer": {"policy": policy}}
    with closing(InProcessRunner(parameters(tmp_path / "here", chosen), limits)) as runner:
        here = [course(runner.run(SAMPLES[0])) for _ in range(2)]
    assert here[0] == here[1] and here[0].decisions and here[0].keyframes
    Faults(delay_s=dict.fromkeys(slow, 0.02)).write(tmp_path / "faults.json")
    monkeypatch.setenv(FAULTS, str(tmp_path / "faults.json"))
    with load(), closing(GraphRunner(tmp_path / "there", parameters(tmp_path / "there", chosen), limits,
                                     isolate=True)) as graph:
        there = graph.run(SAMPLES[0])
    assert course(there) == here[0]
    receipt = there.answer.receipt
    assert 0 < receipt.steps <= (limits.steps or math.inf) and receipt.metres <= (limits.metres or math.inf) + 1e-6
    assert receipt.limit in there.answer.message
    assert not limits.area or all(is_inside(limits.area, pose.x, pose.y) for _, pose in there.trace.poses)


def test_learned_values_and_keyframes_are_the_same_through_the_graph(tmp_path: Path) -> None:
    with_keyframes().save(tmp_path / "aqnav.npz")
    for name, chosen in (("keyframes", {"policy": "aqnav", "params.aqnav.planner": str(tmp_path / "aqnav.npz")}),
                         ("learned", {"policy": "best", "params.best.learned": 0.5})):
        here, there = (parameters(tmp_path / place / name, {"explorer": chosen}) for place in ("here", "there"))
        with closing(InProcessRunner(here, LIMITS)) as runner:
            found = runner.run(SAMPLES[0])
        with closing(GraphRunner(tmp_path / "there" / name, there, LIMITS)) as graph:
            again = graph.run(SAMPLES[0])
        assert course(again) == course(found) and again.answer.evidence == found.answer.evidence
        marked = [mark.label for decision in found.trace.decisions for mark in decision.marks]
        assert ("keyframe" in marked or "no keyframe" in marked) == (name == "keyframes")


def test_stairs_are_taken_the_same_way_through_the_graph(tmp_path: Path) -> None:
    stairs, robot = storeyed(1000).stairs, RobotModel(stairs=True, camera=CameraModel(width=96, height=72))
    north = math.pi / 2 + 2 * math.pi  # data sets have headings beyond half a turn, which messages have not
    below = Pose2(stairs.middle[0], stairs.y0 - 0.5 * stairs.landing_m, north)
    sample = Sample("stairs", "Is the lamp in the main bedroom on?", "", scene="house:1000@2", start=below, seed=4,
                    start_height_m=0.0)
    with closing(InProcessRunner(parameters(tmp_path / "here", of_robot(robot)), CLIMB)) as runner:
        here = course(runner.run(sample))
    with closing(GraphRunner(tmp_path / "there", parameters(tmp_path / "there", of_robot(robot)), CLIMB)) as runner:
        assert course(runner.run(sample)) == here
    assert any("takes the stairs up" in reason for _, _, reason, _ in here.decisions)
    assert max(base.xyz[2] for _, base, _ in here.keyframes) > 0.9 * stairs.rise_m  # it may answer on the last steps
