"""Transforms by stamp: exact at samples, interpolated between, an error outside."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import BadFrame, BadPose
from eqa_nodes.core.types.geometry import Pose2, Transform, camera_mount, compose, head_of, inverse, pose2_of
from eqa_nodes.wire.transforms import KEEP_NS, TfBuffer, interpolate

SECOND = 1_000_000_000
angles = st.floats(-math.pi, math.pi)
places = st.floats(-50, 50)
poses = st.builds(Pose2, places, places, angles)


@given(poses, poses)
def test_composing_is_multiplying_matrices(a: Pose2, b: Pose2) -> None:
    ta, tb = a.transform(0.3), compose(b.transform(), camera_mount(1.2, 0.3))
    assert np.allclose(compose(ta, tb).matrix(), ta.matrix() @ tb.matrix(), atol=1e-9)


@given(poses)
def test_composing_with_identity_changes_no_bit(a: Pose2) -> None:
    t = a.transform(0.1)
    assert compose(Transform.identity(), t) == t
    assert compose(t, Transform.identity()) == t


@given(poses)
def test_the_inverse_leads_back(a: Pose2) -> None:
    t = compose(a.transform(0.1), camera_mount(1.2, 0.3))
    assert np.allclose(compose(t, inverse(t)).matrix(), np.eye(4), atol=1e-9)
    assert np.allclose(inverse(t).matrix(), np.linalg.inv(t.matrix()), atol=1e-9)


@given(poses, poses, st.floats(0, 1))
def test_interpolation_is_a_rigid_transform_between_its_ends(a: Pose2, b: Pose2, share: float) -> None:
    middle = interpolate(a.transform(), b.transform(), share)
    middle.matrix()
    total = abs(math.remainder(b.yaw - a.yaw, 2 * math.pi))
    part = abs(math.remainder(pose2_of(middle).yaw - a.yaw, 2 * math.pi))
    if total < 3.1:  # half a turn has two shortest ways
        assert part == pytest.approx(share * total, abs=1e-6)


def test_chain_is_looked_up_at_the_stamp() -> None:
    tf = TfBuffer()
    tf.put("map", "odom", 0, Pose2(1, 0, 0).transform(), static=True)
    for k in range(3):
        tf.put("odom", "base_link", k * SECOND, Pose2(k, 0, 0).transform())
    tf.put("base_link", "camera", 0, camera_mount(1.0), static=True)
    assert tf.lookup("map", "base_link", SECOND).xyz == (2, 0, 0)
    assert tf.lookup("map", "base_link", 3 * SECOND // 2).xyz == pytest.approx((2.5, 0, 0))
    assert tf.lookup("map", "camera", SECOND).xyz == pytest.approx((2, 0, 1))


def test_what_is_missing_is_said() -> None:
    tf = TfBuffer()
    with pytest.raises(BadFrame, match="no transform of 'base_link'.*nothing"):
        tf.lookup("map", "base_link", 5)
    tf.put("map", "base_link", SECOND, Pose2(0, 0, 0).transform())
    with pytest.raises(BadFrame, match="at 2.000 s: there is 1.000 s to 1.000 s"):
        tf.lookup("map", "base_link", 2 * SECOND)


def test_loops_and_garbage_are_refused() -> None:
    tf = TfBuffer()
    tf.put("a", "b", 0, Transform.identity(), static=True)
    with pytest.raises(BadPose, match="from 'b' to 'a' is refused: 'b' hangs from 'a' already.*loop"):
        tf.put("b", "a", 0, Transform.identity(), static=True)
    assert tf.lookup("a", "b", 0) == Transform.identity() and tf.moving("b") == "a"
    with pytest.raises(BadPose):
        tf.put("map", "c", 0, Transform((math.nan, 0, 0), (0, 0, 0, 1)))
    with pytest.raises(BadPose):
        tf.put("map", "c", 0, Transform((0, 0, 0), (0, 0, 0, 0)))
    for parent, child in (("c", "c"), ("", "c"), ("map", ""), ("/c", "c")):
        with pytest.raises(BadPose, match="needs two frames"):
            tf.put(parent, child, 0, Transform.identity())


def test_frames_may_be_named_as_in_ros_1() -> None:
    tf = TfBuffer()
    tf.put("/map", "/base_link", SECOND, Pose2(1, 2, 0).transform())
    assert tf.lookup("map", "/base_link", SECOND) == tf.lookup("/map", "base_link", SECOND)


def test_one_sample_of_the_future_changes_nothing_and_a_clock_that_is_ahead_does() -> None:
    tf = TfBuffer(now=lambda: 20 * SECOND, ahead_s=1.0)
    for stamp in (18, 19, 20):
        tf.put("map", "base_link", stamp * SECOND, Pose2(stamp, 0, 0).transform())
    with pytest.raises(BadPose, match="'base_link' is stamped in the future"):
        tf.put("map", "base_link", 3620 * SECOND, Pose2(0, 0, 0).transform())
    assert tf.lookup("map", "base_link", 19 * SECOND).xyz[0] == 19
    tf.put("map", "camera", 3620 * SECOND, Transform.identity(), static=True)  # no time matters to it
    for stamp in (3621, 3622):
        with pytest.raises(BadPose):
            tf.put("map", "base_link", stamp * SECOND, Pose2(stamp, 0, 0).transform())
        tf.put("map", "base_link", (stamp - 3601) * SECOND, Pose2(0, 0, 0).transform())  # not in a row
    for stamp in (3623, 3624):
        with pytest.raises(BadPose):
            tf.put("map", "base_link", stamp * SECOND, Pose2(stamp, 0, 0).transform())
    tf.put("map", "base_link", 3625 * SECOND, Pose2(5, 0, 0).transform())
    assert tf.lookup("map", "base_link", 3625 * SECOND).xyz[0] == 5


def test_memory_is_bounded_and_late_samples_are_sorted_in() -> None:
    tf = TfBuffer()
    for k in (5, 3, 4, 5):
        tf.put("map", "base_link", k * SECOND, Pose2(k, 0, 0).transform())
    assert tf.lookup("map", "base_link", 7 * SECOND // 2).xyz[0] == pytest.approx(3.5)
    tf.put("map", "base_link", 5 * SECOND + KEEP_NS, Pose2(0, 0, 0).transform())
    with pytest.raises(BadFrame):
        tf.lookup("map", "base_link", 3 * SECOND)


def at(tf: TfBuffer, seconds: float) -> float:
    return tf.lookup("map", "base_link", round(seconds * SECOND)).xyz[0]


def moved(tf: TfBuffer, seconds: float, x: float) -> None:
    tf.put("map", "base_link", round(seconds * SECOND), Pose2(x, 0, 0).transform())


def test_a_stray_of_long_ago_changes_nothing_and_time_that_was_set_back_does() -> None:
    tf = TfBuffer()
    for seconds in (100, 101):
        moved(tf, seconds, seconds)
        moved(tf, seconds - 50, -1.0)
        moved(tf, seconds + 0.5, seconds)
    assert at(tf, 100) == 100 and at(tf, 101) == 101
    for seconds in (50, 50.1, 50.2, 50.3):
        moved(tf, seconds, seconds)
    assert at(tf, 50) == 50 and at(tf, 50.25) == pytest.approx(50.25)
    with pytest.raises(BadFrame, match="there is 50.000 s to 50.300 s"):
        at(tf, 101)


@pytest.mark.parametrize("by_s", [5, 500])
def test_of_time_that_was_set_back_only_the_new_is_kept(by_s: int) -> None:
    tf = TfBuffer()
    for k in range(5):
        moved(tf, 1000 + k, 1.0)
    for k in range(4):
        moved(tf, 1004 - by_s + k / 10, 2.0)
    tf.set_back((1004 - by_s) * SECOND, by_s * SECOND)
    moved(tf, 1004 - by_s + 0.4, 3.0)
    assert at(tf, 1004 - by_s + 0.4) == 3.0
    with pytest.raises(BadFrame):
        at(tf, 1002)
    if by_s > 10:  # what had come of the new time is told apart from the old
        assert at(tf, 1004 - by_s + 0.3) == 2.0


def test_a_corrected_frame_jumps_and_others_move() -> None:
    tf = TfBuffer(corrected={"odom": (1.0, 0.5)})
    for k, x in enumerate((0.0, 0.4, 3.0, 3.0)):
        tf.put("map", "odom", k * SECOND, Pose2(x, 0, 0).transform())
        tf.put("odom", "base_link", k * SECOND, Pose2(2.0 * k, 0, 0).transform())
    assert tf.lookup("map", "odom", SECOND // 2).xyz[0] == pytest.approx(0.2)
    assert tf.lookup("map", "odom", 2 * SECOND - 1).xyz[0] == 0.4
    assert tf.lookup("map", "odom", 2 * SECOND).xyz[0] == 3.0
    assert at(tf, 0.5) == pytest.approx(1.2)


@pytest.mark.parametrize("tilt_deg", [0.0, 15.0, -30.0, 33.3, 60.0, 1e-3])
def test_a_head_that_is_looked_up_is_the_camera_bit_for_bit(tilt_deg: float) -> None:
    camera = camera_mount(1.31, math.radians(tilt_deg), 0.07)
    links = head_of(camera)
    buffer, frames = TfBuffer(), ("base", "mount", "link", "optical")
    for parent, child, link, static in zip(frames, frames[1:], links, (True, False, True), strict=False):
        buffer.put(parent, child, 1, link, static)
    assert buffer.lookup("base", "optical", 1) == camera
    assert links[0].xyzw == (0.0, 0.0, 0.0, 1.0) and links[1].xyz == links[2].xyz == (0.0, 0.0, 0.0)


def test_a_camera_that_is_turned_in_any_way_has_a_head_within_rounding() -> None:
    camera = Transform((0.1, 0.2, 1.0), (0.1826, 0.3651, 0.5477, 0.7303))
    mount, tilt, lens = head_of(camera)
    together = compose(mount, compose(tilt, lens))
    assert together.xyz == camera.xyz and together.xyzw == pytest.approx(camera.xyzw, abs=1e-15)


def test_frames_that_hang_from_one_another_are_joined_where_they_meet() -> None:
    """The base may be a frame of the floor below the body that the camera hangs from; what is above is not needed."""
    buffer, body = TfBuffer(), Pose2(1.0, 2.0, 0.5).transform(0.4)
    floor, camera = Transform((0.1, 0.0, -0.4), (0.0, 0.0, 0.0, 1.0)), camera_mount(0.3, 0.2)
    buffer.put("body", "floor", 1, floor, static=True)
    buffer.put("body", "camera", 1, camera, static=True)
    joined = compose(inverse(floor), camera)
    assert buffer.lookup("floor", "camera", 99).matrix() == pytest.approx(joined.matrix())
    buffer.put("map", "body", 5, body)
    there = compose(body, floor)
    for target, source, found in (("map", "floor", there), ("floor", "map", inverse(there)),
                                  ("camera", "camera", Transform.identity())):
        assert buffer.lookup(target, source, 5).matrix() == pytest.approx(found.matrix())
    with pytest.raises(BadFrame, match="'map'"):
        buffer.lookup("elsewhere", "camera", 5)


def tree(tf: TfBuffer, seconds: float) -> list[str]:
    """Send one moment of a robot's moving transforms; return why any of them was refused."""
    refused = []
    for parent, child in (("map", "odom"), ("odom", "base_link")):
        try:
            tf.put(parent, child, round(seconds * SECOND), Pose2(seconds, 0, 0).transform())
        except BadPose as error:
            refused.append(str(error))
    return refused


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize(("parent", "child", "why"), [
    ("base_link", "map", "form a loop"), ("odom", "map", "form a loop"),
    ("map", "base_link", "hangs from 'odom' already"),
    ("ghost", "odom", "hangs from 'map' already"), ("/base_link", "/map", "form a loop")])
