"""Small files of triangles: a glTF written by hand, and a room with one coloured wall."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.robot import CameraModel
from sim_bridge.mesh.load import TriangleScene, load_mesh
from sim_bridge.mesh.look import MeshRenderer
from sim_bridge.rays import Image as View
from sim_bridge.scans import SceneFiles

_COMPONENT = {"float32": 5126, "uint8": 5121, "uint16": 5123, "uint32": 5125, "int16": 5122, "int8": 5120}
_TYPE = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}

# A square of 2 m that faces -z (glTF), seen from the origin of a z-up file it is a floor tile; v of uv is downwards.
SQUARE = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
SQUARE_UV = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32)
SQUARE_FACES = np.array([0, 1, 2, 0, 2, 3], np.uint16)
CHECKER = np.kron(np.array([[0, 255], [255, 0]]), np.ones((4, 4)))[..., None].repeat(3, 2).astype(np.uint8)


class Glb:
    """A glTF document and its buffer, grown value by value."""

    def __init__(self) -> None:
        self.doc: dict[str, Any] = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}], "nodes": [],
                                    "meshes": [], "accessors": [], "bufferViews": [], "buffers": [{}]}
        self.data = b""

    def view(self, data: bytes, **more: Any) -> int:
        """Append bytes and return the number of their view."""
        self.doc["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), **more})
        self.data += data + b"\0" * (-len(data) % 4)
        return len(self.doc["bufferViews"]) - 1

    def accessor(self, values: np.ndarray, **more: Any) -> int:
        """Append an array and return the number of its accessor."""
        width = 1 if values.ndim == 1 else values.shape[1]
        self.doc["accessors"].append({"bufferView": self.view(values.tobytes()), "count": len(values),
                                      "componentType": _COMPONENT[values.dtype.name], "type": _TYPE[width], **more})
        return len(self.doc["accessors"]) - 1

    def square(self, material: int | None = None, uv: np.ndarray | None = SQUARE_UV,
               colour: np.ndarray | None = None, **node: Any) -> None:
        """Append a node that shows a square."""
        attributes = {"POSITION": self.accessor(SQUARE)}
        if uv is not None:
            attributes["TEXCOORD_0"] = self.accessor(uv)
        if colour is not None:
            attributes["COLOR_0"] = self.accessor(colour, normalized=colour.dtype != np.float32)
        primitive = {"attributes": attributes, "indices": self.accessor(SQUARE_FACES)}
        if material is not None:
            primitive["material"] = material
        self.doc["meshes"].append({"primitives": [primitive]})
        self.doc["scenes"][0]["nodes"].append(len(self.doc["nodes"]))
        self.doc["nodes"].append({"mesh": len(self.doc["meshes"]) - 1, **node})

    def textured(self, image: np.ndarray | bytes, sampler: dict[str, int] | None = None, **surface: Any) -> int:
        """Append a material with this texture and return its number."""
        data = image if isinstance(image, bytes) else png(image)
        for key in ("images", "textures", "samplers", "materials"):
            self.doc.setdefault(key, [])
        self.doc["images"].append({"bufferView": self.view(data), "mimeType": "image/png"})
        self.doc["samplers"].append(sampler or {})
        self.doc["textures"].append({"source": len(self.doc["images"]) - 1, "sampler": len(self.doc["samplers"]) - 1})
        self.doc["materials"].append({"pbrMetallicRoughness": {
            "baseColorTexture": {"index": len(self.doc["textures"]) - 1}, **surface}})
        return len(self.doc["materials"]) - 1

    def bytes(self) -> bytes:
        """Return the file."""
        self.doc["buffers"][0].setdefault("byteLength", len(self.data))
        text = json.dumps(self.doc).encode()
        text += b" " * (-len(text) % 4)
        return (struct.pack("<4sIII4s", b"glTF", 2, 28 + len(text) + len(self.data), len(text), b"JSON") + text
                + struct.pack("<I4s", len(self.data), b"BIN\0") + self.data)

    def write(self, path: Path) -> Path:
        """Write the file and return its path."""
        path.write_bytes(self.bytes())
        return path


def png(image: np.ndarray) -> bytes:
    """Return an image (h, w, 3) uint8 as a PNG file."""
    out = io.BytesIO()
    Image.fromarray(image).save(out, "png")
    return out.getvalue()


def obj(folder: Path, texture: str = "checker.png", library: str = "a.mtl") -> Path:
    """Write a square as OBJ with its material library and its texture; return the OBJ."""
    lines = [f"mtllib {library}", *(f"v {x} {y} {z}" for x, y, z in SQUARE), "vt 0 0", "vt 1 0", "vt 1 1", "vt 0 1",
             "usemtl one", "f 1/1 2/2 3/3", "f 1/1 3/3 4/4"]
    (folder / "a.obj").write_text("\n".join(lines))
    (folder / "a.mtl").write_text(f"newmtl one\nmap_Kd {texture}\n")
    (folder / "checker.png").write_bytes(png(CHECKER))
    return folder / "a.obj"


def load(path: Path, labels: bool | None = None, **files: Path) -> TriangleScene:
    """Return the scene of a data set's file: z up where nothing else is said."""
    return load_mesh(SceneFiles("some/scan", glb=path, **files), labels)


def look(scene: TriangleScene, x: float, y: float, z: float, yaw: float = 0.0, down: float = 0.0,
         camera: CameraModel | None = None) -> View:
    """Return what a camera there sees; angles in radians."""
    pose = Pose2(x, y, yaw).transform().matrix() @ camera_mount(z, down).matrix()
    return MeshRenderer(scene).image(camera or CameraModel(width=64, height=48, max_range_m=100.0), pose)
