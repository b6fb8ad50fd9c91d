"""`eqa record` against a robot that is another process: it is all there, mistakes are named, Ctrl-C closes the bag."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml
from rosbags.highlevel import AnyReader

from eqa_nodes.cli import main, record
from eqa_nodes.core.errors import BadFrame, ConfigError
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.writer import KEYS, BagTopic
from eqa_nodes.ros import tap as tap_module
from eqa_nodes.ros.environment import free_domain, ros_environment
from eqa_nodes.ros.interfaces import interface
from eqa_nodes.testing.robot import COLOR, DEPTH, INFO, ODOM
from eqa_nodes.testing.waiting import until
from eqa_nodes.wire.cdr import IMAGE
from tests.fixtures.bags import Cdr
from tests.fixtures.paths import ROOT

HZ = 20.0
ROLES = ("--color", COLOR, "--depth", DEPTH, "--camera-info", INFO, "--odom", ODOM)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A domain that this process is in too."""
    with free_domain() as domain, pytest.MonkeyPatch.context() as patch:
        for name, value in ros_environment(domain, tmp_path_factory.mktemp("logs")).items():
            patch.setenv(name, value)
        yield {**os.environ, "PYTHONPATH": str(ROOT)}


@contextmanager
def publishing(environment: dict[str, str], *command: str) -> Iterator[subprocess.Popen[str]]:
    """Run Python, which publishes until its standard input closes."""
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            assert process.stdout.readline() == "publishing\n"
            yield process
        finally:
            process.stdin.close()
            process.wait(20)


@pytest.fixture(scope="module")
def robot(environment: dict[str, str]) -> Iterator[dict[str, str]]:
    """The environment that a robot publishes in."""
    with publishing(environment, "-m", "eqa_nodes.testing.robot", "--hz", str(HZ)):
        yield environment


@pytest.mark.parametrize(("compress", "split"), [
    pytest.param("lz4", (), marks=pytest.mark.thorough), ("jpeg", ("--split-s", "1"))])
def test_a_robot_is_recorded(robot: dict[str, str], tmp_path: Path, compress: str, split: tuple[str, ...],
                             capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", *ROLES, "--out", str(tmp_path / "bag"), "--seconds", "3", "--compress", compress,
                 *split]) == 0
    assert "can be used for mapping, keyframes and memory, EM-EQA, replay" in capsys.readouterr().out
    frames = list(BagHistory(tmp_path / "bag"))
    assert len(frames) >= 0.8 * 3 * HZ
    steps = np.diff([f.stamp_ns for f in frames]) * HZ / 1e9
    assert steps == pytest.approx(np.rint(steps), abs=1e-3) and (steps > 0.5).all()
    assert steps.mean() < 1.1  # best effort may lose one on a busy machine
    assert np.diff([f.pose.x for f in frames]) == pytest.approx(0.01 * steps, abs=1e-6)
    mm = np.rint(frames[-1].depth_m * 1000).astype(int)
    assert np.abs(mm - (2000 + np.arange(64))).max() < 30  # 16UC1 passes unchanged: its noise is all there is
    with AnyReader([tmp_path / "bag"]) as reader:
        qos = {c.topic: c.ext.offered_qos_profiles[0] for c in reader.connections}
    assert qos["/tf_static"].durability.name == "TRANSIENT_LOCAL"
    assert {q.reliability.name for name, q in qos.items() if name.startswith("/cam/")} == {"BEST_EFFORT"}
    assert len(list((tmp_path / "bag").glob("*.mcap"))) == (1 if not split else 3)
    facts = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    packed = ("/compressed", "/compressedDepth") if compress == "jpeg" else ("", "")
    assert json.loads(facts["custom_data"][KEYS]) == {"color": COLOR + packed[0], "depth": DEPTH + packed[1],
                                                      "camera_info": INFO, "odom": ODOM}  # read without --remap


