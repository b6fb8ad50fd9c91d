"""Bags: others can read what is written, and it survives a kill and a full disk."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import yaml
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.bags.trace import trace_of
from eqa_nodes.recordings.bags.writer import BagTopic, BagWriter, Qos, definition, type_hash
from tests.fixtures.bags import SECOND, TYPES, Cdr, needs_messages, noise_of, topics_of
from tests.fixtures.disk import room_for

pytestmark = needs_messages


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
    topics = {**topics_of("/question", "/camera/depth/image_raw"),
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
    with_all = BagWriter(tmp_path / "bag", topics_of(*TYPES))
    for i, (topic, type_name) in enumerate(TYPES.items()):
        with_all.write(topic, i, cdr(type_name))
    with_all.close()
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[decoder.DecoderFactory()])
        decoded = [m.channel.topic for m in reader.iter_decoded_messages()]
    assert decoded == list(TYPES)


@pytest.mark.parametrize("cut", [1, 100, 5000])
def test_a_torn_file_is_recovered_up_to_the_tear(cdr: Cdr, tmp_path: Path, cut: int) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of("/question"))
    for i in range(40):
        writer.write("/question", i, cdr.text(noise_of(2000)[i:]))
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
    writer = BagWriter(tmp_path / "bag", topics_of("/question"))
    writer.write("/question", 1, cdr.text("first"))
    writer.flush()
    noise = noise_of(1 << 20)
    with room_for(writer.file.stat().st_size + 100_000):
        with pytest.raises(StorageError, match="the bag ends with what was flushed"):
            _ = [writer.write("/question", i, cdr.text(noise)) for i in range(2, 9)]
        with pytest.raises(StorageError, match="free space there"):
            writer.write("/question", 9, cdr.text("more"))
    writer.close()
    assert recover(tmp_path / "bag") == -1
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [stamp for _, stamp, _ in reader.messages()] == [1]


def test_recording_ends_cleanly_when_the_disk_runs_low(cdr: Cdr, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    free = [900_000_000]
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(0, 0, free[0]))
    monkeypatch.setattr("eqa_nodes.recordings.bags.writer._CHECK_BYTES", 1)
    writer = BagWriter(tmp_path / "bag", topics_of("/question"))
    writer.write("/question", 1, cdr.text("first"))
    free[0] = 400_000_000
    with pytest.raises(StorageError, match="only 400 MB are free"):
        writer.flush()
    with pytest.raises(StorageError, match="ends here"):
        writer.write("/question", 2, cdr.text("second"))
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [stamp for _, stamp, _ in reader.messages()] == [1]
    with pytest.raises(StorageError, match="only 400 MB are free"):
        BagWriter(tmp_path / "other", topics_of("/question"))


def test_mistakes_are_named(cdr: Cdr, tmp_path: Path) -> None:
    writer = BagWriter(tmp_path / "bag", topics_of("/question"))
    with pytest.raises(StorageError, match=r"no topic '/answer': it has /question"):
        writer.write("/answer", 1, cdr.text("x"))
    writer.close()
    with pytest.raises(StorageError, match="is closed"):
        writer.write("/question", 1, cdr.text("x"))
    with pytest.raises(StorageError, match="exists already"):
        BagWriter(tmp_path / "bag", topics_of("/question"))
    with pytest.raises(StorageError, match="color, depth"):
        BagHistory(tmp_path / "bag")
    assert trace_of(tmp_path / "bag").poses == []
    with pytest.raises(StorageError, match="cannot be read"):
        BagHistory(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match=r"no \.mcap"):
        recover(tmp_path / "empty")
