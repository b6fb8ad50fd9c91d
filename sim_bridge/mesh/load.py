"""Loads scans and models as triangles in the map frame: GLB, glTF, OBJ, PLY and STL, with or without textures.

Units are metres as in the file. Colours use flat shading: texture times base colour times vertex colour, without
lights, transparency or other maps (see docs/scans.md). The up axis is the first of these that exists:

1. "<name>.stage_config.json" beside the file, which Habitat reads too: its `up` and `front`.
2. The default attributes of stages in the data set's "*.scene_dataset_config.json".
3. For a scan of a published data set: z up, y to the front, as HM3D, MP3D, Gibson and Replica are stored and as
   Habitat reads every GLB.
4. For a single file: y up, -z to the front, glTF's rule, which exporters of OBJ and STL follow as well; PLY: z up, as
   scanners write it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eqa_nodes.core.errors import SimulatorError, StorageError, UnknownScene
from eqa_nodes.core.storage.codec import decode, loads
from eqa_nodes.core.types.views import Label, srgb_of
from sim_bridge.mesh.gltf import read_glb
from sim_bridge.mesh.model import (
    BASIS_REMEDY,
    MeshFile,
    Pyramids,
    Submesh,
    broken,
    pyramids,
    read_bytes,
)
from sim_bridge.mesh.soup import read_soup
from sim_bridge.rays import RayScene
from sim_bridge.scans import PART, SceneFiles
from sim_bridge.simulator import AS_STORED, SceneEdit

Z_UP = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))  # up, front
Y_UP = ((0.0, 1.0, 0.0), (0.0, 0.0, -1.0))


def stage_config_of(mesh: Path) -> Path:
    """Return the path of a mesh's stage config, which may not exist."""
    return mesh.with_suffix(".stage_config.json")


def write_stage_config(mesh: Path, up: tuple[float, ...], front: tuple[float, ...]) -> Path:
    """Write the axes of a mesh to its stage config, for this project and for Habitat; return the file."""
    path = stage_config_of(mesh)
    path.write_text(json.dumps({"render_asset": mesh.name, "up": list(up), "front": list(front)}))
    return path


def map_from_file(scan: SceneFiles) -> np.ndarray:
    """Return the rotation (3, 3) from the axes of a scan's file (also of its labels) to the map's: x front, z up.

    Raises SimulatorError if a config cannot be read, or its vectors are not orthogonal.
    """
    mesh, config = scan.glb or scan.basis_glb or Path(scan.place), scan.dataset_config
    alone = Path(scan.place).name == mesh.name and mesh.suffix.lower() != ".ply"
    (up, front), source = Y_UP if alone else Z_UP, stage_config_of(mesh)
    if source.is_file():
        attributes = _read(source)
    elif config is not None:
        source, attributes = config, _read(config).get("stages", {}).get("default_attributes", {})
    else:
        attributes = {}
    try:
        z, x = (np.array(attributes.get(key, default), float).reshape(3)
                for key, default in (("up", up), ("front", front)))
        z, x = z / max(float(np.linalg.norm(z)), 1e-12), x / max(float(np.linalg.norm(x)), 1e-12)
    except (TypeError, ValueError, AttributeError) as error:
        raise SimulatorError(f"{source}: `up` and `front` are three numbers each ({error})") from error
    if not (abs(float(z @ x)) < 1e-3 and z.any() and x.any()):  # also true for NaN
        raise SimulatorError(f"{source}: `up` {z.tolist()} and `front` {x.tolist()} are not at right angles: write "
                             'e.g. "up": [0, 1, 0], "front": [0, 0, -1]')
    return np.stack([x, np.cross(z, x), z])


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise SimulatorError(f"{path}: not JSON that can be read ({error}): mend it, or take it away to have the "
                             "format's default") from error
    if not isinstance(content, dict):
        raise SimulatorError(f"{path}: not a JSON object: mend it, or take it away to have the format's default")
    return content


READERS = {".glb": read_glb, ".gltf": read_glb, ".obj": read_soup, ".ply": read_soup, ".stl": read_soup}
FARTHEST_M = 1e6  # beyond this float32 does not resolve centimetres, and most such files are broken


def read_model(path: Path, hidden: Sequence[str] = ()) -> MeshFile:
    """Return the content of a file, read according to its suffix. Raises UnknownScene, SimulatorError.

    hidden: as in SceneEdit; only glTF files have nodes.
    """
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise UnknownScene(f"{path}: a scan is one of {', '.join(sorted(READERS))}")
    if not hidden:
        return READERS[suffix](path)
    if READERS[suffix] is not read_glb:
        raise SimulatorError(f"{path} has no nodes that could be left out, such as {hidden[0]!r}: use a .glb file")
    return read_glb(path, hidden)


