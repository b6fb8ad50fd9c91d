"""EXPRESS-Bench (Jiang et al., 2025): exploration-aware questions in scenes of HM3D."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, first_of, questions, scan
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.samples import EM, Sample

FRAMES_A_VIEW = 10  # k = floor(L / 10) views of a trajectory of L steps (section 5.1)
HISTORIES = "express-v1"  # prefix of the names of trajectories as histories


def read_express(file: Path, trajectories: bool = False, seed: int = 0) -> list[Sample]:
    """Read EXPRESS-Bench with its own field names (express-bench.json) or renamed ones (express-bench-slim.json).

    Reference metres: the geodesic distance; reference steps: the atomic actions of the recorded path, which the renamed
    file omits. trajectories: True, for EM-EQA = the metadata also have the trajectory as a history, with its poses
    after each action (Habitat axes: x, y, z, and w, x, y, z of the rotation) and the number of its views, drawn by the
    seed. Raises ConfigError for a missing file or an invalid record.
    """
    samples = []
    for record in questions(file, "question_id", "episode_id"):
        sample = _sample(record)
        if trajectories:
            sample = replace(sample, seed=seed, metadata={**sample.metadata, **_trajectory(record)})
        samples.append(sample)
    return samples


def _trajectory(record: JsonRecord) -> dict[str, object]:
    """Return the recorded path as a history. Raises ConfigError if the file omits it."""
    if not isinstance(record.data.get("actions"), dict):
        record.refuse("actions", "is missing: the task em replays the recorded trajectories, which express-bench.json "
                      "has as EXPRESS-Bench publishes it (the slim file has none)")
    steps = [JsonRecord(step, f"{record.where}: {name}") for name, step in record.get("actions").items()]
    if not steps:
        record.refuse("actions", "is empty: a trajectory has at least one step")
    poses = [[*step.numbers("position", 3), *step.numbers("rotation", 4)] for step in steps]
    return {"episode_history": f"{HISTORIES}/{record.text('episode_path')}",
            "views": max(1, len(steps) // FRAMES_A_VIEW),
            "path": [[round(v, 6) for v in pose] for pose in poses]}


def _sample(record: JsonRecord) -> Sample:
    own = "start_position" in record
    start, turn = ("start_position", "start_rotation") if own else ("position", "rotation")
    goal = record.position("goal_position")
    scene = scan("hm3d", record.text("scene_id" if own else "episode_history"))
    return Sample(record.name("episode_id" if own else "question_id"), record.text("question"), record.text("answer"),
                  category=record.text("type" if own else "category"),
                  scene=scene, start=record.pose(start, turn), start_height_m=record.position(start)[2], target=goal,
                  reference_steps=_steps(record), reference_metres=record.length("geodesic_distance"),
                  metadata={"episode_path": record.text("episode_path"), "trajectory_id": record.id("trajectory_id")})


def _steps(record: JsonRecord) -> int | None:
    """Return the number of atomic actions of the recorded path: those listed, else the stated number."""
    if "actions" in record:
        actions = record.get("actions")
        if not isinstance(actions, (dict, list)):
            record.refuse("actions", f"must hold one entry a step, got {actions!r:.60}")
        return len(actions)
    return record.count("step_length") if "step_length" in record else None


class ExpressReader:
    """EXPRESS-Bench, in either spelling."""

    traits = ReaderTraits(robot="express", splits=False)

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return read_express(first_of(options.files(), "express", "its questions with start and goal poses",
                                     "express-bench.json", "express-bench-slim.json"), options.task == EM, options.seed)
