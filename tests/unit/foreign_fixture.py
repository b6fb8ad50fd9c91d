"""Bags of robots that are not ours, written with rosbags: other names, encodings, storages, and faults."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.history import BagOptions, read_history
from tests.unit.bag_fixture import Cdr
from tests.unit.frame_fixture import MOUNT, F, H, W

BEGIN, STEP = 1_700_000_000 * 10**9, 10**8  # ten images a second
OPTICAL = "cam_color_optical_frame"
COLOR, INFO = "/cam/color/image_raw", "/cam/color/camera_info"
DEPTH = "/cam/aligned_depth_to_color/image_raw"
BENT = (-0.28, 0.09, 0.001, -0.002, 0.01)  # distortion, plumb_bob
IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
MUTATIONS = int(os.environ.get("EQA_FUZZ_BAGS", "120"))  # of a bag, of each kind


Pack = Callable[[np.ndarray, Any], tuple[str, bytes]]  # pixels, header -> message type, serialized message


class Row(NamedTuple):
    """One message of a bag."""

    topic: str
    type: str
    log_ns: int
    data: bytes


class StandardCdr(Cdr):
    """Serializes standard messages by the definitions that rosbags has."""

    def __init__(self) -> None:
        self._store = get_typestore(Stores.ROS2_JAZZY)

    def write(self, folder: Path, rows: list[Row], storage: str = "mcap", compression: str = "none") -> Path:
        """Write a bag of rows in the order of their time; return its folder. compression: none | file | message."""
        bag = Writer(folder, version=9, storage_plugin=StoragePlugin[storage.upper()])
        bag.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
        with bag as writer:
            connections: dict[str, Any] = {}
            for row in sorted(rows, key=lambda row: row.log_ns):
                if row.topic not in connections:
                    connections[row.topic] = writer.add_connection(row.topic, row.type, typestore=self._store)
                writer.write(connections[row.topic], row.log_ns, row.data)
        return folder


class Scene:
    """What a robot records: count images at 10 Hz while it drives along x; every part can be changed before writing."""

    def __init__(self, cdr: StandardCdr, count: int = 6) -> None:
        self.cdr, self.count = cdr, count
        self.color, self.depth, self.info = COLOR, DEPTH, INFO  # topics
        self.map_frame, self.odom_frame, self.base_frame = "map", "odom", "base_link"
        self.color_frame = self.depth_frame = OPTICAL
        self.pack_color: Pack = self.raw("rgb8")
        self.pack_depth: Pack = self.raw("32FC1")
        self.depth_late_ns = 0  # by how much the depth stamps are later than those of the colour
        self.info_fields: dict[str, Any] = {}
        self.tf_late_ns = 0  # by how much transforms lie between the images

    def rgb(self, i: int) -> np.ndarray:
        """(H, W, 3) uint8; no two images and no two channels are alike."""
        v, u = np.mgrid[:H, :W]
        return np.stack([u * 3 + i, v * 4 + 2 * i, (u + v) * 2 + 3 * i], axis=-1).astype(np.uint8)

    def depth_m(self, i: int) -> np.ndarray:
        """(H, W) float32 in whole millimetres; the upper left corner has no return."""
        v, u = np.mgrid[:H, :W]
        depth = ((1000 + 7 * u + 11 * v + 100 * i) / 1000).astype(np.float32)
        depth[:4, :4] = 0
        return depth

    def stamp(self, i: int) -> int:
        return BEGIN + i * STEP

    def x(self, stamp_ns: int) -> float:
        """Where the robot is: 1 m/s."""
        return (stamp_ns - BEGIN) / 1e9

    def rows(self) -> list[Row]:
        rows = [Row("/tf_static", "tf2_msgs/msg/TFMessage", BEGIN - STEP, self.static())]
        for i in range(-1, self.count + 1):
            stamp = self.stamp(i) + self.tf_late_ns
            rows.append(Row("/tf", "tf2_msgs/msg/TFMessage", stamp, self.moving(stamp)))
        for i in range(self.count):
            stamp = self.stamp(i)
            rows += [Row(self.info, "sensor_msgs/msg/CameraInfo", stamp, self.camera_info(stamp)), self.color_row(i),
                     self.depth_row(i)]
        return rows

    def color_row(self, i: int, stamp: int | None = None) -> Row:
        stamp = self.stamp(i) if stamp is None else stamp
        kind, data = self.pack_color(self.rgb(i), self.cdr.header(stamp, self.color_frame))
        return Row(self.color, kind, stamp, data)

    def depth_row(self, i: int, stamp: int | None = None) -> Row:
        stamp = self.stamp(i) + self.depth_late_ns if stamp is None else stamp
        kind, data = self.pack_depth(self.depth_m(i), self.cdr.header(stamp, self.depth_frame))
        return Row(self.depth, kind, stamp, data)

    def static(self) -> bytes:
        links = [self.cdr.tf(self.base_frame, OPTICAL, BEGIN, Transform((0.0, 0.0, 1.2), MOUNT.xyzw))]
        return self.cdr("tf2_msgs/msg/TFMessage", transforms=links)

    def moving(self, stamp: int) -> bytes:
        links = [self.cdr.tf(self.odom_frame, self.base_frame, stamp, Pose2(self.x(stamp), 0.0, 0.1).transform())]
        if self.map_frame:
            links.append(self.cdr.tf(self.map_frame, self.odom_frame, stamp, Transform.identity()))
        return self.cdr("tf2_msgs/msg/TFMessage", transforms=links)

    def camera_info(self, stamp: int, **fields: Any) -> bytes:
        k = np.array([F, 0, W / 2 - 0.5, 0, F, H / 2 - 0.5, 0, 0, 1], np.float64)
        p = np.array([F, 0, W / 2 - 0.5, 0, 0, F, H / 2 - 0.5, 0, 0, 0, 1, 0], np.float64)
        return self.cdr("sensor_msgs/msg/CameraInfo", **{
            "header": self.cdr.header(stamp, self.color_frame), "width": W, "height": H, "k": k, "p": p,
            "distortion_model": "plumb_bob", "d": np.zeros(5), **self.info_fields, **fields})

    def raw(self, encoding: str, padding: int = 0, big: bool = False) -> Pack:
        """Return what makes an Image of pixels; padding: bytes behind each row."""
        def pack(pixels: np.ndarray, header: Any) -> tuple[str, bytes]:
            turned = as_encoding(pixels, encoding)
            turned = turned.astype(turned.dtype.newbyteorder(">")) if big else turned
            rows = turned.reshape(H, -1).view(np.uint8)
            data = np.pad(rows, ((0, 0), (0, padding)), constant_values=170)
            return IMAGE, self.cdr(IMAGE, header=header, height=H, width=W, encoding=encoding, is_bigendian=int(big),
                                   step=data.shape[1], data=np.ascontiguousarray(data).reshape(-1))
        return pack

    def compressed(self, text: str, pack: Callable[[np.ndarray], bytes]) -> Pack:
        """Return what makes a CompressedImage of that format text."""
        return lambda pixels, header: (COMPRESSED, self.cdr(
            COMPRESSED, header=header, format=text, data=np.frombuffer(pack(pixels), np.uint8)))


def as_encoding(pixels: np.ndarray, encoding: str) -> np.ndarray:
    """Return RGB or metres as a ROS encoding has them."""
    if encoding in ("16UC1", "mono16"):
        return np.rint(pixels * 1000).astype(np.uint16)
    opaque = np.full((H, W, 1), 255, np.uint8)
    return {"32FC1": lambda: pixels.astype(np.float32), "rgb8": lambda: pixels, "bgr8": lambda: pixels[..., ::-1],
            "rgba8": lambda: np.concatenate([pixels, opaque], -1), "mono8": lambda: pixels[..., 0],
            "bgra8": lambda: np.concatenate([pixels[..., ::-1], opaque], -1)}[encoding]().copy()


def png(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def jpeg(pixels: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=95)
    return stream.getvalue()


def depth_png(depth_m: np.ndarray) -> bytes:
    """As compressed_depth_image_transport packs 16UC1: the header tells nothing."""
    return struct.pack("<iff", 0, 0.0, 0.0) + png(as_encoding(depth_m, "16UC1"))


def inverse_depth_png(depth_m: np.ndarray, quantum: float = 100.0, farthest_m: float = 10.0) -> bytes:
    """As it packs 32FC1: inverse depth in 16 bits, 0 where there is no depth."""
    a = np.float32(quantum * (quantum + 1))
    b = np.float32(1 - a / farthest_m)
    seen = (depth_m > 0) & (depth_m < farthest_m)
    raw = np.where(seen, a / np.where(seen, depth_m, 1) + b, 0).astype(np.uint16)
    return struct.pack("<iff", 0, a, b) + png(raw)


def frames_of(scene: Scene, folder: Path, storage: str = "mcap", **options: Any) -> list[Frame]:
    """Write a bag and read it as a history."""
    scene.cdr.write(folder, scene.rows(), storage)
    return list(read_history(folder, options=BagOptions(**options)))


def mutated(whole: np.ndarray, rng: np.random.Generator) -> bytes:
    """Return bytes with a few of them changed, near each other or anywhere, or a piece of them left out."""
    data, kind = whole.copy(), rng.integers(3)
    near = int(rng.integers(len(data)))
    if kind == 0:
        return np.delete(data, np.arange(near, min(len(data), near + int(rng.integers(1, 64))))).tobytes()
    places = rng.integers(len(data), size=int(rng.integers(1, 9)))
    places = places if kind == 1 else (near + places % 64) % len(data)
    data[places] = rng.integers(256, size=len(places))
    return data.tobytes()
