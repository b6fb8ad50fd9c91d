"""The graph of a house with a detector: it answers from detections, as the chain without ROS does, and says so."""

from __future__ import annotations

from tests.ros import need_ros

need_ros()

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from eqa_nodes.bench.runner import EpisodeResult
from eqa_nodes.bench.samples import Sample
from eqa_nodes.commands.chain import robot_parameters
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types import Limits
from eqa_nodes.in_graph import GraphRunner
from eqa_nodes.in_process import InProcessRunner
from eqa_nodes.settings import Parameters, merged
from sim_bridge.simulator import Robot

LIMITS = Limits(steps=60)
HOUSE = Sample("house", "Is there a bed?", "yes", scene="house:3", seed=4)


def parameters(folder: Path, detector: str) -> Parameters:
    robot = Robot()
    robot = replace(robot, camera=replace(robot.camera, width=160, height=120))
    return merged(None, robot_parameters(robot), {
        "memory": {"labels": True, "labels_from": "detector", "folder": str(folder / "memory")},
        "recorder": {"folder": str(folder / "bags")}, "perception": {"detector.name": detector}})


def facts(result: EpisodeResult) -> tuple[object, ...]:
    """Return what must be equal, in the graph and without it."""
    trace, answer = result.trace, result.answer
    assert answer.error == 0, answer.message
    return (tuple(pose for _, pose in trace.poses), tuple((k.id, k.sightings, k.caption) for k in trace.keyframes),
            answer.text, answer.confidence, answer.receipt.privileged, result.final_pose)


def test_the_graph_answers_from_detections_as_the_chain_without_ros_does(tmp_path: Path) -> None:
    with closing(InProcessRunner(parameters(tmp_path / "here", "labels"), LIMITS)) as runner:
        here = runner.run(HOUSE)
    with closing(GraphRunner(tmp_path / "there", parameters(tmp_path / "there", "labels"), LIMITS)) as runner:
        there = runner.run(HOUSE)
    assert facts(there) == facts(here)
    assert any(k.sightings for k in here.trace.keyframes) and here.answer.text
    # This detector reads the simulator's labels, and detections know nothing but a name.
    assert here.answer.receipt.privileged == ("LabelAnswerer",)
    assert {(s.label.room, *s.label.attributes) for k in here.trace.keyframes for s in k.sightings} == {("",)}
    store = MemoryStore(next((tmp_path / "there" / "memory").glob("*.sqlite")), write=False)
    assert store.objects("bed")
    store.close()
