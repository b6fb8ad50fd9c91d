"""Files of other MCAP writers: without parts of their index, and cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap.writer import IndexType, Writer
from rosbags.typesys import Stores, get_typestore

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.mcap_file import McapFile, read_facts, seal
from eqa_nodes.recordings.bags.recover import recover
from tests.fixtures.foreign_bags import Scene, StandardCdr


def _of_another_writer(path: Path, index: IndexType, statistics: bool, chunks: bool = True) -> Scene:
    """Write a scene as programs do that leave parts of the index out; their chunks hold a few messages."""
    scene, store = Scene(StandardCdr()), get_typestore(Stores.ROS2_JAZZY)
    with path.open("wb") as stream:
        writer = Writer(stream, chunk_size=30_000, index_types=index, use_statistics=statistics, use_chunking=chunks)
        writer.start("ros2", "other")
        channels: dict[str, int] = {}
        for row in sorted(scene.rows(), key=lambda row: row.log_ns):
            if row.topic not in channels:
                text, _ = store.generate_msgdef(row.type, ros_version=2)
                schema = writer.register_schema(row.type, "ros2msg", text.encode())
                channels[row.topic] = writer.register_channel(row.topic, "cdr", schema)
            writer.add_message(channels[row.topic], row.log_ns, row.data, row.log_ns)
        writer.finish()
    return scene


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("index", [IndexType.ALL, IndexType.CHUNK, IndexType.NONE])
def test_files_of_other_writers_are_read_without_their_index(tmp_path: Path, index: IndexType,
                                                             statistics: bool) -> None:
    scene = _of_another_writer(tmp_path / "bag.mcap", index, statistics)
    assert [f.stamp_ns for f in BagHistory(tmp_path / "bag.mcap")] == [scene.stamp(i) for i in range(scene.count)]


@pytest.mark.parametrize("index", [IndexType.ALL, IndexType.CHUNK])
def test_what_was_cut_off_of_them_is_recovered(tmp_path: Path, index: IndexType) -> None:
    (folder := tmp_path / "bag").mkdir()
    _of_another_writer(file := folder / "bag_0.mcap", index, True)
    file.write_bytes(file.read_bytes()[:-file.stat().st_size // 3])
    assert recover(folder) > 10
    assert len(list(BagHistory(folder))) >= 3


def test_a_chunk_ends_at_four_mebibytes_or_when_it_is_flushed(tmp_path: Path) -> None:
    file = McapFile(tmp_path / "f.mcap", "none")
    file.add("/a", "std_msgs/msg/String", "string data", {})
    begun, half = file.size, bytes(1 << 21)
    file.write("/a", 30, half)
    assert file.size == begun, "half a chunk waits"
    file.write("/a", 10, half)
    assert begun + (1 << 22) < file.size < begun + (1 << 22) + 1000
    file.write("/a", 20, b"small")
    assert file.facts == ("f.mcap", 10, 30, {"/a": 3})
    before = file.size
    file.flush()
    assert before < file.size < before + 1000
    file.finish("{}")
    facts, topics = read_facts(file.path) or pytest.fail("it has no index")
    assert facts == file.facts and topics["/a"][0].name == "std_msgs/msg/String"
    assert seal(file.path) == facts, "a whole file stays as it is"


def test_what_is_torn_is_sealed_after_its_last_whole_chunk(tmp_path: Path) -> None:
    file = McapFile(tmp_path / "f.mcap", "lz4")
    file.add("/a", "std_msgs/msg/String", "string data", {})
    for stamp in (5, 3, 9):
        file.write("/a", stamp, bytes([stamp]) * 100)
        file.flush()
    whole = file.size
    file.write("/a", 11, bytes(100))
    with pytest.raises(StorageError, match="being written by another process"):
        seal(file.path)
    file.cut()
    assert file.path.stat().st_size == whole and read_facts(file.path) is None
    file.path.write_bytes(file.path.read_bytes()[:-1])
    assert seal(file.path) == ("f.mcap", 3, 5, {"/a": 2})
    with file.path.open("rb") as stream:
        assert [m.log_time for _, _, m in make_reader(stream, validate_crcs=True).iter_messages()] == [3, 5]
    file.path.write_bytes(b"")
    assert seal(file.path) == ("f.mcap", 0, 0, {}) and read_facts(file.path) == (("f.mcap", 0, 0, {}), {})
