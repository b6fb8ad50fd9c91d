"""Bags: others can read them, they survive a kill and a full disk, and come back as frames and as a trace."""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader, make_reader
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from eqa_nodes.bags.definitions import definition, type_hash
from eqa_nodes.bags.history import read_history
from eqa_nodes.bags.recover import recover
from eqa_nodes.bags.trace import trace_of
from eqa_nodes.bags.writer import BagTopic, BagWriter, Qos
from eqa_nodes.bench.codec import dumps
from eqa_nodes.core.errors import ConfigError, ErrorCode, StorageError
from eqa_nodes.core.geometry import Pose2, Transform
from eqa_nodes.core.trace import TraceDecision
from eqa_nodes.core.types import Answer, Candidate, Evidence, Frontier
from tests.unit.frame_fixture import LABELS, MOUNT, frame

ROOT = Path(__file__).resolve().parents[2]
SECOND = 10**9
CAMERA = "camera_color_optical_frame"
TYPES = {
    "/camera/color/image_raw": "sensor_msgs/msg/Image", "/camera/depth/image_raw": "sensor_msgs/msg/Image",
    "/camera/color/camera_info": "sensor_msgs/msg/CameraInfo", "/labels/image_raw": "sensor_msgs/msg/Image",
    "/labels/table": "eqa_interfaces/msg/LabelArray", "/tf": "tf2_msgs/msg/TFMessage",
    "/tf_static": "tf2_msgs/msg/TFMessage", "/odom": "nav_msgs/msg/Odometry", "/question": "std_msgs/msg/String",
    "/answer": "std_msgs/msg/String", "/decision": "std_msgs/msg/String", "/map": "nav_msgs/msg/OccupancyGrid",
    "/explored": "nav_msgs/msg/OccupancyGrid", "/frontiers": "eqa_interfaces/msg/FrontierArray",
    "/keyframes": "eqa_interfaces/msg/Keyframe",
}
pytestmark = pytest.mark.skipif(
    not all(importlib.util.find_spec(p) for p in ("eqa_interfaces", "tf2_msgs", "sensor_msgs", "nav_msgs")),
    reason="the message packages are not installed: `make setup` installs them")


class Cdr:
    """Serializes messages by their installed definitions; fields that are not given are zero."""

    def __init__(self) -> None:
        self._store = get_typestore(Stores.EMPTY)
        for name in dict.fromkeys(TYPES.values()):
            self._store.register(get_types_from_msg(definition(name), name))

    def __call__(self, type_name: str, **fields: Any) -> bytes:
        return bytes(self._store.serialize_cdr(self.make(type_name, **fields), type_name))

    def make(self, type_name: str, **fields: Any) -> Any:
        members = dict(self._store.get_msgdef(type_name).fields)
        unknown = set(fields) - set(members)
        assert not unknown, unknown
        values = {n: fields[n] if n in fields else self._zero(t) for n, t in members.items()}
        return self._store.types[type_name](**values)

    def header(self, stamp_ns: int, frame_id: str) -> Any:
        stamp = self.make("builtin_interfaces/msg/Time", sec=stamp_ns // SECOND, nanosec=stamp_ns % SECOND)
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id=frame_id)

    def image(self, pixels: np.ndarray, encoding: str, stamp_ns: int) -> bytes:
        return self("sensor_msgs/msg/Image", header=self.header(stamp_ns, CAMERA), height=pixels.shape[0],
                    width=pixels.shape[1], encoding=encoding, step=pixels.strides[0],
                    data=np.frombuffer(pixels.tobytes(), np.uint8))

    def tf(self, parent: str, child: str, stamp_ns: int, t: Transform) -> Any:
        x, y, z = t.xyz
        translation = self.make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)
        transform = self.make("geometry_msgs/msg/Transform", translation=translation, rotation=self.quaternion(t))
        return self.make("geometry_msgs/msg/TransformStamped", header=self.header(stamp_ns, parent),
                         child_frame_id=child, transform=transform)

    def pose(self, t: Transform) -> Any:
        x, y, z = t.xyz
        return self.make("geometry_msgs/msg/Pose", position=self.make("geometry_msgs/msg/Point", x=x, y=y, z=z),
                         orientation=self.quaternion(t))

    def quaternion(self, t: Transform) -> Any:
        return self.make("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", t.xyzw, strict=True)))

    def text(self, text: str) -> bytes:
        return self("std_msgs/msg/String", data=text)

    def _zero(self, kind: Any) -> Any:
        node, detail = kind
        if node.name == "BASE":
            return {"string": "", "bool": False}.get(detail[0], 0)
        if node.name == "NAME":
            return self.make(detail)
        if node.name == "ARRAY":
            return np.zeros(detail[1], detail[0][1][0])
        return np.zeros(0, detail[0][1][0]) if detail[0][0].name == "BASE" and detail[0][1][0] != "string" else []


