"""OpenEQA (Majumdar et al., CVPR 2024): questions about episode histories (EM-EQA) and in their scenes (A-EQA)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eqa_nodes.bench.judges.official import EXTRA_ANSWERS
from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, load, path_length, questions, scan
from eqa_nodes.bench.samples import EM, Sample
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.traits import ReaderTraits

SUBSETS = {"aeqa-557": "hm3d", "aeqa-184": "", "aeqa-41": "", "hm3d": "hm3d", "scannet": "scannet", "all": ""}
FLOOR_CHANGE_M = 0.75  # a history whose camera rises or falls by more has been on two floors; a few steps are less


def read_openeqa(folder: Path, subset: str = "aeqa-184", starts: bool = True) -> list[Sample]:
    """Read OpenEQA. subset: aeqa-557 (= hm3d), aeqa-184, aeqa-41, scannet or all.

    Files: open-eqa-v0.json, and beside it aeqa_questions-{184,41}.json and openeqa-init-trajs.json where they are
    needed: starts False leaves out where a robot would begin, and needs the first of these files only (of the subsets
    of A-EQA also the second). The reference length is that of the recorded history: metres along it, and frames - 1 as
    a stand-in for timesteps (metadata "reference_steps_are"); metadata "multi_floor": whether it changes floor. Raises
    ConfigError for a missing file, an unknown subset, or a record that does not fit.
    """
    if subset not in SUBSETS:
        raise ConfigError(unknown("OpenEQA subset", subset, SUBSETS))
    records = questions(folder / "open-eqa-v0.json", "question_id")
    chosen: dict[str, JsonRecord] = {}
    if subset in ("aeqa-184", "aeqa-41"):
        chosen = {r.name("question_id"): r
                  for r in questions(folder / f"aeqa_questions-{subset[5:]}.json", "question_id")}
        missing = sorted(chosen.keys() - {r.name("question_id") for r in records})
        if missing:
            raise ConfigError(f"questions of {subset} that open-eqa-v0.json does not have: {missing[:3]}")
        records = [r for r in records if r.name("question_id") in chosen]
    elif SUBSETS[subset]:
        records = [r for r in records if r.text("episode_history").startswith(SUBSETS[subset])]
    histories = load(folder / "openeqa-init-trajs.json") if starts and subset != "scannet" else {}
    if not isinstance(histories, dict):
        raise ConfigError(f"openeqa-init-trajs.json must hold an object by history, not {histories!r:.60}")
    return [_sample(record, chosen.get(record.name("question_id"), record), histories) for record in records]


def _sample(record: JsonRecord, start_of: JsonRecord, histories: Mapping[str, Any]) -> Sample:
    history = record.text("episode_history")
    known = JsonRecord(histories[history], f"history {history!r}") if history in histories else None
    placed: dict[str, Any] = {"scene": history.rsplit("/", 1)[-1]}
    metadata: dict[str, object] = {"episode_history": history}
    if EXTRA_ANSWERS in record and len(record.texts(EXTRA_ANSWERS)) < len(published := record.get(EXTRA_ANSWERS)):
        metadata[EXTRA_ANSWERS] = published  # its own scorer shows the empty ones, too
    if known is not None:
        path = known.path("full_traj_pos")
        begin = (start_of, "position", "rotation") if "position" in start_of else (known, "init_pos", "quat_wxyz")
        placed = {"scene": scan("hm3d", known.text("scene_id").split("/", 1)[0]), "start": begin[0].pose(*begin[1:]),
                  "start_height_m": begin[0].position(begin[1])[2],
                  "reference_steps": len(path) - 1, "reference_metres": path_length(path)}
        heights = [y for _, y, _ in path]
        metadata |= {"reference_steps_are": "frames - 1",
                     "multi_floor": max(heights) - min(heights) > FLOOR_CHANGE_M}
    return Sample(record.name("question_id"), record.text("question"), record.text("answer"),
                  record.texts(EXTRA_ANSWERS), record.text("category"), metadata=metadata, **placed)


class OpenEqaReader:
    """OpenEQA; split: a subset, by default aeqa-184 where a robot explores and all for EM-EQA."""

    traits = ReaderTraits(robot="openeqa")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        em = options.task == EM
        return read_openeqa(options.files(), options.split or ("all" if em else "aeqa-184"), starts=not em)
