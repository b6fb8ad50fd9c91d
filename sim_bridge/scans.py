"""Where the files of scanned scenes lie."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import UnknownScene


class Scan(NamedTuple):
    """The files of one scene."""

    place: str
    glb: Path | None = None
    basis_glb: Path | None = None
    navmesh: Path | None = None
    semantic_glb: Path | None = None
    semantic_txt: Path | None = None
    dataset_config: Path | None = None


def find_scan(place: str, folder: Path | None = None) -> Scan:
    """Return the files of a scene, here: of one file. Raises UnknownScene."""
    path = (folder or Path()) / place
    if not path.is_file():
        raise UnknownScene(f"there is no scene {place!r}: looked for {path}")
    return Scan(place, path)
