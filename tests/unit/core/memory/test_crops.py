"""`eqa memory objects --save`: the best picture of each thing, in a file that stays in its folder."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.keyframes import crop_of, file_name
from eqa_nodes.core.types.questions import MemoryObject
from eqa_nodes.core.types.views import Label
from tests.fixtures.frames import LABELS, H, W, frame


def _thing(kind: str) -> MemoryObject:
    zero = (0.0, 0.0, 0.0)
    return MemoryObject(7, kind, "", {}, zero, zero, 1, 0, 0, 0, 1, (0, 0, 1, 1))


def _pixels(jpeg: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(jpeg))).astype(int)


def _view() -> bytes:
    out = io.BytesIO()
    y, x = np.mgrid[0:H, 0:W]
    Image.fromarray(np.stack([3 * x, 4 * y, 0 * x], axis=-1).astype(np.uint8)).save(out, "JPEG", quality=95)
    return out.getvalue()


@pytest.mark.parametrize(("bbox", "box"), [((20, 10, 40, 30), (18, 8, 42, 32)), ((0, 0, 30, 20), (0, 0, 33, 22)),
                                           ((50, 40, W, H), (49, 39, W, H))])
def test_a_crop_has_a_margin_that_ends_at_the_border(bbox: tuple[int, int, int, int],
                                                     box: tuple[int, int, int, int]) -> None:
    left, top, right, bottom = box
    crop = _pixels(crop_of(_view(), bbox))
    assert crop.shape == (bottom - top, right - left, 3)
    assert np.abs(crop[..., :2] - _pixels(_view())[top:bottom, left:right, :2]).mean() < 3


@given(st.text(max_size=200))
def test_a_name_is_a_plain_file_whatever_the_kind_says(kind: str) -> None:
    name = file_name(_thing(kind))
    assert name.startswith("7-") and name.endswith(".jpg") and len(name) < 80
    assert Path(name).name == name and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert ".." not in name


def test_names() -> None:
    assert [file_name(_thing(kind)) for kind in ("Table Lamp", "../../etc/passwd", "")] == [
        "7-table-lamp.jpg", "7-etc-passwd.jpg", "7-thing.jpg"]


def test_the_listed_things_are_saved(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "memory.sqlite")
    labels = {**LABELS, 1: Label(1, "ket/../tle", "kitchen", {})}
    store.take(frame(10**9, boxes={1: (20, 10, 40, 30), 2: (44, 4, 60, 44)}), labels)
    known = {o.kind: o for o in store.objects()}
    store.close()
    assert main(["memory", "objects", str(tmp_path / "memory.sqlite"), "--save", str(tmp_path / "new" / "crops")]) == 0
    names = {f"{known['ket/../tle'].id}-ket-tle.jpg", f"{known['counter'].id}-counter.jpg"}
    assert {file.name for file in (tmp_path / "new" / "crops").iterdir()} == names
    crop = _pixels((tmp_path / "new" / "crops" / f"{known['ket/../tle'].id}-ket-tle.jpg").read_bytes())
    assert crop.shape == (24, 24, 3) and np.abs(crop[6:18, 6:18] - (37, 91, 53)).max() < 20  # not the wall
    assert main(["memory", "objects", str(tmp_path / "memory.sqlite"), "--limit", "1", "--save",
                 str(tmp_path / "one")]) == 0
    assert len(list((tmp_path / "one").iterdir())) == 1
