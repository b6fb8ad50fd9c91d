"""A bag of 640x480 RGB-D: its size, and as an episode history the time per frame and memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rosbags.rosbag2 import Reader

from benchmarks.timing import Figure, times_ms
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.bags.export import FrameMessages, write_bag
from eqa_nodes.recordings.bags.recording import BagRecording
from eqa_nodes.recordings.bags.writer import BagTopic
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.options import RecordingConfig
from eqa_nodes.wire.graph import TOPICS
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup

SCENE, VIEWS, FRAMES, RATE_HZ = "house:3", 24, 900, 30
PERIOD_NS = 10**9 // RATE_HZ
WANTED = 200  # required frames per second
STEPS = 85  # of a question whose thing is some rooms away


def figures() -> list[Figure]:
    """Return the size of a bag, and milliseconds per frame and the memory of reading one."""
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / "bag"
        write_bag(recorded(FRAMES), bag)
        megabytes = sum(file.stat().st_size for file in bag.iterdir()) / 1e6
        bare = min(times_ms(lambda: _bare(bag), 3)) / FRAMES
        ours, peak = min(_in_a_process(bag) for _ in range(3))
    read = Figure("bag to frame, 640x480 RGB-D", round(ours, 2), f"undecoded messages by rosbags, {bare:.2f} ms",
                  round(ours / bare, 2), f"{1e3 / ours:.0f} frames/s (wanted: {WANTED}); {FRAMES} frames of "
                  f"{FRAMES / RATE_HZ:.0f} s, {megabytes:.0f} MB in LZ4 chunks; peak {peak:.0f} MB, imports included")
    return [_size(), read]


def _size() -> Figure:
    """Return the processor time and the bytes of a frame in a bag as the recorder writes it, beside a lossless one."""
    cpu, size = _written(RecordingConfig())
    plain_cpu, plain = _written(RecordingConfig(color="raw", depth="raw"))
    return Figure("a 640x480 frame in a bag by default", round(cpu, 1), f"lossless, {plain_cpu:.1f} ms",
                  round(cpu / plain_cpu, 2), f"processor time; {size / 1e3:.0f} kB a frame, lossless "
                  f"{plain / 1e3:.0f}; {STEPS} steps take {STEPS * size / 1e6:.0f} MB, lossless "
                  f"{STEPS * plain / 1e6:.0f}")


def _written(config: RecordingConfig) -> tuple[float, float]:
    """Return the processor time, ms, and the bytes of a frame."""
    made = FrameMessages()
    shown = [(frame.stamp_ns, key, cdr) for frame in recorded(VIEWS) for key, cdr in made.of(frame)]
    topics = {TOPICS[key].name: BagTopic(TOPICS[key].type, TOPICS[key].qos) for _, key, _ in shown}
    roles = {TOPICS[key].name: key for key in ("color", "depth")}
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        recording = BagRecording(Path(folder) / "bag", topics, config, roles)
        for stamp_ns, key, cdr in shown:
            recording.put(TOPICS[key].name, stamp_ns, cdr)
        recording.close()
        took = (time.process_time() - begin) * 1e3
        return took / VIEWS, sum(file.stat().st_size for file in recording.bag.folder.iterdir()) / VIEWS


def recorded(count: int) -> Iterator[Frame]:
    """Yield the frames of a 30 Hz camera in a house: the same views repeatedly, with increasing stamps."""
    simulator = HouseSimulator()
    views = [simulator.reset(EpisodeSetup(SCENE)).frame]
    actions = [Action.TURN_LEFT if i % 3 else Action.MOVE_FORWARD for i in range(VIEWS - 1)]
    views += [simulator.act(action).frame for action in actions]
    for i in range(count):
        yield replace(views[i % VIEWS], stamp_ns=10**9 + i * PERIOD_NS, labels=None)


def _bare(bag: Path) -> None:
    """Read the bytes of the messages without decoding them."""
    with Reader(bag) as reader:
        for _ in reader.messages():
            pass


def _in_a_process(bag: Path) -> tuple[float, float]:
    """Return milliseconds per frame and peak memory, MB, of a process that does nothing else."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.bags", str(bag)], check=True,
                          capture_output=True, text=True)
    ms, megabytes = map(float, done.stdout.split())
    return ms, megabytes


def _read(bag: Path) -> None:
    """Print milliseconds per frame and the peak memory of this process, MB."""
    history = open_history(bag)
    begin = time.perf_counter()
    count = sum(1 for _ in history)
    took = time.perf_counter() - begin
    if count != len(history):
        raise RuntimeError(f"{len(history)} images made {count} frames: {history.dropped}")
    status = Path("/proc/self/status").read_text()  # getrusage would include the parent's memory at the fork
    print(took / count * 1e3, int(status.split("VmHWM:")[1].split()[0]) / 1024)


if __name__ == "__main__":
    _read(Path(sys.argv[1]))
