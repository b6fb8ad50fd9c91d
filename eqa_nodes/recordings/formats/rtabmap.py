"""Reads RTAB-Map's databases (.db), from a robot or from the phone app.

In RTAB-Map's schema (0.18 and newer), Node.pose is odometry, 3x4 float32; Admin.opt_ids and opt_poses are the poses of
the optimised graph; Data.image is an encoded image, Data.depth a PNG of 16 bits (mm), a PNG whose four channels are
float32 metres, or RVL; Data.calibration is a serialised CameraModel. Frames follow REP 103 already.
"""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqa_nodes.core.camera.image_geometry import metres
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.storage.checks import check_tables
from eqa_nodes.core.types.views import Frame, Intrinsics
from eqa_nodes.recordings.episode_history import recorded_format
from eqa_nodes.recordings.formats.cameras import mount, pinhole, rigid, transform_of_matrix
from eqa_nodes.recordings.formats.hand_held import HandHeldRecording
from eqa_nodes.wire.image_files import decode_image, rgb_pixels
from eqa_nodes.wire.rvl import decode_rvl

_MAGIC, _RVL = b"SQLite format 3\0", b"DEPTHRVL"
_TABLES = ("Node", "Data", "Admin")
_HEADER = struct.Struct("<11i")  # version (3), kind, width, height, lengths of K, D, R and P, of the local transform
_MONO, _STEREO = 0, 1
_TAIL = struct.Struct("<3i")  # after compressed matrices: rows, columns, OpenCV type
_MAX_BLOB = 1 << 27
_ON_FLOOR_M = 0.4  # maximum height of a robot's base_link
_UPRIGHT = np.cos(np.radians(10.0))  # a base that tilts less in every frame is a robot's
_RENEW = "bring it to the present version with rtabmap-reprocess OLD.db NEW.db"


class _Lens(NamedTuple):
    """First camera of a node, and the number of camera images side by side in its image."""

    k: Intrinsics
    base_from_camera: np.ndarray
    cameras: int