@pytest.fixture(scope="module")
def cdr() -> Cdr:
    return Cdr()


def _topics(*names: str) -> dict[str, BagTopic]:
    return {name: BagTopic(TYPES[name]) for name in names}


def _kettle(cdr: Cdr) -> Any:
    return cdr.make("eqa_interfaces/msg/Label", instance_id=1, kind="kettle", room="kitchen", attributes=["colour=red"])


def _noise(count: int) -> str:
    """Text that does not compress."""
    return np.random.default_rng(0).integers(33, 126, count).astype(np.uint8).tobytes().decode()


def _record_frames(cdr: Cdr, writer: BagWriter, count: int, base: str = "tf") -> None:
    """Write `count` frames, a second apart, driving along x; base: how the pose is told, tf or odom."""
    writer.write("/tf_static", SECOND, cdr("tf2_msgs/msg/TFMessage", transforms=[
        cdr.tf("base_link", "camera_link", SECOND, Transform((0.0, 0.0, 1.2), (0.0, 0.0, 0.0, 1.0))),
        cdr.tf("camera_link", CAMERA, SECOND, Transform((0.0, 0.0, 0.0), MOUNT.xyzw))]))
    for i in range(1, count + 1):
        stamp, f = i * SECOND, frame(i * SECOND, Pose2(0.3 * i, 0.0, 0.1), {1: (0, 0, 12, 12)})
        identity = Transform.identity()
        if base == "tf":
            writer.write("/tf", stamp, cdr("tf2_msgs/msg/TFMessage", transforms=[
                cdr.tf("map", "odom", stamp, identity), cdr.tf("odom", "base_link", stamp, f.map_from_base)]))
        else:
            writer.write("/odom", stamp, cdr("nav_msgs/msg/Odometry", header=cdr.header(stamp, "odom"),
                         pose=cdr.make("geometry_msgs/msg/PoseWithCovariance", pose=cdr.pose(f.map_from_base))))
        k = f.intrinsics
        matrix = np.array([k.fx, 0, k.cx - 0.5, 0, k.fy, k.cy - 0.5, 0, 0, 1], np.float64)
        writer.write("/camera/color/camera_info", stamp, cdr(
            "sensor_msgs/msg/CameraInfo", header=cdr.header(stamp, CAMERA), width=k.width, height=k.height, k=matrix))
        writer.write("/camera/color/image_raw", stamp, cdr.image(f.rgb, "rgb8", stamp))
        writer.write("/camera/depth/image_raw", stamp, cdr.image(f.depth_m, "32FC1", stamp))


FRAME_TOPICS = ("/tf", "/tf_static", "/odom", "/camera/color/camera_info", "/camera/color/image_raw",
                "/camera/depth/image_raw")


def test_definitions_are_whole_and_hashes_are_those_of_the_packages() -> None:
    for name in dict.fromkeys(TYPES.values()):
        text = definition(name)
        package, _, message = name.split("/")
        known = json.loads(Path(sys.prefix, "share", package, "msg", f"{message}.json").read_text())
        assert type_hash(name, text) == next(h["hash_string"] for h in known["type_hashes"] if h["type_name"] == name)
    assert "\nMSG: builtin_interfaces/Time\n" in definition("sensor_msgs/msg/Image")
    with pytest.raises(ConfigError, match="no_such_msgs/msg/Thing"):
        definition("no_such_msgs/msg/Thing")


def test_a_sourced_ros_environment_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "share" / "std_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "String.msg").write_text("string data\nstring more  # another release\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    assert "another release" in definition("std_msgs/msg/String")


