"""Reads GLB and glTF 2.0 files directly; errors name unsupported features.

This module replaces trimesh's reader because labels are stored in linear vertex colours, which trimesh cuts to 8 bits,
and because trimesh drops textures that it cannot decode.
"""

from __future__ import annotations

import base64
import json
import logging
import struct
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from eqa_nodes.core.errors import SimulatorError
from eqa_nodes.core.types.views import srgb_of
from sim_bridge.mesh.model import (
    BASIS_REMEDY,
    CLAMP,
    MIRROR,
    REPEAT,
    Decode,
    Material,
    MeshFile,
    Submesh,
    beside,
    broken,
    decoded,
    read_bytes,
    shown_as_stored,
)

log = logging.getLogger(__name__)

_JSON, _BIN, _TRIANGLES = 0x4E4F534A, 0x004E4942, 4
_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTH = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
_WRAP = {10497: REPEAT, 33071: CLAMP, 33648: MIRROR}
_READ = {"KHR_materials_unlit", "KHR_mesh_quantization", "KHR_texture_transform", "KHR_texture_basisu"}


def read_glb(path: Path, hidden: Sequence[str] = ()) -> MeshFile:
    """Return a GLB's or glTF's triangles with the transforms of the scene graph applied.

    The instances of a mesh share all arrays except their corners. hidden: paths of nodes to leave out (SceneEdit).
    Raises UnknownScene if it or a file that it needs cannot be read, SimulatorError if it is damaged, needs
    unsupported features or refers to files outside its folder.
    """
    data = read_bytes(path)
    try:
        chunks = _chunks(path, data) if path.suffix.lower() == ".glb" else (json.loads(data), memoryview(b""))
        with np.errstate(all="ignore"):  # values that are not numbers are reported when all parts are joined
            return _Gltf(path, *chunks).model(_Hidden(hidden))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError,
            struct.error) as error:
        raise broken(path, f"not a sound GLB ({type(error).__name__}: {error})") from error


def _chunks(path: Path, data: bytes) -> tuple[dict[str, Any], memoryview]:
    """Return the JSON document and the binary chunk."""
    if data[:4] != b"glTF":
        raise broken(path, "does not begin as a GLB does")
    _, version, length = struct.unpack_from("<4sII", data)
    if version != 2 or length > len(data):
        raise broken(path, f"GLB version {version} of {length} bytes, {len(data)} are there, version 2 is read")
    found: dict[int, memoryview] = {}
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<II", data, at)
        found.setdefault(kind, memoryview(data)[at + 8:at + 8 + size])
        at += 8 + size
    return json.loads(bytes(found[_JSON])), found.get(_BIN, memoryview(b""))


class _Shape(NamedTuple):
    """A primitive in the frame of its mesh: a `Submesh` before its node's transform."""

    points: np.ndarray
    faces: np.ndarray
    uv: np.ndarray | None
    colour: np.ndarray | None
    material: Material


def _at(shape: _Shape, place: np.ndarray, name: str) -> Submesh:
    """Return a primitive transformed by `place` (4, 4); its instances share all arrays except the corners."""
    vertices = shape.points @ place[:3, :3].T + place[:3, 3]
    mirrored = np.linalg.det(place[:3, :3]) < 0  # a mirrored face keeps its front
    return Submesh(vertices, shape.faces[:, ::-1] if mirrored else shape.faces, shape.uv, shape.colour, shape.material,
                   name)