class RtabmapDatabase(HandHeldRecording):
    """The nodes with an image, in order; nodes that are not in the optimised graph have no pose.

    If the base is upright and on the floor in every node, it is a robot's, and the map is kept unchanged. Otherwise a
    person carried the camera. If a robot has several cameras, only the first is read.
    """

    def __init__(self, path: Path) -> None:
        """Raises StorageError for a database that is damaged, of stereo images, too old, or without images or poses."""
        self._path = Path(path)
        with self._open() as database:
            check_tables(self._path, database, _TABLES)
            rows = list(database.execute(
                "SELECT Node.id, Node.map_id, Node.stamp, Node.pose FROM Node JOIN Data ON Data.id = Node.id "
                "WHERE length(Data.image) > 0 AND length(Data.depth) > 0 ORDER BY Node.id"))
            if not rows:
                raise StorageError(f"{path} holds no node with colour and depth: switch on Mem/BinDataKept (it is by "
                                   "default) and map with an RGB-D camera")
            poses = _optimised(database, self._path) or _odometry(rows)
        self._ids, self._stamps = [int(row[0]) for row in rows], [float(row[2] or 0) for row in rows]
        self.numbers = self._ids
        world_from_base = [poses.get(i) for i in self._ids]
        mounted = self._mounted()
        super().__init__(path, [None if pose is None else pose @ mounted for pose in world_from_base])
        self._bases: Sequence[np.ndarray | None] | None = None
        if _is_robot(world_from_base, -float(self._map_from_world[2, 3])):
            self._bases, self._map_from_world, self.notes = world_from_base, np.eye(4), ()

    def __getitem__(self, index: int) -> Frame:
        """As in HandHeldRecording; a robot's frame has the pose of its base."""
        frame = super().__getitem__(index)
        pose = None if self._bases is None else self._bases[index]
        if pose is None:
            return frame
        base = transform_of_matrix(self._map_from_world @ rigid(pose, f"the pose of node {self._ids[index]}"))
        return replace(frame, map_from_base=base, base_from_camera=mount(base, frame.map_from_camera()))

    def stamp_ns(self, index: int) -> int:
        """As in HandHeldRecording."""
        stamp = self._stamps[index]
        if not 0 <= stamp < 1e10:
            raise BadFrame(f"node {self._ids[index]} has the stamp {stamp} s")
        return round(stamp * 1e9)

    def camera(self, index: int) -> Intrinsics:
        """As in HandHeldRecording."""
        return self._lens(index).k

    def rgb(self, index: int) -> np.ndarray:
        """As in HandHeldRecording."""
        data, calibration = self._blobs(index, "image")
        return _first(rgb_pixels(data, f"of node {self._ids[index]}"), _lens_of(calibration, self._ids[index]).cameras)

    def depth(self, index: int) -> np.ndarray:
        """As in HandHeldRecording."""
        data, calibration = self._blobs(index, "depth")
        depth_m = depth_of(data, f"of node {self._ids[index]}")
        return _first(depth_m, _lens_of(calibration, self._ids[index]).cameras)

    def _mounted(self) -> np.ndarray:
        """Return base_from_camera, (4, 4), of the first node that has one. Raises StorageError."""
        reason = ""
        for index in range(len(self._ids)):
            try:
                return self._lens(index).base_from_camera
            except BadFrame as error:
                reason = reason or str(error)
        raise StorageError(f"{self._path}: {reason}")

    def _lens(self, index: int) -> _Lens:
        return _lens_of(self._blobs(index, "calibration")[1], self._ids[index])

    def _blobs(self, index: int, column: str) -> tuple[bytes, bytes]:
        """Return a column of the node's data and its calibration. Raises BadFrame."""
        with self._open() as database:
            row = database.execute(f"SELECT {column}, calibration FROM Data WHERE id = ?", (self._ids[index],)
                                   ).fetchone()
        if row is None or not all(isinstance(blob, bytes) and len(blob) <= _MAX_BLOB for blob in row):
            raise BadFrame("a node has no camera" if row is not None else "a node has no data")
        return row[0], row[1]

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as database:
                yield database
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise StorageError(f"{self._path} is not a readable database of RTAB-Map: {error}; {_RENEW}"
                               ) from error


def depth_of(data: bytes, what: object) -> np.ndarray:
    """Return (H, W) float32 metres of a depth image in any of RTAB-Map's forms. Raises BadFrame."""
    if data.startswith(_RVL):
        return metres(decode_rvl(data[len(_RVL):], what))
    raw = np.array(decode_image(data, what))
    if raw.ndim == 3 and raw.shape[2] == 4 and raw.dtype == np.uint8:  # OpenCV stores the bytes as blue, green, red
        return np.ascontiguousarray(raw[..., [2, 1, 0, 3]]).view("<f4")[..., 0]
    if raw.ndim != 2 or raw.dtype.itemsize < 2:
        raise BadFrame(f"depth image {what} is {raw.shape} {raw.dtype}: it is the right image of a stereo camera")
    return metres(raw)