def test_rosbags_and_mcap_read_what_is_written(cdr: Cdr, tmp_path: Path) -> None:
    topics = {**_topics("/question", "/camera/depth/image_raw"),
              "map": BagTopic(TYPES["/map"], Qos(durability="transient_local", depth=1))}
    writer = BagWriter(tmp_path / "bag", topics, custom_data={"episode": "e7"})
    depth = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert writer.write("/question", 5 * SECOND, cdr.text("Where is the kettle?")) == 0
    assert writer.write("/camera/depth/image_raw", 7 * SECOND, cdr.image(depth, "32FC1", 7 * SECOND)) == 2 * SECOND
    writer.close()
    writer.close()

    with AnyReader([tmp_path / "bag"]) as reader:
        read = [(c.topic, stamp, reader.deserialize(data, c.msgtype)) for c, stamp, data in reader.messages()]
        assert {c.topic: c.msgcount for c in reader.connections} == {
            "/question": 1, "/camera/depth/image_raw": 1, "/map": 0}
        qos = {c.topic: c.ext.offered_qos_profiles[0] for c in reader.connections}
    assert qos["/map"].durability.name == "TRANSIENT_LOCAL"
    assert [entry[:2] for entry in read] == [("/question", 5 * SECOND), ("/camera/depth/image_raw", 7 * SECOND)]
    assert read[0][2].data == "Where is the kettle?"
    assert np.array_equal(read[1][2].data.view(np.float32).reshape(3, 4), depth)

    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == 2
        assert {s.name for s in summary.schemas.values()} == {t.type for t in topics.values()}
        assert reader.get_header().profile == "ros2"
        assert next(reader.iter_metadata()).name == "rosbag2"

    facts = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    assert (facts["version"], facts["storage_identifier"], facts["message_count"]) == (9, "mcap", 2)
    assert facts["duration"]["nanoseconds"] == 2 * SECOND
    assert facts["custom_data"] == {"episode": "e7"}
    assert facts["relative_file_paths"] == ["bag_0.mcap"]


def test_mcap_decodes_every_schema(cdr: Cdr, tmp_path: Path) -> None:
    decoder = pytest.importorskip("mcap_ros2.decoder", reason="mcap-ros2-support, a second decoder, is not installed")
    with_all = BagWriter(tmp_path / "bag", _topics(*TYPES))
    for i, (topic, type_name) in enumerate(TYPES.items()):
        with_all.write(topic, i, cdr(type_name))
    with_all.close()
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[decoder.DecoderFactory()])
        decoded = [m.channel.topic for m in reader.iter_decoded_messages()]
    assert decoded == list(TYPES)


def test_rclpy_bytes_are_recorded_as_they_are(tmp_path: Path) -> None:
    serialization = pytest.importorskip("rclpy.serialization", reason="rclpy is not installed")
    from geometry_msgs.msg import PoseStamped

    message = PoseStamped()
    message.header.frame_id, message.pose.position.x = "map", 1.5
    writer = BagWriter(tmp_path / "bag", {"goal_pose": BagTopic("geometry_msgs/msg/PoseStamped", "event")})
    writer.write("goal_pose", 1, serialization.serialize_message(message))
    writer.close()
    with AnyReader([tmp_path / "bag"]) as reader:
        (connection, _, data), = reader.messages()
        read = reader.deserialize(data, connection.msgtype)
    assert (connection.topic, read.header.frame_id, read.pose.position.x) == ("/goal_pose", "map", 1.5)