KEEPING = """
import select, sys, rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Image
from std_msgs.msg import String
rclpy.init()
node = Node("keeping", start_parameter_services=False)
kept = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
images, about = (node.create_publisher(kind, name, kept) for kind, name in ((Image, "/kept/color"), (String, "/about")))
image, number = Image(height=4, width=4, encoding="rgb8", step=12, data=bytes(48)), 1
image.header.stamp.sec = number
images.publish(image)
about.publish(String(data="a robot"))
print("publishing", flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    if images.get_subscription_count():  # as a RealSense's driver
        image.header.stamp.sec = number = number + 1
        images.publish(image)
"""


@pytest.mark.parametrize("compress", [pytest.param("lz4", marks=pytest.mark.thorough), "png"])
def test_an_image_of_before_is_not_recorded_nor_one_twice(environment: dict[str, str], tmp_path: Path,
                                                          compress: str) -> None:
    """The driver keeps its last image for who comes late, and sends none while nobody subscribes."""
    with publishing(environment, "-c", KEEPING):
        main(["record", "/about", "--color", "/kept/color", "--out", str(tmp_path / "bag"), "--seconds", "3",
              "--split-s", "1", "--compress", compress])
    files = sorted((tmp_path / "bag").glob("*.mcap"))
    with AnyReader([tmp_path / "bag"]) as reader:
        read = [(c.topic, reader.deserialize(data, c.msgtype)) for c, _, data in reader.messages()]
    stamps = [message.header.stamp.sec for topic, message in read if topic.startswith("/kept/color")]
    assert stamps and 1 not in stamps and len(set(stamps)) == len(stamps)
    assert len(files) > 1 and sum(topic == "/about" for topic, _ in read) == len(files)  # this one is latched


@pytest.mark.parametrize("compress", [pytest.param("none", marks=pytest.mark.thorough), "png"])
def test_what_is_masked_is_black_in_the_bag(robot: dict[str, str], tmp_path: Path, compress: str) -> None:
    assert main(["record", *ROLES, "--out", str(tmp_path / "bag"), "--seconds", "1", "--compress", compress,
                 "--mask-image", "0,0,0.5,0.25", "--mask-image", "0.75,0.5,1,1"]) == 0
    for frame in BagHistory(tmp_path / "bag"):
        for hidden in (np.s_[:12, :32], np.s_[24:, 48:]):
            assert not frame.rgb[hidden].any() and not frame.depth_m[hidden].any()
        assert frame.rgb[24:, :48].all(axis=2).mean() > 0.99 and (frame.depth_m[12:24] > 1.9).all()


@pytest.mark.parametrize(("arguments", "complaint"), [
    (["--mask-image", "0,0,1"], "'0,0,1' is not four numbers with commas between"),
    (["--mask-image", "0,0,2,1"], "shares of the image lie between 0 and 1"),
    (["--mask-kinds", "person"], "hidden by the recorder node"), (["--mask-zones", "1,1,2,2"], "--mask-image")])
def test_a_mask_that_cannot_be_is_refused(arguments: list[str], complaint: str, tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["record", COLOR, "--out", str(tmp_path / "bag"), *arguments])
    except SystemExit as end:  # of the parser
        code = int(str(end.code))
    assert code == 2 and complaint in capsys.readouterr().err and not (tmp_path / "bag").exists()


def test_pictures_in_another_form_are_refused_and_what_is_no_known_image_is_not_recorded() -> None:
    topics = {"/c": BagTopic("sensor_msgs/msg/CompressedImage", "event"), "/i": BagTopic(IMAGE, "event")}
    with pytest.raises(ConfigError, match="/c of type sensor_msgs/msg/CompressedImage cannot be masked"):
        record._hider(topics, (0.0, 0.0, 1.0, 0.5))
    assert record._hider(topics, ())("/c", b"anything") == b"anything"
    del topics["/c"]
    hide = record._hider(topics, (0.0, 0.0, 1.0, 0.5))
    bayer = Cdr().image(np.ones((4, 4), np.uint8), "bayer_rggb8", 1)
    for wrong in (bayer, bayer[:20]):
        with pytest.raises(BadFrame):
            hide("/i", wrong)


