"""NaVQA (ReMEmbR, Anwar et al., 2024): questions about long drives over a campus, recorded in CODa.

Read are the files of ReMEmbR's folder data: questions/SEQUENCE/human_qa.json where its form_question_jsons.py has made
them, else navqa/data.csv and navqa/SEQUENCE/qa_unfilled.json as they are published. The latter say when the answer
shows and not where, so that places come from CODa's poses/dense/SEQUENCE.txt: the mean over the three seconds around
that moment, as long as a caption of ReMEmbR's. Times in data.csv are those of Pacific standard time.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import numpy as np

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, load
from eqa_nodes.bench.samples import EM, Sample
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.traits import ReaderTraits
from eqa_nodes.recordings.formats.coda import read_poses

SEQUENCES = ("0", "3", "4", "6", "16", "21", "22")
KINDS = {"position": "position", "time": "time", "duration": "duration", "binary": "yes-no", "text": "text"}
CODA_VARIABLE = "CODA_ROOT_DIR"  # as ReMEmbR's scripts have it
_PACIFIC = timezone(timedelta(hours=-8))  # all sequences were recorded in January and February
_AROUND_S = 1.5
_CLOCK = re.compile(r"(\d{1,2}):(\d\d):(\d\d)")
_AT = re.compile(r"located at (\[[^]]*\])")
_COLUMNS = {"id": "UUID", "question": "Question", "when": "Timestamp with answer",
            "kind": "Type (binary, position, time, text)", "words": "Text answer", "value": "Parsable answer",
            "category": "Question Category"}
Poses = Callable[[str], np.ndarray]  # of a sequence, as read_poses


def read_navqa(folder: Path) -> list[Sample]:
    """Read the questions of all sequences that are there. Raises ConfigError naming what is missing."""
    made = [(s, f) for s in SEQUENCES if (f := folder / "questions" / s / "human_qa.json").is_file()]
    if made:
        return [_made(record, sequence) for sequence, file in made for record in _records(file)]
    home = next((h for h in (folder, folder / "navqa") if (h / "data.csv").is_file()), None)
    if home is None:
        raise ConfigError(f"cannot read the data set 'navqa': put the folder data of the repository of ReMEmbR, with "
                          f"navqa/data.csv and navqa/0/qa_unfilled.json, or questions/0/human_qa.json, into {folder}, "
                          "or name its folder with --data")
    rows = dict(_rows(home / "data.csv"))
    poses = cache(lambda sequence: _poses(folder, sequence))
    return [_unfilled(record, sequence, rows, poses) for sequence in SEQUENCES
            if (file := home / sequence / "qa_unfilled.json").is_file() for record in _records(file)]


def _records(file: Path) -> list[JsonRecord]:
    return JsonRecord(load(file), str(file)).records("data")


def _rows(file: Path) -> Iterator[tuple[str, JsonRecord]]:
    """Yield the rows of data.csv by id; names of columns have line breaks as published."""
    try:
        rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"), newline="")))
    except (OSError, ValueError, csv.Error) as error:
        raise ConfigError(f"cannot read the data set file {file}: {error}") from error
    for number, row in enumerate(rows):
        named = {" ".join(str(name).split()): value for name, value in row.items()}
        record = JsonRecord(named, f"row {number} of {file.name}")
        yield record.text(_COLUMNS["id"]), record


def _poses(folder: Path, sequence: str) -> np.ndarray:
    """Return the poses of a sequence from the data folder or CODa's own. Raises ConfigError."""
    coda = os.environ.get(CODA_VARIABLE)
    for root in (folder, *([Path(coda)] if coda else [])):
        if (root / "poses").is_dir():
            try:
                return read_poses(root, sequence)
            except StorageError as error:
                raise ConfigError(f"the places of navqa's sequence {sequence}: {error}") from error
    raise ConfigError(f"navqa's published files do not say where things are: put poses/dense/{sequence}.txt of CODa "
                      f"into {folder}, set {CODA_VARIABLE} to CODa's folder, or make questions/{sequence}/"
                      "human_qa.json with ReMEmbR's form_question_jsons.py")


