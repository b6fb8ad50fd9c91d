"""Checks after an episode and after a graph: acknowledged data are stored, and nothing is left behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from rosbags.rosbag2 import Reader

from eqa_nodes.core.storage.text import file_name
from eqa_nodes.recordings.bags.recover import recover
from eqa_nodes.ros.environment import RESERVATION
from eqa_nodes.wire.graph import TOPICS

_PARTS = tuple("/" + TOPICS[key].name for key in ("color", "depth", "camera_info", "odom"))
_GONE_S = 10.0  # timeout for processes and resources to disappear


def lost_keyframes(folder: Path, episode: str, published: Mapping[int, int]) -> list[str]:
    """Return the published keyframes (id -> stamp, ns) that are missing in the memory file."""
    path = folder / "memory" / f"{file_name(episode)}.sqlite"
    if not published:
        return []
    if not path.exists():
        return [f"{len(published)} keyframes were published, and there is no {path.name}"]
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30.0)) as opened:
        stored = dict(opened.execute("SELECT id, stamp_ns FROM keyframes").fetchall())
    lost = [i for i, stamp in sorted(published.items()) if stored.get(i) != stamp]
    return [f"keyframes {lost} were published and are not in {path.name}"] if lost else []


def lost_observations(folder: Path, episode: str, acknowledged: set[int]) -> list[str]:
    """Return the observations that the recorder acknowledged but no bag of the episode has; repairs the bags first."""
    name = file_name(episode)
    bags = [path for path in sorted((folder / "bags").glob(f"{name}*")) if re.fullmatch(
        re.escape(name) + r"(-\d+)?", path.name)]
    stamps: dict[str, set[int]] = defaultdict(set)
    for bag in bags:
        recover(bag)
        with Reader(bag) as reader:
            for connection, stamp, _ in reader.messages():
                stamps[re.sub(r"/compressed(Depth)?$", "", connection.topic)].add(stamp)
    there = set.intersection(*(stamps[topic] for topic in _PARTS))
    lost = sorted(acknowledged - there)
    return [f"{len(lost)} of {len(acknowledged)} observations that the recorder acknowledged are in no bag, the first "
            f"at {lost[0] / 1e9:.3f} s"] if lost else []


def left_behind(folder: Path, domain: int) -> list[str]:
    """Return the processes, locks and domain that remain of a graph that has ended."""
    end = time.monotonic() + _GONE_S
    while (left := _left(folder, domain)) and time.monotonic() < end:
        time.sleep(0.2)
    return left


def _left(folder: Path, domain: int) -> list[str]:
    left = [f"process {pid}" for pid in _processes(str(folder / "params.yaml"))]
    left += [f"lock {path.name}" for path in sorted((folder / "memory").glob("*.lock")) if _locked(path)]
    return left + [f"domain {domain} is reserved"] * _reserved(domain)


def _reserved(domain: int) -> bool:
    """Return whether this process, which reserved the graph's domain, still holds it; by now others may hold it."""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    inodes = {line[6] for line in lines if line[-1] == f"@{RESERVATION[1:]}{domain}"}
    return any(f"socket:[{inode}]" == _target(entry) for entry in Path("/proc/self/fd").iterdir() for inode in inodes)


def _target(link: Path) -> str:
    with contextlib.suppress(OSError):  # closed in the meantime
        return os.readlink(link)
    return ""


def _processes(word: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def _locked(path: Path) -> bool:
    with path.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
