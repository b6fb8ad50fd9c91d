"""Files of other MCAP writers: without parts of their index, and cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcap.writer import IndexType, Writer
from rosbags.typesys import Stores, get_typestore

from eqa_nodes.recordings.bags.history import BagHistory
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
