"""Long recordings go by in little memory, and each is decoded once."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.bags.export import FrameMessages, write_bag
from eqa_nodes.recordings.bags.reader import Bag, BagMessage
from eqa_nodes.recordings.bags.writer import BagTopic, BagWriter
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.wire import messages
from eqa_nodes.wire.graph import TOPICS
from tests.fixtures.frames import frame
from tests.fixtures.histories import walk
from tests.fixtures.paths import ROOT

RATE_HZ = 30
PEAK_MB = 64  # while images of seven times as much go by
MARK_NS = 1_234_567_890_123_456_789  # a stamp that stands nowhere else in a message

READER = """
import resource, sys
from pathlib import Path
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.bags.reader import Bag, BagMessage
history = open_history(Path(sys.argv[1]))
next(iter(history))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
shown = bytes_shown = 0
for frame in history:
    shown, bytes_shown = shown + 1, bytes_shown + frame.rgb.nbytes + frame.depth_m.nbytes
print(shown, sum(history.dropped.values()), bytes_shown >> 20,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before >> 10)
"""


def _stamp(stamp_ns: int) -> bytes:
    return struct.pack("<iI", stamp_ns // 10**9, stamp_ns % 10**9)


def write_long_bag(folder: Path, one: Frame, count: int) -> None:
    """Write one frame over and over, each time with the stamp of its turn: serialized once, so that it is quick."""
    pack = FrameMessages()
    keys = ("tf", "camera_info", "color", "depth")
    parts = [(TOPICS[key].name, cdr) for key, cdr in pack.of(one) if key in keys]
    topics = {TOPICS[key].name: BagTopic(TOPICS[key].type, TOPICS[key].qos, pack.definition(TOPICS[key].type))
              for key in keys}
    writer = BagWriter(folder, topics)
    for i in range(count):
        stamp_ns = 10**18 + i * 10**9 // RATE_HZ
        for topic, cdr in parts:
            writer.write(topic, stamp_ns, cdr.replace(_stamp(MARK_NS), _stamp(stamp_ns)))
    writer.close()


@pytest.mark.thorough  # tests/unit/recordings/bags/test_bags_streams.py shows it in short
@pytest.mark.timeout(300)
def test_long_recordings_do_not_have_to_fit_in_memory(tmp_path: Path) -> None:
    frames = 14 * 60 * RATE_HZ
    write_long_bag(tmp_path / "long", frame(MARK_NS), frames)
    read = subprocess.run([sys.executable, "-c", READER, str(tmp_path / "long")], cwd=ROOT, check=True,
                          capture_output=True, text=True, timeout=250)
    shown, dropped, megabytes, peak = map(int, read.stdout.split())
    assert (shown, dropped) == (frames, 0)
    assert megabytes > 7 * PEAK_MB and peak < PEAK_MB, read.stdout


def test_each_image_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bag(walk(20), tmp_path / "bag")
    decoded: Counter[tuple[str, int]] = Counter()
    real = messages.pixels_of

    def counting(image: object) -> np.ndarray:
        decoded[image.encoding, messages.stamp_of(image)] += 1  # type: ignore[attr-defined]
        return real(image)

    monkeypatch.setattr(messages, "pixels_of", counting)
    history = open_history(tmp_path / "bag")
    assert not decoded  # opening looks at none
    stamps = [frame.stamp_ns for frame in history]
    assert decoded == Counter({(encoding, stamp): 1 for encoding in ("rgb8", "32FC1") for stamp in stamps})
    assert len(stamps) == 20


def test_opening_reads_the_beginning_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_long_bag(tmp_path / "bag", frame(MARK_NS), 200)
    read: list[str] = []
    real = Bag.read

    def counted(bag: Bag, keys: Sequence[str], from_ns: int | None = None) -> Iterator[BagMessage]:
        for recorded in real(bag, keys, from_ns):
            read.append(recorded.key)
            yield recorded

    monkeypatch.setattr(Bag, "read", counted)
    assert len(open_history(tmp_path / "bag")) == 200
    assert 0 < len(read) < 10