def _first(image: np.ndarray, cameras: int) -> np.ndarray:
    """Return the image of the first camera out of several side by side."""
    return np.ascontiguousarray(image[:, :image.shape[1] // cameras])


def _lens_of(data: bytes, node: int) -> _Lens:
    """Return the first camera of a calibration. Raises BadFrame for an unknown format."""
    found, at = None, 0
    count = 0
    while at < len(data):
        lens, at = _model(data, at, node)
        found, count = found or lens, count + 1
    if found is None:
        raise BadFrame("a node has no calibration")
    return found._replace(cameras=count)


def _model(data: bytes, at: int, node: int) -> tuple[_Lens, int]:
    """Return the camera at a byte offset, and the offset of the next one."""
    if len(data) < at + _HEADER.size:
        raise BadFrame(f"the calibration of node {node} has {len(data)} bytes: {_RENEW}")
    _, _, _, kind, width, height, *sizes = _HEADER.unpack_from(data, at)
    if kind == _STEREO:
        raise BadFrame("a node is of a stereo camera: map with an RGB-D camera, or export RGB-D images from "
                       "rtabmap-databaseViewer")
    numbers, local = sizes[:4], sizes[4]
    end = at + _HEADER.size + 8 * sum(numbers) + 4 * local
    if kind != _MONO or numbers[0] not in (0, 9) or numbers[3] not in (0, 12) or local != 12 or not (
            0 <= numbers[1] <= 14 and numbers[2] in (0, 9)) or end > len(data) or not (
            0 < width < 1 << 15 and 0 < height < 1 << 15):
        raise BadFrame(f"the calibration of node {node} is not understood (header {(kind, width, height, *sizes)}): "
                       f"{_RENEW}")
    values = np.frombuffer(data, "<f8", sum(numbers), at + _HEADER.size)
    projection = values[sum(numbers[:3]):].reshape(-1, 4)[:, :3] if numbers[3] else values[:numbers[0]].reshape(-1, 3)
    if len(projection) != 3:
        raise BadFrame(f"node {node} has an uncalibrated camera")
    base_from_camera = np.eye(4)
    base_from_camera[:3] = np.frombuffer(data, "<f4", 12, end - 48).reshape(3, 4)
    k = pinhole(projection, (height, width), 0.0)
    return _Lens(k, rigid(base_from_camera, f"the mount of node {node}'s camera"), 1), end


def _optimised(database: sqlite3.Connection, path: Path) -> dict[int, np.ndarray]:
    """Return node -> pose of the optimised graph, empty if there is none. Raises StorageError for damaged data."""
    columns = {row[1] for row in database.execute("PRAGMA table_info(Admin)")}
    row = database.execute("SELECT opt_ids, opt_poses FROM Admin").fetchone() if "opt_poses" in columns else None
    if row is None or not row[0] or not row[1]:
        return {}
    try:
        ids, poses = _matrix(row[0], "<i4"), _matrix(row[1], "<f4").reshape(-1, 3, 4)
        if len(ids) != len(poses):
            raise ValueError(f"{len(ids)} ids for {len(poses)} poses")
    except (ValueError, TypeError, zlib.error, struct.error) as error:
        raise StorageError(f"{path}: the optimised poses cannot be read ({error}): {_RENEW}") from error
    return {int(i): _pose(p) for i, p in zip(ids, poses, strict=True)}


def _matrix(blob: bytes, kind: str) -> np.ndarray:
    """Return the values of a matrix that RTAB-Map compressed: zlib, then rows, columns and type."""
    rows, columns, _ = _TAIL.unpack_from(blob, len(blob) - _TAIL.size)
    size = rows * columns * np.dtype(kind).itemsize
    if not 0 <= size <= _MAX_BLOB:
        raise ValueError(f"a matrix of {rows}x{columns}")
    return np.frombuffer(zlib.decompressobj().decompress(blob[:-_TAIL.size], size + 1), kind)


def _odometry(rows: Sequence[Any]) -> dict[int, np.ndarray]:
    """Return node -> odometry pose in the session with the most nodes: other sessions have other origins."""
    session = Counter(row[1] for row in rows).most_common(1)[0][0]
    return {int(row[0]): _pose(np.frombuffer(row[3], "<f4").reshape(3, 4)) for row in rows
            if row[1] == session and isinstance(row[3], bytes) and len(row[3]) == 48}


def _pose(rows: np.ndarray) -> np.ndarray:
    pose = np.eye(4)
    pose[:3] = rows
    return pose


def _is_robot(poses: Sequence[np.ndarray | None], floor_z: float) -> bool:
    """Return whether a base is upright and on the floor in every frame."""
    known = [pose for pose in poses if pose is not None]
    return all(float(pose[2, 2]) >= _UPRIGHT and abs(float(pose[2, 3]) - floor_z) <= _ON_FLOOR_M for pose in known)


def _fits(path: Path) -> bool:
    """Return whether a path is a database with RTAB-Map's tables."""
    if path.suffix != ".db" or not path.is_file():
        return False
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return False
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            names = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
    except sqlite3.Error:
        return True  # opening it reports the damage
    return {"Node", "Admin"} <= names


RTABMAP = recorded_format("a .db file of RTAB-Map", _fits, RtabmapDatabase)