def _made(record: JsonRecord, sequence: str) -> Sample:
    """Return a question of human_qa.json. The preamble is left out but for the place where the robot is."""
    asked, kind = record.text("question"), _kind(record, "type")
    answers = JsonRecord(record.get("answers"), record.where)
    at = _AT.search(asked)
    words = answers.data.get("text")
    said = [str(w) for w in words] if isinstance(words, list) and words else []
    truth: object = answers.data.get(kind) if kind in ("position", "time", "duration") else None
    return _sample(record, sequence, asked.rpartition("\n")[2].strip(), kind, said[-1] if said else str(truth), truth,
                   at[1] if at else "", "")


def _unfilled(record: JsonRecord, sequence: str, rows: dict[str, JsonRecord], poses: Poses) -> Sample:
    """Return a question of data.csv over a clip of qa_unfilled.json."""
    row = rows.get(record.text("id"))
    if row is None:
        record.refuse("id", f"is not in data.csv: {record.text('id')}")
    kind, end_s = _kind(row, _COLUMNS["kind"]), record.number("end_time")
    value = str(row.data.get(_COLUMNS["value"]) or "").strip()
    truth: object = None
    if kind == "position":
        place = _place(poses(sequence), _moment(row, record))
        truth, words = [round(v, 2) for v in place], str([round(v, 2) for v in place])
    elif kind == "time":
        truth = round((end_s - _moment(row, record)) / 60, 2)
        words = f"{truth} minutes ago"
    elif kind == "duration":
        truth = _figure(row, value)
        words = f"{value} minutes"
    else:
        words = value if kind == "binary" else row.text(_COLUMNS["words"])
    here = _place(poses(sequence), end_s)
    return _sample(record, sequence, row.text(_COLUMNS["question"]), kind, words, truth,
                   str([round(v, 2) for v in here]), str(row.data.get(_COLUMNS["category"]) or ""))


def _sample(record: JsonRecord, sequence: str, question: str, kind: str, answer: str, truth: object, here: str,
            category: str) -> Sample:
    clip = [record.number("start_time"), record.number("end_time")]
    told = f"You are now at {here} in metres of the map. {question}" if here else question
    measured = {} if truth is None else {"truth": truth, "end_s": clip[1] - clip[0]}
    minutes = {"unit": "min", "ago": True} if kind == "time" else {"unit": "min"} if kind == "duration" else {}
    return Sample(record.text("id"), told, answer, category=kind, needs_exploration=False,
                  metadata={"expects": KINDS[kind], "episode_history": f"coda-v0/{sequence}", "clip": clip,
                            "length_category": record.text("length_category"), "theme": category, **measured,
                            **minutes})


def _kind(record: JsonRecord, field: str) -> str:
    kind = record.text(field).strip()
    if kind not in KINDS:
        record.refuse(field, f"must be one of {', '.join(KINDS)}, got {kind!r}")
    return kind


def _moment(row: JsonRecord, clip: JsonRecord) -> float:
    """Return when the answer shows, seconds: a time of day on the day of the clip."""
    text = row.text(_COLUMNS["when"])
    found = _CLOCK.fullmatch(text.strip())
    hours, minutes, seconds = map(int, found.groups()) if found else (99, 0, 0)
    day = datetime.fromtimestamp(clip.number("start_time"), _PACIFIC)
    if hours > 23 or minutes > 59 or seconds > 59:
        row.refuse(_COLUMNS["when"], f"must be a time such as 7:59:00, got {text!r:.40}")
    return day.replace(hour=hours, minute=minutes, second=seconds, microsecond=0).timestamp()


def _place(poses: np.ndarray, moment_s: float) -> list[float]:
    """Return the mean place over the three seconds around a moment, metres; where there is none, the nearest."""
    near = np.abs(poses[:, 0] - moment_s) <= _AROUND_S
    place: list[float] = (poses[near, 1:4].mean(0) if near.any()
                          else poses[np.abs(poses[:, 0] - moment_s).argmin(), 1:4]).tolist()
    return place


def _figure(row: JsonRecord, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        row.refuse(_COLUMNS["value"], f"must be a number of minutes, got {text!r:.40}")
    return value


class NavqaReader:
    """NaVQA."""

    traits = ReaderTraits(splits=False, task=EM, command="eqa bench run --task em --dataset navqa")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples. Raises ConfigError."""
        return read_navqa(options.files())
