"""`eqa doctor --bag`: every finding has a bag that causes it, and the sound bag causes none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.core.errors import ConfigError, EqaError, StorageError
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.bags.check import (
    USES,
    BagReport,
    Finding,
    _images,
    _scale,
    _timing,
    check_bag,
    compared,
)
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.measure import Measured
from tests.fixtures.foreign_bags import (
    BEGIN,
    DEPTH,
    INFO,
    MUTATIONS,
    OPTICAL,
    STEP,
    Row,
    Scene,
    StandardCdr,
    mutated,
)
from tests.fixtures.frames import F, H, W

TF = "tf2_msgs/msg/TFMessage"
NAMES = ["closed", "color", "depth", "camera_info", "readable", "stamps of color", "rate of color", "drops of color",
         "color images", "stamps of depth", "rate of depth", "drops of depth", "depth images", "counts of images",
         "counts of camera_info", "depth scale", "base", "frames", "optical frame"]


@pytest.fixture
def scene(standard_cdr: StandardCdr) -> Scene:
    return Scene(standard_cdr, 20)


def report_of(scene: Scene, folder: Path, rows: list[Row] | None = None, options: BagOptions | None = None,
              storage: str = "mcap") -> BagReport:
    return check_bag(scene.cdr.write(folder, scene.rows() if rows is None else rows, storage), options=options)


def finding(report: BagReport, name: str) -> Finding:
    return next(f for f in report.findings if f.name == name)


def troubles(report: BagReport) -> dict[str, str]:
    return {f.name: f.state for f in report.findings if f.state != "ok"}


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_sound_bag_has_no_fault_and_is_good_for_everything(scene: Scene, tmp_path: Path, storage: str) -> None:
    report = report_of(scene, tmp_path / "bag", storage=storage)
    assert [f.name for f in report.findings] == NAMES
    assert not troubles(report) and report.usable and not any(report.uses.values())
    assert not any(f.remedy for f in report.findings)
    assert "10.00 Hz" in finding(report, "rate of color").found and "0.10 s" in finding(report, "rate of color").found
    assert finding(report, "frames").found == "10 of 10 that were looked at can be used: 64x48, fx 32.0, fy 32.0"
    valid, median = 1 - 16 / (H * W), np.median([scene.depth_m(i)[scene.depth_m(i) > 0] for i in range(20)])
    assert finding(report, "depth scale").found.startswith(f"median {median:.2f}")
    assert f"{valid:.0%} of the pixels" in finding(report, "depth scale").found
    assert report.topics[DEPTH] == ("sensor_msgs/msg/Image", 20) and len(report.topics) == 5


def _without(topic: str) -> Callable[[Scene], list[Row]]:
    return lambda scene: [row for row in scene.rows() if row.topic != topic]


def _gap(scene: Scene) -> list[Row]:
    return [row for row in scene.rows() if row.topic in ("/tf", "/tf_static") or not 5 <= (
        row.log_ns - BEGIN) / STEP < 18]


def _dropped(scene: Scene) -> list[Row]:
    return [row for row in scene.rows() if row.topic != scene.color or (row.log_ns - BEGIN) // STEP % 5]


def _clock_set(scene: Scene) -> list[Row]:
    stamp = scene.stamp
    scene.stamp = lambda i: stamp(i) + 3600 * 10**9 * (i >= 8)  # type: ignore[method-assign]
    return scene.rows()


def _stamp_back(scene: Scene) -> list[Row]:
    return [*scene.rows(), scene.color_row(3)._replace(log_ns=scene.stamp(10) + 1)]


def _stamp_twice(scene: Scene) -> list[Row]:
    return [*scene.rows(), scene.color_row(10)._replace(log_ns=scene.stamp(10) + 1)]


def _millimetres(scene: Scene) -> list[Row]:
    whole = scene.depth_m
    scene.depth_m = lambda i: whole(i) * 1000  # type: ignore[method-assign]
    return scene.rows()


def _metres_as_millimetres(scene: Scene) -> list[Row]:
    whole = scene.depth_m
    scene.depth_m = lambda i: whole(i) / 1000  # type: ignore[method-assign]
    scene.pack_depth = scene.raw("16UC1")
    return scene.rows()


def _depth_of(value: float, share: float = 1.0) -> Callable[[Scene], list[Row]]:
    def rows(scene: Scene) -> list[Row]:
        scene.depth_m = lambda i: np.where(  # type: ignore[method-assign]
            np.arange(H * W).reshape(H, W) < share * H * W, value, 0).astype(np.float32)
        return scene.rows()
    return rows


def _of_floor(scene: Scene, factor: float, encoding: str = "16UC1") -> list[Row]:
    """A floor and a wall; the camera looks ahead, 1.2 m above it."""
    below = np.arange(H)[:, None] + 0.5 - H / 2
    depth = np.broadcast_to(np.minimum(np.where(below > 0, 1.2 * F / np.maximum(below, 0.5), 9.0), 4.0), (H, W))
    scene.depth_m = lambda i: (depth * factor).astype(np.float32)  # type: ignore[method-assign]
    scene.pack_depth = scene.raw(encoding)
    return scene.rows()


@pytest.mark.parametrize(("factor", "unit_m", "state", "said"), [
    (1.0, 0.0, "ok", "the floor says 1.20 m"), (4.0, 0.0, "error", "4 times too large"), (4.0, 0.00025, "ok", "1.20 m"),
    (10.0, 0.0, "error", "10 times too large"), (10.0, 0.0001, "ok", "1.20 m"), (5.0, 0.0002, "ok", "1.20 m"),
    (2.0, 0.0, "error", "2 times too large"), (1.0, 0.00025, "error", "off by 0.90 m")])
def test_a_floor_at_an_implausible_depth_is_noticed(scene: Scene, tmp_path: Path, factor: float, unit_m: float,
                                                    state: str, said: str) -> None:
    report = report_of(scene, tmp_path / "bag", _of_floor(scene, factor), BagOptions(depth_unit_m=unit_m))
    floor = finding(report, "floor")
    assert floor.state == state and said in floor.found
    assert ("floor" in report.uses["mapping"]) == (state == "error")
    if said.startswith(("4", "10")):
        assert f"--depth-unit {0.001 / factor:g} for a recording" in floor.remedy


def _info(**fields: object) -> Callable[[Scene], list[Row]]:
    def rows(scene: Scene) -> list[Row]:
        scene.info_fields = dict(fields)
        return scene.rows()
    return rows


def _zoomed(scene: Scene) -> list[Row]:
    k = np.array([50.0, 0, 31.5, 0, 50.0, 23.5, 0, 0, 1])
    return [row._replace(data=scene.camera_info(row.log_ns, k=k)) if row.topic == INFO and row.log_ns > scene.stamp(9)
            else row for row in scene.rows()]


def _bent(scene: Scene) -> list[Row]:
    return _info(d=np.array([-0.2, 0.1, 0.0, 0.0, 0.0]))(scene)


def _another_encoding(scene: Scene) -> list[Row]:
    return [row._replace(data=row.data.replace(b"rgb8", b"yuv9")) for row in scene.rows()]


def _late_depth(late_ns: int) -> Callable[[Scene], list[Row]]:
    def rows(scene: Scene) -> list[Row]:
        scene.depth_late_ns = late_ns
        return scene.rows()
    return rows


def _half_the_depth(scene: Scene) -> list[Row]:
    return [row for row in scene.rows() if row.topic != scene.depth or (row.log_ns - BEGIN) // STEP % 2]


def _other_place(scene: Scene) -> list[Row]:
    scene.depth_frame = "depth_optical"
    link = scene.cdr.tf(OPTICAL, "depth_optical", BEGIN, Transform((0.05, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    return [*scene.rows(), Row("/tf_static", TF, BEGIN - STEP, scene.cdr(TF, transforms=[link]))]


def _tf_ends(scene: Scene) -> list[Row]:
    return [row for row in scene.rows() if row.topic != "/tf" or row.log_ns < scene.stamp(12)]


def _invalid_tf(scene: Scene) -> list[Row]:
    link = scene.cdr.tf("odom", "arm", BEGIN, Transform((np.nan, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    return [*scene.rows(), Row("/tf", TF, BEGIN, scene.cdr(TF, transforms=[link]))]


def _no_base(scene: Scene) -> list[Row]:
    scene.base_frame = "handle"
    return scene.rows()


def _smaller_depth(scene: Scene) -> list[Row]:
    def pack(pixels: np.ndarray, header: object) -> tuple[str, bytes]:
        half = np.ascontiguousarray(pixels[::2, ::2])
        return "sensor_msgs/msg/Image", scene.cdr(
            "sensor_msgs/msg/Image", header=header, height=H // 2, width=W // 2, encoding="32FC1", step=W * 2,
            data=half.view(np.uint8).reshape(-1))
    scene.pack_depth = pack
    return scene.rows()


def _broken_definition(scene: Scene) -> list[Row]:
    return [*scene.rows(), Row(scene.color, "sensor_msgs/msg/Image", scene.stamp(10) + 1, b"\0\1\0\0\0\0")]


@pytest.mark.parametrize(("rows", "wanted", "figure"), [
    (_without("/cam/color/image_raw"), {"color": "error"}, "no topic"),
    (_without(DEPTH), {"depth": "error"}, "no topic"),
    (_without(INFO), {"camera_info": "error"}, "no topic"),
    (_gap, {"rate of color": "warning", "rate of depth": "warning", "drops of color": "warning",
            "drops of depth": "warning"}, "longest gap 1.40 s"),
    (_clock_set, {"rate of color": "warning", "rate of depth": "warning"},
     "10.00 Hz (median), longest gap 0.10 s; not counted: one pause or jump of the clock, of 3600.1 s"),
    (_dropped, {"drops of color": "warning", "counts of images": "warning"}, "3 of 19 missing (15.8%)"),
    (_stamp_back, {"stamps of color": "error"}, "1 go back, 0 are repeated, of 21"),
    (_stamp_twice, {"stamps of color": "warning"}, "0 go back, 1 are repeated, of 21"),
    (_millimetres, {"depth scale": "error"}, "millimetres were stored as metres"),
    (_metres_as_millimetres, {"depth scale": "error"}, "metres were stored as millimetres"),
    (_depth_of(30.0), {"depth scale": "warning"}, "median 30.000 m, 100%"),
    (_depth_of(2.0, 0.25), {"depth scale": "warning"}, "25% of the pixels"),
    (_depth_of(0.0), {"depth scale": "error"}, "no pixel has a depth"),
    (_info(k=np.zeros(9)), {"frames": "error"}, "not calibrated"),
    (_info(width=1280, height=720), {"frames": "error"}, "10 x image has 64x48 pixels, its camera_info says 1280x720"),
    (_zoomed, {"intrinsics": "warning"}, "2 different ones"),
    (_bent, {}, "10 of 10"),
    (_info(d=np.ones(4), distortion_model="kannala"), {"frames": "error"}, "'kannala' with 4 coefficients"),
    (_another_encoding, {"color images": "error", "frames": "error"}, "yuv9; 20 of 20 looked at cannot be decoded"),
    (_late_depth(30_000_000), {"frames": "error"}, "0 of 10 that were looked at can be used: 20 x no color; 10 x no"),
    (_half_the_depth, {"frames": "warning"}, "5 of 10 that were looked at can be used: 5 x no depth"),
    (_other_place, {"frames": "error"}, "10 x depth is seen from 'depth_optical', colour from 'cam_color_optical_f"),
    (_smaller_depth, {}, "10 of 10"),
    (_tf_ends, {"frames": "warning"}, "6 of 10 that were looked at can be used: 4 x no transform of 'base_link'"),
    (_without("/tf_static"), {"frames": "error"}, f"10 x no transform of {OPTICAL!r} in the bag"),
    (_without("/tf"), {"frames": "error"}, "its frames begin at base_link"),
    (_invalid_tf, {"invalid transforms": "warning"}, "1 of arm are not finite"),
    (_no_base, {"base": "warning"}, "no base_link"),
    (_broken_definition, {"readable": "error", "frames": "error"}, "cannot be read"),
])
def test_each_fault_is_found_and_no_other(scene: Scene, tmp_path: Path, rows: Callable[[Scene], list[Row]],
                                          wanted: dict[str, str], figure: str) -> None:
    report = report_of(scene, tmp_path / "bag", rows(scene))
    assert troubles(report) == {name: state for name, state in wanted.items() if state != "ok"}
    assert any(figure in f.found + f.remedy for f in report.findings)
    assert all(f.remedy for f in report.findings if f.state != "ok")
    assert report.usable == ("error" not in wanted.values())


@pytest.mark.parametrize(("rows", "useless"), [
    (_without("/cam/color/image_raw"), set(USES)), (_millimetres, {"mapping", "keyframes and memory"}),
    (_without("/tf"), set(USES)), (_late_depth(30_000_000), set(USES)), (_stamp_back, {"replay"}), (_no_base, set()),
    (_without(DEPTH), set(USES))])
def test_what_a_bag_can_still_be_used_for(scene: Scene, tmp_path: Path, rows: Callable[[Scene], list[Row]],
                                          useless: set[str]) -> None:
    report = report_of(scene, tmp_path / "bag", rows(scene))
    assert {use for use, errors in report.uses.items() if errors} == useless


def test_one_stamp_of_very_many_that_goes_back_is_a_warning(standard_cdr: StandardCdr, tmp_path: Path) -> None:
    scene = Scene(standard_cdr, 130)
    late = scene.color_row(50)._replace(log_ns=scene.stamp(51) + 1)
    report = report_of(scene, tmp_path / "bag", [*scene.rows(), late])
    assert troubles(report) == {"stamps of color": "warning"}


def test_a_few_images_are_too_few_for_a_rate(standard_cdr: StandardCdr, tmp_path: Path) -> None:
    assert troubles(report_of(Scene(standard_cdr, 1), tmp_path / "bag")) == dict.fromkeys(
        ("rate of color", "rate of depth"), "warning")


def test_topics_that_are_not_told_apart_are_named_and_can_be_told(scene: Scene, tmp_path: Path) -> None:
    scene.color, scene.depth = "/a/image", "/b/image"
    other = [row._replace(topic="/d/image") for row in scene.rows() if row.topic == scene.color]
    report = report_of(scene, tmp_path / "bag", [*scene.rows(), *other])
    assert troubles(report)["color"] == "error" and "--remap color:=" in finding(report, "color").remedy
    assert finding(report, "color").found == "may be /a/image or /d/image"
    told = check_bag(tmp_path / "bag", options=BagOptions({"color": "/d/image"}))
    assert not troubles(told)


def test_a_greater_tolerance_and_a_named_frame_mend_it(scene: Scene, tmp_path: Path) -> None:
    scene.depth_late_ns, scene.map_frame = 30_000_000, "mocap"
    scene.odom_frame = "tracker"
    folder = scene.cdr.write(tmp_path / "bag", scene.rows())
    assert set(troubles(check_bag(folder))) == {"frames"}
    assert not troubles(check_bag(folder, options=BagOptions(map_frame="mocap", tolerance_s=0.04)))


def test_a_bag_that_was_not_closed(scene: Scene, tmp_path: Path) -> None:
    folder = scene.cdr.write(tmp_path / "bag", scene.rows(), "sqlite3")
    (folder / "bag.db3-wal").write_bytes(b"more")
    assert troubles(check_bag(folder)) == troubles(check_bag(folder / "bag.db3")) == {"closed": "error"}
    (folder / "bag.db3-wal").unlink()
    (folder / "metadata.yaml").unlink()
    report = check_bag(folder)
    assert troubles(report) == {"closed": "error"} and not any(report.uses.values())
    with pytest.raises(StorageError, match=r"name its file .*bag\.db3"):
        check_bag(scene.cdr.write(tmp_path / "two", scene.rows(), "sqlite3") and _two_files(tmp_path / "two"))
    mcap = scene.cdr.write(tmp_path / "mcap", scene.rows())
    (mcap / "metadata.yaml").unlink()
    with pytest.raises(StorageError, match=r"eqa_nodes\.recordings\.bags\.recover"):
        check_bag(mcap)


def _two_files(folder: Path) -> Path:
    (folder / "metadata.yaml").unlink()
    (folder / "more.db3").write_bytes((folder / "two.db3").read_bytes())
    (folder / "two.db3").rename(folder / "bag.db3")
    (folder / "more.db3").rename(folder / "other_bag.db3")
    return folder


MS = 1_000_000
EVERY = [k * 33 * MS for k in range(300)]
SOME = sorted(np.random.default_rng(4).choice(EVERY, 80, replace=False).tolist())
MOST = sorted(np.random.default_rng(4).choice(EVERY, 200, replace=False).tolist())


def _states(color: Sequence[int], depth: Sequence[int], info: Sequence[int]) -> dict[str, str]:
    return {f.name.removeprefix("counts of "): f.state
            for f in compared({"color": color, "depth": depth, "camera_info": info})}


@pytest.mark.parametrize(("color", "depth", "info", "expected"), [
    (EVERY, EVERY, EVERY, {"images": "ok", "camera_info": "ok"}),
    (EVERY, EVERY[1:-1], [at + 5 * MS for at in EVERY], {"images": "ok", "camera_info": "ok"}),
    (EVERY[:146:40], EVERY[:146], EVERY[:146], {"images": "ok", "camera_info": "ok"}),
    (SOME[:4], EVERY[:146], EVERY[:146], {"images": "error", "camera_info": "ok"}),
    (EVERY, EVERY, SOME, {"images": "ok", "camera_info": "error"}),
    (EVERY, EVERY, MOST, {"images": "ok", "camera_info": "warning"}),
    (EVERY, SOME, EVERY, {"images": "error", "camera_info": "ok"}),
    (EVERY, MOST, EVERY, {"images": "warning", "camera_info": "ok"}),
    (EVERY, EVERY[:100], EVERY, {"images": "error", "camera_info": "ok"}),
    (EVERY, EVERY[::3], EVERY[::10], {"images": "ok", "camera_info": "ok"}),
    (EVERY, [at + 12 * MS for at in EVERY[::2]], EVERY[:2], {"images": "ok"}),
    (EVERY[:8], EVERY[:3], EVERY[:1], {}),
    (EVERY, [], SOME, {"camera_info": "error"}), ([], EVERY, SOME, {"camera_info": "error"}), ([], [], [], {}),
], ids=["as many", "stamped apart", "few, yet even", "4 of 146 colour", "a quarter of camera_info", "two thirds of it",
        "a quarter of depth", "two thirds of it", "depth ends early", "lower rates", "sent once", "too few to compare",
        "no depth", "no colour", "nothing"])
def test_numbers_are_compared(color: list[int], depth: list[int], info: list[int], expected: dict[str, str]) -> None:
    assert _states(color, depth, info) == expected


def test_a_bag_of_a_recorder_that_lost_most_colour_is_bad(tmp_path: Path) -> None:
    scene = Scene(StandardCdr(), 40)
    kept = {0, 1, 17, 39}

    def lost(row: Row) -> bool:
        return row.topic == scene.color and round((row.log_ns - scene.stamp(0)) / 1e8) not in kept

    report = check_bag(scene.cdr.write(tmp_path / "bag", [row for row in scene.rows() if not lost(row)], "mcap"))
    found = next(f for f in report.findings if f.name == "counts of images")
    assert found.state == "error" and found.found.startswith("4 of color, 40 of depth") and not report.usable
    assert "counts of images" in report.uses["EM-EQA"] and "counts of images" in USES["keyframes and memory"]


def measured(**depth: object) -> Measured:
    """Return measurements of a bag whose depth images have these samples."""
    found = Measured()
    for name, value in depth.items():
        setattr(found.samples["depth"], name, value)
    return found


@pytest.mark.parametrize(("median_m", "valid", "state", "said"), [
    (0.019, 1.0, "error", "metres were stored as millimetres"), (0.021, 1.0, "warning", "unusual for a room"),
    (0.099, 1.0, "warning", "unusual"), (0.1, 1.0, "ok", ""), (15.0, 1.0, "ok", ""), (15.1, 1.0, "warning", "unusual"),
    (100.0, 1.0, "warning", "unusual"), (100.1, 1.0, "error", "millimetres were stored as metres"),
    (2.0, 0.3, "ok", ""), (2.0, 0.29, "warning", "maps will have holes")])
def test_limits_of_the_depth_scale(median_m: float, valid: float, state: str, said: str) -> None:
    found = _scale(measured(median_m=[median_m] * 3, valid=[valid, valid]))
    assert found.state == state and said in found.remedy and f"median {median_m:.3f} m, {valid:.0%}" in found.found


@pytest.mark.parametrize(("bad", "state"), [(0, "ok"), (1, "warning"), (2, "warning"), (3, "error")])
def test_limits_of_images_that_cannot_be_decoded(bad: int, state: str) -> None:
    """Of 40 images 2 are 5 %."""
    faults = Counter({"broken": bad} if bad else {})
    found = _images("depth", measured(encodings=Counter({"16UC1": 40}), sizes=Counter({(64, 48): 40 - bad}),
                                      faults=faults))
    assert found.state == state and ("64x48 16UC1" if not bad else f"{bad} of 40 looked at") in found.found


@pytest.mark.parametrize(("steps", "name", "state", "said"), [
    ([1] * 199 + [-1, 3], "stamps", "warning", "1 go back, 0 are repeated, of 202"),
    ([1] * 98 + [-1, 3], "stamps", "warning", "1 go back"), ([1] * 97 + [-1, 3], "stamps", "error", "1 go back"),
    ([1] * 20 + [10], "rate", "ok", "10.00 Hz (median), longest gap 1.00 s"),
    ([1] * 20 + [11], "rate", "warning", "longest gap 1.10 s"),
    ([1] * 75 + [2, 2, 2, 2], "drops", "ok", "4 of 84 missing (4.8%)"),
    ([1] * 70 + [2, 2, 2, 2], "drops", "warning", "4 of 79 missing (5.1%)")])
def test_limits_of_stamps_rate_and_drops(steps: list[int], name: str, state: str, said: str) -> None:
    """steps: tenths of a second between images."""
    stamps = (np.cumsum([0, *steps]) * STEP).tolist()
    found = next(f for f in _timing("color", stamps, len(stamps), broken=False) if f.name == f"{name} of color")
    assert found.state == state and said in found.found, found


def test_messages_that_the_index_announces_are_missing_unless_reading_broke_off() -> None:
    stamps = [i * STEP for i in range(10)]
    whole, broken = (next(f for f in _timing("color", stamps, 12, broken) if f.name == "drops of color")
                     for broken in (False, True))
    assert whole.state == "warning" and "12 messages, the bag holds 10" in whole.found and broken.state == "ok"


@pytest.mark.parametrize(("count", "state"), [(95, "ok"), (94, "warning"), (50, "warning"), (49, "error")])
def test_limits_of_numbers_in_no_even_steps(count: int, state: str) -> None:
    every = [i * STEP for i in range(100)]
    shaken = [i * STEP + (-1) ** i * STEP // 3 for i in range(count)]  # steps of a third and of five thirds
    found = {f.name: f.state for f in compared({"color": every, "depth": shaken, "camera_info": []})}
    assert found == {"counts of images": state}


def test_messages_that_the_metadata_tells_of_and_that_are_not_there(scene: Scene, tmp_path: Path) -> None:
    folder = scene.cdr.write(tmp_path / "bag", scene.rows())
    text = (folder / "metadata.yaml").read_text()
    (folder / "metadata.yaml").write_text(text.replace("message_count: 20", "message_count: 25"))
    report = check_bag(folder)
    assert troubles(report) == {"drops of color": "warning", "drops of depth": "warning"}
    assert "announces 25 messages, the bag holds 20" in finding(report, "drops of color").found
    for fewer in (15, -40):
        (folder / "metadata.yaml").write_text(text.replace("message_count: 20", f"message_count: {fewer}"))
        assert set(troubles(check_bag(folder))) == (set() if fewer > 0 else {"color", "depth", "camera_info"})


def test_what_is_no_bag_and_a_bag_without_images_are_said(scene: Scene, tmp_path: Path,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("no bag")
    for path in (tmp_path, tmp_path / "notes.txt"):
        assert main(["doctor", "--bag", str(path)]) == 2
        assert f"{path} is not a bag: a bag is a rosbag2 folder" in capsys.readouterr().err.replace("\n", " ")
    pose, velocity = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/TwistStamped"
    rows = [Row(f"/{turtle}/{name}", kind, scene.stamp(0), scene.cdr(kind))
            for turtle in ("turtle1", "turtle2") for name, kind in (("pose", pose), ("cmd_vel", velocity))]
    report = check_bag(folder := scene.cdr.write(tmp_path / "turtles", rows))
    assert finding(report, "color").found == (
        "no topic: the bag has no sensor_msgs/msg/Image or sensor_msgs/msg/CompressedImage")
    assert set(troubles(report)) == {"color", "depth", "camera_info"}
    assert main(["doctor", "--bag", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert all(f"       1 {row.topic} ({row.type})" in printed for row in rows)


def test_two_robots_are_told_apart_by_their_namespace(scene: Scene, tmp_path: Path) -> None:
    rows = [row._replace(topic=f"/{robot}{row.topic}") for robot in ("r1", "r2") for row in scene.rows()]
    report = report_of(scene, tmp_path / "bag", rows)
    assert set(troubles(report)) == {"color", "depth", "camera_info"}
    assert finding(report, "color").remedy.endswith("or its robot: --namespace")
    for options in (BagOptions(namespace="r2"), BagOptions({"color": f"/r1{scene.color}"})):
        assert not troubles(check_bag(tmp_path / "bag", options))


def test_exit_codes_and_what_is_printed(scene: Scene, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = str(scene.cdr.write(tmp_path / "good", scene.rows()))
    bad = str(scene.cdr.write(tmp_path / "bad", _millimetres(scene)))
    assert main(["doctor", "--bag", good]) == 0
    printed = capsys.readouterr().out
    assert "ok       depth scale" in printed and "yes      EM-EQA" in printed
    assert main(["doctor", "--bag", bad]) == 1
    printed = capsys.readouterr().out
    assert "error    depth scale" in printed and "no       mapping" in printed and "because of depth scale" in printed
    assert main(["doctor", "--bag", bad, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [f["name"] for f in told["findings"] if f["state"] == "error"] == ["depth scale"]
    assert told["topics"][DEPTH] == {"type": "sensor_msgs/msg/Image", "messages": 20}
    assert told["uses"]["mapping"] == {"usable": False, "errors": ["depth scale"]} and not told["usable"]
    assert main(["doctor", "--bag", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main(["doctor", "--bag", good, "--remap", "depth"]) == 2
    assert "write role:=/topic" in capsys.readouterr().err
    assert main(["doctor", "--bag", good, "--remap", "depth:=/cam/color/image_raw", "color:=" + DEPTH]) == 1
    assert main(["doctor", "--bag", good, "--map-frame", "moon"]) == 1


def test_a_role_that_there_is_not(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown role 'lidar'"):
        report_of(scene, tmp_path / "bag", options=BagOptions({"lidar": "/scan"}))


@pytest.mark.parametrize("storage", ["mcap", "sqlite3", "metadata"])
def test_hostile_bags_are_checked_or_cannot_be_opened(standard_cdr: StandardCdr, tmp_path: Path, storage: str) -> None:
    scene = Scene(standard_cdr, 2)
    folder = standard_cdr.write(tmp_path / "bag", scene.rows(), "mcap" if storage == "metadata" else storage)
    file = folder / "metadata.yaml" if storage == "metadata" else next(folder.glob("bag.*"))
    whole = np.frombuffer(file.read_bytes(), np.uint8)
    rng = np.random.default_rng(100 + len(storage))
    checked = 0
    for _ in range(MUTATIONS):
        file.write_bytes(mutated(whole, rng))
        try:
            checked += isinstance(check_bag(folder if storage == "metadata" else file), BagReport)
        except EqaError:
            continue
    assert checked
