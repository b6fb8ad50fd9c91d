"""Whole files are written in their place, and what is no file stays what it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from eqa_nodes.core.storage.codec import write_bytes


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """As /dev/stdout is one: `eqa bench compare A B --json /dev/stdout | jq`."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        write_bytes(pipe, b"table")
        assert os.read(reader, 100) == b"table"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode) and list(tmp_path.iterdir()) == [pipe]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
