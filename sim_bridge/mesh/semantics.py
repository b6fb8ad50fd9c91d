"""Which instance each triangle of a scan belongs to: HM3D's semantic files, or the node names of an exported house."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from eqa_nodes.core.errors import SimulatorError, StorageError, UnknownScene
from eqa_nodes.core.storage.codec import decode, loads
from eqa_nodes.core.types.surfaces import srgb_of
from eqa_nodes.core.types.views import Label
from sim_bridge.mesh.model import Model, Submesh, broken, read_bytes
from sim_bridge.mesh.read import each_face, joined, read_model
from sim_bridge.mesh.upright import map_from_file
from sim_bridge.rays import RayScene
from sim_bridge.scans import PART, SceneFiles

_LINE = re.compile(r'\s*(\d+)\s*,\s*([0-9A-Fa-f]{6})\s*,\s*"(.*)"\s*,\s*-?\d+\s*')
_HEADER, _SHEET_M = "HM3D Semantic Annotations", 0.01


def labels_of(scan: SceneFiles, model: Model, vertices: np.ndarray, faces: np.ndarray,
              wanted: bool | None) -> tuple[np.ndarray, dict[int, Label]]:
    """Return the instance (m,) uint16 of each face, 0 = nothing, and what the instances are.

    wanted: see load_mesh. Raises UnknownScene where labels must be there and are not, SimulatorError for a semantic
    file that is damaged.
    """
    if wanted is False:
        return np.zeros(len(faces), np.uint16), {}
    if scan.semantic_glb is not None and scan.semantic_txt is not None:
        known = _completed(read_semantic_txt(scan.semantic_txt), scan.semantic_txt.with_suffix(".json"))
        return _painted(scan, known, vertices, faces), {label.instance: label for label in known.values()}
    named = [PART.fullmatch(part.name) for part in model.parts]
    if all(named):
        return _of_nodes(model)
    if wanted:
        missing = "semantic.glb" if scan.semantic_glb is None else "semantic.txt"
        raise UnknownScene(f"{scan.place}: there are no labels, no .{missing} beside {scan.glb}: get the semantic "
                           "annotations of the data set (HM3D: uid hm3d_semantics), or ask nothing that needs labels")
    return np.zeros(len(faces), np.uint16), {}


def read_semantic_txt(path: Path) -> dict[int, Label]:
    """Return HM3D's labels by colour (0xRRGGBB), without rooms: HM3D only numbers its regions.

    Raises UnknownScene, SimulatorError.
    """
    lines = read_bytes(path).decode("utf-8-sig", "replace").splitlines()
    if not lines or not lines[0].startswith(_HEADER):
        raise broken(path, f"does not begin with {_HEADER!r}")
    labels = {}
    for number, line in enumerate(lines[1:], 2):
        match = _LINE.fullmatch(line)
        if match is None and line.strip():
            raise broken(path, f'line {number} is not id,RRGGBB,"name",region: {line[:60]!r}')
        if match is not None and 0 < int(match[1]) < 1 << 16:
            labels[int(match[2], 16)] = Label(int(match[1]), match[3].strip(), "", {})
    return labels


def _completed(known: dict[int, Label], path: Path) -> dict[int, Label]:
    """Return labels by colour with the rooms and attributes of the file that `eqa scan` writes, where there is one."""
    if not path.is_file():
        return known
    try:
        more = [decode(Label, label) for label in loads(read_bytes(path))["labels"]]
    except (KeyError, TypeError, ValueError, StorageError) as error:
        raise broken(path, f"holds no labels ({error})") from error
    full = {label.instance: label for label in more}
    return {colour: full.get(label.instance, label) for colour, label in known.items()}


def _of_nodes(model: Model) -> tuple[np.ndarray, dict[int, Label]]:
    """Return the labels of a house as this project exports it: the nodes are the objects."""
    labels, ids = {}, []
    for part in model.parts:
        match = PART.fullmatch(part.name)
        ids.append(int(match[2]) % (1 << 16) if match else 0)
        if match and ids[-1]:
            labels[ids[-1]] = Label(ids[-1], match[1], "", {})
    return each_face(model, ids, np.uint16), labels


def _painted(scan: SceneFiles, known: dict[int, Label], vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the instance (m,) of each face of the scan: of the painted copy's face that lies on it."""
    assert scan.semantic_glb is not None and scan.glb is not None
    model = read_model(scan.semantic_glb)
    painted, triangles = joined(model, scan.semantic_glb, map_from_file(scan))
    colours = np.concatenate([_colours(model, part, scan.semantic_glb) for part in model.parts])
    codes = np.array(sorted(known), np.int64)
    row = np.minimum(np.searchsorted(codes, colours), len(codes) - 1) if len(codes) else np.zeros(len(colours), int)
    ids = np.array([known[int(code)].instance for code in codes] or [0], np.uint16)
    instance = np.where(codes[row] == colours, ids[row], 0) if len(codes) else np.zeros(len(colours), np.uint16)
    if not instance.any():
        raise SimulatorError(f"{scan.semantic_glb}: none of its colours is in {scan.semantic_txt}: the two files do "
                             "not belong together, download both again")
    same = len(triangles) == len(faces) and np.abs(painted[triangles] - vertices[faces]).max() < _SHEET_M
    return (instance if same else _nearest(instance, painted, triangles, vertices, faces)).astype(np.uint16)


def _colours(model: Model, part: Submesh, path: Path) -> np.ndarray:
    """Return the colour (m,) 0xRRGGBB that each face is painted in: by its corners, else by its texture."""
    if part.colour is not None:  # linear, as glTF keeps vertex colours, and Habitat reads them
        srgb = srgb_of(np.clip(part.colour, 0.0, 1.0).astype(np.float64))
        code = np.rint(255 * srgb).astype(np.int64) @ (1 << 16, 1 << 8, 1)
        a, b, c = code[part.faces].T
        return np.where(b == c, b, a)
    if part.uv is None:
        raise SimulatorError(f"{path}: {part.name!r} has neither vertex colours nor a texture to tell its labels")
    image = model.images[part.material.image].decode()
    u, v = part.uv[part.faces].mean(axis=1).T % 1.0
    texel = image[(v * image.shape[0]).astype(int), (u * image.shape[1]).astype(int)]
    return texel.astype(np.int64) @ (1 << 16, 1 << 8, 1)


def _nearest(instance: np.ndarray, painted: np.ndarray, triangles: np.ndarray, vertices: np.ndarray,
             faces: np.ndarray) -> np.ndarray:
    """Return the instance (m,) of the painted face that lies within a centimetre of each face's middle, else 0."""
    corners = vertices[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-20)
    step = (_SHEET_M * normal).astype(np.float32)
    hit = RayScene(painted, triangles).hits(corners.mean(axis=1).astype(np.float32) + step, -step)
    return np.where((hit["primID"] >= 0) & (hit["tfar"] <= 2.0), instance[hit["primID"]], 0)
