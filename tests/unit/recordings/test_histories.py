"""One type for episode histories of every kind, found out from what a path holds; and its commands."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.components import HISTORIES
from eqa_nodes.core.errors import BadPose, ConfigError, StorageError
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame, check_frame
from eqa_nodes.recordings.bags.export import FrameMessages, write_bag
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.writer import BagWriter, definition, type_hash
from eqa_nodes.recordings.episode_history import RecordedHistory, survey
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.recordings.histories import open_history
from tests.fixtures.bags import FRAME_TOPICS, SECOND, Cdr, needs_messages, record_frames, topics_of
from tests.fixtures.data import shared_data
from tests.fixtures.frames import LABELS, frame
from tests.fixtures.histories import LOST, looking, sens_bytes, walk, write_redwood, write_scannet
from tests.fixtures.tilted import tour, tum


def _bag(folder: Path) -> Path:
    writer = BagWriter(folder / "tour", topics_of(*FRAME_TOPICS))
    record_frames(Cdr(), writer, 3)
    writer.close()
    return folder / "tour"


def _mcap(folder: Path) -> Path:
    return next(_bag(folder).glob("*.mcap")).rename(folder / "tour.mcap")


def _openeqa(folder: Path) -> Path:
    write_openeqa(walk(3), folder / "tour")
    return folder / "tour"


def _sens(folder: Path) -> Path:
    (folder / "tour.sens").write_bytes(sens_bytes([looking(i, 0) for i in range(3)]))
    return folder / "tour.sens"


MAKERS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "bag": ("bag", _bag), "mcap": ("bag", _mcap), "openeqa": ("openeqa", _openeqa), "sens": ("sens", _sens),
    "scannet": ("scannet", lambda folder: write_scannet(folder / "tour", {i: looking(i, 0) for i in range(3)})),
    "redwood": ("redwood", lambda folder: write_redwood(folder / "tour", 3)),
    "tum": ("tum", lambda folder: tum(folder / "tour", tour(3)))}


@pytest.fixture(params=[pytest.param(name, marks=needs_messages if name in ("bag", "mcap") else ())
                        for name in MAKERS])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """The format's name, and a history of three frames."""
    name, make = MAKERS[request.param]
    return name, make(tmp_path)


def test_every_kind_keeps_the_contract(made: tuple[str, Path]) -> None:
    name, path = made
    assert [n for n in HISTORIES if HISTORIES[n].fits(path)] == [name]
    history = open_history(path)
    frames = list(history)
    assert (len(history), len(frames), history.name, sum(history.dropped.values())) == (3, 3, "tour", 0)
    for f in frames:
        check_frame(f)
        assert f.map_from_camera()[2, 1] < -0.5  # the map is upright: the image's y axis points down
    stamps = [f.stamp_ns for f in frames]
    assert stamps == sorted(set(stamps)) and stamps[0] > 0
    half = iter(history)
    next(half)
    assert [f.stamp_ns for f in history] == stamps  # another iteration begins anew
    assert [f.stamp_ns for f in open_history(path, name)] == stamps
    places = [(r.index, r.offset_ns, r.frame.stamp_ns) for r in history.recorded()]
    offsets = [stamp - stamps[0] for stamp in stamps] if name == "bag" else [-1, -1, -1]
    assert places == list(zip(range(3), offsets, stamps, strict=True))
    assert not history.labels


def test_every_kind_is_exported_to_the_same_frames(made: tuple[str, Path], tmp_path: Path) -> None:
    history = open_history(made[1])
    write_openeqa(history, tmp_path / "export")
    for a, b in zip(open_history(tmp_path / "export"), history, strict=True):
        assert np.array_equal(a.rgb, b.rgb)
        assert np.abs(a.depth_m - b.depth_m).max() <= 10.0 / 65535 / 2 + 1e-6
        assert (a.stamp_ns, a.map_from_base) == (b.stamp_ns, b.map_from_base)
        assert np.abs(a.map_from_camera() - b.map_from_camera()).max() < 1e-6


def test_every_kind_becomes_a_bag_of_the_same_bits(made: tuple[str, Path], tmp_path: Path) -> None:
    history = open_history(made[1])
    assert not write_bag(history, tmp_path / "export")
    bag = open_history(tmp_path / "export")
    for a, b in zip(bag, history, strict=True):
        assert np.array_equal(a.rgb, b.rgb) and np.array_equal(a.depth_m, b.depth_m)
        assert (a.stamp_ns, a.intrinsics) == (b.stamp_ns, b.intrinsics)
        assert (a.map_from_base, a.base_from_camera) == (b.map_from_base, b.base_from_camera)
    assert not bag.dropped


