"""Which bag of a run directory is meant."""

from pathlib import Path

import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.run_bags import history_path


def test_the_bag_of_an_episode_is_found_by_name(tmp_path: Path) -> None:
    for name in ("q-1", "q-2"):
        (tmp_path / "bags" / name).mkdir(parents=True)
        (tmp_path / "bags" / name / "a.mcap").touch()
    assert history_path(tmp_path, "q-2") == tmp_path / "bags" / "q-2"
    with pytest.raises(StorageError, match="has 2 episodes: name one with --episode, of q-1, q-2"):
        history_path(tmp_path)
    with pytest.raises(StorageError, match="has no episode 'q-3'"):
        history_path(tmp_path, "q-3")


def test_a_path_that_is_no_run_is_the_history(tmp_path: Path) -> None:
    assert history_path(tmp_path / "flat.r3d") == tmp_path / "flat.r3d"
    assert history_path(tmp_path, tmp_path.name) == tmp_path


def test_a_run_without_bags_says_how_they_are_recorded(tmp_path: Path) -> None:
    (tmp_path / "predictions.jsonl").touch()
    with pytest.raises(StorageError, match="has no bags: .*--through graph"):
        history_path(tmp_path)
