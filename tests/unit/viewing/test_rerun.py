"""`eqa view --rerun`: what is in the file that it writes, read back with Rerun's own reader."""

from __future__ import annotations

import io
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.keyframes import jpeg_of_pixels
from eqa_nodes.core.storage.codec import dumps
from eqa_nodes.core.types.calls import CallPicture, ModelCall
from eqa_nodes.core.types.floor import Candidate, Option, WeighedOption
from eqa_nodes.core.types.geometry import Pose2, Transform
from eqa_nodes.core.types.questions import Answer, Evidence
from eqa_nodes.core.types.trace import TraceDecision
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.writer import BagWriter
from tests.fixtures.bags import SECOND, Cdr, needs_messages, record_frames, topics_of
from tests.fixtures.disk import room_for
from tests.fixtures.frames import LABELS, frame

pytest.importorskip("rerun", reason="rerun is not installed: pip install 'eqa-nodes[rerun]'")
pytestmark = needs_messages

FRAMES = 4
FRAME_TOPICS = ("/camera/color/image_raw", "/camera/depth/image_raw", "/camera/color/camera_info", "/tf", "/tf_static")
EVENT_TOPICS = ("/question", "/answer", "/decision", "/model_calls", "/map", "/frontiers", "/keyframes")
CELLS = np.array([[-1, 0, 100], [0, 0, -1]], np.int8)
HERE = Pose2(0.6, 0.0, 0.1)
DECISION = TraceDecision(2 * SECOND, HERE, Pose2(3.0, 4.0, 0.0), "frontier near | the *kitchen*",
                         (Candidate(3.0, 4.0, 0.7, "kitchen"), Candidate(1.0, 4.0, 0.2, "hall")))
CALL = ModelCall(2 * SECOND, HERE, "What colour is the kettle?", "decide", (CallPicture(1, now=True),),
                 (WeighedOption(Option(3.0, 4.0, 0.0, "frontier", 2.0), 0.8, "kitchen"),), reasons="a kettle, red")
ANSWER = Answer("the kettle is red", 0.9, evidence=(Evidence(1, SECOND, Pose2(0.3, 0.0, 0.1), "red kettle"),))
VIEW = jpeg_of_pixels(np.full((8, 8, 3), 77, np.uint8))


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of two episodes: a question that is answered, with a memory, and one of images alone."""
    cdr, folder = Cdr(), tmp_path_factory.mktemp("run")
    for name, topics in (("q-1", (*FRAME_TOPICS, *EVENT_TOPICS)), ("q-2", FRAME_TOPICS)):
        writer = BagWriter(folder / "bags" / name, topics_of(*topics))
        record_frames(cdr, writer, FRAMES)
        if name == "q-1":
            _record_events(cdr, writer)
        writer.close()
    (folder / "memory").mkdir()
    store = MemoryStore(folder / "memory" / "q-1.sqlite")
    store.reset("q-1", map_name="home")
    store.take(frame(2 * SECOND, HERE, {1: (20, 16, 32, 30), 2: (0, 30, 60, 46)}), LABELS)
    store.close()
    return folder


def _record_events(cdr: Cdr, writer: BagWriter) -> None:
    end = FRAMES * SECOND
    writer.write("/question", end, cdr.text("What colour is the kettle?"))
    info = cdr.make("nav_msgs/msg/MapMetaData", resolution=0.1, width=3, height=2,
                    origin=cdr.pose(Transform((-1.0, -2.0, 0.0), (0, 0, 0, 1))))
    for second, cells in ((2, CELLS), (3, CELLS), (4, -1 - 0 * CELLS)):  # the second one says nothing new
        writer.write("/map", end, cdr("nav_msgs/msg/OccupancyGrid", data=cells.ravel(), info=info,
                                      header=cdr.header(second * SECOND, "map")))
    border = cdr.make("eqa_interfaces/msg/Frontier", position=cdr.make("geometry_msgs/msg/Point", x=3.0, y=4.0),
                      heading=0.25, length=1.5)
    writer.write("/frontiers", end, cdr("eqa_interfaces/msg/FrontierArray", frontiers=[border],
                                        header=cdr.header(2 * SECOND, "map")))
    writer.write("/model_calls", end, cdr.text(dumps(CALL)))
    writer.write("/decision", end, cdr.decision(DECISION))
    image = cdr.make("sensor_msgs/msg/CompressedImage", format="jpeg", data=np.frombuffer(VIEW, np.uint8))
    writer.write("/keyframes", end, cdr("eqa_interfaces/msg/Keyframe", header=cdr.header(SECOND, "map"),
                                        keyframe_id=1, image=image, pose=cdr.pose(HERE.transform())))
    writer.write("/answer", end, cdr.answer(ANSWER, CALL.question, end))


@pytest.fixture(scope="module")
def rows(run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("view") / "a.rrd"
    assert main(["view", str(run), "--rerun", "--episode", "q-1", "--out", str(out)]) == 0
    return rows_of(out)


def rows_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what was logged of each entity: component or timeline -> value."""
    from rerun.chunk import RrdReader

    found = defaultdict(list)
    reader = RrdReader(path)
    assert len(reader.recordings()) == 1 and len(reader.blueprints()) == 1
    for chunk in reader.stream():
        found[str(chunk.entity_path).lstrip("/")] += chunk.to_record_batch().to_pylist()
    return found


