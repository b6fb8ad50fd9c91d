"""The audit log: JSON lines, rotated and bounded, and written late rather than never where a disk is full."""

from __future__ import annotations

from tests.fixtures.needs import need_console

need_console()

import json
from contextlib import closing
from pathlib import Path

import pytest

from eqa_nodes.console import audit
from eqa_nodes.console.audit import FILES, AuditLog
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.testing.waiting import until
from tests.fixtures.disk import room_for


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_entries_are_lines_that_only_the_owner_reads(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.jsonl"
    with closing(AuditLog(path)) as log:
        log.note("asked", "anna", "10.0.0.7", question=3)
        with pytest.raises(ConfigError, match="another console writes"):
            AuditLog(path)
    with closing(AuditLog(path)) as log:  # goes on
        log.note("stopped", "ben", outcome="refused (409)")
    first, second = lines(path)
    assert {**first, "time": ""} == {"time": "", "user": "anna", "action": "asked", "address": "10.0.0.7",
                                     "outcome": "ok", "question": 3}
    assert str(first["time"]).endswith("+00:00") and second["outcome"] == "refused (409)"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_is_rotated_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with closing(AuditLog(path, size=2000)) as log:
        for n in range(300):
            log.note("asked", "anna", question=n)
            until(lambda: not log._waiting)
    files = sorted(tmp_path.glob("audit.jsonl*"), key=lambda file: file.name)
    assert len([file for file in files if file.suffix != ".lock"]) == FILES
    assert all(file.stat().st_size <= 2000 for file in files)
    assert [entry["question"] for entry in lines(path)][-1] == 299
    assert lines(path.with_name("audit.jsonl.1"))[-1]["question"] == lines(path)[0]["question"] - 1  # type: ignore[operator]


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rung = tmp_path / "audit.jsonl", list[int]()
    monkeypatch.setattr(audit, "WAITING", 20)
    with closing(AuditLog(path, again_s=0.01, ring=lambda: rung.append(1))) as log:
        log.note("asked", "anna", question=0)
        until(lambda: not log._waiting)
        with room_for(path.stat().st_size + 50):  # half a line fits
            for n in range(1, 11):
                log.note("asked", "anna", question=n)
            until(lambda: "cannot be written" in log.trouble and "entries wait" in log.trouble)
            assert len(lines(path)) == 1 and rung
            for n in range(11, 31):
                log.note("asked", "anna", question=n)
            until(lambda: "10 are lost" in log.trouble)
        until(lambda: log.trouble == "" and not log._waiting)
    written = lines(path)
    assert [entry.get("question") for entry in written] == [0, None, *range(11, 31)]
    assert (written[1]["action"], written[1]["count"]) == ("entries lost", 10)


def test_what_happens_all_the_time_is_noted_seldom(tmp_path: Path) -> None:
    with closing(AuditLog(tmp_path / "audit.jsonl")) as log:
        for _ in range(50):
            log.seldom("looked", "anna", "10.0.0.7", what="camera")
        log.seldom("looked", "ben", "10.0.0.7", what="camera")
        assert [entry["user"] for entry in log.newest()] == ["ben", "anna"]


def test_a_log_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        AuditLog(tmp_path / "file" / "audit.jsonl")