def test_a_real_sequence_goes_through_a_bag_and_a_folder_and_back(tmp_path: Path) -> None:
    source = open_history(shared_data("rgbd-real"))
    write_bag(source, tmp_path / "bag")
    write_openeqa(open_history(tmp_path / "bag"), tmp_path / "folder")
    write_bag(open_history(tmp_path / "folder"), tmp_path / "back")
    back = list(open_history(tmp_path / "back"))
    assert len(back) == 5
    for a, b in zip(back, source, strict=True):
        assert np.array_equal(a.rgb, b.rgb) and (a.stamp_ns, a.map_from_base) == (b.stamp_ns, b.map_from_base)
        assert np.abs(a.depth_m - b.depth_m).max() <= 10.0 / 65535 / 2 + 1e-6
        assert np.abs(a.map_from_camera() - b.map_from_camera()).max() < 1e-6


@needs_messages
def test_what_labels_stand_for_goes_into_a_bag_and_comes_back(tmp_path: Path) -> None:
    labelled = [frame(i, boxes={1: (0, 0, 5, 5), 3: (9, 9, 20, 20)}) for i in (1, 2)]
    assert not write_bag(labelled, tmp_path / "with", labels=LABELS)
    bag = open_history(tmp_path / "with")
    assert bag.labels == LABELS
    for a, b in zip(bag, labelled, strict=True):
        assert a.labels is not None and b.labels is not None and np.array_equal(a.labels, b.labels)
    write_bag([frame(1)], tmp_path / "without", labels=LABELS)  # no image refers to them
    assert not open_history(tmp_path / "without").labels
    write_bag(bag, tmp_path / "again", labels=bag.labels)
    assert open_history(tmp_path / "again").labels == LABELS


def test_a_dropped_image_keeps_its_number(tmp_path: Path) -> None:
    path = write_scannet(tmp_path / "scene", {0: looking(1, 0), 5: LOST, 9: looking(1, 2)})
    assert [r.index for r in open_history(path).recorded()] == [0, 2]


