"""Reads mesh files by their suffix, and puts their parts together in the map frame."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import UnknownScene
from sim_bridge.mesh.gltf import read_glb
from sim_bridge.mesh.model import Model, Submesh, broken, check_size
from sim_bridge.mesh.soup import read_soup

READERS = {".glb": read_glb, ".gltf": read_glb, ".obj": read_soup, ".ply": read_soup, ".stl": read_soup}
FARTHEST_M = 1e6  # beyond this float32 knows no centimetres, and most files are broken


def read_model(path: Path) -> Model:
    """Return what a file holds, by its suffix. Raises UnknownScene, SimulatorError."""
    if path.suffix.lower() not in READERS:
        raise UnknownScene(f"{path}: a scan is one of {', '.join(sorted(READERS))}")
    return READERS[path.suffix.lower()](path)


def joined(model: Model, path: Path, map_from_file: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all corners (n, 3) float32, map frame, and faces (m, 3) int32. Raises SimulatorError for bad ones."""
    if not sum(len(part.faces) for part in model.parts):
        raise broken(path, "it contains no triangles")
    ends = np.cumsum([(len(part.vertices), len(part.faces)) for part in model.parts], axis=0)
    check_size(path, len(model.parts), int(ends[-1, 1]), int(ends[-1, 0]))
    vertices, faces = np.empty((ends[-1, 0], 3), np.float32), np.empty((ends[-1, 1], 3), np.int32)
    wrong = 0
    for part, (corner, face) in zip(model.parts, ends.tolist(), strict=True):  # each is in memory once more, not all
        _check(part, path)
        first = corner - len(part.vertices)
        wrong += int((~(np.abs(part.vertices) < FARTHEST_M)).any(axis=1).sum())  # also not a number
        with np.errstate(invalid="ignore", over="ignore"):  # counted above
            vertices[first:corner] = part.vertices @ map_from_file.T
        np.add(part.faces, first, out=faces[face - len(part.faces):face], casting="same_kind")
    if wrong:
        raise broken(path, f"{wrong} corners are not finite or farther than {FARTHEST_M:.0f} m away (units are metres)")
    return vertices, faces


def _check(part: Submesh, path: Path) -> None:
    """Raise SimulatorError unless a part's arrays fit each other."""
    count = len(part.vertices)
    fits = part.vertices.shape == (count, 3) and part.faces.shape == (len(part.faces), 3)
    for values, width in ((part.uv, 2), (part.colour, 3)):
        fits = fits and (values is None or values.shape == (count, width))
    if not fits:
        raise broken(path, f"{part.name!r} has not one position, texture coordinate and colour for each corner")
    if len(part.faces) and not 0 <= part.faces.min() <= part.faces.max() < count:
        raise broken(path, f"faces of {part.name!r} name corners that are not among its {count}")


def each_face(model: Model, of_part: Iterable[int], dtype: type) -> np.ndarray:
    """Return (m,): the value of the part that each face belongs to."""
    return np.repeat(np.array(list(of_part), dtype), [len(part.faces) for part in model.parts])