def test_ctrl_c_closes_the_bag(robot: dict[str, str], tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-m", "eqa_nodes.cli", "record", ODOM, "--out", str(tmp_path / "bag")],
                               cwd=ROOT, env=robot, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: any(p.stat().st_size > 3000 for p in tmp_path.glob("bag/*.mcap")))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0, out + err
    assert "can be used for nothing (color: no topic" in out and "the bag has no sensor_msgs/msg/CameraInfo)" in out
    with AnyReader([tmp_path / "bag"]) as reader:
        assert {c.topic for c in reader.connections if c.msgcount} == {ODOM, "/tf", "/tf_static"}


def test_a_size_ends_it(robot: dict[str, str], tmp_path: Path) -> None:
    assert main(["record", COLOR, DEPTH, "--out", str(tmp_path / "bag"), "--max-gb", "0.0005", "--compress",
                 "none"]) == 0
    assert 0.5e6 <= sum(p.stat().st_size for p in tmp_path.glob("bag/*.mcap")) < 2e6


def test_a_topic_that_is_not_there_is_named_with_its_neighbours(robot: dict[str, str], tmp_path: Path,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "/cam/colour/image_raw", "--wait", "15", "--out", str(tmp_path / "bag")]) == 2
    assert not (tmp_path / "bag").exists()
    assert "/cam/colour/image_raw is not published (did you mean /cam/color/image_raw" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "complaint"), [
    ([], "nothing to record: name topics"), (["/a", "--split-mb", "0.1"], "split_mb is 0.1: it must be at least 1")])
def test_wrong_use_is_named(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", *arguments]) == 2
    assert complaint in capsys.readouterr().err


UNKNOWN = """
import sys, rclpy
from rclpy.node import Node
from std_msgs.msg import String
rclpy.init()
node = Node("strange", start_parameter_services=False)
publisher = node.create_publisher(String, "/strange", 10)
print("publishing", flush=True)
sys.stdin.read()
"""


def test_a_type_that_is_not_installed_is_named_with_its_package(
        environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The tap looks a type up as it was discovered; here std_msgs stands for a package that is not installed."""
    def absent(type_name: str) -> object:
        if type_name.startswith("std_msgs/"):
            raise ConfigError(f"no interface {type_name}")
        return interface(type_name)

    monkeypatch.setattr(tap_module, "interface", absent)
    with publishing(environment, "-c", UNKNOWN), tap_module.Tap() as tap, pytest.raises(
            ConfigError, match="/strange is of type std_msgs/msg/String.*install or build the package std_msgs"):
        tap.find(["/strange"], 10.0)


FLOOD = """
import select, sys, time, rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import UInt32
rclpy.init()
node = Node("flood", start_parameter_services=False)
publisher = node.create_publisher(UInt32, "/flood", QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT))
number = 0
print("publishing", flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    publisher.publish(UInt32(data=number))
    number += 1
for number in range(number, number + int(sys.stdin.readline())):
    publisher.publish(UInt32(data=number))
    time.sleep(0.001)
print(number, flush=True)
while not select.select([sys.stdin], [], [], 0.0)[0]:  # the last of a flood may be lost too: the next number shows it
    number += 1
    publisher.publish(UInt32(data=number))
    time.sleep(0.05)
"""


def test_lost_messages_are_counted(environment: dict[str, str]) -> None:
    """No one reads while 300 messages are published: the middleware delivers those it kept and reports the others."""
    numbers: list[int] = []

    def slow(name: str, data: bytes) -> None:
        if name == "/flood":  # not a transform of the robot
            numbers.append(int.from_bytes(data[4:8], "little"))
            time.sleep(0.02)

    with publishing(environment, "-c", FLOOD) as process, tap_module.Tap() as tap:
        tap.subscribe(tap.find(["/flood"], 20.0), slow)
        until(lambda: tap.spin(0.1) or bool(numbers))  # both sides know each other
        process.stdin.write("300\n")
        process.stdin.flush()
        last = int(process.stdout.readline())
        until(lambda: tap.spin(0.1) or numbers[-1] > last)
        lost = tap.lost["/flood"]
    assert len(numbers) + lost == numbers[-1] - numbers[0] + 1 and lost > 150