def pixels(row: dict[str, Any], blob: str) -> np.ndarray:
    data = row[blob][0]
    return np.array(Image.open(io.BytesIO(bytes(data))))


def seconds(row: dict[str, Any]) -> float:
    return float(row["stamp"].total_seconds())


def test_transforms_are_those_of_the_frames(run: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    frames = list(open_history(run / "bags" / "q-1"))
    for path, transforms in (("map/base_link", [f.map_from_base for f in frames]),
                             ("map/base_link/camera", [f.base_from_camera for f in frames])):
        written = [row for row in rows[path] if row.get("Transform3D:translation")]
        assert [row["Transform3D:translation"][0] for row in written] == [
            pytest.approx(t.xyz, abs=1e-6) for t in transforms]
        assert [row["Transform3D:quaternion"][0] for row in written] == [
            pytest.approx(t.xyzw, abs=1e-6) for t in transforms]
        assert [row["step"] for row in written] == list(range(FRAMES))
        assert [seconds(row) for row in written] == [f.stamp_ns / SECOND for f in frames]


def test_images_and_the_camera_are_those_of_the_frames(run: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    frames = list(open_history(run / "bags" / "q-1"))
    color, depth = rows["map/base_link/camera/color"], rows["map/base_link/camera/depth"]
    assert len(color) == len(depth) == FRAMES
    for f, c, d in zip(frames, color, depth, strict=True):
        assert c["EncodedImage:media_type"] == ["image/jpeg"]
        assert np.abs(pixels(c, "EncodedImage:blob").astype(int) - f.rgb).mean() < 3
        assert np.allclose(pixels(d, "EncodedDepthImage:blob") * d["EncodedDepthImage:meter"][0], f.depth_m, atol=6e-4)
    pinhole, = (row for row in rows["map/base_link/camera"] if row.get("Pinhole:image_from_camera"))
    k = frames[0].intrinsics
    assert pinhole["Pinhole:image_from_camera"][0] == pytest.approx([k.fx, 0, 0, 0, k.fy, 0, k.cx, k.cy, 1])
    assert pinhole["Pinhole:resolution"][0] == [k.width, k.height]


def test_maps_frontiers_and_decisions_have_their_times(rows: dict[str, list[dict[str, Any]]]) -> None:
    first, second = rows["map/occupancy"]
    assert (seconds(first), first["step"], seconds(second)) == (2.0, 1, 4.0)
    cells = np.array(first["GridMap:data"][0], np.uint8).view(np.int8).reshape(CELLS.shape)
    assert np.array_equal(cells, CELLS[::-1])  # an image begins with its upper row
    assert first["GridMap:translation"][0][:2] == [-1.0, -2.0]
    assert rows["map/frontiers"][0]["Arrows3D:origins"][0][:2] == [3.0, 4.0]
    candidates, = rows["map/decision/candidates"]
    assert candidates["Points3D:labels"] == ["kitchen 0.7", "hall 0.2"]
    assert rows["map/decision/goal"][0]["Arrows3D:origins"][0][:2] == [3.0, 4.0]
    assert "frontier near | the *kitchen*" in rows["log/decisions"][0]["TextLog:text"][0]
    assert "near \\| the \\*kitchen\\*" in rows["decision"][0]["TextDocument:text"][0]
    assert "| 1 | frontier | 0.80 | kitchen |" in rows["model_call"][0]["TextDocument:text"][0]
    assert rows["log/model"][0]["TextLog:text"] == ["decide: a kettle, red"]


def test_the_answer_has_its_evidence(rows: dict[str, list[dict[str, Any]]]) -> None:
    asked, answered = (row["TextDocument:text"][0] for row in rows["question"])
    assert "What colour is the kettle?" in asked and "not answered yet" in asked
    assert "What colour is the kettle?" in answered and "the kettle is red" in answered and "red kettle" in answered
    assert rows["log/answers"][0]["TextLog:text"] == ["the kettle is red"]
    assert bytes(rows["evidence"][0]["EncodedImage:blob"][0]) == VIEW
    assert rows["map/evidence"][0]["Points3D:positions"][0] == pytest.approx([0.3, 0.0, 0.1])


def test_objects_are_boxes_from_when_they_were_seen(rows: dict[str, list[dict[str, Any]]], run: Path) -> None:
    store = MemoryStore(run / "memory" / "q-1.sqlite", write=False)
    known = {f"map/objects/{o.id}": o for o in store.objects()}
    store.close()
    assert len(known) == 2 and known.keys() == {path for path in rows if path.startswith("map/objects/")}
    for path, o in known.items():
        row, = rows[path]
        assert row["Boxes3D:centers"][0] == pytest.approx(o.centre, abs=1e-5) and seconds(row) == 2.0
        assert o.kind in row["Boxes3D:labels"][0]


def test_a_mesh_where_open3d_is_and_points_where_not(run: Path, rows: dict[str, list[dict[str, Any]]], tmp_path: Path,
                                                     monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(__import__("sys").modules, "open3d", None)
    out = tmp_path / "points.rrd"
    assert main(["view", str(run), "--rerun", "--episode", "q-2", "--out", str(out), "--every", "3"]) == 0
    said = capsys.readouterr().out
    assert "frames 4, images with depth 2, " in said and "points of the depth images (no mesh: open3d is not" in said
    assert not any(word in said for word in ("maps", "decisions", "answers", "objects"))
    found = rows_of(out)
    points = np.array(found["map/surface"][0]["Points3D:positions"])
    seen = frame(SECOND, Pose2(0.3, 0.0, 0.1))
    in_camera = (np.linalg.inv(seen.map_from_camera()) @ np.column_stack([points, np.ones(len(points))]).T)[2]
    assert len(points) > 500 and (np.abs(in_camera - 2.0) < 1e-3).sum() > 300  # the wall of the first frame
    assert [row["step"] for row in found["map/base_link/camera/color"]] == [0, 3]
    assert [row["step"] for row in found["map/base_link"]] == [0, 1, 2, 3]


@pytest.mark.parametrize(("words", "why"), [
    ([], "no viewer is named: --rerun"), (["--rerun"], "has 2 episodes: name one with --episode, of q-1, q-2"),
    (["--rerun", "--episode", "q"], "has no episode 'q': name one with --episode, of q-1, q-2"),
    (["--rerun", "--episode", "q-1", "--out", "a.txt"], "let it end in .rrd"),
    (["--rerun", "--episode", "q-1", "--voxel", "0"], "voxel_m"),
    (["--rerun", "--episode", "q-1", "--memory", "b.sqlite"], "no memory file b.sqlite"),
    (["--rerun", "--episode", "q-1", "--map-frame", "mars"], "has no transforms from mars")])
def test_what_cannot_be_done_is_one_line_and_leaves_no_file(words: list[str], why: str, run: Path, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["view", str(run), *words]) == 2
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1 and not list(tmp_path.iterdir())


def test_runs_without_bags_say_what_records_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run" / "memory").mkdir(parents=True)
    (tmp_path / "empty" / "bags").mkdir(parents=True)
    for folder, why in (("run", "has no bags: "), ("empty", "holds no bag: ")):
        assert main(["view", str(tmp_path / folder), "--rerun"]) == 2
        said = capsys.readouterr().err
        assert why in said and "--through graph" in said
    assert main(["view", str(tmp_path / "nothing"), "--rerun"]) == 2
    assert "there is no" in capsys.readouterr().err


def test_a_full_disk_is_named_and_leaves_no_file(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    with room_for(8192):
        assert main(["view", str(run), "--rerun", "--episode", "q-1"]) == 2
    assert "q-1.rrd cannot be written to (File too large)" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_error_in_the_middle_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    from eqa_nodes.viewing.rrd_file import RrdFile

    out = tmp_path / "a.rrd"
    out.write_bytes(b"earlier")
    with pytest.raises(StorageError, match="torn"), RrdFile(out, "a"):
        raise StorageError("torn")
    assert out.read_bytes() == b"earlier" and list(tmp_path.iterdir()) == [out]
