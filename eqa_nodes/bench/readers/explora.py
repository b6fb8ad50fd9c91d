"""ExploraQA: long paths by instruction, then a question whose answer is visible from any of several viewpoints.

The published files are not available to us: this is the format that the paper describes, with this project's own names.
A JSON list with one object per question:

    question_id, scene_id, category    texts; the category is one of KINDS
    instruction, question, answer      texts; the robot gets the first two
    start_position, start_rotation     Habitat axes: metres; w, x, y, z
    viewpoints                         [{position, rotation}], one or more: where the answer is visible
    geodesic_distance                  metres of the reference path, l of E_score and SPL
    step_length                        optional: its atomic actions
    extra_answers                      optional: texts that are equally right
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, questions, scan
from eqa_nodes.bench.samples import check_samples
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.geometry import position_to_habitat, rotation_to_habitat
from eqa_nodes.core.types.samples import Sample

SPLITS = (TRAIN, VALIDATION, SEEN, UNSEEN) = ("train", "validation", "test-seen", "test-unseen")
KINDS = {  # kinds of question in the tables of the paper -> their categories
    "object": ("object recognition", "state recognition", "style recognition"),
    "spatial": ("spatial localization", "spatial reasoning", "functional reasoning", "commonsense reasoning")}
_HOUSE = re.compile(r"house:(\d+)")
_HOUSES = ((range(900), TRAIN), (range(900, 1000), VALIDATION), (range(1000, 2000), UNSEEN))
_HELD_OUT = 12  # one of this many paths in scenes of the training is for the test: 778 of 10,597 questions in the paper


def split_of(scene: str, path: int) -> str:
    """Return the split of the questions about a path: by its house; one path of twelve in houses of training is held
    out. Scans count as scenes of training.
    """
    house = _HOUSE.match(scene)
    split = next((name for houses, name in _HOUSES if house and int(house[1]) in houses), TRAIN)
    held_out = split == TRAIN and zlib.crc32(f"{scene} {path}".encode()) % _HELD_OUT == 0
    return SEEN if held_out else split


def explora_file(folder: Path, split: str) -> Path:
    """Return the file of a split."""
    return folder / f"exploraqa-{split}.json"


def read_explora(file: Path) -> list[Sample]:
    """Read questions. Raises ConfigError for a missing file or an invalid record."""
    return [_sample(record) for record in questions(file, "question_id")]


def _sample(record: JsonRecord) -> Sample:
    views = record.records("viewpoints")
    if not views:
        record.refuse("viewpoints", "is empty: at least one place must show the answer")
    places = tuple(view.position("position") for view in views)
    return Sample(record.name("question_id"), record.text("question"), record.text("answer"),
                  record.texts("extra_answers"), record.text("category"),
                  scan("mp3d", record.text("scene_id")), record.pose("start_position", "start_rotation"), places[0],
                  record.count("step_length") if "step_length" in record else None,
                  record.length("geodesic_distance"), viewpoints=places,
                  start_height_m=record.position("start_position")[2],
                  instruction=record.text("instruction"),
                  metadata={"viewpoint_yaws": [view.pose("position", "rotation").yaw for view in views]})


def write_explora(file: Path, samples: Sequence[Sample]) -> None:
    """Write questions in the format of read_explora. Raises ConfigError for one that lacks a required field."""
    check_samples(samples)
    write_json(file, [_record(sample) for sample in samples])


def _record(sample: Sample) -> dict[str, Any]:
    facts = sample.metadata
    yaws, height = facts.get("viewpoint_yaws"), sample.start_height_m
    lacking = [name for name, there in (
        ("start", sample.start is not None), ("reference_metres", sample.reference_metres is not None),
        ("viewpoints", bool(sample.viewpoints)), ("instruction", bool(sample.instruction)),
        ("start_height_m", height is not None),
        ("metadata viewpoint_yaws", isinstance(yaws, list) and len(yaws) == len(sample.viewpoints))) if not there]
    if lacking or sample.start is None or not isinstance(yaws, list) or height is None:
        raise ConfigError(f"question {sample.id!r} cannot be written as ExploraQA: it has no {', '.join(lacking)}")
    x, y, yaw = sample.start
    views = [{"position": position_to_habitat(_in_space(place)), "rotation": rotation_to_habitat(float(turn))}
             for place, turn in zip(sample.viewpoints, yaws, strict=True)]
    return {"question_id": sample.id, "scene_id": sample.scene, "category": sample.category,
            "instruction": sample.instruction, "question": sample.question, "answer": sample.answer,
            "start_position": position_to_habitat((x, y, height)), "start_rotation": rotation_to_habitat(yaw),
            "viewpoints": views, "geodesic_distance": sample.reference_metres,
            **({} if sample.reference_steps is None else {"step_length": sample.reference_steps}),
            **({"extra_answers": list(sample.alternatives)} if sample.alternatives else {})}


def _in_space(place: Sequence[float]) -> tuple[float, float, float]:
    return place[0], place[1], place[2] if len(place) > 2 else 0.0


class ExploraReader:
    """ExploraQA; by default the split test-unseen."""

    traits = ReaderTraits(robot="exploraqa")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        split = options.split or "test-unseen"
        if split not in SPLITS:
            raise ConfigError(unknown("ExploraQA split", split, SPLITS))
        samples = read_explora(explora_file(options.files(), split))
        return [replace(sample, metadata={**sample.metadata, "split": split}) for sample in samples]
