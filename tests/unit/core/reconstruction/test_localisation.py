"""Poses out of images alone: right on a hand-held tour, level, refused by name where nothing can be said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")

from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.reconstruction.config import PoseSearchConfig
from eqa_nodes.core.reconstruction.localisation import localised, report_of
from eqa_nodes.core.reconstruction.odometry import BLANK, NO_OVERLAP, TOO_FAST, RgbdImage, moved, prepared, register
from eqa_nodes.core.reconstruction.tracking import OLD_STAMP, OTHER_CAMERA, CameraTrack, CameraTracker
from eqa_nodes.core.types.robot import CameraModel
from tests.fixtures.handheld import Handheld, HandheldTour, distance_m

SMALL = Handheld(camera=CameraModel(160, 120, 70.0))
FROM, COUNT = 45, 32  # the end of a look round, and some steps
CONFIG = PoseSearchConfig()


@pytest.fixture(scope="module")
def tour() -> HandheldTour:
    tour = HandheldTour(11, SMALL)
    tour.poses = tour.poses[FROM:FROM + COUNT]
    return tour


@pytest.fixture(scope="module")
def images(tour: HandheldTour) -> list[RgbdImage]:
    return [RgbdImage(i, shot.stamp_ns, shot.rgb, shot.depth_m, tour.camera.intrinsics) for i, shot in enumerate(tour)]


def followed(images: list[RgbdImage]) -> CameraTrack:
    tracker = CameraTracker(CONFIG)
    for image in images:
        tracker.add(image)
    return tracker.track


def test_a_tour_by_hand_is_where_it_was_and_level(tour: HandheldTour, images: list[RgbdImage]) -> None:
    track = followed(images)
    found = localised(track, CONFIG)
    assert not track.breaks and sorted(found.poses) == list(range(COUNT))
    poses = np.array([found.poses[i] for i in range(COUNT)])
    assert distance_m(poses, tour.poses) < 0.02
    relative = [moved(np.linalg.inv(np.linalg.inv(tour.poses[0]) @ truth) @ np.linalg.inv(poses[0]) @ pose)
                for truth, pose in zip(tour.poses, poses, strict=True)]
    assert max(m for m, _ in relative) < 0.05 and max(deg for _, deg in relative) < 1.0
    assert abs(poses[0][2, 3] - tour.poses[0][2, 3]) < 0.05, "the floor is at z = 0"
    assert np.allclose(poses[0][:2, 3], 0) and abs(poses[0][1, 2]) < 1e-6 < poses[0][0, 2], "x is where it looks first"
    up = poses[0][2, :3] @ tour.poses[0][2, :3]  # the vertical, in the axes of the first camera
    assert np.degrees(np.arccos(min(1.0, up))) < 1.5


def test_frames_that_cannot_be_used_are_counted_and_their_neighbours_joined(images: list[RgbdImage]) -> None:
    bad = list(images[:12])
    bad[3] = bad[3]._replace(rgb=np.zeros_like(bad[3].rgb))
    bad[5] = bad[5]._replace(depth_m=np.full_like(bad[5].depth_m, np.nan))
    bad[7] = bad[7]._replace(stamp_ns=bad[6].stamp_ns)
    bad[9] = bad[9]._replace(intrinsics=bad[9].intrinsics._replace(fx=99.0))
    track = followed(bad)
    report = report_of(track, localised(track, CONFIG), {"damaged": 2})
    assert report.localised == 8 and report.frames == 14 and not track.breaks
    assert {(s.first, s.last) for s in report.refused} == {(3, 3), (5, 5), (7, 7), (9, 9)}
    assert report.unusable == {"the colour image is black": 1, "depth within 5 m at fewer than 5% of the pixels": 1,
                               OLD_STAMP: 1, OTHER_CAMERA: 1, "damaged": 2}


def test_a_stretch_that_overlaps_nothing_is_named(tour: HandheldTour, images: list[RgbdImage]) -> None:
    elsewhere = HandheldTour(11, SMALL)
    elsewhere.poses = elsewhere.poses[300:304]
    period = images[1].stamp_ns - images[0].stamp_ns
    other = [RgbdImage(10 + i, images[9].stamp_ns + (i + 1) * period, shot.rgb, shot.depth_m,
                       tour.camera.intrinsics) for i, shot in enumerate(elsewhere)]
    track = followed(images[:10] + other)
    report = report_of(track, localised(track, CONFIG), {})
    assert [(s.first, s.last) for s in report.refused] == [(10, 13)] and report.refused[0].reason
    assert report.covered_s < report.seconds


def test_frames_without_any_overlap_are_refused_with_the_stretch(images: list[RgbdImage]) -> None:
    flipped = [images[0], images[20]._replace(rgb=images[20].rgb[::-1].copy(), depth_m=images[20].depth_m[::-1].copy())]
    with pytest.raises(BadFrame, match="no two of 2 images can be joined, from frame 0 to frame 20"):
        localised(followed(flipped), CONFIG)


def test_a_blank_wall_determines_no_motion(images: list[RgbdImage]) -> None:
    rng = np.random.default_rng(0)

    def wall() -> RgbdImage:
        noise = rng.normal(0, 0.003, images[0].depth_m.shape)
        tone = np.clip(180 + rng.normal(0, 3, images[0].rgb.shape), 0, 255)
        return images[0]._replace(rgb=tone.astype(np.uint8), depth_m=(1.5 + noise).astype(np.float32))

    a, b = prepared(wall(), 5.0), prepared(wall(), 5.0)
    assert register(a, b, np.eye(4), CONFIG).refused == BLANK


def test_views_without_overlap_are_refused(images: list[RgbdImage]) -> None:
    away = np.eye(4)
    away[0, 3] = 50.0
    assert register(prepared(images[0], 5.0), prepared(images[1], 5.0), away, CONFIG).refused == NO_OVERLAP


CHANGES: list[tuple[Callable[[RgbdImage], dict[str, Any]], str]] = [
    (lambda i: {"rgb": None}, "no colour image"), (lambda i: {"rgb": i.rgb[..., 0]}, "rgb is"),
    (lambda i: {"depth_m": np.zeros_like(i.depth_m)}, "depth within"),
    (lambda i: {"rgb": np.zeros_like(i.rgb)}, "black"),
    (lambda i: {"intrinsics": i.intrinsics._replace(width=640, height=480)}, "the intrinsics ask for"),
    (lambda i: {"intrinsics": i.intrinsics._replace(cx=900.0)}, "principal point"),
    (lambda i: {"intrinsics": i.intrinsics._replace(fx=float("nan"))}, "finite"),
]


@pytest.mark.parametrize(("change", "why"), CHANGES)
def test_an_image_that_cannot_be_used_says_why(change: Callable[[RgbdImage], dict[str, Any]], why: str,
                                               images: list[RgbdImage]) -> None:
    with pytest.raises(BadFrame, match=why):
        prepared(images[0]._replace(**change(images[0])), 5.0)


def test_too_few_images_are_refused_with_the_reason(images: list[RgbdImage]) -> None:
    with pytest.raises(BadFrame, match="has no image"):
        localised(followed([]), CONFIG)
    with pytest.raises(BadFrame, match="at least two"):
        localised(followed(images[:1]), CONFIG)
    black = [image._replace(rgb=np.zeros_like(image.rgb)) for image in images[:3]]
    with pytest.raises(BadFrame, match="only 0 of 3 images can be used: 3 x the colour image is black"):
        localised(followed(black), CONFIG)


def test_a_camera_that_is_too_fast_for_its_stamps_is_refused(images: list[RgbdImage]) -> None:
    tracker = CameraTracker(CONFIG)
    for image in (images[0], images[2]._replace(stamp_ns=images[0].stamp_ns + 1)):
        tracker.add(image)
    assert [gap.reason for gap in tracker.track.breaks] == [TOO_FAST]
