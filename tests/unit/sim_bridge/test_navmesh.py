"""The box of a navigation mesh that Habitat built of two rooms, 8.1 m by 4.1 m."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from sim_bridge.scans import read_box
from tests.fixtures.paths import DATA

MESH = DATA / "two_rooms.navmesh"


def test_the_box_is_that_of_the_floor() -> None:
    box = read_box(MESH)
    assert box.low == pytest.approx((0.0, -0.0006, -4.12), abs=1e-3)
    assert box.high == pytest.approx((8.12, 4.2, 0.0006), abs=1e-3)
    assert box.plan_m2 == pytest.approx(8.12 * 4.12, abs=0.02)


def test_tiles_share_a_box_and_version_1_has_no_settings(tmp_path: Path) -> None:
    data = MESH.read_bytes()
    tile = bytearray(data[96:])
    struct.pack_into("<6f", tile, 8 + 72, 5.0, 0.0, -9.0, 11.0, 6.0, 1.0)  # behind its reference, size and counts
    old = struct.pack("<3i", 0x4D534554, 1, 2) + data[12:40] + data[96:] + bytes(tile)
    (tmp_path / "old.navmesh").write_bytes(old)
    box = read_box(tmp_path / "old.navmesh")
    assert box.low == pytest.approx((0.0, -0.0006, -9.0), abs=1e-3) and box.high == pytest.approx((11.0, 6.0, 1.0))


@pytest.mark.parametrize(("data", "why"), [
    (b"", "ends too early"), (b"x" * 400, "no navigation mesh"), (MESH.read_bytes()[:150], "ends too early"),
    (MESH.read_bytes()[:104] + b"nope" + MESH.read_bytes()[108:], "a tile that is none"),
    (MESH.read_bytes()[:176] + struct.pack("<f", float("nan")) + MESH.read_bytes()[180:], "which is none")])
def test_a_file_that_is_none_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "x.navmesh").write_bytes(data)
    with pytest.raises(ValueError, match=why):
        read_box(tmp_path / "x.navmesh")
