"""The camera and coarse depth of remembered views: kept with the view, masked with it, and gone with it."""

from __future__ import annotations

import io
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.memory.forgetting import ForgetSelection
from eqa_nodes.core.perception.projection import geometry_of, point_at
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.views import Frame, Keyframe
from tests.fixtures.frames import LABELS, frame

SECOND = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def looking(number: int) -> Frame:
    """Return what a robot sees at the place of this number; no two have the same depth."""
    seen = frame(number * SECOND, Pose2(float(number), 0.0, 0.0), {number: (10, 10, 40, 40)}, depth=1.0 + number / 8)
    seen.depth_m[:] += np.random.default_rng(number).random(seen.depth_m.shape, np.float32)
    return seen


def remember(store: MemoryStore, number: int) -> Keyframe:
    stored = store.take(looking(number), LABELS)
    assert stored is not None
    return stored


def sql(path: Path, script: str) -> list[tuple[int]]:
    """Run a script as another program would, and return the ids of all geometries that are left."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
        there = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'geometries'").fetchone()
        return db.execute("SELECT id FROM geometries ORDER BY id").fetchall() if there else []


def cells_of(view: Keyframe) -> np.ndarray:
    assert view.geometry is not None
    return np.asarray(Image.open(io.BytesIO(view.geometry.depth_png)))


def test_a_view_comes_back_with_its_geometry(path: Path) -> None:
    with closing(MemoryStore(path)) as store:
        stored = remember(store, 1)
        assert stored.geometry == geometry_of(looking(1))
        assert store.keyframe(stored.id) == stored and store.since(0) == [stored]
    for write in (True, False):
        with closing(MemoryStore(path, write=write)) as again:
            assert again.keyframe(stored.id) == stored


def test_what_is_masked_has_no_depth(path: Path) -> None:
    privacy = PrivacyConfig(kinds=("counter",), image=(0.0, 0.0, 1.0, 0.1))
    with closing(MemoryStore(path, MemoryConfig(privacy=privacy))) as store:
        stored = remember(store, 2)
        cells = cells_of(stored)
    assert stored.sightings == () and b"counter" not in b"".join(p.read_bytes() for p in path.parent.glob("memory.db*"))
    assert not cells[10:40, 10:40].any() and not cells[:5].any()
    assert cells[10:40, 45:].all() and cells[42:].all()


def test_what_is_forgotten_leaves_no_depth_behind(path: Path) -> None:
    with closing(MemoryStore(path)) as store:
        gone, kept = remember(store, 1), remember(store, 3)
        assert gone.geometry is not None and kept.geometry is not None
        store.forget(ForgetSelection(kind="kettle"))
        assert store.since(0) == [kept]
        files = b"".join(each.read_bytes() for each in path.parent.glob("memory.db*"))
    assert gone.geometry.depth_png[-120:] not in files and kept.geometry.depth_png[-120:] in files
    assert sql(path, "") == [(kept.id,)]
    with closing(MemoryStore(path)) as store:
        store.reset("anew")
    assert sql(path, "") == []


def test_a_version_that_knows_no_geometries_forgets_them_too(path: Path) -> None:
    with closing(MemoryStore(path)) as store:
        remember(store, 1), remember(store, 2)
    assert sql(path, "DELETE FROM keyframes WHERE id = 1; DELETE FROM images WHERE id = 1") == [(2,)]


def test_the_place_of_a_pixel_follows_when_maps_are_aligned(path: Path) -> None:
    with closing(MemoryStore(path)) as store:
        store.reset("first", map_name="home")
        stored = remember(store, 1)
        x, y, z = point_at(stored, 20.0, 20.0) or (math.nan,) * 3
        store.reset("second", keep=True, map_name="other")
        store.align("other", "home", Transform((10.0, 2.0, 0.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5))))
        moved = store.keyframe(stored.id)
        assert moved is not None and moved.geometry == stored.geometry
        assert point_at(moved, 20.0, 20.0) == pytest.approx((y - 2.0, -(x - 10.0), z), abs=1e-6)


def test_a_view_that_cannot_be_written_leaves_no_depth(path: Path) -> None:
    with closing(MemoryStore(path)) as store:
        remember(store, 1)
        store._db.execute("CREATE TEMP TRIGGER full BEFORE INSERT ON main.briefs "
                          "BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
        with pytest.raises(StorageError, match="disk is full"):
            store.take(looking(2), LABELS)
        assert store._db.execute("SELECT id FROM geometries").fetchall() == [(1,)]
        store._db.execute("DROP TRIGGER full")
        assert remember(store, 2) in store.since(0)


@pytest.mark.parametrize("change", ["camera = x'0102'", "camera = 7", "depth_png = 7", "depth_png = 'png'"])
def test_a_geometry_that_says_nonsense_is_named(path: Path, change: str) -> None:
    with closing(MemoryStore(path)) as store:
        remember(store, 1)
    sql(path, f"UPDATE geometries SET {change}")
    with closing(MemoryStore(path)) as store, pytest.raises(StorageError, match="damaged"):
        store.since(0)