@needs_messages
def test_a_dropped_image_of_a_bag_keeps_its_number_and_offset(tmp_path: Path) -> None:
    cdr, writer = Cdr(), BagWriter(tmp_path / "tour", topics_of(*FRAME_TOPICS, "/question"))
    writer.write("/question", SECOND // 2, cdr.text("where?"))  # the bag begins before its first image
    record_frames(cdr, writer, 2)
    stray = frame(5 * SECOND // 2)
    writer.write("/camera/color/image_raw", stray.stamp_ns, cdr.image(stray.rgb, "rgb8", stray.stamp_ns))
    record_frames(cdr, writer, 4, first=3)
    writer.close()
    history = open_history(tmp_path / "tour")
    places = [(r.index, r.offset_ns, r.frame.stamp_ns) for r in history.recorded()]
    assert places == [(0, SECOND // 2, SECOND), (1, 3 * SECOND // 2, 2 * SECOND), (3, 5 * SECOND // 2, 3 * SECOND),
                      (4, 7 * SECOND // 2, 4 * SECOND)]
    assert history.dropped == {"no depth": 1}


def test_topics_can_be_named_for_bags_alone(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a bag: only bags have topics"):
        open_history(_openeqa(tmp_path), options=BagOptions({"depth": "/d"}))


@needs_messages
def test_the_command_reads_the_topics_that_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(_bag(tmp_path))
    assert main(["history", "info", path, "--remap", "depth=/camera/depth/image_raw"]) == 0
    assert main(["history", "info", path, "--remap", "depth:=/elsewhere"]) == 2
    assert "has no topic '/elsewhere'" in capsys.readouterr().err
    assert main(["history", "export", path, str(tmp_path / "out"), "--remap", "depth"]) == 2
    assert "is not a remapping" in capsys.readouterr().err


def test_labels_go_into_a_bag_or_are_counted(tmp_path: Path) -> None:
    labelled, bare = frame(1, boxes={7: (0, 0, 5, 5)}), frame(2)
    assert not write_bag([labelled], tmp_path / "with")
    read, = open_history(tmp_path / "with")
    assert read.labels is not None and labelled.labels is not None and np.array_equal(read.labels, labelled.labels)
    assert write_bag([bare, labelled], tmp_path / "without") == {"frames with labels": 1}
    assert len(list(open_history(tmp_path / "without"))) == 2
    with pytest.raises(StorageError, match="exists already"):
        write_bag([bare], tmp_path / "with")
    with pytest.raises(StorageError, match="has no usable frame"):
        write_bag([], tmp_path / "none")
    assert not (tmp_path / "none").exists()


@needs_messages
@pytest.mark.parametrize("name", ["sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "tf2_msgs/msg/TFMessage"])
def test_exported_bags_have_the_installed_types(name: str) -> None:
    assert type_hash(name, FrameMessages().definition(name)) == type_hash(name, definition(name))


def test_what_fits_no_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"holds no episode history: looked for bag: a rosbag2 "
                                           r"folder.*openeqa: a folder with NNNNN-rgb.png.*\.sens file"):
        open_history(tmp_path)
    with pytest.raises(StorageError, match="there is no .*nowhere"):
        open_history(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"histories 'bags' \(did you mean bag\?\): known are bag, images"):
        open_history(tmp_path, "bags")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(StorageError, match="holds no episode history"):
        open_history(tmp_path / "notes.txt")
    os.mkfifo(tmp_path / "trajectory.log")
    with pytest.raises(StorageError, match="not a file"):
        open_history(tmp_path, "redwood")
    for kind, name in (("sens", "sens"), ("mcap", "bag")):
        os.mkfifo(tmp_path / f"pipe.{kind}")  # opening it would wait for ever
        for asked in ("", name):
            with pytest.raises(StorageError, match=r"holds no episode history|not a file|nor a file"):
                open_history(tmp_path / f"pipe.{kind}", asked)


@pytest.mark.parametrize(("word", "number"), [
    (3, "nan"), (3, "0.7"), (3, "x"), (6, "inf"), (6, "1e300"), (15, "0.7"), (18, "0.7")])  # rotation, x, last row
def test_a_trajectory_of_what_is_no_pose_is_named(word: int, number: str, tmp_path: Path) -> None:
    path = write_redwood(tmp_path / "tour", 1)
    words = (path / "trajectory.log").read_text().split()
    words[word] = number
    (path / "trajectory.log").write_text(" ".join(words))
    with pytest.raises(StorageError, match=r"cannot be read|not a rigid transform"):
        open_history(path)


class _Counted:
    """A recording that tells how many of its frames are alive."""

    def __init__(self, count: int) -> None:
        self.count, self.read = count, 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Frame:
        self.read += 1
        if index == 1:
            raise BadPose("tilted")
        if index == 2:
            return replace(frame(index), depth_m=np.zeros((2, 2), np.float32))
        return frame(index, Pose2(float(index), 0.0, 0.0))


def test_frames_are_read_when_they_are_wanted() -> None:
    recording = _Counted(10**9)
    history = RecordedHistory("long", recording)
    frames = iter(history)
    assert [next(frames).stamp_ns for _ in range(3)] == [0, 3, 4]
    assert recording.read == 5
    assert sorted(history.dropped.values()) == [1, 1]
    assert "tilted" in history.dropped and any("depth_m is (2, 2)" in reason for reason in history.dropped)


def test_a_survey_measures_the_way() -> None:
    def frames() -> Iterator[Frame]:
        for i, (x, y, z) in enumerate(((0, 0, 0), (3, 4, 0), (3, 4, -1), (-1, 4, -1))):
            yield replace(frame(i * 500_000_000 + 7), map_from_base=Pose2(x, y, 1.0).transform(z))

    found = survey(frames())
    assert (found.frames, found.image, found.rhythm.seconds, found.rhythm.period_s) == (4, (64, 48), 1.5, 0.5)
    assert found.path_m == pytest.approx(5 + 1 + 4)
    assert (found.lowest, found.highest) == ((-1.0, 0.0, -1.0), (3.0, 4.0, 0.0))
    assert survey([frame(5)]).rhythm == (0.0, 0.0, 0.0, 0, ())
    with pytest.raises(StorageError, match="has no usable frame"):
        survey([])


def test_the_command_prints_what_a_history_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scene0000_00.sens"
    path.write_bytes(sens_bytes([looking(1, 0), looking(1, 2), LOST, looking(2, 2)],
                                [0, 1_000_000, 1_500_000, 2_000_000]))
    assert main(["history", "info", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "scene0000_00: 3 frames of 48x36, 2.0 s at 1.0 Hz" in printed
    assert "path 3.00 m; x 1.00 to 2.00 m, y 0.00 to 2.00 m, z 0.00 to 0.00 m" in printed
    assert "not used: 1 x the pose was lost" in printed


def test_the_command_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_scannet(tmp_path / "scene", {0: looking(1, 0), 5: LOST, 9: looking(1, 2)})
    out = tmp_path / "made" / "out"
    assert main(["history", "export", str(path), "--to", "openeqa", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "not used: 1 x the pose was lost" in printed and f"written: {out}" in printed
    assert len(list(open_history(out))) == 2
    assert main(["history", "export", str(path), str(out)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert main(["history", "export", str(path), "--to", "video", str(out)]) == 2
    assert "unknown form of export 'video': known are bag, openeqa" in capsys.readouterr().err
    assert main(["history", "export", str(out), "--to", "bag", str(tmp_path / "bag")]) == 0
    assert len(list(open_history(tmp_path / "bag"))) == 2
    capsys.readouterr()
    shutil.rmtree(path / "pose")
    assert main(["history", "info", str(path)]) == 2
    assert "Find the poses with RTAB-Map" in capsys.readouterr().err
