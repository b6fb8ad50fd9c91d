"""NaVQA (ReMEmbR, Anwar et al., 2024): questions about long drives over a campus, over clips of CODa's recordings.

    eqa bench run --task em --dataset navqa --data remembr/data --histories CODA --agent multi-frame --out runs/navqa

DATA is the folder `data` of ReMEmbR's repository, with navqa/data.csv and navqa/SEQUENCE/qa_unfilled.json. Those files
say when an answer shows, and not where: places come from CODa's poses, as the mean over the three seconds around that
moment. Times of day in data.csv are Pacific standard time. CODA is CODa's own folder, with 2d_rect/cam0/SEQUENCE/
2d_rect_cam0_SEQUENCE_N.png, timestamps/SEQUENCE.txt (seconds, one a frame) and poses/dense/SEQUENCE.txt (seconds, x,
y, z, and w, x, y, z of the rotation); the environment variable CODA_ROOT_DIR or the folder DATA itself may hold its
poses. The images have poses and no depth here: agents that look at evenly spaced images can answer.
"""

from __future__ import annotations

import csv
import os
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import numpy as np

from eqa_nodes.bench.readers.options import ReaderOptions
from eqa_nodes.bench.readers.records import JsonRecord, load
from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError
from eqa_nodes.core.traits import HistoryTraits, ReaderTraits
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.samples import EM, Sample
from eqa_nodes.recordings.formats.pictures import ColourHistory, StoredPicture
from eqa_nodes.wire.image_files import read_bounded, read_rgb, text_of

KINDS = {"position": "position", "time": "time", "duration": "duration", "binary": "yes-no", "text": "text"}
_PACIFIC = timezone(timedelta(hours=-8))  # all sequences were recorded in January and February
_AROUND_S = 1.5  # of a moment
_NEAR_S = 0.5  # the pose of an image is the nearest, no farther in time
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d):([0-5]\d)", re.ASCII)
_IMAGE = re.compile(r"2d_rect_cam0_(\w+)_(\d+)\.(?:png|jpe?g)", re.ASCII)


class NavqaReader:
    """The questions."""

    traits = ReaderTraits(splits=False, task=EM, command="eqa bench run --task em --dataset navqa")

    def read(self, options: ReaderOptions) -> list[Sample]:
        """Return the samples of all sequences. Raises ConfigError naming what is missing."""
        folder, samples = options.files(), list[Sample]()
        table = folder / "navqa" / "data.csv"
        try:
            with table.open(newline="", encoding="utf-8-sig") as file:
                rows = {row["UUID"]: row for row in map(_named, csv.DictReader(file))}
        except (OSError, ValueError, KeyError, csv.Error) as error:
            raise ConfigError(f"{table} cannot be read ({error}): name the folder data of ReMEmbR's repository with "
                              "--data") from error
        for clips in sorted(table.parent.glob("*/qa_unfilled.json")):
            sequence, poses = clips.parent.name, _poses(folder, clips.parent.name)
            samples += [_sample(record, JsonRecord(rows.get(record.text("id")), str(table)), sequence, poses)
                        for record in JsonRecord(load(clips), str(clips)).records("data")]
        return samples


def _named(row: dict[str, str]) -> dict[str, str]:
    """Return a row whose columns are named without the line breaks of the file."""
    return {" ".join(str(name).split()): value for name, value in row.items()}


def _poses(folder: Path, sequence: str) -> np.ndarray:
    roots = [folder, *[Path(coda) for coda in [os.environ.get("CODA_ROOT_DIR")] if coda]]
    try:
        return read_table(next((r for r in roots if (r / "poses").is_dir()), folder) / f"poses/dense/{sequence}.txt", 8)
    except StorageError as error:
        raise ConfigError(f"{error}. Places of NaVQA come from it: set CODA_ROOT_DIR to CODa's folder") from error


