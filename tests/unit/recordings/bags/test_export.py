"""Frames become a bag with standard messages; tests/unit/recordings/test_histories.py reads such bags back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.bags.reader import open_bag
from tests.fixtures.bags import needs_messages
from tests.fixtures.frames import LABELS, H, W, frame

pytestmark = needs_messages


@pytest.mark.parametrize(("labelled", "table", "topics"), [
    (True, True, {"/labels/image_raw", "/labels/table"}), (True, False, {"/labels/image_raw"}), (False, True, set())])
def test_a_table_of_labels_is_written_with_label_images_only(tmp_path: Path, labelled: bool, table: bool,
                                                             topics: set[str]) -> None:
    frames = [frame(i, boxes={1: (0, 0, 12, 12)} if labelled else {}) for i in (1, 2)]
    if not labelled:
        frames = [replace(one, labels=None) for one in frames]
    written: list[int] = []
    lost = write_bag([*frames, replace(frames[0], stamp_ns=3, labels=frames[0].labels if labelled else np.zeros(
        (H, W), np.uint16))], tmp_path / "bag", written.append, LABELS if table else None)
    with open_bag(tmp_path / "bag") as bag:
        assert {topic for topic in bag.types if "labels" in topic} == topics
        assert bag.types.keys() - topics == {"/tf", "/camera/color/camera_info", "/camera/color/image_raw",
                                             "/camera/depth/image_raw"}
    assert written == [1, 2, 3] and lost == ({} if labelled else {"frames with labels": 1})
