"""Bags of several files, with every compression: others read them, each file stands alone, what was torn is mended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.recordings.bags.check import check_bag
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.bags.writer import BagTopic, BagWriter, Qos
from eqa_nodes.recordings.episode_history import survey
from eqa_nodes.recordings.options import RecordingConfig
from tests.fixtures.bags import FRAME_TOPICS, SECOND, TYPES, Cdr, needs_messages, noise_of, record_frames, topics_of
from tests.fixtures.foreign_bags import OPTICAL, Scene, StandardCdr

pytestmark = needs_messages
LATCHED = Qos(durability="transient_local", depth=1)


def _topics() -> dict[str, BagTopic]:
    return {**topics_of(*FRAME_TOPICS), "/tf_static": BagTopic(TYPES["/tf_static"], LATCHED)}


def _facts(bag: Path) -> dict[str, object]:
    return dict(yaml.safe_load((bag / "metadata.yaml").read_text())["rosbag2_bagfile_information"])


@pytest.fixture
def split_bag(cdr: Cdr, tmp_path: Path) -> Path:
    """Ten frames, a second apart, in files of three seconds."""
    config = RecordingConfig(compression="zstd", split_s=3.0)
    writer = BagWriter(tmp_path / "bag", _topics(), config=config)
    record_frames(cdr, writer, 10)
    writer.close()
    return tmp_path / "bag"


def test_the_files_are_named_and_told(split_bag: Path) -> None:
    names = [f"bag_{i}.mcap" for i in range(4)]
    assert sorted(p.name for p in split_bag.iterdir()) == [*names, "metadata.yaml"]
    facts = _facts(split_bag)
    files: list[dict[str, dict[str, int]]] = facts["files"]  # type: ignore[assignment]
    assert facts["relative_file_paths"] == names == [file["path"] for file in files]
    assert [f["starting_time"]["nanoseconds_since_epoch"] for f in files] == [k * SECOND for k in (1, 4, 7, 10)]
    assert [f["duration"]["nanoseconds"] for f in files] == [2 * SECOND, 2 * SECOND, 2 * SECOND, 0]
    assert facts["message_count"] == sum(f["message_count"] for f in files) == 41 + 3  # type: ignore[misc]
    assert facts["duration"] == {"nanoseconds": 9 * SECOND}
    with AnyReader([split_bag]) as reader:
        assert {c.topic: c.msgcount for c in reader.connections}["/tf_static"] == 4
        stamps = [stamp for _, stamp, _ in reader.messages()]
    assert len(stamps) == 44 and stamps == sorted(stamps)


def test_the_frames_are_those_of_one_file(cdr: Cdr, split_bag: Path, tmp_path: Path) -> None:
    whole = BagWriter(tmp_path / "whole", _topics())
    record_frames(cdr, whole, 10)
    whole.close()
    one, many = ([(f.stamp_ns, f.map_from_base, f.base_from_camera, f.rgb.tobytes(), f.depth_m.tobytes())
                  for f in BagHistory(bag)] for bag in (tmp_path / "whole", split_bag))
    assert len(one) == 10 and one == many
    assert not check_bag(split_bag).uses["EM-EQA"]


def test_every_file_stands_alone_for_other_readers(split_bag: Path, tmp_path: Path) -> None:
    decoder = pytest.importorskip("mcap_ros2.decoder", reason="mcap-ros2-support, a second decoder, is not installed")
    for i, frames in enumerate((3, 3, 3, 1)):
        file = split_bag / f"bag_{i}.mcap"
        assert len(list(BagHistory(file))) == frames
        with file.open("rb") as stream:
            reader = make_reader(stream, validate_crcs=True, decoder_factories=[decoder.DecoderFactory()])
            found = list(reader.iter_decoded_messages())
            assert reader.get_summary().statistics.message_count == len(found)  # type: ignore[union-attr]
        static = [m for m in found if m.channel.topic == "/tf_static"]
        assert [t.child_frame_id for t in static[0].decoded_message.transforms] == [
            "camera_link", "camera_color_optical_frame"]
        assert len([m for m in found if m.channel.topic == "/camera/color/image_raw"]) == frames


def test_static_transforms_of_all_publishers_are_repeated_and_only_the_newest_of_each(cdr: Cdr, tmp_path: Path) -> None:
    def static(child: str, x: float, stamp: int) -> bytes:
        tf = cdr.tf("base_link", child, stamp, Transform((x, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
        return cdr("tf2_msgs/msg/TFMessage", transforms=[tf])

    topics = {"/tf_static": BagTopic(TYPES["/tf_static"], LATCHED), "/map": BagTopic(TYPES["/map"], "latched"),
              **topics_of("/question"), "/odom": BagTopic(TYPES["/odom"], "state")}
    writer = BagWriter(tmp_path / "bag", topics, config=RecordingConfig(split_s=5.0))
    for name, stamp, message in (("/tf_static", 1, static("a", 1.0, 1)), ("/tf_static", 2, static("b", 2.0, 2)),
                                 ("/tf_static", 3, static("a", 3.0, 3)), ("/odom", 3, cdr(TYPES["/odom"])),
                                 ("/map", 3, cdr(TYPES["/map"])), ("/question", 9 * SECOND, cdr.text("why?"))):
        writer.write(name, stamp, message)
    writer.close()
    with AnyReader([tmp_path / "bag" / "bag_1.mcap"]) as reader:
        read = [(c.topic, stamp, reader.deserialize(data, c.msgtype)) for c, stamp, data in reader.messages()]
    assert [(topic, stamp) for topic, stamp, _ in read] == [
        (topic, 9 * SECOND) for topic in ("/tf_static", "/tf_static", "/map", "/question")]
    assert [(m.transforms[0].child_frame_id, m.transforms[0].transform.translation.x) for _, _, m in read[:2]] == [
        ("b", 2.0), ("a", 3.0)]


def test_files_end_at_a_size(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of("/question"), config=RecordingConfig(split_mb=1.0))
    for i in range(40):
        writer.write("/question", i, cdr.text(noise_of(150_000 + i)))
        writer.flush()
    size = writer.size
    writer.close()
    sizes = [p.stat().st_size for p in sorted(tmp_path.glob("bag/*.mcap"))]
    assert len(sizes) >= 5 and all(900_000 < s < 1_300_000 for s in sizes[:-1]) and size <= sum(sizes) <= size + 20_000
    assert writer.size == sum(sizes)
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [stamp for _, stamp, _ in reader.messages()] == list(range(40))


@pytest.mark.parametrize(("compression", "cut"), [("none", 1), ("lz4", 1000), ("zstd", 4000)])
def test_a_torn_split_bag_is_mended_in_place(cdr: Cdr, tmp_path: Path, compression: str, cut: int) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag, topics_of("/question"), config=RecordingConfig(compression=compression, split_s=10.0))
    for i in range(25):
        writer.write("/question", i * SECOND, cdr.text(noise_of(2000) + str(i)))
        writer.flush()
    torn = bag / "bag_2.mcap"
    untouched = [(bag / f"bag_{i}.mcap").stat().st_mtime_ns for i in (0, 1)]
    os.truncate(torn, torn.stat().st_size - cut)
    with pytest.raises(StorageError, match="being written by another"):
        recover(bag)  # the writer is still there
    del writer  # as if killed: nothing more is written
    kept = recover(bag)
    assert 20 <= kept < 25
    assert [(bag / f"bag_{i}.mcap").stat().st_mtime_ns for i in (0, 1)] == untouched
    with AnyReader([bag]) as reader:
        read = [(stamp, reader.deserialize(data, c.msgtype).data[2000:]) for c, stamp, data in reader.messages()]
    assert read == [(i * SECOND, str(i)) for i in range(kept)]
    assert _facts(bag)["message_count"] == kept and recover(bag) == -1
    for file in sorted(bag.glob("*.mcap")):
        with file.open("rb") as stream:
            reader = make_reader(stream, validate_crcs=True)
            assert len(list(reader.iter_messages())) == reader.get_summary().statistics.message_count  # type: ignore[union-attr]


def test_damage_in_the_middle_keeps_what_is_before_it(cdr: Cdr, tmp_path: Path) -> None:
    bag = tmp_path / "bag"
    writer = BagWriter(bag, topics_of("/question"))
    sizes = []
    for i in range(8):
        writer.write("/question", i, cdr.text(noise_of(3000)))
        writer.flush()
        sizes.append(writer.size)
    del writer
    data = bytearray((bag / "bag_0.mcap").read_bytes())
    data[sizes[4] + 500:sizes[4] + 600] = bytes(100)
    (bag / "bag_0.mcap").write_bytes(data)
    assert recover(bag) == 5


def test_topics_may_come_later(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of("/question"), config=RecordingConfig(split_s=2.0))
    writer.write("/question", 0, cdr.text("a"))
    writer.add("/answer", BagTopic(TYPES["/question"]))
    writer.write("/answer", 1, cdr.text("b"))
    writer.write("/answer", 3 * SECOND, cdr.text("c"))
    writer.close()
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [(c.topic, stamp) for c, stamp, _ in reader.messages()] == [
            ("/question", 0), ("/answer", 1), ("/answer", 3 * SECOND)]


@pytest.mark.parametrize("number", [0, 3])
def test_of_a_bag_that_lost_a_file_the_rest_is_read_and_the_gap_is_named(split_bag: Path, number: int) -> None:
    whole, name = [f.stamp_ns for f in BagHistory(split_bag)], f"bag_{number}.mcap"
    (split_bag / name).unlink()
    history = BagHistory(split_bag)
    assert [f.stamp_ns for f in history] == [stamp for i, stamp in enumerate(whole) if i // 3 != number]
    assert history.dropped == {f"the file {name} of the bag is missing": 1}
    report = check_bag(split_bag)
    assert report.usable and [f.found for f in report.findings if f.name == "files"] == [
        f"{name} is missing: what it held is left out"]


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_without_the_file_that_held_the_static_transforms_this_is_the_reason(tmp_path: Path, storage: str) -> None:
    """`ros2 bag record` writes /tf_static into the first file alone."""
    scene = Scene(StandardCdr())
    parts = [[row for row in scene.rows() if (row.log_ns < scene.stamp(3)) == first] for first in (True, False)]
    folder = scene.cdr.write(tmp_path / "bag", parts[0], storage)
    scene.cdr.write(tmp_path / "more", parts[1], storage)
    one, two = (next(f for f in path.iterdir() if f.suffix != ".yaml") for path in (folder, tmp_path / "more"))
    two = two.rename(folder / two.name)
    facts = {"rosbag2_bagfile_information": {**_facts(folder), "relative_file_paths": [one.name, two.name]}}
    (folder / "metadata.yaml").write_text(yaml.safe_dump(facts))
    one.unlink()
    history = BagHistory(folder)
    with pytest.raises(StorageError, match=f"3 x no transform of '{OPTICAL}' in the bag; 1 x the file {one.name} of"):
        survey(history)
    two.unlink()
    with pytest.raises(StorageError, match=rf"files are missing.*{one.name}.*{two.name}"):
        BagHistory(folder)
