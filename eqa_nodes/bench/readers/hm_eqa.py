"""HM-EQA (Ren et al., RSS 2024): multiple choice in scenes of HM3D."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from pathlib import Path

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, first_of, load, rows, scan
from eqa_nodes.core.errors import ConfigError, UnknownScene
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.geometry import Pose2, position_from_habitat, wrap
from eqa_nodes.core.types.samples import ALLOWED_POSES, Sample
from sim_bridge.scans import find_scan, read_box

LETTERS = "ABCD"
AREAS = "hm-eqa-areas.json"  # {"<scene>_<floor>": square metres}; not published


def allowed_steps(area_m2: float) -> int:
    """Return the maximum number of poses of an episode in a scene of this area, int(3 * sqrt(area)), as published.

    area_m2: horizontal area of the bounding box of its navigation mesh, all floors together, m².
    """
    return int(3 * math.sqrt(area_m2))


def read_hm_eqa(folder: Path) -> list[Sample]:
    """Read HM-EQA: questions.csv and scene_init_poses.csv, or both with the prefix hm-eqa-. Raises ConfigError.

    The options "(Do not choose this option)" are kept, so that A..D mean the same as upstream. The data set has no ids
    (the row number is used) and no reference paths. Metadata "allowed_steps" is the maximum number of poses of an
    episode and the divisor of normalised steps; it is known if hm-eqa-areas.json has the area or EQA_SCENES the
    navigation mesh of the scene.
    """
    poses_file = first_of(folder, "hm-eqa", "the start poses of its scenes", *_both("scene_init_poses.csv"))
    questions_file = first_of(folder, "hm-eqa", "its questions", *_both("questions.csv"))
    poses = {row.text("scene_floor"): row for row in rows(poses_file)}
    areas = JsonRecord(load(folder / AREAS), AREAS) if (folder / AREAS).exists() else None
    asked = list(rows(questions_file))
    boxes = {scene: scene_area(scene) for scene in dict.fromkeys(row.text("scene") for row in asked)}
    return [_sample(number, row, poses, areas, boxes) for number, row in enumerate(asked)]


def _both(name: str) -> tuple[str, str]:
    """Return the name of a file with the data set's prefix, which has priority in a shared folder, and without it."""
    return f"hm-eqa-{name}", name


def _sample(number: int, row: JsonRecord, poses: Mapping[str, JsonRecord], areas: JsonRecord | None,
            boxes: Mapping[str, float | None]) -> Sample:
    choices, letter = _choices(row), row.text("answer")
    if letter not in LETTERS or len(letter) != 1:
        row.refuse("answer", f"must be one of the options A..D, got {letter!r}")
    right = choices[LETTERS.index(letter)]
    if choices.count(right) != 1:
        row.refuse("choices", f"holds the right option {right!r} more than once: {choices}")
    floor = _figure(row, "floor")
    place = f"{row.text('scene')}_{row.text('floor')}"
    if place not in poses:
        row.refuse("scene", f"and floor have no start pose: {place!r} is not in scene_init_poses.csv")
    x, y, z = position_from_habitat([_figure(poses[place], f"init_{axis}") for axis in "xyz"])
    area = areas.length(place) if areas is not None and place in areas else boxes[row.text("scene")]
    allowed = {} if area is None else {ALLOWED_POSES: allowed_steps(area)}
    return Sample(f"hm-eqa-{number:03d}", row.text("question"), right, category=row.text("label"),
                  scene=scan("hm3d", row.text("scene")), start=Pose2(x, y, wrap(_figure(poses[place], "init_angle"))),
                  start_height_m=z, choices=choices, metadata={"floor": int(floor), "label": letter, **allowed})


def scene_area(scene: str) -> float | None:
    """Return the horizontal area of the bounding box of a scene's navigation mesh, m²; None without a mesh.

    Raises ConfigError for a file that is not a navigation mesh.
    """
    try:
        file = find_scan(f"hm3d/{scene}").navmesh
        return None if file is None else read_box(file).plan_m2
    except UnknownScene:
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"the area of the scene {scene}: {error}") from error


def _choices(row: JsonRecord) -> tuple[str, ...]:
    try:
        choices = ast.literal_eval(row.text("choices")[:10_000])  # deeper nesting could exhaust the parser
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        choices = None
    if not isinstance(choices, list) or len(choices) != len(LETTERS) or not all(isinstance(c, str) for c in choices):
        row.refuse("choices", f"must be a list of four texts, got {row.get('choices')!r:.60}")
    return tuple(choices)


def _figure(row: JsonRecord, field: str) -> float:
    """Parse the number in a cell. Raises ConfigError."""
    try:
        value = float(row.text(field))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        row.refuse(field, f"must be a finite number, got {row.get(field)!r:.60}")
    return value


class HmEqaReader:
    """HM-EQA."""

    traits = ReaderTraits(robot="hm-eqa", splits=False, limits_poses=True)

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return read_hm_eqa(options.files())
