"""Places: spots of floor in view, far apart; and labels as a detector with faults would give them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.perception.instances import NoiseConfig, disturbed
from eqa_nodes.core.perception.projection import PlacesConfig, places_of
from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.views import Frame, Intrinsics, Label, Sighting

K = Intrinsics(160, 120, 80.0, 80.0, 80.0, 60.0)
MOUNT = camera_mount(1.2, math.radians(10))


def floor_frame(pose: Pose2, wall_m: float) -> Frame:
    """An endless wall across the robot's way, `wall_m` ahead, and flat floor before it."""
    base = pose.transform()
    m = base.matrix() @ MOUNT.matrix()
    u, v = np.meshgrid((np.arange(160) + 0.5 - K.cx) / K.fx, (np.arange(120) + 0.5 - K.cy) / K.fy)
    rays = np.stack([u, v, np.ones_like(u)], -1) @ m[:3, :3].T
    ahead = rays @ np.array([math.cos(pose.yaw), math.sin(pose.yaw), 0.0])
    depth = np.where(ahead > 0, wall_m / np.maximum(ahead, 1e-9), np.inf)
    down = np.where(rays[..., 2] < 0, -1.2 / np.minimum(rays[..., 2], -1e-9), np.inf)
    return Frame(1, np.zeros((120, 160, 3), np.uint8), np.minimum(depth, down).astype(np.float32), K, base, MOUNT)


def test_places_are_floor_in_view_apart_and_where_their_pixels_look() -> None:
    pose = Pose2(1.0, 2.0, 0.7)
    frame = floor_frame(pose, 6.0)
    places = places_of(frame)
    assert len(places) == 3
    for place in places:
        assert 2.0 <= math.hypot(place.x - pose.x, place.y - pose.y) <= 10.0
        ahead = (place.x - pose.x) * math.cos(pose.yaw) + (place.y - pose.y) * math.sin(pose.yaw)
        assert ahead < 6.01
        camera = np.linalg.inv(frame.map_from_camera()) @ np.array([place.x, place.y, 0.0, 1.0])
        assert camera[0] / camera[2] * K.fx + K.cx == pytest.approx(place.u + 0.5, abs=1.0)
        assert camera[1] / camera[2] * K.fy + K.cy == pytest.approx(place.v + 0.5, abs=1.0)
    gaps = [math.dist(a[2:], b[2:]) for i, a in enumerate(places) for b in places[:i]]
    assert min(gaps) >= 1.0


def test_in_front_of_a_wall_there_is_no_place() -> None:
    here = Pose2(0.0, 0.0, 0.0)
    assert places_of(floor_frame(here, 1.2)) == ()
    assert places_of(replace(floor_frame(here, 4.0), depth_m=np.full((120, 160), np.nan, np.float32))) == ()
    assert len(places_of(floor_frame(here, 9.0), PlacesConfig(count=7))) == 7


LABELS = {i: Label(i, kind, "kitchen", {"colour": colour}) for i, (kind, colour) in enumerate(
    [("kettle", "red"), ("mug", "blue"), ("plate", "white"), ("bowl", "green")], start=1)}
ROUND = [Pose2(2.5 * math.cos(a), 2.5 * math.sin(a), 0.0) for a in np.linspace(0, 6.2, 400)]


def sighting(i: int = 1) -> Sighting:
    return Sighting(LABELS[i], 100, (0, 0, 9, 9), (0.0, 0.0, 0.8), (0.2, 0.2, 0.2))


def test_without_faults_nothing_is_changed() -> None:
    assert disturbed([sighting()], ROUND[0], LABELS, NoiseConfig()) == (sighting(),)


def test_faults_come_as_often_as_asked_for_and_the_same_each_time() -> None:
    noise = NoiseConfig(miss=0.2, confuse=0.15, range_m=5.0)
    seen = [disturbed([sighting(i)], pose, LABELS, replace(noise, seed=s)) for s in range(40) for i in LABELS
            for pose in ROUND[::33]]
    assert sum(not s for s in seen) / len(seen) == pytest.approx(0.2, abs=0.04)
    kept = [s[0].label for s in seen if s]
    wrong = [label for label in kept if label != LABELS[label.instance]]
    assert len(wrong) / len(kept) == pytest.approx(0.15, abs=0.04)
    assert {label.kind for label in wrong} | {label.attributes["colour"] for label in wrong} >= {"mug", "blue", "red"}
    assert seen == [disturbed([sighting(i)], pose, LABELS, replace(noise, seed=s)) for s in range(40) for i in LABELS
                    for pose in ROUND[::33]]


def test_from_the_same_spot_a_mistake_is_repeated_and_near_by_it_is_rare() -> None:
    noise = NoiseConfig(miss=0.4, confuse=0.3, range_m=5.0)
    for pose in ROUND[::50]:
        again = Pose2(pose.x + 1e-6, pose.y, 1.0)
        assert disturbed([sighting()], pose, LABELS, noise) == disturbed([sighting()], again, LABELS, noise)
    near = [disturbed([sighting()], Pose2(0.1, 0.0, 0.0), LABELS, replace(noise, seed=s)) for s in range(300)]
    assert sum(s == (sighting(),) for s in near) > 285
    assert disturbed([sighting()], Pose2(5.5, 0.0, 0.0), LABELS, noise) == ()


def test_shares_that_cannot_double_are_refused() -> None:
    with pytest.raises(ConfigError, match="miss is 0.7"):
        NoiseConfig(miss=0.7)
