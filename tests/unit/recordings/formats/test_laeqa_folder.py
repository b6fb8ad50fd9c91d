"""An episode of LA-EQA as a history: images with the agent's poses, without depth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.formats.laeqa_folder import episode_folder, place_positions
from eqa_nodes.recordings.histories import format_of, open_history
from tests.fixtures.laeqa import HOME, PLACES, WAREHOUSE, write_data


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_data(tmp_path, monkeypatch)
    return tmp_path


def test_images_have_the_poses_of_their_states_and_no_depth(data: Path) -> None:
    folder = episode_folder(data, f"{HOME}_0")
    assert folder is not None and format_of(folder) == "laeqa"
    history = open_history(folder)
    frames = list(history)
    assert [f.map_from_base.xyz for f in frames] == [pytest.approx((-z, -x, y)) for x, y, z in PLACES.values()]
    assert not any(f.depth_m.any() for f in frames) and frames[0].rgb.shape == (48, 64, 3)
    assert "no depth" in history.notes[0] and np.isclose(frames[0].intrinsics.fx, 32.0)


def test_a_place_has_an_image_a_state_and_a_caption(data: Path) -> None:
    folder = data / "la_eqa_data" / "frames" / "hm3d-v0" / f"{HOME}_1"
    assert place_positions(folder) == PLACES
    (data / "la_eqa_data" / "captions" / "hm3d-v0" / f"{HOME}_1" / "3.txt").unlink()
    assert place_positions(folder).keys() == {0, 7}
    (data / "la_eqa_data" / "state" / "hm3d-v0" / f"{HOME}_1" / "00007.pkl").write_bytes(b"no pickle")
    with pytest.raises(StorageError, match="00007.pkl cannot be read"):
        place_positions(folder)
    history = open_history(folder)
    assert len(list(history)) == 2 and sum(history.dropped.values()) == 1


def test_other_folders_are_not_taken_for_episodes(data: Path) -> None:
    warehouse = episode_folder(data, f"{WAREHOUSE}_1")
    assert warehouse is not None and format_of(warehouse) == "images"
    assert episode_folder(data, "nothing_0") is None and not place_positions(warehouse)
    with pytest.raises(StorageError, match="without '..'"):
        episode_folder(data, "../x")
