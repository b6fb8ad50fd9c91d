"""`eqa scan` over recordings that cannot be used: one line, exit code 2, and no file left."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.bags.writer import BagWriter
from tests.fixtures.bags import CAMERA, Cdr, needs_messages, record_frames, topics_of
from tests.fixtures.disk import room_for

pytestmark = needs_messages

COLOR, INFO = "/camera/color/image_raw", "/camera/color/camera_info"
TOPICS = (COLOR, "/camera/depth/image_raw", INFO, "/tf", "/tf_static")
SCAN = ("scan", "--raw", "--min-views", "1", "--out", "out/a.glb")
Change = Callable[[Cdr, str, int], bytes | None]  # topic, stamp -> what stands there instead, None: what was there


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    pytest.importorskip("open3d", reason="open3d is not installed: pip install 'eqa-nodes[map3d]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    (tmp_path / "out").mkdir()
    return SCAN


def recorded(cdr: Cdr, bag: Path, change: Change = lambda cdr, topic, stamp: None,
             topics: tuple[str, ...] = TOPICS) -> Path:
    writer = BagWriter(bag, topics_of(*topics))

    class Changed:
        def write(self, topic: str, stamp_ns: int, data: bytes) -> None:
            if topic in topics:
                writer.write(topic, stamp_ns, change(cdr, topic, stamp_ns) or data)

    record_frames(cdr, Changed(), 3)  # type: ignore[arg-type]
    writer.close()
    return bag


def intrinsics(width: int, height: int, focal: float) -> Change:
    k = np.array([focal, 0, width / 2, 0, focal, height / 2, 0, 0, 1], np.float64)
    return lambda cdr, topic, stamp: cdr(
        "sensor_msgs/msg/CameraInfo", header=cdr.header(stamp, CAMERA), width=width, height=height,
        k=k) if topic == INFO else None


def base_at(x: float) -> Change:
    at = Transform((x, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    return lambda cdr, topic, stamp: cdr("tf2_msgs/msg/TFMessage", transforms=[
        cdr.tf("map", "base_link", stamp, at)]) if topic == "/tf" else None


def refused(words: tuple[str, ...], path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the line that is printed of a path that cannot be used."""
    assert main([words[0], str(path), *words[1:]]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and not list(Path("out").iterdir())
    return said


@pytest.mark.parametrize(("change", "why"), [
    (intrinsics(64, 48, 0.0), "3 x camera_info has focal lengths 0.0, 0.0: the camera is not calibrated"),
    (intrinsics(640, 480, 320.0), "3 x image has 64x48 pixels, its camera_info says 640x480"),
    (base_at(float("nan")), "3 x invalid transform of base_link")])
def test_frames_that_cannot_be_used_are_named_with_a_remedy(words: tuple[str, ...], change: Change, why: str,
                                                            tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(words, recorded(Cdr(), tmp_path / "bag", change), capsys)
    assert why in said and "eqa doctor --bag" in said


@pytest.mark.parametrize("metres", [1e8, 1e300])
def test_coordinates_that_no_file_can_hold_are_refused(words: tuple[str, ...], metres: float, tmp_path: Path,
                                                       capsys: pytest.CaptureFixture[str]) -> None:
    refused(words, recorded(Cdr(), tmp_path / "bag", base_at(metres)), capsys)


def test_what_is_no_recording_is_named(words: tuple[str, ...], tmp_path: Path,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    assert "no topic for color" in refused(words, recorded(Cdr(), tmp_path / "grey", topics=TOPICS[1:]), capsys)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.mcap").write_text("no bag\n" * 99)
    (tmp_path / "zero.mcap").touch()
    for name, why in (("empty", "holds no episode history"), ("text.mcap", "File magic is invalid"),
                      ("zero.mcap", "seems to be empty"), ("nothing", "there is no")):
        assert why in refused(words, tmp_path / name, capsys)


def test_a_bag_that_was_cut_off_says_what_mends_it(words: tuple[str, ...], tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    from eqa_nodes.recordings.bags.recover import recover

    bag = recorded(Cdr(), tmp_path / "bag")
    file, = bag.glob("*.mcap")
    file.write_bytes(file.read_bytes()[:-200])
    said = refused(words, bag, capsys)
    assert f"repair it in place with python -m eqa_nodes.recordings.bags.recover {bag}" in said
    assert recover(bag) > 0 and main([words[0], str(bag), *words[1:]]) == 0


def test_a_full_disk_leaves_no_file(words: tuple[str, ...], tmp_path: Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    bag = recorded(Cdr(), tmp_path / "bag")
    with room_for(8192):
        assert "File too large" in refused(words, bag, capsys)
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "out").touch()
    assert main([words[0], str(bag), *words[1:]]) == 2 and "cannot be written to" in capsys.readouterr().err
