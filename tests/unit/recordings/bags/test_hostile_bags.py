"""Bags made to harm: a few kilobytes that unpack to gigabytes, tables that never end. Each is a named error, soon."""

from __future__ import annotations

import io
import resource
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import lz4.frame
import numpy as np
import pytest
from mcap.writer import CompressionType, Writer
from PIL import Image
from rosbags.rosbag2 import storage_mcap

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.recordings.bags import bag_files
from eqa_nodes.recordings.bags.bag_files import MAX_BYTES, check_storage, unpack_lz4, unpack_message, unpack_zstd
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.wire import images
from tests.fixtures.foreign_bags import Scene, StandardCdr
from tests.fixtures.histories import walk

zstd = storage_mcap.zstd
MEMORY_KB = 3 * MAX_BYTES // 1024 + (100 << 10)
HUGE = 1 << 33  # bytes that a bomb unpacks to: more than this test may use


@pytest.fixture(autouse=True)
def bounded_memory() -> Iterator[None]:
    """No test here may take more than what the limits allow."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KB


@cache
def zstd_bomb(size: int) -> bytes:
    """Zeros, packed in pieces: the frame does not say how many."""
    packer = zstd.ZstdCompressor()
    piece = bytes(1 << 24)
    return b"".join([*(packer.compress(piece) for _ in range(size >> 24)), packer.flush()])


@cache
def lz4_bomb(size: int) -> bytes:
    packer = lz4.frame.LZ4FrameCompressor(block_size=lz4.frame.BLOCKSIZE_MAX4MB)
    piece = bytes(1 << 24)
    return b"".join([packer.begin(), *(packer.compress(piece) for _ in range(size >> 24)), packer.flush()])


@pytest.mark.parametrize(("unpack", "pack"), [(unpack_lz4, lz4.frame.compress), (unpack_zstd, zstd.compress)])
def test_what_is_whole_is_unpacked(unpack: Callable[[bytes, int], bytes], pack: Callable[[bytes], bytes]) -> None:
    data = np.random.default_rng(0).integers(0, 9, 100_000, np.uint8).tobytes()
    assert unpack(pack(data), len(data)) == data
    for wrong in (0, 10, len(data) - 1, len(data) + 1):
        with pytest.raises(StorageError, match=f"claims to unpack to {wrong} bytes"):
            unpack(pack(data), wrong)
    with pytest.raises(StorageError, match="at most"):
        unpack(pack(data), MAX_BYTES + 1)


@pytest.mark.parametrize(("unpack", "bomb"), [(unpack_lz4, lz4_bomb), (unpack_zstd, zstd_bomb)])
@pytest.mark.parametrize("claim", [1000, MAX_BYTES, HUGE])
def test_a_bomb_goes_no_further_than_its_claim(unpack: Callable[[bytes, int], bytes], bomb: Callable[[int], bytes],
                                               claim: int) -> None:
    with pytest.raises(StorageError, match="claims to unpack"):
        unpack(bomb(1 << 30), claim)


def test_a_message_that_is_a_bomb_is_refused() -> None:
    assert unpack_message(zstd.compress(b"message")) == b"message"
    with pytest.raises(StorageError, match="unpacks to more"):
        unpack_message(zstd_bomb(1 << 30))
    with pytest.raises(StorageError, match="cut short"):
        unpack_message(zstd.compress(b"message" * 100)[:-3])


def _chunk_bomb(path: Path, compression: CompressionType, packed: bytes, claim: int) -> None:
    """Write a bag whose only chunk is a bomb."""
    with path.open("wb") as stream:
        writer = Writer(stream, compression=compression, use_chunking=True)
        writer.start("ros2", "hostile")
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data")
        channel = writer.register_channel("/camera/color/image_raw", "cdr", schema)
        writer.add_message(channel, 1, bytes(100), 1)
        writer.finish()
    data = path.read_bytes()
    at = data.index(b"\x06", 8)
    name = compression.name.lower().encode()
    body = struct.pack("<QQQI", 1, 1, claim, 0) + struct.pack("<I", len(name)) + name
    body += struct.pack("<Q", len(packed)) + packed
    chunk = b"\x06" + struct.pack("<Q", len(body)) + body
    footer = b"\x02" + struct.pack("<QQQI", 20, 0, 0, 0)
    path.write_bytes(data[:at] + chunk + footer + b"\x89MCAP0\r\n")


@pytest.mark.parametrize(("compression", "bomb"), [(CompressionType.LZ4, lz4_bomb), (CompressionType.ZSTD, zstd_bomb)])
@pytest.mark.parametrize("claim", [1000, HUGE])
def test_a_bag_with_a_bomb_as_its_chunk_is_refused(compression: CompressionType, bomb: Callable[[int], bytes],
                                                   claim: int, tmp_path: Path) -> None:
    path = tmp_path / "bomb.mcap"
    _chunk_bomb(path, compression, bomb(1 << 30), claim)
    with pytest.raises(StorageError, match="claims to unpack"):
        open_history(path)


@pytest.mark.parametrize(("compression", "bomb"), [(CompressionType.LZ4, lz4_bomb), (CompressionType.ZSTD, zstd_bomb)])
@pytest.mark.parametrize("claim", [1000, HUGE])
def test_recovery_stops_at_a_bomb(compression: CompressionType, bomb: Callable[[int], bytes], claim: int,
                                  tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    _chunk_bomb(tmp_path / "bag" / "bag_0.mcap", compression, bomb(1 << 30), claim)
    assert recover(tmp_path / "bag") == 0


def test_bags_of_packed_messages_are_read_as_before(tmp_path: Path) -> None:
    """They take another way here: whoever unpacks them must still do so."""
    cdr = StandardCdr()
    scene = Scene(cdr)
    plain, packed = (list(open_history(cdr.write(tmp_path / mode, scene.rows(), compression=mode)))
                     for mode in ("none", "message"))
    assert plain and [f.rgb.tobytes() for f in plain] == [f.rgb.tobytes() for f in packed]


def test_a_file_that_unpacks_to_more_than_the_disk_holds_is_refused(tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    bag = StandardCdr().write(tmp_path / "bag", Scene(StandardCdr()).rows(), compression="file")
    assert list(open_history(bag))
    monkeypatch.setattr(bag_files.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1 << 28))
    next(bag.glob("*.zstd")).write_bytes(zstd_bomb(1 << 30))
    with pytest.raises(StorageError, match="fits into"):
        open_history(bag)


HOSTILE = {
    "a view": ("DROP TABLE messages", "CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL "
               "SELECT id + 1 FROM n) SELECT id, 1 AS topic_id, id AS timestamp, x'00' AS data FROM n"),
    "a computed column": ("DROP TABLE messages", "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, "
                          "timestamp INTEGER, data BLOB AS (zeroblob(900000000)))",
                          "INSERT INTO messages(topic_id, timestamp) SELECT 1, 1"),
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_tables_that_run_something_are_refused(kind: str, tmp_path: Path) -> None:
    bag = StandardCdr().write(tmp_path / "bag", Scene(StandardCdr()).rows(), storage="sqlite3")
    check_storage(bag)
    file = next(bag.glob("*.db3"))
    with closing(sqlite3.connect(file)) as database:
        for statement in HOSTILE[kind]:
            database.execute(statement)
        database.commit()
    with pytest.raises(StorageError, match="not a plain table|computed"):
        list(open_history(bag))


def test_a_billion_laughs_in_the_metadata_is_named(tmp_path: Path) -> None:
    write_bag(walk(2), tmp_path / "bag")
    laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
    (tmp_path / "bag" / "metadata.yaml").write_text(
        laughs + "rosbag2_bagfile_information: {version: 5, relative_file_paths: *a29}\n")
    with pytest.raises(StorageError, match="cannot be read"):
        open_history(tmp_path / "bag")


def _png_bomb(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    packer = zlib.compressobj(9)
    pixels = b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(64)), packer.flush()])
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0))
            + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def _text_bomb() -> bytes:
    """A small PNG with a compressed text of a gigabyte."""
    stream = io.BytesIO()
    Image.fromarray(np.zeros((4, 4), np.uint16)).save(stream, "PNG")
    packer = zlib.compressobj(9)
    body = b"k\x00\x00" + b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(1024)), packer.flush()])
    text = struct.pack(">I", len(body)) + b"zTXt" + body + struct.pack(">I", zlib.crc32(b"zTXt" + body))
    whole = stream.getvalue()
    return whole[:33] + text + whole[33:]


@pytest.mark.parametrize("data", [_png_bomb(60_000, 60_000), _png_bomb(1, 1 << 30), _text_bomb()],
                         ids=["wide", "tall", "text"])
def test_a_picture_that_is_a_bomb_is_refused(data: bytes) -> None:
    message = SimpleNamespace(format="16UC1; png compressedDepth", data=np.frombuffer(bytes(12) + data, np.uint8))
    with pytest.raises(BadFrame, match="cannot be read|no camera's"):
        images.depth_of(message)
