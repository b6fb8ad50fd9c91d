"""Writes a reconstructed mesh as GLB (glTF's axes, which `mesh:` scenes read) or PLY (the map's axes), with its labels.

Labels are stored beside it in the layout of HM3D, which `mesh:` and `habitat:` scenes read: `<name>.semantic.glb` is
the mesh with one colour for each instance, `<name>.semantic.txt` lists the colours, and `<name>.semantic.json` has
attributes and names of rooms, which only `mesh:` scenes read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eqa_nodes.core.errors import ConfigError, MissingExtra, StorageError, unknown
from eqa_nodes.core.storage.codec import write_bytes

if TYPE_CHECKING:
    from eqa_nodes.core.types.views import Mesh
from collections.abc import Mapping

from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.core.types.views import Label, Mesh, srgb_of

# A `mesh:` scene maps the file's front, -z, to the map's x, and its up, y, to the map's z.
GLTF_FROM_MAP = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
_AXES = {".glb": GLTF_FROM_MAP, ".ply": np.eye(3)}


def check_mesh_name(path: Path) -> None:
    """Raise ConfigError for a file name with an unknown ending, MissingExtra without trimesh."""
    if path.suffix.lower() not in _AXES:
        raise ConfigError(unknown("format of a mesh", path.suffix, _AXES))
    _library()


def write_mesh(mesh: Mesh, path: Path) -> None:
    """Write a mesh in the format of the file name's ending. Colours are stored unchanged (sRGB).

    Raises ConfigError and MissingExtra as check_mesh_name does, StorageError for a mesh without triangles or if the
    file cannot be written.
    """
    check_mesh_name(path)
    if not len(mesh.triangles):
        raise StorageError("there is no surface to write: no surface within the range was seen by enough frames")
    trimesh, ending = _library(), path.suffix.lower()
    opaque = np.column_stack([mesh.colours, np.full(len(mesh.colours), 255, np.uint8)])
    placed = trimesh.Trimesh(mesh.vertices @ _AXES[ending].T, mesh.triangles, process=False)
    if ending == ".glb":
        placed.visual = _matt(trimesh, opaque)
    else:
        placed.visual.vertex_colors = opaque
    data = placed.export(file_type=ending[1:])
    try:
        write_bytes(path, data)
    except OSError as error:
        raise StorageError(f"{path} cannot be written to ({error.strerror or error}; {len(data) / 1e6:.1f} MB): name "
                           "another place, or see to its permissions and room") from error


def _matt(trimesh: Any, colours: np.ndarray) -> Any:
    """Return vertex colours with a material: parts without one are black in some viewers."""
    material = trimesh.visual.material.PBRMaterial(name="reconstruction", baseColorFactor=[255, 255, 255, 255],
                                                   metallicFactor=0.0, roughnessFactor=1.0, doubleSided=True)
    visual = trimesh.visual.texture.TextureVisuals(material=material)
    visual.vertex_attributes["color"] = colours
    return visual


def _library() -> Any:
    try:
        import trimesh
    except ImportError as error:
        raise MissingExtra("trimesh", "map3d") from error
    return trimesh


_HEADER = "HM3D Semantic Annotations"
_LEVELS, _STEP = 64, 4  # of a colour channel: bytes with this step stay different when they are read as linear light
_ENDINGS = (".semantic.glb", ".semantic.txt", ".semantic.json")


def write_semantics(mesh: Mesh, labels: Mapping[int, Label], path: Path) -> list[Path]:
    """Write the labels of a mesh beside its GLB file, and return the files; files of an earlier mesh are removed.

    labels: id in mesh.labels -> label; other ids count as unlabelled. No files are written without labels or for
    formats other than GLB.
    """
    if path.suffix.lower() != ".glb":
        return []
    files = [path.with_name(path.stem + ending) for ending in _ENDINGS]
    for file in files:
        file.unlink(missing_ok=True)
    known = [] if mesh.labels is None else [labels[i] for i in np.unique(mesh.labels).tolist() if i and i in labels]
    if mesh.labels is None or not known:
        return []
    number = np.zeros(1 << 16, np.int64)  # instance id -> number of its colour; 0 = unlabelled, which is black
    number[[label.instance for label in known]] = np.arange(1, len(known) + 1)
    write_mesh(mesh._replace(colours=_painted(number[mesh.labels])), files[0])
    rooms = sorted({label.room for label in known})
    lines = [f'{label.instance},{_code(n)},"{label.kind}",{rooms.index(label.room)}'
             for n, label in enumerate(known, start=1)]
    write_bytes(files[1], "\n".join([_HEADER, *lines, ""]).encode())
    write_json(files[2], {"labels": [label._asdict() for label in known]})
    return files


def _painted(number: np.ndarray) -> np.ndarray:
    """Return the linear colours, (n, 3) uint8, of colour numbers (n,)."""
    digits = np.stack([number // _LEVELS ** 2, number // _LEVELS % _LEVELS, number % _LEVELS], axis=-1)
    return (digits * _STEP).astype(np.uint8)


def _code(number: int) -> str:
    """Return the colour of a number in HM3D's notation: RRGGBB, sRGB."""
    srgb = srgb_of(_painted(np.array(number)) / 255)
    return "".join(f"{value:02X}" for value in np.rint(255 * srgb).astype(int).tolist())
