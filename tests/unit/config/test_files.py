"""Parameter files that somebody wrote by hand, or that are something else: one line that names the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.config.graph import read_file
from eqa_nodes.core.errors import ConfigError

OURS = "/**/memory:\n  ros__parameters:\n    pending: "
LAUGHS = "a0: &a0 {l: 1, m: 2}\n" + "".join(f"a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}\n" for i in range(1, 40))
ODD = {
    "nested deep": (b"[" * 100_000, "nested too deep"), "mappings nested deep": (b"{a: " * 5000, "nested too deep"),
    "a long number": (f"{OURS}{'9' * 6000}\n".encode(), "digit"),
    "UTF-16": (f"{OURS}30\n".encode("utf-16"), "is not UTF-8 text"), "bytes": (b"\xff\xfe\x00", "is not UTF-8 text"),
    "a NUL": (b"a: \x00", "unacceptable character"),
    "a list": (b"- 1\n- 2\n", "holds a list, not nodes"), "a word": (b"hello", "holds a str, not nodes"),
    "itself in a list": (b"a: &a [*a]", "alias"), "itself": (b"a: &a {b: *a}", "alias"),
    "a billion laughs": (LAUGHS.encode(), "alias"),
    "a key twice": (f"{OURS}30\n    pending: 40\n".encode(), "'pending' occurs twice"),
    "a node twice": (f"{OURS}30\n{OURS}40\n".encode(), "'/\\*\\*/memory' occurs twice"),
    "a number for a node": (b"7: {}", "7 must hold one key"), "no date": (b"a: 2024-13-45", "month"),
    "a list for a key": (b"? [1, 2]\n: 3", "unhashable"),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_one_line(tmp_path: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(ODD[case][0])
    refused(path, ODD[case][1], capsys)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["a folder", "a pipe"])
def test_what_is_no_file_is_one_line_and_nothing_waits(tmp_path: Path, make: object,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "own.yaml")  # type: ignore[operator]
    refused(tmp_path / "own.yaml", "is a folder, pipe or device", capsys)


def refused(path: Path, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "Where is the lamp?", "--scene", "toy:flat", "--params", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("eqa: ") and said.count("\n") == 1 and str(path) in said
    with pytest.raises(ConfigError, match=says):
        read_file(path)


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("# nothing\n")
    assert read_file(tmp_path / "own.yaml") == {}
