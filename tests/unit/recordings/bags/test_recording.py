"""The thread that writes a bag: nobody waits for the disk without need, and nothing is called written that is not."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.exceptions import McapError
from mcap.reader import NonSeekingReader, make_reader
from rosbags.highlevel import AnyReader

from eqa_nodes.core.errors import StorageError
from eqa_nodes.recordings.bags import recording as recording_module
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.recording import BagRecording, Listener
from eqa_nodes.recordings.bags.writer import BagWriter
from eqa_nodes.recordings.options import RecordingConfig
from eqa_nodes.testing.waiting import WAIT_S, holds
from tests.fixtures.bags import FRAME_TOPICS, SECOND, Cdr, needs_messages, noise_of, record_frames, topics_of
from tests.fixtures.disk import room_for

pytestmark = needs_messages
COLOR, DEPTH = "/camera/color/image_raw", "/camera/depth/image_raw"
ROLES = {COLOR: "color", DEPTH: "depth"}
IMAGE = np.zeros((1000, 1000, 3), np.uint8)  # 3 MB
SMALL = np.zeros((8, 8, 3), np.uint8)


class RecordingListener(Listener):
    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.lost: list[Any] = []
        self.kept: list[Any] = []
        self.durable_ = threading.Event()

    def written(self, tag: Any) -> bool:
        self.kept.append(tag)
        return tag == "urgent"

    def durable(self) -> None:
        if "urgent" in self.kept:
            self.durable_.set()

    def dropped(self, tag: Any) -> None:
        self.lost.append(tag)

    def refused(self, reason: str) -> None:
        self.reasons.append(reason)


class _Writer:
    """Makes `record_frames` write into a recording."""

    def __init__(self, recording: BagRecording) -> None:
        self.write = recording.put


@pytest.mark.parametrize("config", [RecordingConfig(color="raw", depth="raw"), RecordingConfig(color="png"),
                                    RecordingConfig(), RecordingConfig(compression="zstd", split_s=2.0)])
def test_what_is_brought_is_in_the_bag(cdr: Cdr, tmp_path: Path, config: RecordingConfig) -> None:
    recording = BagRecording(tmp_path / "bag", topics_of(*FRAME_TOPICS), config, ROLES)
    record_frames(cdr, _Writer(recording), 6)  # type: ignore[arg-type]
    recording.close()
    recording.close()
    with pytest.raises(StorageError, match="is closed"):
        recording.put(COLOR, 1, b"")
    plain = BagWriter(tmp_path / "plain", topics_of(*FRAME_TOPICS))
    record_frames(cdr, plain, 6)
    plain.close()
    assert not recording.dropped and recording.counts == plain.counts
    for read, wanted in zip(BagHistory(tmp_path / "bag"), BagHistory(tmp_path / "plain"), strict=True):
        assert (read.stamp_ns, read.intrinsics, read.map_from_base) == (
            wanted.stamp_ns, wanted.intrinsics, wanted.map_from_base)
        assert np.array_equal(read.rgb, wanted.rgb) or config.color == "jpeg"
        assert np.abs(read.depth_m - wanted.depth_m).max() <= (0.00051 if config.depth == "png" else 0)
    names = {c.topic for c in _connections(tmp_path / "bag")}
    assert (recording.stored(COLOR) in names, recording.stored(DEPTH) in names) == (True, True)
    assert (COLOR in names) == (config.color == "raw") and (DEPTH in names) == (config.depth == "raw")


def _connections(bag: Path) -> list[Any]:
    with AnyReader([bag]) as reader:
        return list(reader.connections)


def test_a_second_decoder_opens_compressed_images(cdr: Cdr, tmp_path: Path) -> None:
    decoder = pytest.importorskip("mcap_ros2.decoder", reason="mcap-ros2-support, a second decoder, is not installed")
    config = RecordingConfig(compression="zstd", color="jpeg", depth="png")
    recording = BagRecording(tmp_path / "bag", topics_of(*FRAME_TOPICS), config, ROLES)
    record_frames(cdr, _Writer(recording), 2)  # type: ignore[arg-type]
    recording.close()
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True, decoder_factories=[decoder.DecoderFactory()])
        found = {m.channel.topic: m.decoded_message for m in reader.iter_decoded_messages()}
    color, depth = found[f"{COLOR}/compressed"], found[f"{DEPTH}/compressedDepth"]
    assert (color.format, bytes(color.data[:3])) == ("rgb8; jpeg compressed bgr8", b"\xff\xd8\xff")
    assert (depth.format, bytes(depth.data[12:16])) == ("16UC1; compressedDepth png", b"\x89PNG")
    assert depth.header.stamp.sec == color.header.stamp.sec == 2


class _Disk:
    """A disk that takes nothing until it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free, self.reached = threading.Event(), threading.Event()
        write = BagWriter.write

        def slow(bag: BagWriter, *arguments: Any) -> int:
            self.reached.set()
            assert self.free.wait(WAIT_S)
            return write(bag, *arguments)

        monkeypatch.setattr(BagWriter, "write", slow)


