"""Records of question files. Every field is checked when it is read; errors name record and field."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from eqa_nodes.core.errors import BadPose, ConfigError
from eqa_nodes.core.types.geometry import Pose2, pose_from_habitat, position_from_habitat

_OWN_NAME = re.compile(r"(?:^|/)([^/:]+:.*)", re.DOTALL)  # a simulator and its scene, perhaps after a folder


def scan(dataset: str, scene: str) -> str:
    """Return the simulators' name of a scanned scene: "habitat:hm3d/00006-HkseAnWCgqk".

    scene: its id, with or without leading folders. A name of this project ("house:3", "mesh:/data/flat.glb") is
    unchanged.
    """
    own = _OWN_NAME.search(scene)
    return own[1] if own else f"habitat:{dataset}/{scene.rsplit('/', 1)[-1]}"


class JsonRecord:
    """One JSON object. Every getter raises ConfigError that names record and field."""

    def __init__(self, data: object, where: str) -> None:
        """where: name of the record in errors, such as "question '7'"."""
        if not isinstance(data, dict):
            raise ConfigError(f"{where} cannot be read: expected an object with named fields, got {data!r:.60}")
        self.data, self.where = data, where

    def __contains__(self, field: str) -> bool:
        return self.data.get(field) is not None

    def refuse(self, field: str, why: str) -> NoReturn:
        """Raise ConfigError about a field."""
        raise ConfigError(f"{self.where} cannot be read: field {field!r} {why}")

    def get(self, field: str) -> Any:
        """Return the field unchanged; null counts as missing."""
        if self.data.get(field) is None:
            self.refuse(field, "is missing")
        return self.data[field]

    def text(self, field: str) -> str:
        """Return a non-empty text."""
        value = self.get(field)
        if not isinstance(value, str) or not value.strip():
            self.refuse(field, f"must be a text that is not empty, got {value!r:.60}")
        return value

    def name(self, field: str) -> str:
        """Return a text or an integer as text, because ids may be either."""
        value = self.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text(field)

    def id(self, field: str) -> int | str:
        """Return a text or an integer unchanged."""
        self.name(field)
        value: int | str = self.get(field)
        return value

    def number(self, field: str) -> float:
        """Return a finite number."""
        value = self.get(field)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not _finite(value):
            self.refuse(field, f"must be a finite number, got {value!r:.60}")
        return float(value)

    def length(self, field: str) -> float:
        """Return a length in metres: finite, >= 0."""
        value = self.number(field)
        if value < 0:
            self.refuse(field, f"must be >= 0 metres, got {value}")
        return value

    def count(self, field: str) -> int:
        """Return an integer >= 0."""
        value = self.number(field)
        if value < 0 or value != int(value):
            self.refuse(field, f"must be a whole number >= 0, got {value}")
        return int(value)

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts, empty if absent; empty texts, which OpenEQA's file contains, are left out."""
        if field not in self:
            return ()
        value = self.get(field)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.refuse(field, f"must be a list of texts, got {value!r:.60}")
        return tuple(item for item in value if item.strip())

    def records(self, field: str) -> list[JsonRecord]:
        """Return a list of objects."""
        value = self.get(field)
        if not isinstance(value, list):
            self.refuse(field, f"must be a list, got {value!r:.60}")
        return [JsonRecord(item, f"{self.where}: {field}[{i}]") for i, item in enumerate(value)]

    def numbers(self, field: str, count: int) -> tuple[float, ...]:
        """Return a list of `count` finite numbers."""
        value = self.get(field)
        if not isinstance(value, list) or not _vector(value, count):
            self.refuse(field, f"must be {count} finite numbers, got {value!r:.60}")
        return tuple(float(v) for v in value)

    def position(self, field: str) -> tuple[float, float, float]:
        """Convert a Habitat position to the map frame, metres."""
        return position_from_habitat(self.numbers(field, 3))

    def pose(self, position: str, rotation: str) -> Pose2:
        """Convert a Habitat position and rotation (w, x, y, z) to a floor pose in the map frame."""
        try:
            return pose_from_habitat(self.numbers(position, 3), self.numbers(rotation, 4))
        except BadPose as error:
            self.refuse(rotation, str(error))

    def path(self, field: str) -> list[tuple[float, ...]]:
        """Return a list of one or more Habitat positions unchanged, metres."""
        value = self.get(field)
        if not isinstance(value, list) or not value or not all(isinstance(p, list) and _vector(p, 3) for p in value):
            self.refuse(field, f"must be a list of positions, three finite numbers each, got {value!r:.60}")
        return [tuple(float(v) for v in p) for p in value]


def questions(file: Path, *ids: str) -> list[JsonRecord]:
    """Return the records of a JSON list, each named by the first of the id fields that it has."""
    data = load(file)
    if not isinstance(data, list):
        raise ConfigError(f"the data set file {file} must hold a list of questions, not {data!r:.60}")
    return [JsonRecord(item, f"question {_id_of(item, ids)} of {file.name}") for item in data]


def _id_of(item: object, ids: Sequence[str]) -> str:
    known = [item[name] for name in ids if item.get(name) is not None] if isinstance(item, dict) else []
    return repr(str(known[0])) if known else "without an id"


def path_length(positions: Sequence[Sequence[float]]) -> float:
    """Return the length in metres of a path of positions."""
    return math.fsum(math.dist(a, b) for a, b in pairwise(positions))


def first_of(folder: Path, dataset: str, content: str, *names: str) -> Path:
    """Return the first of these files that exists. content: what they contain, for the ConfigError that names all."""
    there = [folder / name for name in names if (folder / name).is_file()]
    if not there:
        raise ConfigError(f"cannot read the data set {dataset!r}: it needs {content}: put "
                          f"{' or '.join(names)}, as it is published, into {folder}, or name its folder with --data")
    return there[0]


def load(file: Path) -> Any:
    """Return the parsed JSON of a file. Raises ConfigError."""
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read the data set file {file}: {error}") from error


def rows(file: Path) -> list[JsonRecord]:
    """Return the rows of a CSV file with a header, named by their index from 0. Raises ConfigError."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            return [JsonRecord(row, f"row {i} of {file.name}") for i, row in enumerate(csv.DictReader(stream))]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read the data set file {file}: {error}") from error


def _vector(value: Sequence[object], count: int) -> bool:
    return len(value) == count and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and _finite(v) for v in value)


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer too large for any length or id
        return False
