"""A recording process is killed at random moments: what it acknowledged is there, and any reader opens what is left.

EQA_KILLS=200 kills so often; the moments are the same on every run as far as the scheduler lets them.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.recordings.bags.history import BagHistory
from eqa_nodes.recordings.bags.recording import BagRecording, Listener
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.options import RecordingConfig
from tests.fixtures.bags import FRAME_TOPICS, SECOND, Cdr, needs_messages, record_frames, topics_of
from tests.fixtures.frames import frame

pytestmark = needs_messages
KILLS = int(os.environ.get("EQA_KILLS", "10"))
LONGEST_S = 0.4  # that a recording lives
DEPTH = "/camera/depth/image_raw"
ROLES = {"/camera/color/image_raw": "color", DEPTH: "depth"}
RAW = RecordingConfig(color="raw", depth="raw")
CONFIGS = (RAW, RecordingConfig(compression="zstd", split_s=4.0),
           RecordingConfig(compression="none", color="png", depth="png", split_s=7.0))


class _Reporting(Listener):
    """Tells the parent what is on the disk, as the recorder node tells the bridge."""

    def __init__(self, parent: Any) -> None:
        self._parent, self._written, self._frames = parent, 0, 0

    def written(self, tag: Any) -> bool:
        self._written = tag or self._written
        return tag is not None

    def durable(self) -> None:
        self._parent.send(self._written)

    def refused(self, reason: str) -> None:
        self._parent.send(reason)


class _Tagging:
    """Makes `record_frames` write into a recording; a frame is whole with its depth."""

    def __init__(self, recording: BagRecording, pause_s: float = 0.002) -> None:
        self._recording, self._pause_s = recording, pause_s

    def write(self, topic: str, stamp_ns: int, cdr: bytes) -> None:
        self._recording.put(topic, stamp_ns, cdr, stamp_ns if topic == DEPTH else None)
        time.sleep(self._pause_s if topic == DEPTH else 0.0)


def _record_until_killed(folder: Path, config: RecordingConfig, parent: Any, most_bytes: int) -> None:
    if most_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    cdr = Cdr()
    parent.send("begins")
    recording = BagRecording(folder, topics_of(*FRAME_TOPICS), config, ROLES, _Reporting(parent))
    record_frames(cdr, _Tagging(recording), 1_000_000)  # type: ignore[arg-type]


def _started(folder: Path, config: RecordingConfig, most_bytes: int = 0) -> tuple[Any, Connection]:
    """Return a process that records, and where it reports; a server that has all modules forks it."""
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__] if __name__ in sys.modules else [])
    mine, its = context.Pipe(duplex=False)
    child = context.Process(target=_record_until_killed, args=(folder, config, its, most_bytes), daemon=True)
    child.start()
    its.close()
    assert mine.recv() == "begins"
    return child, mine


def _heard(pipe: Connection) -> list[Any]:
    found = []
    try:
        while True:
            found.append(pipe.recv())
    except (EOFError, OSError):  # the process is gone; it may have died in the middle of a report
        return found


@pytest.mark.timeout(60 + 5 * KILLS)
def test_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    acknowledged, recovered = 0, 0
    for i in range(KILLS):
        folder = tmp_path / f"bag{i}"
        child, pipe = _started(folder, CONFIGS[i % len(CONFIGS)])
        if i % 4:  # else it may die before it has written anything
            assert pipe.poll(20.0)
        time.sleep(random.uniform(0.0, LONGEST_S))
        child.kill()
        child.join(10.0)
        reports = _heard(pipe)
        assert not [report for report in reports if isinstance(report, str)]
        last = max(reports, default=0) // SECOND
        if not last and not list(folder.glob("*.mcap")):
            continue  # killed before it had a file
        recover(folder)
        frames = list(BagHistory(folder)) if last else []
        assert [f.stamp_ns for f in frames[:last]] == [k * SECOND for k in range(1, last + 1)]
        lossy = CONFIGS[i % len(CONFIGS)].color == "jpeg"
        for k, f in list(enumerate(frames, 1))[-3:]:
            taken = frame(f.stamp_ns, Pose2(0.3 * k, 0.0, 0.1), {1: (0, 0, 12, 12)}).rgb
            assert np.abs(f.rgb.astype(int) - taken).mean() <= 3.0 * lossy
        _others_agree(folder)
        acknowledged, recovered = acknowledged + last, recovered + len(frames)
    print(f"{KILLS} kills: {acknowledged} frames acknowledged, {recovered} recovered")
    assert recovered >= acknowledged > 0


def _others_agree(folder: Path) -> None:
    with AnyReader([folder]) as reader:
        by_rosbags = sum(1 for _ in reader.messages())
        assert by_rosbags == reader.message_count
    by_mcap = 0
    for file in sorted(folder.glob("*.mcap")):
        with file.open("rb") as stream:
            by_mcap += sum(1 for _ in make_reader(stream, validate_crcs=True).iter_messages())
    assert by_mcap == by_rosbags


@pytest.mark.parametrize("config", [
    RecordingConfig(), replace(RAW, compression="none", split_s=9.0)])
def test_a_full_disk_ends_the_bag_by_name(tmp_path: Path, config: RecordingConfig) -> None:
    """The process may write files of so many bytes and no more: the bag is whole, and says why it ends."""
    child, pipe = _started(tmp_path / "bag", config, most_bytes=150_000)
    reports = []
    while not any(isinstance(report, str) for report in reports):
        assert pipe.poll(20.0)
        reports.append(pipe.recv())
    child.kill()
    child.join(10.0)
    assert "could not be written" in reports[-1]
    whole = "the bag ends with what was flushed" in reports[-1]  # else not even an end of 50 bytes had room
    assert whole or f"then run `python -m eqa_nodes.recordings.bags.recover {tmp_path / 'bag'}`" in reports[-1]
    last = max(report for report in reports if isinstance(report, int)) // SECOND
    if whole:
        _others_agree(tmp_path / "bag")
    assert recover(tmp_path / "bag") != 0  # there is room again, and so for the index
    assert recover(tmp_path / "bag") == -1
    assert len(list(BagHistory(tmp_path / "bag"))) >= last > 0
    _others_agree(tmp_path / "bag")