def test_a_slow_disk_costs_the_oldest_images_and_nothing_small(cdr: Cdr, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    disk, listener = _Disk(monkeypatch), RecordingListener()
    recording = BagRecording(tmp_path / "bag", topics_of(COLOR, "/question"), RecordingConfig(buffer_mb=10.0), {},
                             listener)
    recording.put("/question", 0, cdr.text("first"))
    assert disk.reached.wait(WAIT_S)  # the first message is being written: all others wait
    for i in range(1, 9):
        recording.put(COLOR, i, cdr.image(IMAGE, "rgb8", i), tag=i)
        recording.put("/question", i, cdr.text(f"{i}"))
    disk.free.set()
    recording.close()
    with AnyReader([tmp_path / "bag"]) as reader:
        found = [(c.topic, stamp) for c, stamp, _ in reader.messages()]
    assert [s for topic, s in found if topic == "/question"] == list(range(9))
    assert [s for topic, s in found if topic == COLOR] == [6, 7, 8]
    assert listener.lost == [1, 2, 3, 4, 5] and recording.dropped == {COLOR: 5} and recording.counts[COLOR] == 3
    assert len(listener.reasons) == 5 and "slower than the incoming data" in listener.reasons[0]


def test_a_small_message_waits_for_room_and_is_named_when_there_is_none(cdr: Cdr, tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "ROOM_S", 0.3)
    disk = _Disk(monkeypatch)
    recording = BagRecording(tmp_path / "bag", topics_of(COLOR, "/question"), RecordingConfig(buffer_mb=8.0), {},
                             RecordingListener())
    text = cdr.text("x" * 3_000_000)
    recording.put("/question", 0, text)
    assert disk.reached.wait(WAIT_S)
    recording.put("/question", 1, text)
    recording.put("/question", 2, text)
    recording.put(COLOR, 2, cdr.image(IMAGE, "rgb8", 2))  # no image to drop but this one
    with pytest.raises(StorageError, match="nothing could be written to the disk for 0.3 s"):
        recording.put("/question", 3, text)
    threading.Timer(0.1, disk.free.set).start()
    recording.put("/question", 4, text)
    recording.close()
    assert recording.counts == {"/question": 4, COLOR: 0} and recording.dropped == {COLOR: 1}


def test_durable_is_said_when_it_is_on_the_disk(cdr: Cdr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "FLUSH_S", 1e6)  # so that only what is urgent is flushed
    listener = RecordingListener()
    recording = BagRecording(tmp_path / "bag", topics_of("/question"), RecordingConfig(), {}, listener)
    recording.put("/question", 1, cdr.text("a"))
    recording.put("/question", 2, cdr.text("b"), tag="urgent")
    assert listener.durable_.wait(WAIT_S)
    with recording.bag.file.open("rb") as stream:  # what another process would find there now
        found = []
        with pytest.raises(McapError):  # it has no end yet
            found.extend(m.log_time for _, _, m in NonSeekingReader(stream).iter_messages(log_time_order=False))
    assert found == [1, 2]
    recording.close()


def test_small_messages_alone_are_flushed_each_second(cdr: Cdr, tmp_path: Path) -> None:
    recording = BagRecording(tmp_path / "bag", topics_of("/question"), RecordingConfig(), {})
    size = recording.bag.size
    recording.put("/question", 1, cdr.text("a"))
    assert holds(lambda: recording.bag.size > size)
    recording.close()


def test_images_that_cannot_be_compressed_are_kept_as_they_are(cdr: Cdr, tmp_path: Path) -> None:
    listener = RecordingListener()
    recording = BagRecording(tmp_path / "bag", topics_of(COLOR), RecordingConfig(color="jpeg"), {COLOR: "color"},
                             listener)
    recording.put(COLOR, 1, cdr.image(SMALL, "rgb8", SECOND))
    recording.put(COLOR, 2, cdr.image(SMALL, "yuv422_yuy2", SECOND))
    recording.put(COLOR, 3, cdr.image(SMALL, "yuv422_yuy2", SECOND))
    recording.close()
    assert {c.topic: c.msgcount for c in _connections(tmp_path / "bag")} == {f"{COLOR}/compressed": 1, COLOR: 2}
    assert len(listener.reasons) == 2 and "yuv422_yuy2" in listener.reasons[0]


def test_a_disk_that_fails_is_told_and_the_bag_ends(cdr: Cdr, tmp_path: Path) -> None:
    listener = RecordingListener()
    recording = BagRecording(tmp_path / "bag", topics_of("/question"), RecordingConfig(), {}, listener)
    recording.put("/question", 1, cdr.text("a"), tag="urgent")
    assert listener.durable_.wait(WAIT_S)

    with room_for(recording.bag.file.stat().st_size + 100_000):
        recording.put("/question", 2, cdr.text(noise_of(1 << 20)), tag="urgent")
        assert holds(lambda: bool(recording.failed))
    recording.put("/question", 3, cdr.text("c"))
    recording.close()
    assert "File too large" in recording.failed and recording.counts["/question"] <= 2
    with AnyReader([tmp_path / "bag"]) as reader:
        assert [stamp for _, stamp, _ in reader.messages()] == [1]
