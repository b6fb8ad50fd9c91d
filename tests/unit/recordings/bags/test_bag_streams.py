"""A bag whose streams do not belong together is named: numbers of images and intrinsics, not only their stamps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.recordings.bags.check import USES, check_bag, compared
from tests.fixtures.foreign_bags import INFO, Row, Scene, StandardCdr

MS = 1_000_000
EVERY = [k * 33 * MS for k in range(300)]
SOME = sorted(np.random.default_rng(4).choice(EVERY, 80, replace=False).tolist())
MOST = sorted(np.random.default_rng(4).choice(EVERY, 200, replace=False).tolist())


def _states(color: Sequence[int], depth: Sequence[int], info: Sequence[int]) -> dict[str, str]:
    return {f.name.removeprefix("counts of "): f.state
            for f in compared({"color": color, "depth": depth, "camera_info": info})}


@pytest.mark.parametrize(("color", "depth", "info", "expected"), [
    (EVERY, EVERY, EVERY, {"images": "ok", "camera_info": "ok"}),
    (EVERY, EVERY[1:-1], [at + 5 * MS for at in EVERY], {"images": "ok", "camera_info": "ok"}),
    (EVERY[:146:40], EVERY[:146], EVERY[:146], {"images": "ok", "camera_info": "ok"}),
    (SOME[:4], EVERY[:146], EVERY[:146], {"images": "error", "camera_info": "ok"}),
    (EVERY, EVERY, SOME, {"images": "ok", "camera_info": "error"}),
    (EVERY, EVERY, MOST, {"images": "ok", "camera_info": "warning"}),
    (EVERY, SOME, EVERY, {"images": "error", "camera_info": "ok"}),
    (EVERY, MOST, EVERY, {"images": "warning", "camera_info": "ok"}),
    (EVERY, EVERY[:100], EVERY, {"images": "error", "camera_info": "ok"}),
    (EVERY, EVERY[::3], EVERY[::10], {"images": "ok", "camera_info": "ok"}),
    (EVERY, [at + 12 * MS for at in EVERY[::2]], EVERY[:2], {"images": "ok"}),
    (EVERY[:8], EVERY[:3], EVERY[:1], {}),
    (EVERY, [], SOME, {"camera_info": "error"}), ([], EVERY, SOME, {"camera_info": "error"}), ([], [], [], {}),
], ids=["as many", "stamped apart", "few, yet even", "4 of 146 colour", "a quarter of camera_info", "two thirds of it",
        "a quarter of depth", "two thirds of it", "depth ends early", "lower rates", "sent once", "too few to compare",
        "no depth", "no colour", "nothing"])
def test_numbers_are_compared(color: list[int], depth: list[int], info: list[int], expected: dict[str, str]) -> None:
    assert _states(color, depth, info) == expected


def test_a_bag_of_a_recorder_that_lost_most_colour_is_bad(tmp_path: Path) -> None:
    scene = Scene(StandardCdr(), 40)
    kept = {0, 1, 17, 39}

    def lost(row: Row) -> bool:
        return row.topic == scene.color and round((row.log_ns - scene.stamp(0)) / 1e8) not in kept

    report = check_bag(scene.cdr.write(tmp_path / "bag", [row for row in scene.rows() if not lost(row)], "mcap"))
    found = next(f for f in report.findings if f.name == "counts of images")
    assert found.state == "error" and found.found.startswith("4 of color, 40 of depth") and not report.usable
    assert "counts of images" in report.uses["EM-EQA"] and "counts of images" in USES["keyframes and memory"]


def test_camera_info_that_was_lost_is_named(tmp_path: Path) -> None:
    scene, number = Scene(StandardCdr(), 40), iter(range(40))
    rows = [row for row in scene.rows() if row.topic != INFO or next(number) in (0, 1, 2, 9, 11, 20, 34, 39)]
    report = check_bag(scene.cdr.write(tmp_path / "bag", rows, "mcap"))
    found = next(f for f in report.findings if f.name == "counts of camera_info")
    assert found.state == "error" and found.found.startswith("8 of camera_info, 40 of color") and not report.usable
