"""A file of a bag takes no more memory the longer it is, and its index is whole."""

from __future__ import annotations

import gc
from pathlib import Path

from mcap.reader import make_reader
from mcap.records import ChunkIndex

from eqa_nodes.recordings.mcap_file import McapFile


def test_the_index_waits_on_the_disk_and_is_whole(tmp_path: Path) -> None:
    file = McapFile(tmp_path / "f.mcap", "lz4")
    file.add("/a", "std_msgs/msg/String", "string data", {})
    for n in range(50):
        file.write("/a", n, b"\x00\x01\x00\x00" + bytes([n]) * 8)
        file.flush()
    assert not [o for o in gc.get_objects() if isinstance(o, ChunkIndex)]  # 1.6 KB each
    file.finish("{}")
    with file.path.open("rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        assert summary is not None and len(summary.chunk_indexes) == 50
        assert [m.data[4] for _, _, m in reader.iter_messages()] == list(range(50))
    assert list(tmp_path.iterdir()) == [file.path]
