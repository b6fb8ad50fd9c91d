"""OBJ, PLY and STL files, read by trimesh."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import numpy as np
import trimesh
from trimesh.resolvers import FilePathResolver

from eqa_nodes.core.errors import EqaError, SimulatorError, UnknownScene
from sim_bridge.mesh.model import Material, MeshFile, Submesh, beside, broken, opened, pixels_of, read_bytes


def read_soup(path: Path) -> MeshFile:
    """Return the triangles of an OBJ, PLY or STL file.

    Textures and the colours of vertices and faces are kept; an OBJ without its material library has no colours.
    Raises UnknownScene if the file or a texture is missing, SimulatorError if it is damaged or refers to files
    outside its folder.
    """
    beside_it = _Beside(path)
    try:
        scene = trimesh.load_scene(io.BytesIO(read_bytes(path)), file_type=path.suffix[1:].lower(), process=False,
                                   resolver=beside_it)
        meshes = [mesh for mesh in scene.dump() if isinstance(mesh, trimesh.Trimesh)]
        out = MeshFile([], [])
        beside_it.check()
        images: dict[int, int] = {}
        for mesh in meshes:
            _add(out, path, mesh, beside_it.textured, images)
        return out
    except EqaError:
        raise
    except Exception as error:  # any error of a third-party parser in a broken file
        raise broken(path, f"{type(error).__name__}: {error}") from error


class _Beside(FilePathResolver):
    """Resolves only files of the scan's own folder, and records the errors that trimesh would ignore."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path
        self._wrong: list[EqaError] = []
        self.textured = False  # without a texture, trimesh invents a grey one

    def get(self, name: str) -> bytes:
        """Return a file that the scan refers to. Raises FileNotFoundError."""
        file = beside(self._path.parent, name)
        if file is None:
            self._wrong.append(SimulatorError(f"{self._path} refers to {name!r}, which lies outside its folder: put "
                                              "the file beside the scan and name it without a folder"))
        elif file.is_file():
            data = file.read_bytes()
            if file.suffix.lower() == ".mtl" or self._good(data, file):
                return data
        elif file.suffix.lower() != ".mtl":
            self._wrong.append(UnknownScene(f"{self._path} needs the texture {name!r}, which is not beside it: copy "
                                            f"it to {file}"))
        raise FileNotFoundError(name)

    def _good(self, data: bytes, file: Path) -> bool:
        """Return whether a texture can be opened; record the error if not."""
        self.textured = True
        try:
            opened(data, str(file)).close()
        except SimulatorError as error:
            self._wrong.append(error)
            return False
        return True

    def check(self) -> None:
        """Raise the first recorded error."""
        if self._wrong:
            raise self._wrong[0]


def _add(model: MeshFile, path: Path, mesh: trimesh.Trimesh, textured: bool, images: dict[int, int]) -> None:
    """Append a mesh of trimesh to a model.

    textured: whether it has texture files; images: id of each image -> its index in the model (meshes may share one).
    """
    visual, vertices, faces = mesh.visual, np.asarray(mesh.vertices), np.asarray(mesh.faces)
    uv, colour, material = None, None, Material()
    if visual.kind == "texture":
        image = getattr(visual.material, "image", None) if textured else None
        if image is not None and visual.uv is not None:
            uv = np.asarray(visual.uv, np.float32)[:, :2] * (1, -1) + (0, 1)
            material = Material((1.0, 1.0, 1.0), images.setdefault(id(image), len(model.images)))
            if material.image == len(model.images):
                model.images.append(partial(pixels_of, image, f"{path}: its texture"))
        else:
            red, green, blue = (float(v) / 255 for v in visual.material.main_color[:3])
            material = Material((red, green, blue))
    elif visual.kind == "vertex":
        colour = np.asarray(visual.vertex_colors, np.float32)[:, :3] / 255
    elif visual.kind == "face":
        colour = np.repeat(np.asarray(visual.face_colors, np.float32)[:, :3] / 255, 3, axis=0)
        vertices, faces = vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)
    model.parts.append(Submesh(vertices, faces, uv, colour, material, str(mesh.metadata.get("name", ""))))
