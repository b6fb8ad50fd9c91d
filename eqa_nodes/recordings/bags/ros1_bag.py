"""Reads bags of ROS 1 (`.bag`, format 2.0) without ROS and converts their messages to those of ROS 2.

Two differences matter here: fields of CameraInfo are upper case in ROS 1, and headers have `seq`.
"""

from __future__ import annotations

import bz2
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lz4.frame import LZ4FrameDecompressor
from rosbags.interfaces import Connection
from rosbags.rosbag1 import Reader, reader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.bags.bounded import MAX_BYTES

SUFFIX = ".bag"
_CAMERA_INFO = "sensor_msgs/msg/CameraInfo"


class Ros1Decoder:
    """Deserializes messages of ROS 1: standard ones by their standard definition, others by the one in the bag."""

    def __init__(self) -> None:
        self._store = _standard()

    def __call__(self, connection: Connection, data: bytes) -> Any:
        """Return a message with the field names of ROS 2."""
        kind = connection.msgtype
        if kind not in self._store.fielddefs:
            types = get_types_from_msg(connection.msgdef.data, kind)
            if self._store is _standard():  # shared by all bags
                self._store = get_typestore(Stores.ROS1_NOETIC)
            self._store.register({name: t for name, t in types.items() if name not in self._store.fielddefs})
        message = self._store.deserialize_ros1(data, kind)
        return _lower_case(message) if kind == _CAMERA_INFO else message


def open_ros1(path: Path) -> Reader:
    """Return the reader of a bag, not yet open. Raises StorageError if the path is not a regular file."""
    if not path.is_file():  # opening a pipe would wait for its writer
        raise StorageError(f"{path} is not a plain file")
    return Reader(path)


def _lower_case(info: Any) -> SimpleNamespace:
    return SimpleNamespace(header=info.header, height=info.height, width=info.width,
                           distortion_model=info.distortion_model, binning_x=info.binning_x,
                           binning_y=info.binning_y, roi=info.roi, d=info.D, k=info.K, r=info.R, p=info.P)


@cache
def _standard() -> Typestore:
    return get_typestore(Stores.ROS1_NOETIC)


def _bounded(kind: Any) -> Any:
    """Return the decompressor of a chunk; it raises StorageError for a chunk that is too large or cut short."""
    def unpack(data: bytes) -> bytes:
        decompressor = kind()
        raw: bytes = decompressor.decompress(data, max_length=MAX_BYTES + 1)
        if len(raw) > MAX_BYTES or not decompressor.eof:
            raise StorageError(f"a chunk of {len(data)} bytes is cut short, or unpacks to more than the {MAX_BYTES} "
                               "that are read")
        return raw

    return unpack


reader.decompressors.update(bz2=_bounded(bz2.BZ2Decompressor), lz4=_bounded(LZ4FrameDecompressor))