def test_a_forged_link_is_refused_by_name_and_the_tree_stays(parent: str, child: str, why: str, static: bool) -> None:
    tf = TfBuffer()
    assert not tree(tf, 100)
    for _ in range(3):
        with pytest.raises(BadPose, match=f"transform from '{parent.strip('/')}' to '{child.strip('/')}'.*{why}"):
            tf.put(parent, child, 100 * SECOND, Transform.identity(), static)
    assert not tree(tf, 101)
    assert at(tf, 101) == 202 and at(tf, 100.5) == 201


@pytest.mark.parametrize("seconds", [0, 100, 3700, 1_700_000_000])
def test_a_forged_link_that_was_there_first_is_forgotten_when_it_is_stale_or_at_a_reset(seconds: int) -> None:
    """Its stamp may be of any time; the robot's time goes on in one case and stands still in the other."""
    for reset in (False, True):
        tf = TfBuffer()
        tf.put("base_link", "map", seconds * SECOND, Transform.identity())
        first = tree(tf, 100)
        assert len(first) == (seconds == 100) and all("form a loop" in why for why in first)
        if reset:
            tf.forget_disputed()
        assert not tree(tf, 100 if reset else 111)
        assert at(tf, 100 if reset else 111) == (200 if reset else 222)


def test_a_fixed_link_that_a_forged_one_kept_out_is_there_after_a_reset() -> None:
    """It is sent once, so that nobody would send it again."""
    tf = TfBuffer()
    tf.put("ghost", "camera", SECOND, Transform.identity())
    with pytest.raises(BadPose, match="hangs from 'ghost'"):
        tf.put("base_link", "camera", SECOND, camera_mount(1.0), static=True)
    tf.forget_disputed()
    assert tf.lookup("base_link", "camera", 9 * SECOND) == camera_mount(1.0)
    with pytest.raises(BadPose, match="hangs from 'base_link'"):
        tf.put("ghost", "camera", SECOND, Transform.identity())


@pytest.mark.parametrize("seconds", [0, 3700, 1_700_000_000])
def test_a_forged_link_of_another_time_is_outlived_by_the_next_of_the_robot(seconds: int) -> None:
    for parent, child in (("map", "base_link"), ("base_link", "map"), ("base_link", "odom")):
        tf = TfBuffer()
        assert not tree(tf, 100)
        tf.put(parent, child, seconds * SECOND, Transform.identity())
        assert not tree(tf, 101) and at(tf, 101) == 202
