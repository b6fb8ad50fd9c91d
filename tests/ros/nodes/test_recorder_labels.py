"""The recorder keeps what a simulator says of an observation where it is told to: answers can be made from the bag."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.histories import open_history
from tests.fixtures.recorder_rig import SECOND, TABLE, Labelled


def test_labels_and_their_table_are_in_every_bag(ros: Any, tmp_path: Path) -> None:
    camera = Labelled(ros, tmp_path, labels=True)
    for number, name in enumerate(("first", "second")):
        camera.begin(name)
        assert camera.show((2 * number + 1) * SECOND) and camera.show((2 * number + 2) * SECOND)
        camera.begin("")
        frames = list(BagHistory(tmp_path / name))
        assert len(frames) == 2 and all({*frame.labels.ravel()} == {3, 4} for frame in frames)
        assert open_history(tmp_path / name).labels == TABLE


def test_an_observation_is_taken_in_when_its_labels_are_on_the_disk(ros: Any, tmp_path: Path) -> None:
    camera = Labelled(ros, tmp_path, labels=True)
    assert not camera.show(SECOND, "labels", within_s=1.5)
    assert camera.show(SECOND)


@pytest.mark.parametrize("parameters", [{}, {"labels": True, "memory__privacy__kinds": ["person"]}],
                         ids=["default", "privacy"])
def test_labels_are_not_kept_unasked_nor_where_something_is_hidden(ros: Any, tmp_path: Path,
                                                                   parameters: dict[str, Any]) -> None:
    camera = Labelled(ros, tmp_path, **parameters)
    assert camera.show(SECOND)
    camera.begin("")
    assert open_history(tmp_path / "e").labels == {}
