"""Writes accepted records in the benchmarks' own formats, and reads them back with the project's readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eqa_nodes.bench.readers.explora import read_explora, write_explora
from eqa_nodes.bench.readers.express import read_express
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Pose2, position_to_habitat, rotation_to_habitat
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.generate.values import Benchmark, QuestionAttempt, ScenePath
from sim_bridge.registry import file_name_of

PathOf = Callable[[int], ScenePath]  # a path by its number
_NAMES = {Action.MOVE_FORWARD: "move_forward", Action.TURN_LEFT: "turn_left", Action.TURN_RIGHT: "turn_right"}


def write_benchmark(kind: Benchmark, records: Sequence[QuestionAttempt], path_of: PathOf, out: Path) -> Path:
    """Write records that have a pair as the benchmark's file and return its path; no records make an empty list.

    Raises StorageError when the project's reader does not find in it what was written.
    """
    file = out / kind.file
    WRITERS[kind.name](file, records, path_of)
    if records:
        wanted = [(r.id, r.pair.answer) for r in records if r.pair]
        found = [(sample.id, sample.answer) for sample in READERS[kind.name](file)]
        if wanted != found:
            raise StorageError(f"{file} does not read back as it was written: {len(wanted)} questions in, {len(found)} "
                               "out")
    return file


def _write_express(file: Path, records: Sequence[QuestionAttempt], path_of: PathOf) -> None:
    write_json(file, [express_record(record, path_of(record.way)) for record in records])


def express_record(record: QuestionAttempt, path: ScenePath) -> dict[str, Any]:
    """Return a question as EXPRESS-Bench's file has it: Habitat axes, metres, rotations w, x, y, z.

    Step i holds an action and the position and rotation after it.
    """
    assert record.pair is not None
    start, goal = _placed(path.poses[0], path.z), _placed(path.poses[-1], path.z)
    steps = {f"step_{i}": {"action": _NAMES[action], **_placed(pose, path.z)}
             for i, (action, pose) in enumerate(zip(path.actions, path.poses[1:], strict=True))}
    return {"episode_id": int(record.id), "trajectory_id": path.number,
            "scene_id": f"{path.scene.partition(':')[0]}/{path.scene}",
            "episode_path": f"{path.number:04d}-{file_name_of(path.scene)}", "type": record.category,
            "question": record.pair.question, "answer": record.pair.answer,
            "start_position": start["position"], "start_rotation": start["rotation"],
            "goal_position": goal["position"], "goal_rotation": goal["rotation"],
            "geodesic_distance": path.way_m, "step_length": len(path.actions), "actions": steps}


def _placed(pose: Pose2, z: float) -> dict[str, list[float]]:
    return {"position": list(position_to_habitat((pose.x, pose.y, z))),
            "rotation": list(rotation_to_habitat(pose.yaw))}


def _write_explora(file: Path, records: Sequence[QuestionAttempt], path_of: PathOf) -> None:
    if not records:
        write_json(file, [])
        return
    write_explora(file, [explora_sample(record, path_of(record.way)) for record in records])


def explora_sample(record: QuestionAttempt, path: ScenePath) -> Sample:
    """Return a question as the writer of ExploraQA's format takes it; map frame."""
    assert record.pair is not None
    views = [path.views[i] for i in record.viewpoints]
    places = tuple((*view.pose[:2], path.z) for view in views)
    return Sample(record.id, f"{path.instruction} {record.pair.question}", record.pair.answer, record.pair.alternatives,
                  record.category, path.scene, path.poses[0], places[0], len(path.actions), path.way_m,
                  viewpoints=places, start_height_m=path.z,
                  metadata={"instruction": path.instruction, "question": record.pair.question,
                            "viewpoint_yaws": [view.pose.yaw for view in views]})


WRITERS: dict[str, Callable[[Path, Sequence[QuestionAttempt], PathOf], None]] = {
    "express": _write_express, "exploraqa": _write_explora}
READERS: dict[str, Callable[[Path], list[Sample]]] = {"express": read_express, "exploraqa": read_explora}
