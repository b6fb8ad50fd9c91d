"""The graph of a house with a detector: it answers from detections, as the chain without ROS does, and says so."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from eqa_nodes.config.graph import GraphParameters, merged, of_robot
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import EpisodeResult, Sample
from eqa_nodes.runners.in_graph import GraphRunner
from eqa_nodes.runners.in_process import InProcessRunner
from tests.fixtures.needs import need_transformers
from tests.fixtures.tiny_detectors import save_tiny

LIMITS = Limits(steps=60)
HOUSE = Sample("house", "Is there a bed?", "yes", scene="house:3", seed=4)
BATH = Sample("bath", "Is there a bathtub?", "yes", scene="house:3", seed=4)  # which is seen sooner


def parameters(folder: Path, **detector: object) -> GraphParameters:
    robot = RobotModel()
    robot = replace(robot, camera=replace(robot.camera, width=160, height=120))
    return merged(None, of_robot(robot), {
        "memory": {"labels": True, "labels_from": "detector", "folder": str(folder / "memory")},
        "recorder": {"folder": str(folder / "bags")},
        "perception": {"perceiver.detection.score": 0.0,
                       **{f"detector.{name}": value for name, value in detector.items()}}})


def facts(result: EpisodeResult) -> tuple[object, ...]:
    """Return what must be equal, in the graph and without it."""
    trace, answer = result.trace, result.answer
    assert answer.error == 0, answer.message
    return (tuple(pose for _, pose in trace.poses), tuple((k.id, k.sightings, k.caption) for k in trace.keyframes),
            answer.text, answer.confidence, answer.receipt.privileged, result.final_pose)


def both(folder: Path, limits: Limits = LIMITS, sample: Sample = HOUSE, **detector: object
         ) -> tuple[EpisodeResult, EpisodeResult]:
    """Return what the chain without ROS and what the graph make of a question about the house."""
    with closing(InProcessRunner(parameters(folder / "here", **detector), limits)) as runner:
        here = runner.run(sample)
    with closing(GraphRunner(folder / "there", parameters(folder / "there", **detector), limits)) as runner:
        return here, runner.run(sample)


def test_the_graph_answers_from_detections_as_the_chain_without_ros_does(tmp_path: Path) -> None:
    here, there = both(tmp_path, sample=BATH, name="labels")
    assert facts(there) == facts(here)
    assert here.answer.text == "yes" and any(k.sightings for k in here.trace.keyframes) and here.answer.text
    # This detector reads the simulator's labels; its detections have a name, their boxes show what they are on, and
    # what stands together tells the room.
    assert here.answer.receipt.privileged == ("LabelAnswerer",)
    labels = [s.label for k in here.trace.keyframes for s in k.sightings]
    assert all(label.attributes.keys() <= {"relation", "support"} for label in labels)
    assert {label.room for label in labels if label.kind == "toilet"} == {"bathroom"}
    store = MemoryStore(next((tmp_path / "there" / "memory").glob("*.sqlite")), write=False)
    assert store.objects("bathtub")
    store.close()


def test_a_model_looks_in_the_graph_and_nothing_is_privileged(tmp_path: Path) -> None:
    need_transformers()
    model = save_tiny("grounding-dino", tmp_path / "model")
    here, there = both(tmp_path, Limits(steps=8), name="transformers", model=str(model), threshold=0.0)
    assert facts(there) == facts(here)
    assert any(k.sightings for k in here.trace.keyframes) and not any(k.privileged for k in here.trace.keyframes)
    assert here.answer.receipt.privileged == ()


def test_a_model_in_a_file_sees_the_same_in_the_graph_to_the_last_bit(tmp_path: Path) -> None:
    from tests.fixtures.onnx_models import save_onnx  # skips the test without its libraries

    model = save_onnx(tmp_path / "m.onnx", "yolo8-masks", (160, 160))
    here, there = both(tmp_path, Limits(steps=20), name="onnx", model=str(model))
    assert facts(there) == facts(here)
    seen = [s.label for k in here.trace.keyframes for s in k.sightings]
    assert {label.kind for label in seen} & {"cup", "lamp"} and all(label.detected for label in seen)
    assert here.answer.receipt.privileged == ()


def test_colour_state_and_room_travel_through_the_graph_to_the_last_bit(tmp_path: Path) -> None:
    from tests.fixtures.perceiver_weights import save_weights, save_words  # skips the test without its libraries

    weights = save_weights(tmp_path / "weights")
    save_words(weights)
    here, there = both(tmp_path, Limits(steps=20), name="perceiver", model=str(weights))
    assert facts(there) == facts(here)
    seen = [s.label for k in here.trace.keyframes for s in k.sightings]
    assert seen and all(label.detected and label.room == "kitchen" for label in seen)
    assert {label.attributes["state"] for label in seen} <= {"full", "on"}
    assert here.answer.receipt.privileged == () and not any(k.privileged for k in here.trace.keyframes)
    in_process, in_graph = (_things(next((tmp_path / side / "memory").glob("*.sqlite"))) for side in ("here", "there"))
    assert in_process == in_graph and any('"perceiver ' in things for things in in_process)


def _things(file: Path) -> list[str]:
    """Return what a memory file holds for its search: kinds, rooms, pixels and vectors of what each view shows."""
    with closing(sqlite3.connect(file)) as db:
        return [things for things, in db.execute("SELECT things FROM briefs ORDER BY id")]