class _Hidden:
    """Paths of nodes that are left out, compared without the name of the scene and of a single root of the file."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = {path.partition("/")[2] or path for path in paths}
        self.missing = set(self._paths)

    def __contains__(self, path: str) -> bool:
        for form in (path, path.partition("/")[2]) if self._paths else ():
            if form in self._paths:
                self.missing.discard(form)
                return True
        return False


class _Gltf:
    def __init__(self, path: Path, document: dict[str, Any], binary: memoryview) -> None:
        self._path, self._doc, self._binary = path, document, binary
        self._buffers: dict[int, memoryview] = {}
        self._files: dict[str, bytes] = {}
        self._shapes: dict[tuple[int, int], _Shape | None] = {}
        missing = sorted(set(document.get("extensionsRequired", [])) - _READ)
        if missing:
            raise SimulatorError(f"{path}: needs {', '.join(missing)}, which is not read: export the scan without "
                                 "compression (e.g. `gltf-transform copy in.glb out.glb`)")

    def model(self, hidden: _Hidden) -> MeshFile:
        """Return the file without the hidden nodes. Raises the errors that read_glb converts."""
        parts = []
        for node, place in self._placed(hidden):
            number = int(node["mesh"])
            for which in range(len(self._doc["meshes"][number]["primitives"])):
                shape = self._shape(number, which)
                if shape is not None:
                    parts.append(_at(shape, place, str(node.get("name", ""))))
        if hidden.missing:
            log.warning("%s has no nodes %s, which are to be left out", self._path, ", ".join(sorted(hidden.missing)))
        return MeshFile(parts, [self._image(i, image) for i, image in enumerate(self._doc.get("images", []))])

    def _placed(self, hidden: _Hidden) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
        """Yield each node that has a mesh with its transform (4, 4), parents first, in the file's order."""
        nodes, scenes = self._doc.get("nodes", []), self._doc.get("scenes", [])
        roots = scenes[self._doc.get("scene", 0)].get("nodes", []) if scenes else range(len(nodes))
        waiting, seen = [(i, np.eye(4), "") for i in reversed(roots)], set()
        while waiting:
            number, above, path = waiting.pop()
            if number in seen or number < 0:
                raise ValueError(f"node {number} stands twice in the scene graph")
            seen.add(number)
            node = nodes[number]
            path += f"{node.get('name', '')}"
            if path in hidden:
                continue
            place = above @ _transform(node)
            if "mesh" in node:
                yield node, place
            waiting += [(i, place, f"{path}/") for i in reversed(node.get("children", []))]

    def _shape(self, mesh: int, number: int) -> _Shape | None:
        """Return the triangles of a primitive in the frame of its mesh; None for points and lines."""
        if (mesh, number) not in self._shapes:
            self._shapes[mesh, number] = self._read(self._doc["meshes"][mesh]["primitives"][number])
        return self._shapes[mesh, number]

    def _read(self, primitive: dict[str, Any]) -> _Shape | None:
        mode, attributes = primitive.get("mode", _TRIANGLES), primitive["attributes"]
        if mode < _TRIANGLES:
            return None
        if mode != _TRIANGLES:
            raise ValueError("triangle strips and fans are not read: export plain triangles")
        points = self._values(attributes["POSITION"], 3)
        corners = (self._array(primitive["indices"]).astype(np.int64).reshape(-1) if "indices" in primitive
                   else np.arange(len(points)))
        faces = corners[:len(corners) // 3 * 3].reshape(-1, 3)
        material, used = self._material(primitive.get("material"))
        uv, coordinates = None, f"TEXCOORD_{used.get('texCoord', 0)}"
        if material.image >= 0 and coordinates in attributes:
            uv = _moved(self._values(attributes[coordinates], 2), used).astype(np.float32)
        colour = self._values(attributes["COLOR_0"], 3).astype(np.float32) if "COLOR_0" in attributes else None
        return _Shape(points, faces, uv, colour, material if uv is not None else material._replace(image=-1))

    def _material(self, number: int | None) -> tuple[Material, dict[str, Any]]:
        """Return a material and its texture reference, overridden by the extension KHR_texture_transform."""
        if number is None:
            return Material(), {}
        surface = self._doc["materials"][number].get("pbrMetallicRoughness", {})
        stored = np.array(surface.get("baseColorFactor", (1, 1, 1, 1))[:3], np.float64)
        red, green, blue = (stored if shown_as_stored() else srgb_of(stored)).tolist()
        reference = surface.get("baseColorTexture")
        if reference is None:
            return Material((red, green, blue)), {}
        texture = self._doc["textures"][reference["index"]]
        if "source" not in texture:
            raise SimulatorError(f"{self._path}: {BASIS_REMEDY}")
        sampler = self._doc["samplers"][texture["sampler"]] if "sampler" in texture else {}
        wrap = _WRAP[sampler.get("wrapS", 10497)], _WRAP[sampler.get("wrapT", 10497)]
        if not 0 <= texture["source"] < len(self._doc["images"]):
            raise ValueError(f"texture {reference['index']} names image {texture['source']}, which is not there")
        return (Material((red, green, blue), texture["source"], wrap),
                {**reference, **reference.get("extensions", {}).get("KHR_texture_transform", {})})

    def _image(self, number: int, image: dict[str, Any]) -> Decode:
        """Return the function that decodes an image."""
        what = f"{self._path}: texture {image.get('name', number)!r}"
        data = self._view(image["bufferView"])[0] if "bufferView" in image else self._file(image["uri"])
        return partial(decoded, data, what)

    def _view(self, number: int) -> tuple[memoryview, int]:
        """Return the bytes of a buffer view and its stride, 0 = packed."""
        view = self._doc["bufferViews"][number]
        data = self._buffer(int(view.get("buffer", 0)))
        start, length = int(view.get("byteOffset", 0)), int(view["byteLength"])
        if start < 0 or length < 0 or start + length > len(data):
            raise ValueError(f"buffer view {number} ends at byte {start + length} of {len(data)}")
        return data[start:start + length], int(view.get("byteStride", 0))

    def _buffer(self, number: int) -> memoryview:
        """Return a buffer: the binary chunk of a GLB, or the content of its URI."""
        if number not in self._buffers:
            buffer = self._doc["buffers"][number]
            self._buffers[number] = memoryview(self._file(buffer["uri"])) if "uri" in buffer else self._binary
        return self._buffers[number]

    def _file(self, uri: str) -> bytes:
        """Return the content of a URI: inline data, or a file of the same folder."""
        if uri not in self._files:
            self._files[uri] = self._bytes_of(uri)
        return self._files[uri]

    def _bytes_of(self, uri: str) -> bytes:
        if uri.startswith("data:"):
            return base64.b64decode(uri.partition(",")[2], validate=True)
        file = beside(self._path.parent, unquote(uri))
        if file is None:
            raise SimulatorError(f"{self._path} refers to {uri!r}, which lies outside its folder: export it as one "
                                 ".glb with everything embedded")
        return read_bytes(file)

    def _array(self, number: int) -> np.ndarray:
        """Return an accessor's values (count, width) as stored."""
        accessor = self._doc["accessors"][number]
        if "sparse" in accessor or "bufferView" not in accessor:
            raise ValueError(f"accessor {number} is sparse: export it without sparse accessors")
        dtype, width = np.dtype(_TYPES[accessor["componentType"]]), _WIDTH[accessor["type"]]
        data, stride = self._view(accessor["bufferView"])
        count, start, packed = int(accessor["count"]), int(accessor.get("byteOffset", 0)), dtype.itemsize * width
        stride = stride or packed
        if count < 0 or start < 0 or stride < packed or (
                count and start + stride * (count - 1) + packed > len(data)):
            raise ValueError(f"accessor {number} reads beyond its {len(data)} bytes")
        if not count:
            return np.empty((0, width), dtype)
        return np.ndarray((count, width), dtype, data, start, (stride, dtype.itemsize))

    def _values(self, number: int, width: int) -> np.ndarray:
        """Return an accessor's first columns (count, width) as float64, normalized integers as 0..1 or -1..1."""
        values = self._array(number)[:, :width]
        if values.shape[1] != width:
            raise ValueError(f"accessor {number} has {values.shape[1]} columns of {width}")
        whole = float(np.iinfo(values.dtype).max) if values.dtype.kind in "iu" else 1.0
        if not self._doc["accessors"][number].get("normalized", False):
            whole = 1.0
        return np.maximum(values / whole, -1.0) if whole > 1 else values.astype(np.float64)


def _transform(node: dict[str, Any]) -> np.ndarray:
    """Return a node's own transform (4, 4)."""
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    x, y, z, w = (float(v) for v in node.get("rotation", (0, 0, 0, 1)))
    turn = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
    out = np.eye(4)
    out[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)), float)
    out[:3, 3] = node.get("translation", (0, 0, 0))
    return out


def _moved(uv: np.ndarray, reference: dict[str, Any]) -> np.ndarray:
    """Return texture coordinates after KHR_texture_transform: scaled, turned, then moved."""
    turn = float(reference.get("rotation", 0.0))
    c, s = np.cos(turn), np.sin(turn)
    return (uv * np.array(reference.get("scale", (1, 1)), float)) @ np.array([[c, -s], [s, c]]) + np.array(
        reference.get("offset", (0, 0)), float)
