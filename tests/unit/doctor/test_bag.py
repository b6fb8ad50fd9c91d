"""`eqa doctor --bag`: a bag recorded in the house is sound; each fault that is put into one is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.geometry import Transform, camera_mount
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.bags.writer import BagWriter
from sim_bridge.registry import SimulatorPool
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures.bags import FRAME_TOPICS, Cdr, needs_messages, record_frames, topics_of
from tests.fixtures.foreign_bags import BEGIN, OPTICAL, STEP, Row, Scene, StandardCdr
from tests.fixtures.frames import MOUNT

pytestmark = needs_messages
TF = "tf2_msgs/msg/TFMessage"


@pytest.fixture(scope="module")
def house() -> list[Frame]:
    """A few steps through a house."""
    pytest.importorskip("embreex", reason="the house is not installed: pip install 'eqa-nodes[house]'")
    simulator = SimulatorPool().get("house:3")
    steps = [simulator.reset(EpisodeSetup("house:3", robot=RobotModel(camera=CameraModel(160, 120))))]
    steps += [simulator.act(Action.TURN_LEFT if i % 3 else Action.MOVE_FORWARD) for i in range(11)]
    return [replace(step.frame, labels=None) for step in steps]


def findings(capsys: pytest.CaptureFixture[str], bag: Path, *more: str) -> tuple[int, dict[str, dict[str, str]]]:
    code = main(["doctor", "--bag", str(bag), "--json", *more])
    return code, {line["name"]: line for line in json.loads(capsys.readouterr().out)["findings"]}


def troubles(lines: dict[str, dict[str, str]]) -> dict[str, str]:
    assert all(line["remedy"] for line in lines.values() if line["state"] != "ok")
    return {name: line["state"] for name, line in lines.items() if line["state"] != "ok"}


def test_a_bag_of_the_house_is_sound(house: list[Frame], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bag(house, tmp_path / "bag")
    code, lines = findings(capsys, tmp_path / "bag", "--strict")
    assert not troubles(lines) and code == 0
    assert "TF says the camera is 1.20 m up and 10.0 deg down, the floor says 1.20 m and 10." in lines["floor"]["found"]
    assert {"tf to color", "time sync", "time jumps", "camera matrix", "depth scale", "frames"} <= set(lines)


def _scaled(factor: float) -> Callable[[Frame], Frame]:
    return lambda f: replace(f, depth_m=f.depth_m * np.float32(factor))


def _mounted(where: Transform) -> Callable[[Frame], Frame]:
    return lambda f: replace(f, base_from_camera=where)


@pytest.mark.parametrize(("spoil", "code", "wanted", "words"), [
    (_scaled(1000.0), 1, {"depth scale": "error", "floor": "error"}, "depths are 1000 times too large"),
    (_scaled(5.0), 1, {"floor": "error"}, "raw values are 5000 a metre"),
    (_scaled(2.0), 1, {"floor": "error"}, "depths are 2 times too large"),
    (_mounted(camera_mount(0.98, np.radians(14.0))), 1, {"floor": "error"}, "TF says the camera is 0.98 m up and 14.0"),
    (_mounted(Transform((0.0, 0.0, 1.2), (0.0, 0.0, 0.0, 1.0))), 1, {"optical frame": "error"}, "x forward"),
], ids=["millimetres", "tum", "doubled", "mount", "body frame"])
def test_a_wrong_scale_or_mount_is_named(house: list[Frame], tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         spoil: Callable[[Frame], Frame], code: int, wanted: dict[str, str],
                                         words: str) -> None:
    write_bag(map(spoil, house), tmp_path / "bag")
    got, lines = findings(capsys, tmp_path / "bag")
    assert (got, troubles(lines)) == (code, wanted)
    assert any(words in line["found"] + line["remedy"] for line in lines.values())


@pytest.fixture
def scene() -> Scene:
    """Another robot's recording; it has no floor in view, and its camera is no room's."""
    return Scene(StandardCdr(), 20)


NO_FLOOR = {"floor": "warning"}


def _no_static(scene: Scene) -> list[Row]:
    return [row for row in scene.rows() if row.topic != "/tf_static"]


def _jumped(scene: Scene) -> list[Row]:
    """The transforms go back by an hour, for two messages."""
    rows = scene.rows()
    before = scene.moving(scene.stamp(8) - 3600 * 10 * STEP)
    return rows + [Row("/tf", TF, scene.stamp(8) + at, before) for at in (1, 2)]


def _uncalibrated(scene: Scene) -> list[Row]:
    scene.info_fields = {"k": np.zeros(9)}
    return scene.rows()


def _loose(scene: Scene) -> list[Row]:
    link = scene.cdr.tf("arm_base", "hand", BEGIN, Transform.identity())
    return [*scene.rows(), Row("/tf_static", TF, BEGIN, scene.cdr(TF, transforms=[link]))]


def _two_parents(scene: Scene) -> list[Row]:
    link = scene.cdr.tf("tripod", OPTICAL, BEGIN, Transform((0.0, 0.0, 1.0), MOUNT.xyzw))
    return [*scene.rows(), Row("/tf_static", TF, BEGIN - 2 * STEP, scene.cdr(TF, transforms=[link]))]


@pytest.mark.parametrize(("rows", "wanted", "words"), [
    (lambda scene: scene.rows(), NO_FLOOR, "no floor in the lower half"),
    (_no_static, {"frames": "error", "tf to color": "error", "tf to depth": "error", "loose frames": "warning"},
     f"no transform locates '{OPTICAL}'"),
    (_jumped, {**NO_FLOOR, "time jumps": "warning"}, "back by up to 36"),
    (_uncalibrated, {"frames": "error"}, "the camera is not calibrated"),
    (_loose, {**NO_FLOOR, "loose frames": "warning"}, "arm_base (hand)"),
], ids=["sound", "no mount", "time jumps", "uncalibrated", "loose"])
def test_faults_of_another_robots_bag(scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                      rows: Callable[[Scene], list[Row]], wanted: dict[str, str], words: str) -> None:
    code, lines = findings(capsys, scene.cdr.write(tmp_path / "bag", rows(scene)))
    assert troubles(lines) == wanted and code == ("error" in wanted.values())
    assert any(words in line["found"] for line in lines.values())


def test_two_parents_are_named(scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = findings(capsys, scene.cdr.write(tmp_path / "bag", _two_parents(scene)))
    assert code == 1 and "tripod and base_link" in lines[f"tf of {OPTICAL}"]["found"]


def test_odometry_moves_the_base_of_a_bag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(BagWriter(tmp_path / "bag", topics_of(*FRAME_TOPICS))) as writer:
        record_frames(Cdr(), writer, 12, base="odom")
    code, lines = findings(capsys, tmp_path / "bag")
    assert code == 0 and lines["tf to depth"]["found"] == (
        "odom > base_link > camera_link > camera_color_optical_frame: 'odom' has no parent")


def test_strict_makes_a_warning_a_failure(scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bag = scene.cdr.write(tmp_path / "bag", scene.rows())
    assert findings(capsys, bag)[0] == 0 and findings(capsys, bag, "--strict")[0] == 1
    assert main(["doctor", "--bag", str(bag)]) == 0
    printed = capsys.readouterr().out
    assert "warning  floor" in printed and "turn the robot to where the camera sees the floor" in printed


def test_what_cannot_be_checked_is_a_named_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--bag", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["doctor", "--bag", str(tmp_path), "--robot"])
