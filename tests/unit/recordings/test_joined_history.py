"""Several recordings in a row: their times, their images' numbers, and what cannot be joined."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.formats.pictures import ColourHistory
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.joined_history import Visit, joined
from tests.fixtures.laeqa import HOME, WAREHOUSE, write_data

DAY = 86_400 * 10**9


def test_visits_keep_their_rhythm_and_begin_when_they_are_said_to(tmp_path: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(tmp_path, monkeypatch)
    folders = [tmp_path / "la_eqa_data" / "frames" / "hm3d-v0" / f"{HOME}_{i}" for i in (2, 1)]
    (tmp_path / "la_eqa_data" / "state" / "hm3d-v0" / f"{HOME}_2" / "00003.pkl").write_bytes(b"no pickle")
    alone = [f.stamp_ns for f in open_history(folders[1])]
    history = joined("home", [Visit(open_history(folder), i * DAY) for i, folder in enumerate(folders, 1)])
    recorded = list(history.recorded())
    assert [r.index for r in recorded] == [0, 2, 3, 4, 5] and len(history) == 6
    assert [r.frame.stamp_ns for r in recorded[2:]] == [2 * DAY + s - alone[0] for s in alone]
    assert recorded[0].frame.stamp_ns == DAY and sum(history.dropped.values()) == 1 and len(history.notes) == 1


def test_colour_images_stay_colour_images_and_are_joined_with_no_others(tmp_path: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    write_data(tmp_path, monkeypatch)
    plain = [open_history(tmp_path / "la_eqa_dataset" / WAREHOUSE / f"{WAREHOUSE}_{i}") for i in (1, 0)]
    both = joined("warehouse", [Visit(plain[0], DAY), Visit(plain[1], 2 * DAY)])
    assert isinstance(both, ColourHistory)
    assert [(p.number, p.stamp_ns) for p in both.pictures] == [(0, DAY), (1, 2 * DAY)]
    posed = open_history(tmp_path / "la_eqa_data" / "frames" / "hm3d-v0" / f"{HOME}_0")
    with pytest.raises(StorageError, match=f"poses in some episodes, and none in {WAREHOUSE}_1"):
        joined("mixed", [Visit(plain[0], DAY), Visit(posed, 2 * DAY)])
