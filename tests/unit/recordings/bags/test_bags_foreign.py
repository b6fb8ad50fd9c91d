"""Bags of other people's robots are episode histories too."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import BadFrame, ConfigError, StorageError
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.media.video import write_video
from eqa_nodes.recordings.arrays import arrays_of
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.bags.history import BagHistory, BagOptions
from eqa_nodes.recordings.bags.roles import TopicChoice
from eqa_nodes.recordings.episode_history import survey
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.recordings.history_views import UniformViews, ViewSelection
from eqa_nodes.wire import images, messages
from tests.fixtures.foreign_bags import (
    BEGIN,
    BENT,
    COLOR,
    COMPRESSED,
    DEPTH,
    IMAGE,
    OPTICAL,
    STEP,
    Row,
    Scene,
    StandardCdr,
    depth_png,
    depth_rvl,
    frames_of,
    inverse_depth_png,
    jpeg,
    png,
)
from tests.fixtures.frames import MOUNT, F, H, W


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_another_robots_bag_is_read_without_being_told_anything(scene: Scene, tmp_path: Path, storage: str) -> None:
    history = BagHistory(scene.cdr.write(tmp_path / "bag", scene.rows(), storage))
    frames = list(history)
    assert len(frames) == len(history) == scene.count and not history.dropped
    for i, frame in enumerate(frames):
        assert frame.stamp_ns == scene.stamp(i)
        assert np.array_equal(frame.rgb, scene.rgb(i)) and np.array_equal(frame.depth_m, scene.depth_m(i))
        assert frame.intrinsics == (W, H, F, F, W / 2, H / 2)
        assert frame.map_from_base.xyz == pytest.approx((scene.x(frame.stamp_ns), 0, 0), abs=1e-6)
        assert frame.base_from_camera == Transform((0.0, 0.0, 1.2), MOUNT.xyzw)


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_single_file_is_a_bag(scene: Scene, tmp_path: Path, storage: str) -> None:
    folder = scene.cdr.write(tmp_path / "bag", scene.rows(), storage)
    assert len(list(BagHistory(next(folder.glob("bag.*"))))) == scene.count


@pytest.mark.parametrize(("storage", "compression"), [("sqlite3", "file"), ("sqlite3", "message"), ("mcap", "file")])
def test_a_compressed_bag_is_read(scene: Scene, tmp_path: Path, storage: str, compression: str) -> None:
    folder = scene.cdr.write(tmp_path / "bag", scene.rows(), storage, compression)
    assert len(list(BagHistory(folder))) == scene.count


def test_old_bags_carry_no_definitions_and_others_strange_ones(scene: Scene, tmp_path: Path) -> None:
    folder = scene.cdr.write(tmp_path / "bag", scene.rows(), "sqlite3")
    with sqlite3.connect(folder / "bag.db3") as database:
        database.execute("UPDATE message_definitions SET encoded_message_definition = 'strange; definition'")
    database.close()
    assert len(list(BagHistory(folder))) == scene.count
    with sqlite3.connect(folder / "bag.db3") as database:
        database.execute("DROP TABLE message_definitions")
        database.execute("UPDATE schema SET schema_version = 3")
    database.close()
    assert len(list(BagHistory(folder))) == scene.count


def test_every_reading_gives_the_same(scene: Scene, tmp_path: Path) -> None:
    scene.tf_late_ns, scene.info_fields = STEP // 3, {"d": np.array(BENT)}
    history = BagHistory(scene.cdr.write(tmp_path / "bag", scene.rows()))
    first, second = ([(f.stamp_ns, f.map_from_base, f.base_from_camera, f.rgb.tobytes(), f.depth_m.tobytes())
                      for f in history] for _ in range(2))
    assert first == second and len(first) == scene.count


def test_topics_of_another_robot_are_not_mixed_in(scene: Scene, tmp_path: Path) -> None:
    rows = [row._replace(topic=f"/{robot}{row.topic}") for robot in ("r1", "r2") for row in scene.rows()
            if robot == "r1" or row.topic != DEPTH]
    folder = scene.cdr.write(tmp_path / "bag", rows)
    assert len(list(BagHistory(folder, options=BagOptions(namespace="r1")))) == scene.count
    with pytest.raises(StorageError, match="no topic for depth"):
        BagHistory(folder, options=BagOptions(namespace="r2"))


@pytest.mark.parametrize(("encoding", "padding"), [("rgb8", 0), ("bgr8", 0), ("bgr8", 5), ("rgba8", 0), ("bgra8", 3),
                                                   ("mono8", 7)])
def test_color_encodings(scene: Scene, tmp_path: Path, encoding: str, padding: int) -> None:
    scene.pack_color = scene.raw(encoding, padding)
    for i, frame in enumerate(frames_of(scene, tmp_path / "bag")):
        wanted = scene.rgb(i) if encoding != "mono8" else scene.rgb(i)[..., :1].repeat(3, axis=-1)
        assert np.array_equal(frame.rgb, wanted) and frame.rgb.dtype == np.uint8


@pytest.mark.parametrize(("encoding", "padding", "big"), [
    ("16UC1", 0, False), ("16UC1", 6, True), ("mono16", 0, False), ("32FC1", 8, False), ("32FC1", 0, True)])
def test_depth_encodings(scene: Scene, tmp_path: Path, encoding: str, padding: int, big: bool) -> None:
    scene.pack_depth = scene.raw(encoding, padding, big)
    frames = frames_of(scene, tmp_path / "bag")
    assert len(frames) == scene.count
    for i, frame in enumerate(frames):
        assert np.allclose(frame.depth_m, scene.depth_m(i), atol=1e-6) and frame.depth_m.dtype == np.float32


def test_no_return_is_zero_however_it_was_written(scene: Scene, tmp_path: Path) -> None:
    whole = scene.depth_m

    def holed(i: int) -> np.ndarray:
        depth = whole(i)
        depth[0, :4] = (np.nan, np.inf, -1.0, 1e6)
        return depth

    scene.depth_m = holed  # type: ignore[method-assign]
    assert all((frame.depth_m[0, :4] == 0).all() for frame in frames_of(scene, tmp_path / "bag"))


@pytest.mark.parametrize(("text", "pack", "off"), [("rgb8; jpeg compressed bgr8", jpeg, 6), ("jpeg", jpeg, 6),
                                                   ("bgr8; png compressed bgr8", png, 0)])
def test_compressed_color(scene: Scene, tmp_path: Path, text: str, pack: Callable[[np.ndarray], bytes],
                          off: int) -> None:
    scene.rgb = lambda i: np.full((H, W, 3), (200, 90, 10 * i), np.uint8)  # type: ignore[method-assign]
    scene.color, scene.pack_color = COLOR + "/compressed", scene.compressed(text, pack)
    frames = frames_of(scene, tmp_path / "bag")
    assert len(frames) == scene.count
    for i, frame in enumerate(frames):
        assert np.abs(frame.rgb.astype(int) - scene.rgb(i)).max() <= off


@pytest.mark.parametrize(("text", "pack", "off_m"), [
    ("16UC1; compressedDepth png", depth_png, 1e-6), ("16UC1; compressedDepth", depth_png, 1e-6),
    ("16UC1; compressedDepth rvl", depth_rvl, 1e-6),
    ("32FC1; compressedDepth png", inverse_depth_png, 0.002)])
def test_compressed_depth(scene: Scene, tmp_path: Path, text: str, pack: Callable[[np.ndarray], bytes],
                          off_m: float) -> None:
    scene.depth, scene.pack_depth = DEPTH + "/compressedDepth", scene.compressed(text, pack)
    frames = frames_of(scene, tmp_path / "bag")
    assert len(frames) == scene.count
    for i, frame in enumerate(frames):
        assert np.allclose(frame.depth_m, scene.depth_m(i), atol=off_m)
        assert (frame.depth_m[:4, :4] == 0).all()


@pytest.mark.parametrize(("text", "data", "complaint"), [
    ("16UC1; compressedDepth rvl", b"\0" * 40, "claims 0x0 pixels"), ("16UC1; compressedDepth png", b"\0" * 12,
     "no more than its header"), ("16UC1; compressedDepth png", b"\0" * 12 + b"\x89PNG\r\n", "cannot be read"),
    ("jpeg", jpeg(np.zeros((4, 4, 3), np.uint8)), "has lost it"),
    ("16UC1; png compressed", b"GIF89a", "cannot be read")])
def test_compressed_depth_that_is_none_is_named(standard_cdr: StandardCdr, text: str, data: bytes,
                                                complaint: str) -> None:
    message = standard_cdr.make(COMPRESSED, format=text, data=np.frombuffer(data, np.uint8))
    with pytest.raises(BadFrame, match=complaint):
        images.depth_of(message)


def test_a_small_file_that_claims_to_be_huge_is_refused(standard_cdr: StandardCdr) -> None:
    head = bytearray(png(np.zeros((4, 4), np.uint8)))
    head[16:24] = (20000).to_bytes(4, "big") * 2
    message = standard_cdr.make(COMPRESSED, format="png", data=np.frombuffer(bytes(head), np.uint8))
    with pytest.raises(BadFrame, match="20000|cannot be read"):
        images.rgb_of(message)


def test_poses_are_interpolated_at_the_image_stamp(scene: Scene, tmp_path: Path) -> None:
    scene.tf_late_ns = STEP // 3
    for frame in frames_of(scene, tmp_path / "bag"):
        assert frame.map_from_base.xyz[0] == pytest.approx(scene.x(frame.stamp_ns), abs=1e-6)


def test_depth_is_that_of_the_nearest_stamp_within_the_tolerance(scene: Scene, tmp_path: Path) -> None:
    scene.depth_late_ns = 15_000_000
    rows = scene.rows()
    rows += [scene.depth_row(0, scene.stamp(i) - 18_000_000) for i in range(1, scene.count)]  # near, but not nearest
    history = BagHistory(scene.cdr.write(tmp_path / "bag", rows))
    frames = list(history)
    assert [f.stamp_ns for f in frames] == [scene.stamp(i) for i in range(scene.count)]
    assert all(np.array_equal(f.depth_m, scene.depth_m(i)) for i, f in enumerate(frames))
    narrow = BagHistory(tmp_path / "bag", options=BagOptions(tolerance_s=0.01))
    assert not list(narrow) and narrow.dropped["no depth"] == scene.count


def test_each_depth_image_is_decoded_once_and_serves_the_color_image_nearest_to_it(
        scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for i in range(scene.count) for row in (scene.color_row(i, scene.stamp(i) - 12_000_000),)]
    folder = scene.cdr.write(tmp_path / "bag", scene.rows() + rows)
    decoded = []
    real = messages.depth_of
    monkeypatch.setattr(messages, "depth_of",
                        lambda image, unit: decoded.append(messages.stamp_of(image)) or real(image, unit))
    history = BagHistory(folder)
    assert [f.stamp_ns for f in history] == [scene.stamp(i) for i in range(scene.count)]
    assert history.dropped == {"no depth": scene.count}
    assert decoded == [scene.stamp(i) for i in range(scene.count)]


@pytest.mark.parametrize(("map_frame", "odom_frame", "said"), [
    ("", "odom", ""), ("", "world", ""), ("world", "odom_vo", ""), ("mocap", "tracker", "mocap")])
def test_the_map_frame_may_have_another_name(scene: Scene, tmp_path: Path, map_frame: str, odom_frame: str,
                                             said: str) -> None:
    scene.map_frame, scene.odom_frame = map_frame, odom_frame
    assert len(frames_of(scene, tmp_path / "bag", map_frame=said)) == scene.count
    if said:
        with pytest.raises(StorageError, match="frames begin at mocap"):
            BagHistory(tmp_path / "bag")


def test_a_map_that_the_robot_does_not_hang_from_is_none(scene: Scene, tmp_path: Path) -> None:
    scene.map_frame = ""
    link = scene.cdr.tf("map", "door", BEGIN, Transform.identity())
    stray = Row("/tf_static", "tf2_msgs/msg/TFMessage", BEGIN, scene.cdr("tf2_msgs/msg/TFMessage", transforms=[link]))
    assert len(list(BagHistory(scene.cdr.write(tmp_path / "bag", [*scene.rows(), stray])))) == scene.count


def test_slashes_before_frames_and_another_base_frame(scene: Scene, tmp_path: Path) -> None:
    scene.base_frame, scene.color_frame = "/base_footprint", "/" + OPTICAL
    assert [f.map_from_base.xyz[2] for f in frames_of(scene, tmp_path / "a")] == [0.0] * scene.count
    scene.base_frame = "torso"
    frames = frames_of(scene, tmp_path / "b", base_frame="torso")
    assert frames[0].base_from_camera.xyz == (0.0, 0.0, 1.2)


def test_a_camera_without_a_robot_has_its_base_on_the_ground_below_it(scene: Scene, tmp_path: Path) -> None:
    scene.base_frame = "handle"
    for frame in frames_of(scene, tmp_path / "bag"):
        assert frame.map_from_base.xyz[2] == 0.0
        assert np.allclose(frame.map_from_camera()[:3, 3], (scene.x(frame.stamp_ns), 0.0, 1.2), atol=1e-6)
        assert frame.pose.yaw == pytest.approx(0.1, abs=1e-6)


def test_odometry_tells_the_pose_where_no_transform_does(scene: Scene, tmp_path: Path) -> None:
    c = scene.cdr
    rows = [row for row in scene.rows() if row.topic != "/tf"]
    for i in range(-1, scene.count + 1):
        pose = c.make("geometry_msgs/msg/PoseWithCovariance", pose=c.pose(Transform((i / 10, 0.0, 0.0), (0, 0, 0, 1))))
        rows.append(Row("/robot/odometry", "nav_msgs/msg/Odometry", scene.stamp(i), c(
            "nav_msgs/msg/Odometry", header=c.header(scene.stamp(i), "odom"), child_frame_id="base_link", pose=pose)))
    frames = list(BagHistory(c.write(tmp_path / "bag", rows)))
    assert [f.map_from_base.xyz[0] for f in frames] == pytest.approx([i / 10 for i in range(scene.count)])


def test_topics_can_be_named(scene: Scene, tmp_path: Path) -> None:
    scene.color, scene.depth, scene.info = "/a/image", "/b/image", "/c/info"
    other = [row._replace(topic="/d/image") for row in scene.rows() if row.topic == scene.color]
    folder = scene.cdr.write(tmp_path / "bag", [*scene.rows(), *other])
    with pytest.raises(StorageError, match="color may be /a/image or /d/image: .* --remap color:=TOPIC"):
        BagHistory(folder)
    assert len(list(BagHistory(folder, options=BagOptions({"color": "/a/image"})))) == scene.count
    with pytest.raises(StorageError, match="no topic '/d' of .* for depth: it has /a/image, /b/image, /d/image"):
        BagHistory(folder, options=BagOptions({"depth": "/d"}))
    with pytest.raises(StorageError, match="for camera_info: it has /c/info"):
        BagHistory(folder, options=BagOptions({"camera_info": "/a/image"}))
    with pytest.raises(ConfigError, match="unknown role 'colour'"):
        BagHistory(folder, options=BagOptions({"colour": "/a/image"}))
    with pytest.raises(ConfigError, match="/a/image to several roles"):
        BagHistory(folder, options=BagOptions({"color": "/a/image", "depth": "/a/image"}))


@pytest.mark.parametrize(("topics", "color", "depth", "info"), [
    (("/camera/color/image_raw", "/camera/aligned_depth_to_color/image_raw", "/camera/depth/image_rect_raw",
      "/camera/infra1/image_rect_raw", "/camera/color/camera_info", "/camera/depth/camera_info"),
     "/camera/color/image_raw", "/camera/aligned_depth_to_color/image_raw", "/camera/color/camera_info"),
    (("/camera/rgb/image_color", "/camera/rgb/camera_info", "/camera/depth_registered/image", "/camera/depth/image"),
     "/camera/rgb/image_color", "/camera/depth_registered/image", "/camera/rgb/camera_info"),
    (("/zed/zed_node/rgb/image_rect_color", "/zed/zed_node/left/image_rect_color", "/zed/zed_node/rgb/camera_info",
      "/zed/zed_node/depth/depth_registered", "/zed/zed_node/left/camera_info",
      "/zed/zed_node/confidence/confidence_map"),
     "/zed/zed_node/rgb/image_rect_color", "/zed/zed_node/depth/depth_registered", "/zed/zed_node/rgb/camera_info"),
    (("/rgb/image_raw", "/depth_to_rgb/image_raw", "/depth/image_raw", "/ir/image_raw", "/rgb/camera_info",
      "/depth/camera_info"), "/rgb/image_raw", "/depth_to_rgb/image_raw", "/rgb/camera_info"),
    (("/head/rgb/image_raw", "/head/depth_registered/image_raw", "/head/rgb/camera_info", "/arm/rgb/image_raw",
      "/arm/rgb/camera_info"), "/head/rgb/image_raw", "/head/depth_registered/image_raw", "/head/rgb/camera_info"),
    (("/cam/color/image_raw", "/cam/color/image_raw/compressed", "/cam/depth/image_raw/compressedDepth",
      "/cam/depth/image_raw/compressed", "/cam/color/camera_info"),
     "/cam/color/image_raw", "/cam/depth/image_raw/compressedDepth", "/cam/color/camera_info"),
])
def test_topics_are_found_by_name_and_type(topics: tuple[str, ...], color: str, depth: str, info: str) -> None:
    types = {t: "sensor_msgs/msg/CameraInfo" if t.endswith("info") else COMPRESSED if "compressed" in t else IMAGE
             for t in topics}
    found = TopicChoice(types).guess()
    assert found.topics == {"color": color, "depth": depth, "camera_info": info} and not found.unclear


def test_depth_from_another_place_than_the_color_is_refused(scene: Scene, tmp_path: Path) -> None:
    c, scene.depth_frame = scene.cdr, "cam_depth_optical_frame"
    rows = scene.rows()
    for name, offset, used in (("near", 0.001, scene.count), ("far", 0.05, 0)):
        link = c.tf(OPTICAL, scene.depth_frame, BEGIN, Transform((offset, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
        static = Row("/tf_static", "tf2_msgs/msg/TFMessage", BEGIN, c("tf2_msgs/msg/TFMessage", transforms=[link]))
        history = BagHistory(c.write(tmp_path / name, [*rows, static]))
        assert len(list(history)) == used
        assert used or "aligned to colour" in next(iter(history.dropped))


@pytest.mark.parametrize("read", [
    survey, lambda history: write_bag(history, Path(history.path.parent / "out")), arrays_of,
    lambda history: write_openeqa(history, history.path.parent / "out"),
    lambda history: write_video(history, history.path.parent / "out.mp4"),
    lambda history: UniformViews.read(history, history.path.parent, ViewSelection("uniform", 5), lambda n, of: None)])
def test_whoever_reads_a_bag_says_why_no_frame_is_usable(scene: Scene, tmp_path: Path,
                                                         read: Callable[[BagHistory], object]) -> None:
    scene.depth_late_ns = 30_000_000
    history = BagHistory(scene.cdr.write(tmp_path / "bag", scene.rows()))
    with pytest.raises(StorageError, match="history bag has no usable frame: 6 x no color; 6 x no depth"):
        read(history)
