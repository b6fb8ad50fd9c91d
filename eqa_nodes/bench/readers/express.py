"""EXPRESS-Bench (Jiang et al., 2025): exploration-aware questions in scenes of HM3D."""

from __future__ import annotations

from pathlib import Path

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, first_of, questions, scan
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.traits import ReaderTraits


def read_express(file: Path) -> list[Sample]:
    """Read EXPRESS-Bench in its own spelling (express-bench.json) or the renamed one (express-bench-slim.json).

    Reference metres: the geodesic distance; reference steps: the atomic actions of the recorded path, which the renamed
    file leaves out. Raises ConfigError for a missing file or a record that does not fit.
    """
    return [_sample(record) for record in questions(file, "question_id", "episode_id")]


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
    """Return how many atomic actions the recorded path has: those listed, else their stated number."""
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
                                     "express-bench.json", "express-bench-slim.json"))
