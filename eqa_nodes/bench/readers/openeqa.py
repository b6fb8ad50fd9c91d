"""OpenEQA (Majumdar et al., CVPR 2024): questions about episode histories (EM-EQA) and in their scenes (A-EQA)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eqa_nodes.bench.judges.official import EXTRA_ANSWERS
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, first_of, load, path_length, questions, scan
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.core.types.samples import EM, Sample

SUBSETS = {"aeqa-557": "hm3d", "aeqa-184": "", "aeqa-41": "", "hm3d": "hm3d", "scannet": "scannet", "all": ""}
_COUNTED = {"aeqa-184": 184, "aeqa-41": 41}
QUESTIONS, IDS, PATHS = "open-eqa-v0.json", "open-eqa-v0-184-questions.json", "openeqa-init-trajs.json"
FLOOR_CHANGE_M = 0.75  # a larger height range of the camera means two floors; a few steps are less


def read_openeqa(folder: Path, subset: str = "aeqa-184", starts: bool = True) -> list[Sample]:
    """Read OpenEQA. subset: aeqa-557 (= hm3d), aeqa-184, aeqa-41, scannet or all.

    Files, with their published names: open-eqa-v0.json; for the subsets of A-EQA 3D-Mem's
    aeqa_questions-{184,41}.json or OpenEQA's list open-eqa-v0-184-questions.json; openeqa-init-trajs.json. 3D-Mem's
    files alone are sufficient for their subsets; metadata "extra_answers_are" then states that these are unknown. The
    start is 3D-Mem's pose, else that of the history; starts=False omits it. The reference length is that of
    the recorded history: metres along it, and frames - 1 in place of timesteps (metadata "reference_steps_are");
    metadata "multi_floor": whether it changes floor. Without openeqa-init-trajs.json they are unknown. Raises
    ConfigError for a missing file, an unknown subset, or an invalid record.
    """
    if subset not in SUBSETS:
        raise ConfigError(unknown("OpenEQA subset", subset, SUBSETS))
    records, placed = _chosen(folder, subset, alone=starts)
    histories = _histories(folder, placed) if starts and subset != "scannet" else {}
    return [_sample(r, placed.get(r.name("question_id"), r), histories, starts) for r in records]


def _chosen(folder: Path, subset: str, alone: bool) -> tuple[list[JsonRecord], dict[str, JsonRecord]]:
    """Return the records of a subset, and 3D-Mem's records with start poses by question id, if its file exists.

    alone: whether 3D-Mem's file is sufficient; it is not for histories, which it names by their scene.
    """
    placed: dict[str, JsonRecord] = {}
    wanted: set[str] | None = None
    if count := _COUNTED.get(subset):
        own = (IDS,) if subset == "aeqa-184" else ()
        chosen = first_of(folder, "openeqa", f"the questions of {subset} (beside {QUESTIONS})",
                          f"aeqa_questions-{count}.json", *own)
        if chosen.name == IDS:
            wanted = set(_ids(chosen))
        else:
            placed = {r.name("question_id"): r for r in questions(chosen, "question_id")}
            wanted = set(placed)
            if alone and not (folder / QUESTIONS).is_file():
                return list(placed.values()), placed
    records = questions(first_of(folder, "openeqa", "its questions", QUESTIONS), "question_id")
    if wanted is None:
        return [r for r in records if r.text("episode_history").startswith(SUBSETS[subset])], placed
    if missing := sorted(wanted - {r.name("question_id") for r in records}):
        raise ConfigError(f"questions of {subset} that {QUESTIONS} does not have: {missing[:3]}")
    return [r for r in records if r.name("question_id") in wanted], placed


def _ids(file: Path) -> list[str]:
    ids = load(file)
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise ConfigError(f"{file} must hold a list of question ids, not {ids!r:.60}")
    return ids


def _histories(folder: Path, placed: Mapping[str, JsonRecord]) -> Mapping[str, Any]:
    """Return the recorded paths by history; none if 3D-Mem's poses define the starts."""
    if placed and not (folder / PATHS).is_file():
        return {}
    histories = load(first_of(folder, "openeqa", "where a robot begins (or, for aeqa-184 and aeqa-41, 3D-Mem's "
                                                 "aeqa_questions-184.json and -41.json)", PATHS))
    if not isinstance(histories, dict):
        raise ConfigError(f"{PATHS} must hold an object by history, not {histories!r:.60}")
    return histories


def _sample(record: JsonRecord, start_of: JsonRecord, histories: Mapping[str, Any], starts: bool) -> Sample:
    history = record.text("episode_history")
    known = JsonRecord(histories[history], f"history {history!r}") if history in histories else None
    scene = history.rsplit("/", 1)[-1]
    placed: dict[str, Any] = {"scene": scene}
    metadata: dict[str, object] = {"episode_history": history}
    if EXTRA_ANSWERS in record and len(record.texts(EXTRA_ANSWERS)) < len(published := record.get(EXTRA_ANSWERS)):
        metadata[EXTRA_ANSWERS] = published  # OpenEQA's scorer shows empty ones, too
    if "position" in record:
        metadata["extra_answers_are"] = f"unknown: {QUESTIONS} is not there"
    if starts and "position" in start_of:  # 3D-Mem names a history by its scene
        if known is None:
            placed["scene"] = scan("hm3d", start_of.text("episode_history"))
        placed |= _start(start_of, "position", "rotation")
    if known is not None:
        path = known.path("full_traj_pos")
        placed = {"scene": scan("hm3d", known.text("scene_id").split("/", 1)[0]),
                  **_start(known, "init_pos", "quat_wxyz"), **{k: v for k, v in placed.items() if k != "scene"},
                  "reference_steps": len(path) - 1, "reference_metres": path_length(path)}
        heights = [y for _, y, _ in path]
        metadata |= {"reference_steps_are": "frames - 1",
                     "multi_floor": max(heights) - min(heights) > FLOOR_CHANGE_M}
    return Sample(record.name("question_id"), record.text("question"), record.text("answer"),
                  record.texts(EXTRA_ANSWERS), record.text("category"), metadata=metadata, **placed)


def _start(record: JsonRecord, position: str, rotation: str) -> dict[str, Any]:
    return {"start": record.pose(position, rotation), "start_height_m": record.position(position)[2]}


class OpenEqaReader:
    """OpenEQA; split: a subset, by default aeqa-184 for exploration and all for EM-EQA."""

    traits = ReaderTraits(robot="openeqa")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        em = options.task == EM
        return read_openeqa(options.files(), options.split or ("all" if em else "aeqa-184"), starts=not em)
