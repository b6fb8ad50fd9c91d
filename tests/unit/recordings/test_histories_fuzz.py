"""Damaged and hostile recordings: each reader ends with frames or a named error, in bounded memory.

EQA_FUZZ sets how many mutations each reader gets. Each follows from its number alone: a failure names it. No input may
take longer than HANG_S. EQA_FUZZ_REPORT names a file to which the counts are appended.
"""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from mcap.writer import CompressionType
from mcap.writer import Writer as McapWriter
from rosbags.rosbag2 import Reader

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.recordings.bags.export import write_bag
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.recordings.formats.agent_state import read_agent_state
from eqa_nodes.recordings.formats.hand_held import from_arkit
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.recordings.histories import open_history
from tests.fixtures.foreign_bags import DEPTH, Scene, StandardCdr, inverse_depth_png
from tests.fixtures.habitat_pickles import stand_ins, state_value
from tests.fixtures.histories import LOST, looking, sens_bytes, walk, write_redwood, write_scannet
from tests.fixtures.phones import (
    Node,
    millimetres,
    rvl,
    shots,
    write_polycam,
    write_record3d,
    write_rtabmap,
    write_stray,
    zipped,
)
from tests.fixtures.ros1_bags import write_ros1
from tests.fixtures.tilted import tour, tum

COUNT = int(os.environ.get("EQA_FUZZ", "40"))
HANG_S = 30.0
MEMORY_KB = 512 << 10  # an image of the largest size that is read, twice, and what decodes it
NUMBERS = (b"nan", b"inf", b"-inf", b"1e308", b"-1", b"0", b"1e-308", b"9" * 400, b"x", b"")
EXTREMES = tuple(struct.pack(form, value) for form, values in (
    ("<I", (0, 0x7FFFFFFF, 0xFFFFFFFF)), (">I", (0x7FFFFFFF, 16384)), ("<Q", (1 << 40, (1 << 63) - 1, (1 << 64) - 1)),
    ("<f", (float("nan"), float("inf"), 3e38, 1e-40, 0.0))) for value in values)


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """Return data with one change, or a few."""
    for _ in range(1 if random.random() < 0.6 else int(random.integers(2, 5))):
        data = _changed(data, random)
    return data


def _changed(data: bytes, random: np.random.Generator) -> bytes:
    """Return data with a bit, a run, an end, a number or a word changed."""
    at, length, bit = int(random.integers(len(data) + 1)), int(random.integers(40)), int(random.integers(8))
    noise = random.integers(0, 256, length, np.uint8).tobytes()
    extreme = EXTREMES[random.integers(len(EXTREMES))]
    kind = random.integers(9)
    if kind < 3:
        return data[:at] + bytes(b ^ 1 << bit for b in data[at:at + 1]) + data[at + 1:]
    return (data[:at] + noise + data[at + length:], data[:at] + noise + data[at:], data[:at] + data[at + length:],
            data[:at], data[:at] + extreme + data[at + len(extreme):], _word(data, random))[kind - 3]


def _word(data: bytes, random: np.random.Generator) -> bytes:
    words = data.split(b" ")
    words[random.integers(len(words))] = NUMBERS[random.integers(len(NUMBERS))]
    return b" ".join(words)


def _spoil(path: Path, random: np.random.Generator) -> None:
    """Change one file; one time in eight take it away or put something else in its place."""
    what = random.integers(24)
    data = path.read_bytes()
    if what > 2:
        path.write_bytes(mutated(data, random))
        return
    path.unlink()
    if what == 1:
        path.mkdir()
    elif what == 2:
        os.mkfifo(path)  # nobody writes to it: opening it would wait for ever


def _sens(folder: Path) -> Path:
    path = folder / "scene.sens"
    path.write_bytes(sens_bytes([looking(1, 2), LOST, looking(1, 3)]))
    return path


def _bag(folder: Path) -> Path:
    write_bag(walk(2), folder / "bag")
    return next((folder / "bag").glob("*.mcap"))


def _bag_folder(folder: Path) -> Path:
    write_bag(walk(2), folder / "bag")
    return folder / "bag"


def _bag_without_sums(folder: Path) -> Path:
    """A bag whose damage no checksum betrays: it reaches the messages."""
    write_bag(walk(2), folder / "summed")
    path = folder / "plain.mcap"
    with Reader(folder / "summed") as reader, path.open("wb") as stream:
        writer = McapWriter(stream, compression=CompressionType.NONE, enable_crcs=False)
        writer.start("ros2", "fuzz")
        ids = {c.id: writer.register_channel(c.topic, "cdr", writer.register_schema(
            c.msgtype, "ros2msg", c.msgdef.data.encode())) for c in reader.connections}
        for connection, log_ns, data in reader.messages():
            writer.add_message(ids[connection.id], log_ns, data, log_ns)
        writer.finish()
    return path


def _foreign(folder: Path, storage: str, compression: str = "none") -> Path:
    scene = Scene(StandardCdr(), 2)
    scene.pack_depth = scene.compressed("32FC1; compressedDepth png", inverse_depth_png)
    scene.depth = f"{DEPTH}/compressedDepth"
    return scene.cdr.write(folder / "foreign", scene.rows(), storage, compression)


def _openeqa(folder: Path) -> Path:
    write_openeqa(walk(2), folder / "openeqa")
    return folder / "openeqa"


def _scannet(folder: Path) -> Path:
    return write_scannet(folder / "scannet", {0: looking(1, 2), 1: LOST, 2: looking(2, 2)})


def _redwood(folder: Path) -> Path:
    return write_redwood(folder / "redwood", 1)


