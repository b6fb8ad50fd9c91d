"""Reads the episodes of VLN-CE (`R2R_VLNCE_v1-3`): people's directions, and the path that each describes in MP3D.

A file is one split, plain or packed as gzip: `{"episodes": [...]}`, each with

    episode_id, scene_id      "mp3d/NAME/NAME.glb", or a scene of this project such as "toy:flat"
    instruction               {"instruction_text": ...}
    start_position            Habitat axes, metres
    start_rotation            x, y, z, w
    reference_path            [position, ...], from the start to the goal; the split `test` has none
    info                      {"geodesic_distance": metres}, optional
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from eqa_nodes.bench.readers.records import JsonRecord, scan
from eqa_nodes.core.errors import BadPose, ConfigError
from eqa_nodes.core.types.geometry import Pose2, pose_from_habitat, position_from_habitat

_PACKED = b"\x1f\x8b"
_ONE_FLOOR_M = 1.0  # paths whose places differ more in height lead over stairs to another floor


class VlnEpisode(NamedTuple):
    """A path with its directions. path: places x, y, z from the start to the goal, map frame, metres."""

    id: str
    scene: str
    start: Pose2
    path: tuple[tuple[float, float, float], ...]
    instruction: str

    @property
    def one_floor(self) -> bool:
        """Whether the path stays on one floor."""
        heights = [z for _, _, z in self.path]
        return max(heights) - min(heights) <= _ONE_FLOOR_M


def read_vln_episodes(file: Path) -> list[VlnEpisode]:
    """Read a split. Raises ConfigError for a missing or broken file, an invalid record, or a split without paths."""
    data = _content(file)
    if not isinstance(data, dict) or not isinstance(data.get("episodes"), list):
        raise ConfigError(f"{file} holds no episodes of VLN-CE: expected an object with the list 'episodes', as in "
                          "R2R_VLNCE_v1-3/train/train.json.gz")
    if not data["episodes"]:
        raise ConfigError(f"{file} holds an empty list of episodes: choose another split")
    return [_episode(JsonRecord(item, f"episode {_name(item, i)} of {file.name}"))
            for i, item in enumerate(data["episodes"])]


def _content(file: Path) -> Any:
    try:
        raw = file.read_bytes()
        return json.loads(gzip.decompress(raw) if raw.startswith(_PACKED) else raw)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read the episodes {file}: {error}") from error


def _name(item: object, index: int) -> str:
    return repr(str(item["episode_id"])) if isinstance(item, dict) and "episode_id" in item else f"number {index}"


def _episode(record: JsonRecord) -> VlnEpisode:
    if "reference_path" not in record:
        record.refuse("reference_path", "is missing: the split 'test' has no paths; choose train, val_seen or "
                      "val_unseen")
    x, y, z, w = record.numbers("start_rotation", 4)
    try:
        start = pose_from_habitat(record.numbers("start_position", 3), (w, x, y, z))
    except BadPose as error:
        record.refuse("start_rotation", f"(x, y, z, w): {error}")
    said = JsonRecord(record.get("instruction"), f"{record.where}: instruction").text("instruction_text")
    scene = scan("mp3d", record.text("scene_id").removesuffix(".glb"))
    path = tuple(position_from_habitat(place) for place in record.path("reference_path"))
    if len(path) < 2:
        record.refuse("reference_path", "has a single place: a path needs two or more")
    return VlnEpisode(record.name("episode_id"), scene, start, path, " ".join(said.split()))
