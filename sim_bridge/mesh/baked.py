"""Caches what takes long to compute for a large scan: triangles with their appearance, and the floors of robots.

The files lie in the folder `.baked` beside the scan, or in the user's cache if that is not writable. Each holds the
SHA-256 of everything it was made from, including this package's sources; if the digest differs, it is made again.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import secrets
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Label
from sim_bridge.mesh.floor import MeshFloor
from sim_bridge.mesh.ground import CompactHeightfield
from sim_bridge.mesh.load import TriangleScene, load_mesh, map_from_file
from sim_bridge.mesh.model import Pyramids, shown_as_stored
from sim_bridge.scans import SceneFiles
from sim_bridge.simulator import AS_STORED, SceneEdit

MIN_FACES = 100_000  # a smaller scan opens as fast without a cache
MAX_BYTES = 1 << 31  # size limit of one file: larger ones would fill the disk and be as slow to read as to compute
FOLDER = ".baked"
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
log = logging.getLogger(__name__)


class BakedScan:
    """A scan, opened from its cache if that exists and matches. A scan with changes is not cached."""

    def __init__(self, scan: SceneFiles, edit: SceneEdit = AS_STORED) -> None:
        """Raises what load_mesh raises."""
        self._glb = scan.glb
        self._digest = _digest_of(scan) if edit == AS_STORED else ""
        arrays = self._read("scene")
        self.scene = _scene_of(arrays) if arrays is not None else load_mesh(scan, edit=edit)
        self._large = len(self.scene.faces) >= MIN_FACES
        if arrays is None:
            self._write("scene", _arrays_of(self.scene))

    def floor(self, robot: RobotModel) -> MeshFloor:
        """Return where robots of this body can be. Raises what MeshFloor raises."""
        body = (robot.radius_m, robot.height_m, robot.climb_m, robot.slope_deg)
        name = "floor-" + "-".join(map(repr, body))
        arrays = self._read(name)
        if arrays is not None:
            area = arrays.pop("area")
            values: dict[str, Any] = {key: array if array.ndim else array.item() for key, array in arrays.items()}
            ground = CompactHeightfield(**values)
            return MeshFloor(self.scene.vertices, self.scene.faces, robot, (ground, area))
        floor = MeshFloor(self.scene.vertices, self.scene.faces, robot)
        self._write(name, {**{key: np.asarray(value) for key, value in floor.ground._asdict().items()},
                           "area": floor.area})
        return floor

    def _paths(self, name: str) -> list[Path]:
        """Return the possible paths of a cache file: beside the scan, or in the user's cache."""
        assert self._glb is not None
        own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eqa" / "baked"
        place = hashlib.sha256(str(self._glb.resolve()).encode()).hexdigest()[:16]
        return [self._glb.parent / FOLDER / f"{self._glb.name}.{name}.npz",
                own / f"{place}-{self._glb.name}.{name}.npz"]

    def _read(self, name: str) -> dict[str, np.ndarray] | None:
        """Return the arrays of a matching file, None if there is none. Logs damaged files."""
        for path in self._paths(name) if self._digest else []:
            try:
                with zipfile.ZipFile(path) as file:
                    if file.read("digest").decode() == self._digest:
                        return {key: _array(file, key) for key in file.namelist() if key != "digest"}
            except (FileNotFoundError, PermissionError):
                continue
            except _UNREADABLE as error:
                log.warning("%s is damaged (%s: %s): it is computed again", path, type(error).__name__, error)
        return None

    def _write(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Write arrays atomically to the first writable folder; log it if there is none."""
        if not (self._digest and self._large) or sum(array.nbytes for array in arrays.values()) > MAX_BYTES:
            return
        failed: list[str] = []
        for path in self._paths(name):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                part = path.with_name(f".part-{os.getpid()}-{secrets.token_hex(4)}")  # mode from the umask
                try:
                    self._fill(part, arrays)
                    part.replace(path)
                finally:
                    part.unlink(missing_ok=True)
                return
            except OSError as error:
                failed.append(f"{path.parent} ({error.strerror})")
        log.warning("%s is not cached, so it is computed at each start: cannot write %s", self._glb,
                    " or ".join(failed))

    def _fill(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("digest", self._digest)
            for key, array in arrays.items():
                held = io.BytesIO()
                np.lib.format.write_array(held, np.ascontiguousarray(array) if array.ndim else array,
                                          allow_pickle=False)
                file.writestr(key, held.getbuffer())


def _array(file: zipfile.ZipFile, key: str) -> np.ndarray:
    """Return an array of an archive; reading its last byte verifies the checksum."""
    with file.open(key) as member:
        array: np.ndarray = np.lib.format.read_array(member, allow_pickle=False)
        return array


def _digest_of(scan: SceneFiles) -> str:
    """Return the digest of everything that a scan is read from, "" for a scan that is not cached.

    Only a GLB that refers to no other file is cached. Of the configs beside it, only their axes count.
    """
    if scan.glb is None or scan.glb.suffix != ".glb":
        return ""
    try:
        digest = hashlib.sha256(_sources())
        for path in _files_of(scan):
            content = path.read_bytes()
            if path.suffix == ".glb" and not _alone(content):
                return ""
            digest.update(path.name.encode() + hashlib.sha256(content).digest())
    except OSError:  # load_mesh reports which
        return ""
    digest.update(map_from_file(scan).tobytes() + bytes([shown_as_stored()]))
    return digest.hexdigest()


def _files_of(scan: SceneFiles) -> list[Path]:
    """Return the files that contain the triangles and labels of a scan."""
    files = [path for path in (scan.glb, scan.semantic_glb, scan.semantic_txt) if path is not None]
    more = scan.semantic_txt.with_suffix(".json") if scan.semantic_txt is not None else None
    return [*files, more] if more is not None and more.is_file() else files


def _alone(glb: bytes) -> bool:
    """Return whether the JSON of a GLB refers to no other file."""
    return len(glb) >= 20 and b'"uri"' not in glb[20:20 + struct.unpack_from("<I", glb, 12)[0]]


@cache
def _sources() -> bytes:
    """Return the digest of the code that computes the cached data."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def _arrays_of(scene: TriangleScene) -> dict[str, np.ndarray]:
    """Return a scene as named arrays."""
    arrays = {field.name: getattr(scene, field.name) for field in fields(scene)}
    labels, textures = arrays.pop("labels"), arrays.pop("textures")
    text = json.dumps([[number, label._asdict()] for number, label in labels.items()])
    return {**arrays, **textures._asdict(), "labels": np.frombuffer(text.encode(), np.uint8)}


def _scene_of(arrays: dict[str, np.ndarray]) -> TriangleScene:
    """Return the scene of such arrays; the inverse of _arrays_of."""
    labels = {number: Label(**values) for number, values in json.loads(arrays.pop("labels").tobytes())}
    textures = Pyramids(*(arrays.pop(key) for key in Pyramids._fields))
    values: dict[str, Any] = dict(arrays)
    return TriangleScene(**values, textures=textures, labels=labels)