def _record3d(folder: Path) -> Path:
    lzfse = pytest.importorskip("lzfse", reason="lzfse is not installed: pip install 'eqa-nodes[phones]'")
    return write_record3d(folder / "tour.r3d", shots(2), lzfse.compress)


def _stray(folder: Path) -> Path:
    pytest.importorskip("av", reason="PyAV is not installed: pip install 'eqa-nodes[video]'")
    return write_stray(folder / "stray", shots(2))


def _rtabmap(folder: Path) -> Path:
    poses = [from_arkit(s.world_from_camera) for s in shots(2)]
    return write_rtabmap(folder / "home.db", [Node(pose, pose, s.rgb, b"DEPTHRVL" + rvl(millimetres(s.depth_m)))
                                              for pose, s in zip(poses, shots(2), strict=True)], np.eye(4))


MAKERS: dict[str, Callable[[Path], Path]] = {
    "bag": _bag, "bag folder": _bag_folder, "bag without sums": _bag_without_sums,
    "bag sqlite3": lambda folder: _foreign(folder, "sqlite3"),
    "bag packed": lambda folder: _foreign(folder, "mcap", "message"),
    "bag ros1": lambda folder: write_ros1(folder / "foreign.bag", Scene(StandardCdr(), 2).rows()),
    "bag ros1 packed": lambda folder: write_ros1(folder / "foreign.bag", Scene(StandardCdr(), 2).rows(), "lz4"),
    "openeqa": _openeqa, "redwood": _redwood, "scannet": _scannet, "sens": _sens,
    "polycam": lambda folder: write_polycam(folder / "polycam", shots(2), corrected=False),
    "polycam zip": lambda folder: zipped(write_polycam(folder / "polycam", shots(2)), folder / "polycam.zip"),
    "record3d": _record3d, "stray": _stray, "rtabmap": _rtabmap,
    "tum": lambda folder: tum(folder / "tum", tour(2))}


class Hang(BaseException):
    """An input took too long; no reader catches this."""


@contextmanager
def no_hang(what: str) -> Iterator[None]:
    """Raise Hang where a block takes too long. It takes the place of pytest-timeout's alarm."""
    def ring(*_: object) -> None:
        raise Hang(f"{what} takes longer than {HANG_S:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def report(what: str, **counts: int) -> None:
    """Append what was tried to the file that EQA_FUZZ_REPORT names."""
    if path := os.environ.get("EQA_FUZZ_REPORT"):
        with Path(path).open("a") as file:
            file.write(f"{what}: {', '.join(f'{count} {name}' for name, count in counts.items())}\n")


def _spoiled(whole: Path, folder: Path, random: np.random.Generator) -> Path:
    """Return a copy of a file or folder in which one file is spoiled."""
    copy = folder / f"mutated{whole.suffix}"
    (shutil.copytree if whole.is_dir() else shutil.copyfile)(whole, copy)
    files = sorted(p for p in copy.rglob("*") if p.is_file()) if copy.is_dir() else [copy]
    _spoil(files[random.integers(len(files))], random)
    return copy


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_a_damaged_history_ends_in_frames_or_a_named_error(name: str, tmp_path: Path) -> None:
    whole = MAKERS[name](tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    named = used = 0
    for seed in range(COUNT):
        random = np.random.default_rng([seed, len(name)])
        copy = _spoiled(whole, tmp_path, random)
        try:
            with no_hang(f"mutation {seed} of {name}"), np.errstate(over="raise", invalid="raise", divide="raise"):
                history = open_history(copy, name.split()[0])
                used += bool(list(history) and not history.dropped)
                named += bool(history.dropped)
        except (StorageError, BadFrame):
            named += 1
        except Exception:
            pytest.fail(f"mutation {seed} of {name} was not named")
        finally:
            shutil.rmtree(copy) if copy.is_dir() else copy.unlink(missing_ok=True)
    report(name, inputs=COUNT, named=named, harmless=used)
    assert named > COUNT // 10 and named + used >= COUNT * 0.9  # mutations bite, and each is told or harmless
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KB


def test_a_damaged_pickle_ends_in_a_state_or_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    value = state_value(stand_ins(monkeypatch))
    whole = [pickle.dumps(value, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    monkeypatch.undo()
    path = tmp_path / "0.pkl"
    used = 0
    for seed in range(COUNT):
        random = np.random.default_rng(seed)
        path.write_bytes(mutated(whole[random.integers(len(whole))], random))
        try:
            with no_hang(f"mutation {seed} of a pickle"):
                read_agent_state(path)
            used += 1
        except StorageError:
            continue
        except Exception:
            pytest.fail(f"mutation {seed} of a pickle was not named")
    report("agent state", inputs=COUNT, named=COUNT - used, harmless=used)
    assert COUNT // 50 < used < COUNT // 2  # some change no more than a number


def test_what_is_recovered_of_a_damaged_bag_can_be_read_or_is_named(tmp_path: Path) -> None:
    sources = [_bag(tmp_path), _bag_without_sums(tmp_path)]
    named = used = 0
    for seed in range(COUNT):
        random = np.random.default_rng([seed, 1])
        bag = tmp_path / "torn"
        bag.mkdir()
        (bag / "torn_0.mcap").write_bytes(mutated(sources[seed % 2].read_bytes(), random))
        try:
            with no_hang(f"recovery {seed}"):
                recover(bag)
                used += bool(list(open_history(bag)))
        except (StorageError, BadFrame):
            named += 1
        except Exception:
            pytest.fail(f"recovery {seed} was not named")
        finally:
            shutil.rmtree(bag)
    report("recover", inputs=COUNT, named=named, harmless=used)
    assert named + used >= COUNT * 0.9
