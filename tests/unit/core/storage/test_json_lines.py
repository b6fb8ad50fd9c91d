"""Lines are whole or not there: after a kill, on a full disk, and beside another writer."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.json_lines import LineWriter, read_lines
from tests.fixtures.disk import room_for


class Note(NamedTuple):
    n: int
    text: str = ""


def test_what_was_written_is_read_and_a_torn_end_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "notes.jsonl"
    assert read_lines(path, Note, "ask").values == []
    with LineWriter(path) as lines:
        lines.append(Note(1), Note(2, "ä\nb"))
    for cut in range(1, 12):
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"n": 3, "te'[:cut])
        found = read_lines(path, Note, "ask")
        assert found.values == [Note(1), Note(2, "ä\nb")] and len(found.dropped) == cut
        with LineWriter(path) as lines:
            assert lines.dropped == found.dropped
        assert path.read_bytes() == whole


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    with LineWriter(path) as lines:
        lines.append(*map(Note, range(100)))
        with room_for(path.stat().st_size + 5), pytest.raises(StorageError, match="File too large"):
            lines.append(Note(100))
        lines.append(Note(101))
    assert read_lines(path, Note, "ask").values == [*map(Note, range(100)), Note(101)]


def test_one_writer_at_a_time_and_broken_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    with LineWriter(path), pytest.raises(StorageError, match="another process is writing"):
        LineWriter(path)
    path.write_text('{"n": 1}\n{"n": "x"}\n')
    with pytest.raises(StorageError, match=r"notes.jsonl, line 2 is broken.*Remove it to ask again"):
        read_lines(path, Note, "ask")
    with pytest.raises(StorageError, match="cannot be written"):
        LineWriter(path / "below")
