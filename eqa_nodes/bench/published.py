"""Readers of the field's question files. Poses come out in the map frame; scenes are Habitat's, named by their id."""

from __future__ import annotations

import ast
import csv
import json
import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from eqa_nodes.bench.axes import pose_from_habitat, position_from_habitat
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.errors import BadPose, ConfigError
from eqa_nodes.core.geometry import Pose2, wrap

HABITAT = "habitat"
_LETTERS = "ABCD"


def read_openeqa(folder: Path, subset: str = "aeqa-184", starts: bool = True) -> list[Sample]:
    """Read OpenEQA: subset aeqa-184, aeqa-41 (with start poses), hm3d, scannet or all.

    Files: open-eqa-v0.json, and beside it aeqa_questions-{184,41}.json and openeqa-init-trajs.json where they are
    needed: starts False leaves out where a robot would begin, and needs the first of these files only (of the subsets
    of A-EQA also the second). The reference length is that of the recorded history: metres along it, and frames - 1 as
    a stand-in for timesteps. Raises ConfigError for a missing file, an unknown subset, or a record that does not fit.
    """
    if subset not in ("aeqa-184", "aeqa-41", "hm3d", "scannet", "all"):
        raise ConfigError(f"unknown OpenEQA subset {subset!r}: known are aeqa-184, aeqa-41, all, hm3d, scannet")
    records = _load(folder / "open-eqa-v0.json")
    if subset.startswith("aeqa"):
        chosen = {str(r["question_id"]): r for r in _load(folder / f"aeqa_questions-{subset[5:]}.json")}
        missing = sorted(chosen.keys() - {str(r["question_id"]) for r in records})
        if missing:
            raise ConfigError(f"questions of {subset} that open-eqa-v0.json does not have: {missing[:3]}")
        records = [{**r, **chosen[str(r["question_id"])], "episode_history": r["episode_history"]}
                   for r in records if str(r["question_id"]) in chosen]
    elif subset != "all":
        records = [r for r in records if str(r["episode_history"]).startswith(subset)]
    histories = {} if subset == "scannet" or not starts else _load(folder / "openeqa-init-trajs.json")
    return [_each(_openeqa, record, histories) for record in records]


def _openeqa(record: Mapping[str, Any], histories: Mapping[str, Any]) -> Sample:
    history = str(record["episode_history"])
    known = histories.get(history)
    start, floor, steps, metres, scene = None, None, None, None, history.rsplit("/", 1)[-1]
    if known is not None:
        position = record.get("position", known["init_pos"])
        start = pose_from_habitat(position, record.get("rotation", known["quat_wxyz"]))
        floor = position_from_habitat(position)[2]
        steps, metres = len(known["full_traj_pos"]) - 1, _length(known["full_traj_pos"])
        scene = str(known["scene_id"]).split("/", 1)[0]
    return Sample(str(record["question_id"]), record["question"], record["answer"],
                  tuple(record.get("extra_answers") or ()), record["category"], scene, start,
                  reference_steps=steps, reference_metres=metres, simulator=HABITAT,
                  metadata={"episode_history": history, "start_height_m": floor})


def read_hm_eqa(folder: Path) -> list[Sample]:
    """Read HM-EQA: hm-eqa-questions.csv and hm-eqa-scene_init_poses.csv. Raises ConfigError.

    The options "(Do not choose this option)" stay, so that A..D mean the same as upstream. The data set has no ids:
    the row number serves, and no reference paths.
    """
    poses = {row["scene_floor"]: row for row in _rows(folder / "hm-eqa-scene_init_poses.csv")}
    return [_each(_hm_eqa, {**row, "question_id": str(number)}, poses)
            for number, row in enumerate(_rows(folder / "hm-eqa-questions.csv"))]


def _hm_eqa(row: Mapping[str, str], poses: Mapping[str, Mapping[str, str]]) -> Sample:
    choices = ast.literal_eval(row["choices"])
    if len(choices) != len(_LETTERS) or row["answer"] not in _LETTERS:
        raise ValueError(f"needs options A..D and one of them as the answer, got {choices} and {row['answer']!r}")
    right = choices[_LETTERS.index(row["answer"])]
    if choices.count(right) != 1:
        raise ValueError(f"the right option {right!r} stands more than once in {choices}")
    pose = poses[f"{row['scene']}_{row['floor']}"]
    x, y, z = position_from_habitat([float(pose[f"init_{axis}"]) for axis in "xyz"])
    return Sample(f"hm-eqa-{int(row['question_id']):03d}", row["question"], right,
                  category=row["label"], scene=row["scene"], start=Pose2(x, y, wrap(float(pose["init_angle"]))),
                  choices=tuple(choices), simulator=HABITAT,
                  metadata={"floor": int(row["floor"]), "start_height_m": z, "label": row["answer"]})


def read_express(file: Path) -> list[Sample]:
    """Read EXPRESS-Bench in its own spelling (express-bench.json) or the renamed one (express-bench-slim.json).

    Raises ConfigError for a missing file or a record that does not fit.
    """
    return [_each(_express, record, None) for record in _load(file)]


def _express(record: Mapping[str, Any], _: None) -> Sample:
    own = "start_position" in record
    start, turn = ("start_position", "start_rotation") if own else ("position", "rotation")
    goal = position_from_habitat(record["goal_position"])
    scene = str(record["scene_id" if own else "episode_history"]).rsplit("/", 1)[-1]
    steps = record.get("step_length", len(record["actions"]) if "actions" in record else None)
    metres = float(record["geodesic_distance"])
    if not (math.isfinite(metres) and metres >= 0):
        raise ValueError(f"geodesic_distance must be finite and >= 0, got {metres}")
    return Sample(str(record["episode_id" if own else "question_id"]), record["question"], record["answer"],
                  category=record["type" if own else "category"], scene=scene,
                  start=pose_from_habitat(record[start], record[turn]), target=goal[:2],
                  reference_steps=steps, reference_metres=metres, simulator=HABITAT,
                  metadata={"episode_path": record["episode_path"], "trajectory_id": record["trajectory_id"],
                            "start_height_m": position_from_habitat(record[start])[2], "target_height_m": goal[2]})


def _each(reader: Any, record: Mapping[str, Any], context: Any) -> Sample:
    """Read one record; says which one when it does not fit."""
    try:
        sample: Sample = reader(record, context)
    except (KeyError, ValueError, TypeError, SyntaxError, BadPose) as error:
        name = record.get("question_id", record.get("episode_id", "?"))
        raise ConfigError(f"question {name!r} cannot be read: {type(error).__name__}: {error}") from error
    return sample


def _length(positions: list[list[float]]) -> float:
    """Return the length in metres of a path of (x, y, z) positions."""
    return math.fsum(math.dist(a, b) for a, b in pairwise(positions))


def _load(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the data set file {file}: {error}") from error


def _rows(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the data set file {file}: {error}") from error
