"""Topics of strangers' bags are chosen by type and number of messages first, by name last; what is named wins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.bags.history import BagHistory, BagOptions
from eqa_nodes.recordings.bags.reader import open_bag
from tests.fixtures.foreign_bags import COLOR, COMPRESSED, DEPTH, INFO, Row, Scene, StandardCdr, depth_png, jpeg
from tests.fixtures.ros1_bags import write_ros1

ODOMETRY, POSE, COVARIANCE = (f"{kind}" for kind in (
    "nav_msgs/msg/Odometry", "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseWithCovarianceStamped"))
STILL = Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))


@pytest.fixture
def scene() -> Scene:
    return Scene(StandardCdr())


def written(scene: Scene, path: Path, rows: list[Row], ros1: bool = False, empty: tuple[str, ...] = ()) -> Path:
    return write_ros1(path.with_suffix(".bag"), rows) if ros1 else scene.cdr.write(path, rows, empty=empty)


def topics(bag: Path, **options: object) -> dict[str, str]:
    """Return the topics of the roles, after all frames were read."""
    how = BagOptions(**options)  # type: ignore[arg-type]
    history = BagHistory(bag, options=how)
    assert len(list(history)) == 6 and not history.dropped
    with open_bag(bag, how.namespace, how.remap) as opened:
        return {role: opened.topics.get(role, "") for role in ("color", "depth", "camera_info", "tf", "odom")}


def poses(scene: Scene, topic: str, kind: str = ODOMETRY) -> list[Row]:
    c, rows = scene.cdr, []
    for i in range(-1, scene.count + 1):
        pose, header = c.pose(Transform((i / 10, 0.0, 0.0), (0, 0, 0, 1))), c.header(scene.stamp(i), "odom")
        with_covariance = c.make("geometry_msgs/msg/PoseWithCovariance", pose=pose)
        fields = {ODOMETRY: {"child_frame_id": "base_link", "pose": with_covariance}, POSE: {"pose": pose},
                  COVARIANCE: {"pose": with_covariance}}[kind]
        rows.append(Row(topic, kind, scene.stamp(i), c(kind, header=header, **fields)))
    return rows


def renamed(rows: list[Row], old: str, new: str) -> list[Row]:
    return [row._replace(topic=new) for row in rows if row.topic == old]


@pytest.mark.parametrize("ros1", [False, True])
@pytest.mark.parametrize(("names", "taken"), [
    (("/wheel/odom", "/visual/odom"), ""), (("/wheel/odom", "/visual/odom", "/odom"), "/odom"),
    (("/odometry/filtered",), "/odometry/filtered"), (("/wheel/odom", "/odometry/filtered"), "")])
def test_several_odometries(scene: Scene, tmp_path: Path, ros1: bool, names: tuple[str, ...], taken: str) -> None:
    rows = [*scene.rows(), *(row for name in names for row in poses(scene, name))]
    assert topics(bag := written(scene, tmp_path / "whole", rows, ros1))["odom"] == taken
    assert topics(bag, remap={"odom": names[0]})["odom"] == names[0]
    without = written(scene, tmp_path / "without", [row for row in rows if row.topic != "/tf"], ros1)
    if not taken:
        with pytest.raises(StorageError, match=r"odom may be /\S+ or /\S+: name the robot .* --remap odom:=TOPIC"):
            BagHistory(without)
    topics(without, remap={"odom": taken or names[0]})


@pytest.mark.parametrize("kind", [POSE, COVARIANCE])
def test_a_pose_under_the_name_of_the_odometry_is_named(scene: Scene, tmp_path: Path, kind: str) -> None:
    rows = [*(row for row in scene.rows() if row.topic != "/tf"), *poses(scene, "/odom", kind)]
    with pytest.raises(StorageError, match=f"/odom is {kind}, and odom is read from {ODOMETRY}: record or convert"):
        BagHistory(written(scene, tmp_path / "bag", rows))


@pytest.mark.parametrize("ros1", [False, True])
def test_one_of_two_robots_is_named_by_namespace_or_by_any_of_its_topics(scene: Scene, tmp_path: Path,
                                                                         ros1: bool) -> None:
    rows = [row._replace(topic=f"/{robot}{row.topic}") for robot in ("r1", "r2") for row in scene.rows()]
    bag = written(scene, tmp_path / "bag", rows, ros1)
    with pytest.raises(StorageError, match=f"color may be /r1{COLOR} or /r2{COLOR}: name the robot with --namespace"):
        BagHistory(bag)
    with pytest.raises(StorageError, match="no topic in the namespace 'r3': its topics are in r1, r2"):
        BagHistory(bag, options=BagOptions(namespace="r3"))
    for robot in ("r1", "r2"):
        own = {"color": f"/{robot}{COLOR}", "depth": f"/{robot}{DEPTH}", "camera_info": f"/{robot}{INFO}",
               "tf": f"/{robot}/tf", "odom": ""}
        assert topics(bag, namespace=robot) == topics(bag, namespace=f"/{robot}/") == own
        assert topics(bag, remap={"color": own["color"]}) == topics(bag, remap={"depth": own["depth"]}) == own


def test_topics_that_hold_messages_are_taken(scene: Scene, tmp_path: Path) -> None:
    """`ros2 bag record -a`: drivers announce raw images that nobody asked them for."""
    scene.count = 24
    few = [scene.color_row(0), scene.depth_row(0)]  # one image came before the subscriber was gone
    scene.color, scene.depth = f"{COLOR}/compressed", f"{DEPTH}/compressedDepth"
    scene.pack_color = scene.compressed("rgb8; jpeg compressed bgr8", jpeg)
    scene.pack_depth = scene.compressed("16UC1; compressedDepth png", depth_png)
    for name, more, empty in (("none", [], (COLOR, DEPTH)), ("few", few, ())):
        bag = written(scene, tmp_path / name, [*scene.rows(), *more], empty=empty)
        with open_bag(bag) as opened:
            assert (opened.topics["color"], opened.topics["depth"]) == (scene.color, scene.depth)
        assert len(list(BagHistory(bag))) == scene.count


@pytest.mark.parametrize("encoding", ["mono8", "bgr8", "32FC1"])
def test_labels_of_a_stranger_leave_the_frames_alone(scene: Scene, tmp_path: Path, encoding: str) -> None:
    other, topic, table = Scene(scene.cdr), "/segmentation/labels/image_raw", "/segmentation/labels/table"
    other.pack_color = scene.raw("mono8" if encoding == "32FC1" else encoding)
    rows = renamed(other.rows(), DEPTH if encoding == "32FC1" else COLOR, topic)
    rows.append(Row(table, ODOMETRY, scene.stamp(0), scene.cdr(ODOMETRY)))  # of another type than the graph's
    found = topics(written(scene, tmp_path / "bag", [*scene.rows(), *rows]))
    assert (found["color"], found["depth"]) == (COLOR, DEPTH)


def _frame(scene: Scene, name: str) -> list[Row]:
    """Depth of a camera of its own, beside the colour camera."""
    link = scene.cdr.tf("base_link", name, scene.stamp(0), STILL)
    return [Row("/tf_static", "tf2_msgs/msg/TFMessage", scene.stamp(-1), scene.cdr("tf2_msgs/msg/TFMessage",
                                                                                transforms=[link]))]


def _in_frame(scene: Scene, frame: str, topic: str, role: str = "depth") -> list[Row]:
    other = Scene(scene.cdr, scene.count)
    other.color_frame = other.depth_frame = frame
    return renamed(other.rows(), DEPTH if role == "depth" else COLOR if role == "color" else INFO, topic)


@pytest.mark.parametrize(("color", "depth", "info", "more"), [
    ("/oak/rgb/image_raw", "/oak/stereo/image_raw", "/oak/rgb/camera_info", {}),
    ("/camera/rgb/image_raw", "/camera/depth_registered/image_raw", "/camera/rgb/camera_info",
     {"/camera/depth/image_raw": ("other", "depth")}),
    ("/camera/color/image_raw", "/camera/registered", "/camera/color/camera_info",
     {"/camera/depth/image_raw": ("other", "depth"), "/camera/depth/camera_info": ("other", "camera_info")}),
    ("/camera/camera/color/image_raw", "/camera/camera/aligned_depth_to_color/image_raw",
     "/camera/camera/color/camera_info", {"/camera/camera/depth/image_rect_raw": ("other", "depth"),
                                          "/camera/camera/infra1/image_rect_raw": ("other", "color"),
                                          "/camera/camera/depth/camera_info": ("other", "camera_info")}),
    ("/rgb/image_raw", "/depth_to_rgb/image_raw", "/rgb/camera_info",
     {"/depth/image_raw": ("other", "depth"), "/rgb_to_depth/image_raw": ("other", "color"),
      "/depth/camera_info": ("other", "camera_info")}),
    ("/front/image", "/front/range", "/front/camera_info",
     {"/rear/image": ("other", "color"), "/rear/camera_info": ("other", "camera_info")}),
    ("/depth_cam/rgb/image_raw", "/depth_cam/depth/image_raw", "/depth_cam/rgb/camera_info", {}),
    ("/zed/zed_node/rgb/image_rect_color", "/zed/zed_node/depth/depth_registered", "/zed/zed_node/rgb/camera_info",
     {"/zed/zed_node/confidence/confidence_map": ("", "depth"), "/wrist/color/image_raw": ("other", "color")}),
], ids=["oak", "openni", "any name", "realsense", "kinect azure", "two cameras", "depth in a name", "zed"])
def test_cameras_of_strangers(scene: Scene, tmp_path: Path, color: str, depth: str, info: str,
                              more: dict[str, tuple[str, str]]) -> None:
    scene.color, scene.depth, scene.info = color, depth, info
    extra = [row for topic, (frame, role) in more.items() for row in _in_frame(
        scene, frame or scene.color_frame, topic, role)]
    rows = [*scene.rows(), *_frame(scene, "other"), *extra]
    for ros1 in (False, True):
        bag = written(scene, tmp_path / "bag", rows, ros1)
        assert tuple(topics(bag)[role] for role in ("color", "depth", "camera_info")) == (color, depth, info)
        for role, topic in (("color", color), ("depth", depth)):  # what is named serves no other role
            assert topics(bag, remap={role: topic})["depth"] == depth


def test_an_image_under_the_name_of_a_camera_info_is_none(scene: Scene, tmp_path: Path) -> None:
    scene.info = "/cam/color/calibration"
    rows: list[Row] = [*scene.rows(), *renamed(scene.rows(), COLOR, INFO)]
    found = topics(written(scene, tmp_path / "bag", [row for row in rows if row.topic != COLOR]))
    assert (found["color"], found["camera_info"]) == (INFO, scene.info)


def test_a_jpeg_of_depths_is_neither_colour_nor_depth(scene: Scene, tmp_path: Path) -> None:
    lost: Callable[[np.ndarray], bytes] = lambda depth_m: jpeg(np.zeros((4, 4), np.uint8))  # noqa: E731
    spoilt = Scene(scene.cdr)
    spoilt.depth = "/cam/depth/image_raw/compressed"
    spoilt.pack_depth = scene.compressed("16UC1; jpeg compressed ", lost)
    rows = [row for row in spoilt.rows() if row.type == COMPRESSED]
    assert topics(written(scene, tmp_path / "bag", [*scene.rows(), *rows]))["depth"] == DEPTH
    with pytest.raises(StorageError, match="no topic for color, depth, camera_info: .* eqa doctor --bag lists"):
        BagHistory(written(scene, tmp_path / "alone", rows))