def test_frames_come_back_as_they_were(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", _topics(*FRAME_TOPICS))
    _record_frames(cdr, writer, 5)
    writer.close()
    history = read_history(tmp_path / "bag")
    frames = list(history)
    assert len(frames) == history.length == 5
    assert not history.dropped
    for i, read in enumerate(frames, start=1):
        wanted = frame(i * SECOND, Pose2(0.3 * i, 0.0, 0.1), {1: (0, 0, 12, 12)})
        assert np.array_equal(read.rgb, wanted.rgb)
        assert np.array_equal(read.depth_m, wanted.depth_m)
        assert (read.stamp_ns, read.intrinsics) == (i * SECOND, wanted.intrinsics)
        assert read.map_from_base == wanted.map_from_base
        assert np.allclose(read.map_from_camera(), wanted.map_from_camera(), atol=1e-12)
    assert [f.stamp_ns for f in history] == [f.stamp_ns for f in frames]


def test_odometry_tells_the_pose_where_no_transform_does(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", _topics(*FRAME_TOPICS))
    _record_frames(cdr, writer, 3, base="odom")
    writer.close()
    assert [round(f.pose.x, 6) for f in read_history(tmp_path / "bag")] == [0.3, 0.6, 0.9]


def test_a_namespace_is_found_or_asked_for(cdr: Cdr, tmp_path: Path) -> None:
    for folder, robots in (("one", ("r1",)), ("two", ("r1", "r2"))):
        images = ("/camera/color/image_raw", "/camera/depth/image_raw", "/camera/color/camera_info")
        topics = {f"/{r}{name}": BagTopic(TYPES[name]) for r in robots for name in images}
        writer = BagWriter(tmp_path / folder, {**topics, **_topics("/tf", "/tf_static", "/odom")})
        prefixed = _Prefixed(writer, "/r1", images)
        _record_frames(cdr, prefixed, 2)  # type: ignore[arg-type]
        writer.close()
    assert len(list(read_history(tmp_path / "one"))) == 2
    with pytest.raises(StorageError, match="/r1/camera/color/image_raw and /r2/camera/color/image_raw"):
        read_history(tmp_path / "two")
    assert len(list(read_history(tmp_path / "two", "r1"))) == 2


class _Prefixed:
    """A writer that puts some topics under a namespace."""

    def __init__(self, writer: BagWriter, prefix: str, names: tuple[str, ...]) -> None:
        self._writer, self._prefix, self._names = writer, prefix, names

    def write(self, topic: str, stamp_ns: int, data: bytes) -> int:
        return self._writer.write(self._prefix + topic if topic in self._names else topic, stamp_ns, data)


def test_unusable_images_are_counted_and_the_rest_is_read(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", _topics(*FRAME_TOPICS))
    _record_frames(cdr, writer, 2)
    late = frame(90 * SECOND)
    writer.write("/camera/color/image_raw", 80 * SECOND, cdr.image(late.rgb, "rgb8", 80 * SECOND))  # no depth
    writer.write("/camera/color/image_raw", 90 * SECOND, cdr.image(late.rgb, "rgb8", 90 * SECOND))  # no transform
    writer.write("/camera/depth/image_raw", 90 * SECOND, cdr.image(late.depth_m, "32FC1", 90 * SECOND))
    writer.write("/camera/color/image_raw", 2 * SECOND + 1000, cdr.image(late.rgb, "yuv422", 2 * SECOND + 1000))
    writer.write("/camera/depth/image_raw", 2 * SECOND + 1000, cdr.image(late.depth_m, "32FC1", 2 * SECOND + 1000))
    writer.close()
    history = read_history(tmp_path / "bag")
    assert len(list(history)) == 2
    assert sum(history.dropped.values()) == 3
    assert any("no depth" in reason for reason in history.dropped)
    assert any("no transform" in reason for reason in history.dropped)
    assert any("yuv422" in reason for reason in history.dropped)


def test_depth_in_millimetres_and_labels(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", _topics(*FRAME_TOPICS, "/labels/image_raw", "/labels/table"))
    _record_frames(cdr, writer, 1)
    f = frame(2 * SECOND, boxes={1: (0, 0, 12, 12)})
    assert f.labels is not None
    writer.write("/labels/table", SECOND, cdr("eqa_interfaces/msg/LabelArray", labels=[_kettle(cdr)]))
    writer.write("/labels/image_raw", SECOND, cdr.image(f.labels, "16UC1", SECOND))
    writer.close()
    history = read_history(tmp_path / "bag")
    read, = history
    assert read.labels is not None
    assert np.array_equal(read.labels, f.labels)
    assert history.labels[1] == LABELS[1]._replace(attributes={"colour": "red"})
    millimetres = BagWriter(tmp_path / "mm", _topics(*FRAME_TOPICS))
    _record_frames(cdr, millimetres, 1)
    late = SECOND + 1000  # within the slop of a second colour image
    millimetres.write("/tf", late, cdr("tf2_msgs/msg/TFMessage", transforms=[
        cdr.tf("map", "odom", late, Transform.identity()), cdr.tf("odom", "base_link", late, f.map_from_base)]))
    millimetres.write("/camera/color/image_raw", late, cdr.image(f.rgb, "bgr8", late))
    millimetres.write("/camera/depth/image_raw", late, cdr.image((f.depth_m * 1000).astype(np.uint16), "16UC1", late))
    millimetres.close()
    read = list(read_history(tmp_path / "mm"))[1]
    assert np.allclose(read.depth_m, f.depth_m)
    assert np.array_equal(read.rgb, f.rgb[..., ::-1])


def test_a_trace_comes_back(cdr: Cdr, tmp_path: Path) -> None:
    decision = TraceDecision(2 * SECOND, Pose2(1.0, 2.0, 0.5), Pose2(3.0, 4.0, 0.0), "frontier near the kitchen",
                             (Candidate(3.0, 4.0, 0.7, "kitchen"),))
    answer = Answer("red", 0.9, evidence=(Evidence(1, SECOND, Pose2(0.3, 0.0, 0.1), "red kettle"),),
                    error=ErrorCode.NONE)
    names = ("/tf", "/question", "/answer", "/decision", "/map", "/explored", "/frontiers", "/keyframes")
    writer = BagWriter(tmp_path / "bag", _topics(*names))
    writer.write("/tf", SECOND, cdr("tf2_msgs/msg/TFMessage", transforms=[
        cdr.tf("map", "base_link", SECOND, Pose2(0.3, 0.0, 0.1).transform())]))
    writer.write("/question", SECOND, cdr.text("What colour is the kettle?"))
    point = cdr.make("geometry_msgs/msg/Point", x=3.0, y=4.0)
    writer.write("/frontiers", SECOND, cdr("eqa_interfaces/msg/FrontierArray", frontiers=[
        cdr.make("eqa_interfaces/msg/Frontier", position=point, heading=0.25, length=1.5)]))
    writer.write("/decision", 2 * SECOND, cdr.text(dumps(decision)))
    cells = np.array([[-1, 0, 100], [0, 0, -1]], np.int8)
    info = cdr.make("nav_msgs/msg/MapMetaData", resolution=0.1, width=3, height=2,
                    origin=cdr.pose(Transform((-1.0, -2.0, 0.0), (0, 0, 0, 1))))
    grid = {"header": cdr.header(2 * SECOND, "map"), "info": info}
    writer.write("/map", 2 * SECOND, cdr("nav_msgs/msg/OccupancyGrid", data=cells.ravel(), **grid))
    seen = np.array([0, 100, 0, 100, 0, 0], np.int8)
    writer.write("/explored", 2 * SECOND, cdr("nav_msgs/msg/OccupancyGrid", data=seen, **grid))
    sighting = cdr.make("eqa_interfaces/msg/ObjectSighting", label=_kettle(cdr), pixels=80,
                        bbox=np.array([1, 2, 3, 4], np.int32))
    image = cdr.make("sensor_msgs/msg/CompressedImage", format="jpeg", data=np.frombuffer(b"\xff\xd8\xff", np.uint8))
    writer.write("/keyframes", 2 * SECOND, cdr(
        "eqa_interfaces/msg/Keyframe", header=cdr.header(SECOND, "map"), keyframe_id=1, image=image,
        pose=cdr.pose(Pose2(0.3, 0.0, 0.1).transform()), sightings=[sighting], caption="kitchen: red kettle",
        region="kitchen"))
    writer.write("/answer", 3 * SECOND, cdr.text(dumps(answer)))
    writer.close()

    trace = trace_of(tmp_path / "bag")
    assert trace.question == "What colour is the kettle?"
    assert trace.poses == [(SECOND, pytest.approx(Pose2(0.3, 0.0, 0.1)))]
    assert trace.decisions == [decision._replace(frontiers=(Frontier(3.0, 4.0, 0.25, 1.5),))]
    assert trace.answer == answer
    assert trace.grid is not None
    assert np.array_equal(trace.grid.cells, cells)
    assert np.array_equal(trace.grid.explored, seen.reshape(2, 3) > 0)
    assert (trace.grid.origin, trace.grid.resolution_m, trace.grid.stamp_ns) == ((-1.0, -2.0), 0.1, 2 * SECOND)
    keyframe, = trace.keyframes
    assert (keyframe.id, keyframe.jpeg, keyframe.caption, keyframe.sightings[0].bbox) == (
        1, b"\xff\xd8\xff", "kitchen: red kettle", (1, 2, 3, 4))
    assert keyframe.sightings[0].label.attributes == {"colour": "red"}


def test_a_foreign_decision_is_named(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", _topics("/tf", "/decision"))
    link = cdr.tf("map", "base_link", 1, Transform.identity())
    writer.write("/tf", 1, cdr("tf2_msgs/msg/TFMessage", transforms=[link]))
    writer.write("/decision", 1, cdr.text("go left"))
    writer.close()
    with pytest.raises(StorageError, match="go left"):
        trace_of(tmp_path / "bag")


_KILLED = """
import sys, time
from pathlib import Path
from eqa_nodes.bags.writer import BagWriter
from tests.unit.test_bags import FRAME_TOPICS, Cdr, _record_frames, _topics
writer = BagWriter(Path(sys.argv[1]), _topics(*FRAME_TOPICS))
_record_frames(Cdr(), writer, 10)
writer.flush()
print("flushed", flush=True)
_record_frames(Cdr(), writer, 1)
time.sleep(60)
"""


def test_a_killed_recorder_leaves_what_was_flushed(tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    child = subprocess.Popen([sys.executable, "-c", _KILLED, str(bag)], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                             env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert child.stdout is not None
    assert child.stdout.readline() == "flushed\n"
    child.send_signal(signal.SIGKILL)
    child.wait(30)
    with (bag / "bag_0.mcap").open("rb") as stream:  # what another tool gets out of it as it is
        found: list[int] = []
        with pytest.raises(McapError):
            found.extend(m.log_time for _, _, m in NonSeekingReader(stream).iter_messages(log_time_order=False))
    assert len(found) >= 41
    with pytest.raises(StorageError, match=r"eqa_nodes\.bags\.recover"):
        read_history(bag)
    assert recover(bag) == len(found)
    assert recover(bag) == -1
    assert len(list(read_history(bag))) == 10
    assert sorted(p.name for p in bag.iterdir()) == ["bag_0.mcap", "metadata.yaml"]


@pytest.mark.parametrize("cut", [1, 100, 5000])
def test_a_torn_file_is_recovered_up_to_the_tear(cdr: Cdr, tmp_path: Path, cut: int) -> None:
    writer = BagWriter(tmp_path / "bag", _topics("/question"))
    for i in range(40):
        writer.write("/question", i, cdr.text(_noise(2000)[i:]))
        if i % 10 == 9:
            writer.flush()
    writer.close()
    file = tmp_path / "bag" / "bag_0.mcap"
    (tmp_path / "bag" / "metadata.yaml").unlink()
    os.truncate(file, file.stat().st_size - cut)
    kept = recover(tmp_path / "bag")
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [stamp for _, stamp, _ in reader.messages()] == list(range(kept))
    assert kept == 40 if cut < 5000 else 0 < kept <= 40


def test_a_full_disk_ends_the_bag_and_keeps_what_was_flushed(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", _topics("/question"))
    writer.write("/question", 1, cdr.text("first"))
    writer.flush()
    noise = _noise(1 << 20)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (writer.file.stat().st_size + 100_000, limits[1]))
    try:
        with pytest.raises(StorageError, match="free space there, then run"):
            _ = [writer.write("/question", i, cdr.text(noise)) for i in range(2, 9)]
        with pytest.raises(StorageError, match="free space there"):
            writer.write("/question", 9, cdr.text("more"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    writer.close()
    assert recover(tmp_path / "bag") == 1


def test_recording_ends_cleanly_when_the_disk_runs_low(cdr: Cdr, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    free = [900_000_000]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, free[0]))
    monkeypatch.setattr("eqa_nodes.bags.writer._CHECK_BYTES", 1)
    writer = BagWriter(tmp_path / "bag", _topics("/question"))
    writer.write("/question", 1, cdr.text("first"))
    free[0] = 400_000_000
    with pytest.raises(StorageError, match="only 400 MB are free"):
        writer.flush()
    with pytest.raises(StorageError, match="ends here"):
        writer.write("/question", 2, cdr.text("second"))
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [stamp for _, stamp, _ in reader.messages()] == [1]
    with pytest.raises(StorageError, match="only 400 MB are free"):
        BagWriter(tmp_path / "other", _topics("/question"))


def test_mistakes_are_named(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", _topics("/question"))
    with pytest.raises(StorageError, match=r"no topic '/answer': it has /question"):
        writer.write("/answer", 1, cdr.text("x"))
    writer.close()
    with pytest.raises(StorageError, match="is closed"):
        writer.write("/question", 1, cdr.text("x"))
    with pytest.raises(StorageError, match="exists already"):
        BagWriter(tmp_path / "bag", _topics("/question"))
    with pytest.raises(StorageError, match="color, depth"):
        read_history(tmp_path / "bag")
    with pytest.raises(StorageError, match="does not say where the robot was"):
        trace_of(tmp_path / "bag")
    with pytest.raises(StorageError, match="cannot be read"):
        read_history(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match=r"no \.mcap"):
        recover(tmp_path / "empty")
