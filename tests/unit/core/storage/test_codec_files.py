"""Whole files are written in their place, and what is no file stays what it is."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

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


def test_a_full_disk_names_the_file_that_could_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as failed:
        write_bytes(tmp_path / "planner.npz", b"weights")
    assert failed.value.filename == str(tmp_path / "planner.npz") and not list(tmp_path.iterdir())
