"""Which views are worth remembering, and that their number is bounded."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.keyframes import MAX_CHANGES, KeyframeCandidate, Novelty, crop_of, file_name, jpeg_of
from eqa_nodes.core.perception.instances import instances, sightings
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.questions import MemoryObject
from eqa_nodes.core.types.views import Frame, Label, Sighting
from tests.fixtures.frames import LABELS, H, W, frame


def _feed(novelty: Novelty, f: Frame, labels: dict[int, Label] = LABELS) -> str:
    look = KeyframeCandidate(f, [labels[i] for i in instances(f, labels)], lambda: sightings(f, labels))
    reason = novelty.reason(look)
    if reason:
        novelty.add(look.view())
    return reason


@pytest.mark.parametrize(("pose", "reason"), [
    (Pose2(0.0, 0.0, 0.0), ""),
    (Pose2(0.45, 0.0, 0.0), ""),
    (Pose2(0.55, 0.0, 0.0), "place"),
    (Pose2(-0.4, -0.4, 0.0), "place"),
    (Pose2(0.0, 0.0, math.radians(20)), ""),
    (Pose2(0.0, 0.0, math.radians(-30)), "direction"),
    (Pose2(0.3, 0.0, math.radians(180)), "direction"),
])
def test_a_new_place_or_direction_is_new(pose: Pose2, reason: str) -> None:
    novelty = Novelty()
    assert _feed(novelty, frame(1)) == "place"
    assert _feed(novelty, frame(2, pose)) == reason


def test_looking_down_is_a_new_direction() -> None:
    novelty = Novelty()
    _feed(novelty, frame(1))
    tilted = replace(frame(2), base_from_camera=camera_mount(1.2, math.radians(30)))
    assert _feed(novelty, tilted) == "direction"


def test_a_new_thing_or_another_state_is_new_once() -> None:
    novelty = Novelty()
    assert _feed(novelty, frame(1, boxes={3: (0, 0, 10, 10)})) == "place"
    assert _feed(novelty, frame(2, boxes={3: (0, 0, 10, 10), 4: (20, 20, 30, 30)})) == "content"
    assert _feed(novelty, frame(3, boxes={3: (0, 0, 10, 10), 4: (20, 20, 30, 30)})) == ""
    lit = {**LABELS, 3: LABELS[3]._replace(attributes={"state": "on"})}
    assert _feed(novelty, frame(4, boxes={3: (0, 0, 10, 10)}), lit) == "content"
    assert _feed(novelty, frame(5, boxes={3: (0, 0, 10, 10)}), lit) == ""


def test_a_frame_is_looked_at_closely_only_when_that_decides() -> None:
    closely = 0

    def seen() -> tuple[Sighting, ...]:
        nonlocal closely
        closely += 1
        return sightings(f, LABELS)

    novelty = Novelty()
    _feed(novelty, frame(1, boxes={3: (0, 0, 10, 10)}))
    for boxes, times in (({3: (0, 0, 10, 10)}, 0), ({3: (0, 0, 10, 10), 4: (20, 20, 30, 30)}, 1)):
        f = frame(2, boxes=boxes)
        novelty.reason(KeyframeCandidate(f, [LABELS[i] for i in instances(f, LABELS)], seen))
        assert closely == times


def test_standing_still_for_an_hour_adds_nothing() -> None:
    novelty, rng = Novelty(), np.random.default_rng(0)
    base = frame(0)
    added = 0
    for i in range(300):  # sensor noise, flickering exposure, an estimate of the pose that wanders by centimetres
        noisy = np.clip(base.rgb * rng.uniform(0.8, 1.2) + rng.normal(0, 8, base.rgb.shape), 0, 255).astype(np.uint8)
        pose = Pose2(*rng.normal(0, 0.02, 2), rng.normal(0, 0.01))
        added += bool(_feed(novelty, replace(base, stamp_ns=i, rgb=noisy, map_from_base=pose.transform())))
    assert added == 1


def test_a_changing_picture_is_remembered_but_not_for_ever() -> None:
    novelty, rng = Novelty(), np.random.default_rng(0)
    base = frame(0)
    reasons = []
    for i in range(200):
        rgb = np.kron(rng.integers(0, 255, (6, 8, 1)), np.ones((8, 8, 3))).astype(np.uint8)
        reasons.append(_feed(novelty, replace(base, stamp_ns=i, rgb=rgb)))
    assert reasons[1] == "change"
    assert sum(map(bool, reasons)) == 1 + MAX_CHANGES


def test_the_image_is_encoded_the_same_each_time_and_close_to_the_original() -> None:
    f = frame(1, boxes={1: (10, 10, 30, 30)})
    jpeg = jpeg_of(f, 90)
    assert jpeg == jpeg_of(f, 90)
    back = np.asarray(Image.open(io.BytesIO(jpeg)))
    assert np.abs(back.astype(int) - f.rgb).mean() < 3


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
