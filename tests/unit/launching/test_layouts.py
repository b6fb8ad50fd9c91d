"""What the layouts for RViz and Foxglove show exists, under that name and of that type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eqa_nodes.wire.graph import KINDS, TOPICS
from tests.fixtures.paths import ROOT

LAUNCH = ROOT / "launch"
LATCHED = {topic.name for topic in TOPICS.values() if KINDS[topic.qos].durability == "transient_local"}
# What Nav2 publishes beside the graph, by its own defaults.
NAV2 = {"plan": "nav_msgs/msg/Path", "global_costmap/costmap": "nav_msgs/msg/OccupancyGrid"}
NAV2_LATCHED = {"global_costmap/costmap"}
TYPES = {topic.name.removeprefix("/"): topic.type for topic in TOPICS.values()} | NAV2
# Of RViz's displays, what each shows.
DISPLAYS = {"Map": "nav_msgs/msg/OccupancyGrid", "MarkerArray": "visualization_msgs/msg/MarkerArray",
            "PoseArray": "geometry_msgs/msg/PoseArray", "Pose": "geometry_msgs/msg/PoseStamped",
            "Path": "nav_msgs/msg/Path", "LaserScan": "sensor_msgs/msg/LaserScan", "Odometry": "nav_msgs/msg/Odometry",
            "Image": "sensor_msgs/msg/Image", "PointCloud2": "sensor_msgs/msg/PointCloud2"}
SCENE = {*DISPLAYS.values()}  # Foxglove's 3D panel shows all of them
WANTED = {"map", "explored", "exploration/markers", "exploration/semantic_map", "exploration/goal",
          "plan", "reconstruction",
          "camera/color/image_raw"}


def test_rviz_shows_topics_as_they_are_published() -> None:
    layout = yaml.safe_load((LAUNCH / "rviz" / "eqa.rviz").read_text())["Visualization Manager"]
    shown = {display["Topic"]["Value"]: display for display in layout["Displays"]}
    assert WANTED <= shown.keys() <= TYPES.keys()
    for name, display in shown.items():
        assert DISPLAYS[display["Class"].removeprefix("rviz_default_plugins/")] == TYPES[name], name
        latched = display["Topic"]["Durability Policy"] == "Transient Local"
        # what was published before is asked for where it is kept; the robot's odometry is another's
        assert latched == (name in (LATCHED | NAV2_LATCHED) - {"odom"}), name
        if "image_raw" in name or name == "scan":  # best effort hears both kinds of camera
            assert display["Topic"]["Reliability Policy"] == "Best Effort"


RAW = {"eqa_interfaces/msg/Answer", "eqa_interfaces/msg/Decision"}


def foxglove() -> dict[str, Any]:
    return json.loads((LAUNCH / "foxglove" / "eqa.json").read_text())


def topics_of(panel: str, config: dict[str, Any]) -> Iterator[tuple[str, set[str]]]:
    """Yield each topic that a panel shows, and the types that it may have."""
    kind = panel.split("!")[0]
    if kind == "3D":
        yield from ((topic, SCENE) for topic in config["topics"])
    elif kind == "Image":
        yield config["imageMode"]["imageTopic"], {"sensor_msgs/msg/Image"}
        yield config["imageMode"]["calibrationTopic"], {"sensor_msgs/msg/CameraInfo"}
    elif kind == "DiagnosticSummary":
        yield config["topicToRender"], {"diagnostic_msgs/msg/DiagnosticArray"}
    else:
        assert kind == "RawMessages"
        topic, _, field = config["topicPath"].partition(".")
        yield topic, {"std_msgs/msg/String"} if field == "data" else RAW


def test_foxglove_shows_topics_of_the_right_type() -> None:
    shown = {}
    for panel, config in foxglove()["configById"].items():
        for topic, types in topics_of(panel, config):
            assert topic.startswith("/") and TYPES[topic[1:]] in types, topic
            shown[topic[1:]] = panel
    assert WANTED | {"question", "answer", "decision", "diagnostics"} <= shown.keys()


def panels(layout: Any) -> Iterator[str]:
    if isinstance(layout, str):
        yield layout
    else:
        assert layout["direction"] in ("row", "column") and 0 < layout["splitPercentage"] < 100
        yield from (*panels(layout["first"]), *panels(layout["second"]))


def test_foxglove_places_every_panel_once() -> None:
    assert sorted(panels(foxglove()["layout"])) == sorted(foxglove()["configById"])


@pytest.mark.parametrize("file", sorted(LAUNCH.glob("*/*.*")), ids=lambda file: file.name)
def test_what_launch_files_need_is_installed_beside_them(file: Path) -> None:
    setup = (LAUNCH.parent / "setup.cfg").read_text()
    folder = file.parent.name
    assert re.search(rf"^share/eqa_nodes/launch/{folder} = launch/{folder}/\*\.\w+$", setup, re.MULTILINE)