def joined(model: MeshFile, path: Path, map_from_file: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all corners (n, 3) float32, map frame, and faces (m, 3) int32. Raises SimulatorError for bad ones."""
    if not sum(len(part.faces) for part in model.parts):
        raise broken(path, "it contains no triangles")
    ends = np.cumsum([(len(part.vertices), len(part.faces)) for part in model.parts], axis=0)
    vertices, faces = np.empty((ends[-1, 0], 3), np.float32), np.empty((ends[-1, 1], 3), np.int32)
    wrong = 0
    for part, (corner, face) in zip(model.parts, ends.tolist(), strict=True):  # one copy at a time saves memory
        _check(part, path)
        first = corner - len(part.vertices)
        wrong += int((~(np.abs(part.vertices) < FARTHEST_M)).any(axis=1).sum())  # also NaN
        with np.errstate(invalid="ignore", over="ignore"):  # counted above
            vertices[first:corner] = part.vertices @ map_from_file.T
        np.add(part.faces, first, out=faces[face - len(part.faces):face], casting="same_kind")
    if wrong:
        raise broken(path, f"{wrong} corners are not finite or farther than {FARTHEST_M:.0f} m away (units are metres)")
    return vertices, faces


def _check(part: Submesh, path: Path) -> None:
    """Raise SimulatorError unless the shapes and indices of a part's arrays match."""
    count = len(part.vertices)
    fits = part.vertices.shape == (count, 3) and part.faces.shape == (len(part.faces), 3)
    for values, width in ((part.uv, 2), (part.colour, 3)):
        fits = fits and (values is None or values.shape == (count, width))
    if not fits:
        raise broken(path, f"{part.name!r} has not one position, texture coordinate and colour for each corner")
    if len(part.faces) and not 0 <= part.faces.min() <= part.faces.max() < count:
        raise broken(path, f"faces of {part.name!r} name corners that are not among its {count}")


def each_face(model: MeshFile, of_part: Iterable[int], dtype: type) -> np.ndarray:
    """Return (m,): for each face, the value of its part."""
    return np.repeat(np.array(list(of_part), dtype), [len(part.faces) for part in model.parts])


_LINE = re.compile(r'\s*(\d+)\s*,\s*([0-9A-Fa-f]{6})\s*,\s*"(.*)"\s*,\s*-?\d+\s*')
_HEADER, _SHEET_M = "HM3D Semantic Annotations", 0.01


def labels_of(scan: SceneFiles, model: MeshFile, vertices: np.ndarray, faces: np.ndarray,
              wanted: bool | None) -> tuple[np.ndarray, dict[int, Label]]:
    """Return the instance (m,) uint16 of each face, 0 = nothing, and the labels of the instances.

    wanted: see load_mesh. Raises UnknownScene if required labels are missing, SimulatorError if a semantic file is
    damaged.
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
    """Return HM3D's labels by colour (0xRRGGBB), without rooms, because HM3D only numbers its regions.

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
    """Return labels by colour, with the rooms and attributes of the file that `eqa scan` writes, if it exists."""
    if not path.is_file():
        return known
    try:
        more = [decode(Label, label) for label in loads(read_bytes(path))["labels"]]
    except (KeyError, TypeError, ValueError, StorageError) as error:
        raise broken(path, f"holds no labels ({error})") from error
    full = {label.instance: label for label in more}
    return {colour: full.get(label.instance, label) for colour, label in known.items()}


def _of_nodes(model: MeshFile) -> tuple[np.ndarray, dict[int, Label]]:
    """Return the labels of a house that this project exported: its nodes are the objects."""
    labels, ids = {}, []
    for part in model.parts:
        match = PART.fullmatch(part.name)
        ids.append(int(match[2]) % (1 << 16) if match else 0)
        if match and ids[-1]:
            labels[ids[-1]] = Label(ids[-1], match[1], "", {})
    return each_face(model, ids, np.uint16), labels


def _painted(scan: SceneFiles, known: dict[int, Label], vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return the instance (m,) of each face of the scan: that of the painted copy's face at the same place."""
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


def _colours(model: MeshFile, part: Submesh, path: Path) -> np.ndarray:
    """Return the label colour (m,) 0xRRGGBB of each face: from its corners, else from its texture."""
    if part.colour is not None:  # linear, as glTF stores vertex colours and Habitat reads them
        srgb = srgb_of(np.clip(part.colour, 0.0, 1.0).astype(np.float64))
        code = np.rint(255 * srgb).astype(np.int64) @ (1 << 16, 1 << 8, 1)
        a, b, c = code[part.faces].T
        return np.where(b == c, b, a)
    if part.uv is None:
        raise SimulatorError(f"{path}: {part.name!r} has neither vertex colours nor a texture to tell its labels")
    image = model.images[part.material.image]()
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


@dataclass(frozen=True, eq=False)
class TriangleScene:
    """m triangles over n corners, map frame (x forward, y left, z up), metres.

    vertices: (n, 3) float32; faces: (m, 3) int32, counter-clockwise seen from the front, the only visible side;
    uv: (n, 2) float32 texture coordinates, v downwards; colour: (n, 3) uint8, 255 if the file has none;
    part: (m,) int32 row of factor, texture, wrap and lit; factor: (p, 3) float32 base colour; texture: (p,) int32,
    -1 = none; wrap: (p, 2) int32; lit: (p,) bool, no colours: shaded by a lamp at the camera;
    instance: (m,) uint16 label id, 0 = nothing; sheet: (m,) bool, whether the face is one side of a two-sided sheet.
    """

    vertices: np.ndarray
    faces: np.ndarray
    uv: np.ndarray
    colour: np.ndarray
    part: np.ndarray
    factor: np.ndarray
    texture: np.ndarray
    wrap: np.ndarray
    lit: np.ndarray
    textures: Pyramids
    instance: np.ndarray
    sheet: np.ndarray
    labels: dict[int, Label]


def load_mesh(scan: SceneFiles, labels: bool | None = None, edit: SceneEdit = AS_STORED) -> TriangleScene:
    """Return the triangles of a scan with their appearance, after the changes of `edit`.

    labels: True = required, False = not read, None = read if they exist. Raises UnknownScene for missing files,
    SimulatorError for files that are damaged, empty or need unsupported features.
    """
    if scan.glb is None and scan.basis_glb is not None:
        raise UnknownScene(f"{scan.place}: only {scan.basis_glb} is there, and {BASIS_REMEDY}")
    if scan.glb is None:
        raise UnknownScene(f"{scan.place}: it has no mesh file (.glb, .obj, .ply)")
    model = read_model(scan.glb, edit.hidden)
    used = model.used()
    vertices, faces = joined(model, scan.glb, map_from_file(scan))
    if (edit.scale, edit.offset) != (AS_STORED.scale, AS_STORED.offset):
        vertices = (vertices * np.array(edit.scale) + edit.offset).astype(np.float32)
    instance, known = labels_of(scan, model, vertices, faces, labels)
    lit = [part.colour is None and part.material.image < 0 for part in model.parts]
    return TriangleScene(
        vertices, faces, _joined_uv(model.parts, scan.glb),
        np.concatenate([_bytes(part) for part in model.parts]), each_face(model, range(len(model.parts)), np.int32),
        np.array([p.material.factor for p in model.parts], np.float32),
        np.array([p.material.image for p in model.parts], np.int32),
        np.array([p.material.wrap for p in model.parts], np.int32), np.array(lit),
        pyramids([image if i in used else None for i, image in enumerate(model.images)]), instance,
        sheets(vertices, faces), known)


def _joined_uv(parts: list[Submesh], path: Path) -> np.ndarray:
    uv = np.concatenate([np.zeros((len(p.vertices), 2), np.float32) if p.uv is None else p.uv for p in parts])
    if not (np.abs(uv) < FARTHEST_M).all():
        raise broken(path, "texture coordinates that are not finite")
    return uv.astype(np.float32)


def _bytes(part: Submesh) -> np.ndarray:
    """Return vertex colours as bytes, white if there are none."""
    if part.colour is None:
        return np.full((len(part.vertices), 3), 255, np.uint8)
    return np.rint(np.clip(np.nan_to_num(part.colour), 0.0, 1.0) * 255).astype(np.uint8)


def sheets(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return (m,) bool: whether another face has the same three corners, so that both are sides of one sheet."""
    bits = (vertices + np.float32(0)).view(np.uint32).astype(np.uint64)  # + 0 turns -0 into +0
    mixed = (bits[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ bits[:, 1] * np.uint64(0xC2B2AE3D27D4EB4F)
             ^ bits[:, 2] * np.uint64(0x165667B19E3779F9))
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    key = mixed[faces].sum(axis=1, dtype=np.uint64)  # independent of the order of the corners
    order = np.argsort(key)  # the order of equal keys does not matter
    twin = key[order][1:] == key[order][:-1]
    out = np.zeros(len(faces), bool)
    out[order[1:][twin]] = out[order[:-1][twin]] = True
    return out
