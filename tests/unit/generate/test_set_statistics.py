"""What a generated data set holds: counts by split, category and viewpoints, histograms with means."""

from __future__ import annotations

from pathlib import Path

import pytest

from eqa_nodes.bench.readers.explora import SEEN, TRAIN, UNSEEN, split_of
from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.generate.set_statistics import read_set, statistics_of
from tests.fixtures.generating import Model, here, whole


def asked(scene: str, category: str, words: int, metres: float, views: int = 1) -> Sample:
    return Sample("q", "Why?", "so", (), category, scene, reference_metres=metres, instruction=" ".join(["go"] * words),
                  viewpoints=((0.0, 0.0),) * views)


def test_counts_and_histograms() -> None:
    found = statistics_of({
        TRAIN: [asked("house:1", "state recognition", 8, 7.4), asked("house:1", "spatial reasoning", 9, 7.5, 3),
                asked("house:2", "state recognition", 29, 12.0, 3)],
        UNSEEN: [asked("house:1500", "state recognition", 30, 5.1, 2)], SEEN: []})
    assert found.splits == {TRAIN: (3, 2), UNSEEN: (1, 1)}
    assert found.categories == {"spatial reasoning": 1, "state recognition": 3}
    assert found.viewpoints == {1: 1, 2: 1, 3: 2}
    assert found.words == ({0: 1, 10: 1, 30: 2}, 20.0) and found.metres == ({5.0: 2, 7.5: 1, 10.0: 1}, 8.0)
    rows = found.rows()
    assert ("split", TRAIN, "3 in 2 scenes") in rows and ("words", "30 to 40", "2") in rows
    assert ("path, m", "7.5 to 10", "1") in rows and ("path, m", "mean", "8.0") in rows
    with pytest.raises(ConfigError, match="no accepted question"):
        statistics_of({TRAIN: []})


@pytest.mark.parametrize(("scene", "splits"), [
    ("house:0", {TRAIN, SEEN}), ("house:899@2", {TRAIN, SEEN}), ("house:900", {"validation"}),
    ("house:999+3", {"validation"}), ("house:1000", {UNSEEN}), ("house:1999", {UNSEEN}),
    ("habitat:mp3d/17DRP5sb8fy", {TRAIN, SEEN})])
def test_houses_belong_to_splits_and_few_paths_of_the_training_are_held_out(scene: str, splits: set[str]) -> None:
    found = [split_of(scene, path) for path in range(240)]
    assert {*found} == splits and found == [split_of(scene, path) for path in range(240)]
    assert splits != {TRAIN, SEEN} or 10 <= found.count(SEEN) <= 30


@pytest.mark.parametrize("kind", ["express", "exploraqa"])
def test_the_command_reads_what_was_generated(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:

    whole(tmp_path, Model(**({"answer": here} if kind == "express" else {})), kind, count=1)
    (name, samples), = read_set(tmp_path).items()
    assert name == ("express" if kind == "express" else TRAIN) and len(samples) == 1
    capsys.readouterr()
    assert main(["generate", "stats", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert samples[0].category in printed and "mean" in printed and f"{name}" in printed
    assert main(["generate", "stats", str(tmp_path / "absent")]) != 0