def _sample(clip: JsonRecord, row: JsonRecord, sequence: str, poses: np.ndarray) -> Sample:
    """Return a question over a clip. NaVQA asks for times in minutes before the end."""
    kind, begin, end = row.text("Type (binary, position, time, text)").strip(), *map(clip.number, ("start_time",
                                                                                                    "end_time"))
    if kind not in KINDS:
        row.refuse("Type", f"must be one of {', '.join(KINDS)}, got {kind!r}")
    words, value = (str(row.data.get(name) or "").strip() for name in ("Text answer", "Parsable answer"))
    truth: object = None
    more: dict[str, object] = {}
    if kind == "position":
        truth = _place(poses, _moment(row, begin))
        words = str(truth)
    elif kind == "time":
        truth, more = round((end - _moment(row, begin)) / 60, 2), {"unit": "min", "ago": True}
        words = f"{truth} minutes ago"
    elif kind == "duration":
        truth, more = _minutes(row, value), {"unit": "min"}
        words = f"{value} minutes"
    elif kind == "binary":
        words = value
    if truth is not None:
        more |= {"truth": truth, "end_s": end - begin}
    asked = f"You are now at {_place(poses, end)} in metres of the map. {row.text('Question')}"
    return Sample(clip.text("id"), asked, words, category=kind, needs_exploration=False, metadata={
        "expects": KINDS[kind], "episode_history": f"2d_rect/cam0/{sequence}", "clip": [begin, end],
        "length_category": clip.text("length_category"), **more})


def _moment(row: JsonRecord, begin_s: float) -> float:
    """Return when the answer shows, seconds: a time of day on the day of the clip."""
    text = row.text("Timestamp with answer")
    if (found := _CLOCK.fullmatch(text.strip())) is None:
        row.refuse("Timestamp with answer", f"must be a time such as 7:59:00, got {text!r:.40}")
    hour, minute, second = map(int, found.groups())
    day = datetime.fromtimestamp(begin_s, _PACIFIC)
    return day.replace(hour=hour, minute=minute, second=second, microsecond=0).timestamp()


def _minutes(row: JsonRecord, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        row.refuse("Parsable answer", f"must be a number of minutes, got {text!r:.40}")


def _place(poses: np.ndarray, moment_s: float) -> list[float]:
    """Return the mean place around a moment, metres; where there is none, the nearest."""
    off = np.abs(poses[:, 0] - moment_s)
    near = off <= max(_AROUND_S, off.min())
    return [round(v, 2) for v in poses[near, 1:4].mean(0).tolist()]


class CodaFormat:
    """Sequences of CODa."""

    traits = HistoryTraits(looks_like="a sequence of CODa: its folder 2d_rect/cam0/SEQUENCE")

    @staticmethod
    def fits(path: Path) -> bool:
        """Return whether a path is the folder of a sequence."""
        return path.is_dir() and any(_IMAGE.fullmatch(p.name) for p in path.iterdir())

    @staticmethod
    def open(path: Path) -> ColourHistory:
        """Return its images with their poses. Raises StorageError naming what is missing."""
        root, name = path.resolve().parents[2], path.resolve().name
        stamps = read_table(root / "timestamps" / f"{name}.txt", 1)[:, 0]
        poses = read_table(root / "poses" / "dense" / f"{name}.txt", 8)
        files = sorted((int(found[2]), p) for p in path.iterdir() if (found := _IMAGE.fullmatch(p.name)))
        if files[-1][0] >= len(stamps):
            raise StorageError(f"{files[-1][1]} has no line in timestamps/{name}.txt")
        near = {n: int(np.abs(poses[:, 0] - stamps[n]).argmin()) for n, _ in files}
        return ColourHistory(name, tuple(
            PosedPicture(n, round(float(stamps[n]) * 1e9), p, tuple(poses[near[n], 1:].tolist())) for n, p in files
            if abs(poses[near[n], 0] - stamps[n]) <= _NEAR_S))


@dataclass(frozen=True)
class PosedPicture(StoredPicture):
    """An image with the pose of the robot's lidar in the map. pose: x, y, z and w, x, y, z of the rotation."""

    pose: tuple[float, ...]

    def rgb(self) -> np.ndarray:
        """As in StoredPicture."""
        return read_rgb(self.path)

    def map_from_base(self) -> Transform:
        """As in StoredPicture."""
        x, y, z, *rotation = self.pose
        if abs(float(np.linalg.norm(rotation)) - 1) > 1e-2:
            raise BadFrame(f"the pose of {self.path} is {self.pose}: expected x, y, z and a unit quaternion")
        qw, qx, qy, qz = (np.asarray(rotation) / np.linalg.norm(rotation)).tolist()
        return Transform((x, y, z), (qx, qy, qz, qw))


@cache
def read_table(path: Path, columns: int) -> np.ndarray:
    """Return (n, columns) finite numbers of a text file. Raises StorageError naming the file."""
    try:
        table = np.array(text_of(read_bounded(path, 1 << 26)).split(), np.float64).reshape(-1, columns)
    except (BadFrame, ValueError) as error:
        raise StorageError(f"{path}, a file of CODa, cannot be read as {columns} numbers a line: {error}") from error
    if not len(table) or not np.isfinite(table).all():
        raise StorageError(f"{path} holds no numbers, or some that are not finite")
    return table
