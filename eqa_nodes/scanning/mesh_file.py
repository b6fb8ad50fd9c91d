"""Writes a reconstructed mesh as GLB (glTF's axes, which `mesh:` scenes read) or PLY (the map's axes)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eqa_nodes.core.errors import ConfigError, MissingExtra, StorageError, unknown
from eqa_nodes.core.storage.codec import write_bytes

if TYPE_CHECKING:
    from eqa_nodes.core.types.views import Mesh

# A `mesh:` scene takes the file's front, -z, for the map's x, and its up, y, for the map's z.
GLTF_FROM_MAP = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
_AXES = {".glb": GLTF_FROM_MAP, ".ply": np.eye(3)}


def check_mesh_name(path: Path) -> None:
    """Raise ConfigError for a file name whose ending is no known format, MissingExtra without trimesh."""
    if path.suffix.lower() not in _AXES:
        raise ConfigError(unknown("format of a mesh", path.suffix, _AXES))
    _library()


def write_mesh(mesh: Mesh, path: Path) -> None:
    """Write a mesh in the format of the file name's ending. Raises StorageError for a mesh without triangles,
    and where nothing can be written.

    Raises ConfigError and MissingExtra as check_mesh_name. Colours are stored as they are (sRGB).
    """
    check_mesh_name(path)
    if not len(mesh.triangles):
        raise StorageError("there is no surface to write: the frames show none often enough, or none within the range")
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
    """Return colours of vertices with a material: parts without one are black in some viewers."""
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
