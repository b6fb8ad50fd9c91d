"""Checks whether questions can be answered from a bag: reports what is missing or wrong, and the remedy."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.camera.jumps import rhythm_of
from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.findings import Finding, failed
from eqa_nodes.recordings.bags.floor import TURN, judge_measured
from eqa_nodes.recordings.bags.history import BagHistory, BagOptions
from eqa_nodes.recordings.bags.measure import STAMPED, Measured, measure
from eqa_nodes.recordings.bags.reader import Bag, BagMessage, open_bag
from eqa_nodes.recordings.bags.roles import ROLES

_FEW = 0.05  # harmless share of images that are dropped or cannot be used
_HALF = 0.5
_LOOKED, _STRIDE = 10, 0.618  # number of frames that are read; the stride avoids aliasing with a lower rate
_GAP_S = 1.0
_SCALE_M = (0.02, 0.1, 15.0, 100.0)  # median depth in a room: outside the outer two, the unit is wrong
_VALID = 0.3
WHOLE = Finding("readable", "ok", "to its end")
# The findings that must not be an error, by use of a bag.
_FRAMES = ("readable", "color", "depth", "camera_info", "counts of images", "frames")
USES: dict[str, tuple[str, ...]] = {
    "mapping": (*_FRAMES, "depth scale", "floor"), "keyframes and memory": (*_FRAMES, "depth scale", "floor"),
    "EM-EQA": _FRAMES, "replay": (*_FRAMES, "stamps of color", "stamps of depth"),
}


class BagReport(NamedTuple):
    """uses: possible use of the bag -> errors that prevent it, empty if there are none.

    measured: measurements behind the findings about streams; topics: topic of the bag -> type, number of messages.
    """

    bag: str
    findings: tuple[Finding, ...]
    uses: dict[str, tuple[str, ...]]
    measured: Measured
    topics: dict[str, tuple[str, int]]

    @property
    def usable(self) -> bool:
        """Whether no error was found."""
        return not failed(self.findings)


def check_bag(path: Path, options: BagOptions | None = None,
              watch: Callable[[BagMessage], None] | None = None, also: tuple[str, ...] = ()) -> BagReport:
    """Check a bag: its streams in one pass, then about ten frames with the reader; watch and also: as in `measure`.

    Raises StorageError when it cannot be opened, ConfigError for an unknown role.
    """
    path, options = Path(path), options or BagOptions()
    findings, storage = [_closed(path)], _storage(path)
    with open_bag(storage, options.namespace, options.remap) as bag:
        findings += [Finding("files", "warning", f"{name} is missing: what it held is left out",
                             "copy it beside the others") for name in bag.lost]
        topics = [_topic(bag, role) for role in STAMPED]
        measured = measure(bag, options, watch, also)
        findings += [*topics, *judged(bag, measured)]
        of_bag = {topic: (bag.types[topic], bag.counts[topic]) for topic in sorted(bag.types)}
    if not failed(topics):
        findings.append(_frames(storage, options, len(measured.stamps_ns["color"])))
    findings += [line for line in judge_measured(measured, upright=True) if line.remedy != TURN]
    errors = [finding.name for finding in findings if finding.state == "error"]
    return BagReport(str(path), tuple(findings),
                     {use: tuple(name for name in errors if name in needed) for use, needed in USES.items()}, measured,
                     of_bag)


def _storage(path: Path) -> Path:
    """Return the only sqlite3 file of a folder that was not closed (it can still be read), else the path."""
    files = sorted(path.glob("*.db3")) if path.is_dir() and not (path / "metadata.yaml").is_file() else []
    return files[0] if len(files) == 1 else path


def _closed(path: Path) -> Finding:
    beside = path.glob("*.db3-wal") if path.is_dir() else path.parent.glob(f"{glob.escape(path.name)}-wal")
    logs = [file.name for file in sorted(beside) if file.stat().st_size]
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        return Finding("closed", "error", "metadata.yaml is missing: the recorder was killed, or is still recording",
                       "run `ros2 bag reindex` on it")
    if logs:
        return Finding("closed", "error", f"{', '.join(logs)} holds messages that are not in the bag yet",
                       f"open it once for writing: sqlite3 {logs[0][:-4]} 'pragma wal_checkpoint'")
    return Finding("closed", "ok", "was closed")


def _topic(bag: Bag, role: str) -> Finding:
    say = f"name it: --remap {role}:=/its/topic"
    if role in bag.unclear:
        return Finding(role, "error", f"may be {' or '.join(bag.unclear[role])}", f"{say}; or its robot: --namespace")
    if role not in bag.keys:
        kinds = " or ".join(ROLES[role])
        none = "" if {*ROLES[role]} & {*bag.types.values()} else f": the bag has no {kinds}"
        return Finding(role, "error", f"no topic{none}", f"record it, or {say}")
    topic, count = bag.topics[role], bag.count(role)
    found = f"{topic} ({bag.types[topic]}), {count} messages"
    return Finding(role, "ok", found) if count > 0 else Finding(role, "error", found, f"record it, or {say}")


def judged(bag: Bag, m: Measured) -> list[Finding]:
    """Return the findings about each stream of a bag or of a live robot."""
    findings = [Finding("readable", "error", m.broken, "recover it: `python -m eqa_nodes.recordings.bags.recover`, "
                        "or sqlite3's `.recover`") if m.broken else WHOLE]
    for role in ("color", "depth"):
        if m.stamps_ns[role]:
            findings += _timing(role, m.stamps_ns[role], bag.count(role), bool(m.broken))
            findings.append(_images(role, m))
    findings += compared(m.stamps_ns)
    if m.samples["depth"].valid:
        findings.append(_scale(m))
    return [*findings, *_base(m)]


def _timing(role: str, stamps_ns: list[int], announced: int, broken: bool) -> Iterator[Finding]:
    """Yield findings about rate, drops and order of stamps; announced: number of messages in the bag's index."""
    steps = np.diff(np.array(stamps_ns, np.int64))
    back, twice = int((steps < 0).sum()), int((steps == 0).sum())
    found = f"{back} go back, {twice} are repeated, of {len(stamps_ns)}"
    if back or twice:
        state = "error" if back > 0.01 * len(steps) else "warning"
        yield Finding(f"stamps of {role}", state, found, "set stamps where the image is taken, from one clock; leave "
                      "out what was recorded before a clock was set or a simulation began anew")
    else:
        yield Finding(f"stamps of {role}", "ok", found)
    time = rhythm_of(stamps_ns)
    if not time.period_s:
        yield Finding(f"rate of {role}", "warning", f"{len(stamps_ns)} messages: too few for a rate",
                      "record or listen longer")
        return
    slow = time.longest_s > max(_GAP_S, 5 * time.period_s)
    remedies = ["what happened in the gap is not seen: look at the recorder's disk and the camera's connection"] * slow
    remedies += ["nothing is missing where the recording was paused; set clocks before a recording begins"] * bool(
        time.breaks_s)
    yield Finding(f"rate of {role}", "warning" if remedies else "ok", f"{1 / time.period_s:.2f} Hz (median), longest "
                  f"gap {time.longest_s:.2f} s{f'; not counted: {time}' if time.breaks_s else ''}", "; ".join(remedies))
    missing, lost = time.missing, 0 if broken else max(announced - len(stamps_ns), 0)
    share = (missing + lost) / (len(stamps_ns) + missing + lost)
    yield Finding(f"drops of {role}", "warning" if share > _FEW or lost else "ok",
                  f"{missing} of {len(stamps_ns) + missing} missing ({share:.1%})" + (
                      f"; metadata.yaml announces {announced} messages, the bag holds {len(stamps_ns)}" * bool(lost)),
                  "record to a faster disk, compressed, or at a lower rate" if share > _FEW or lost else "")


def _images(role: str, m: Measured) -> Finding:
    s = m.samples[role]
    seen, bad = s.sizes.total() + s.faults.total(), s.faults.total()
    found = f"{', '.join(s.encodings)}; {bad} of {seen} looked at cannot be decoded"
    if not bad:
        sizes = ", ".join(f"{w}x{h}" for w, h in s.sizes)
        return Finding(f"{role} images", "ok", f"{sizes} {', '.join(s.encodings)}")
    return Finding(f"{role} images", "error" if bad > _FEW * seen else "warning", found, next(iter(s.faults)))


def _scale(m: Measured) -> Finding:
    valid = float(np.mean(m.samples["depth"].valid))
    if not m.samples["depth"].median_m:
        return Finding("depth scale", "error", "no pixel has a depth", "is the sensor covered, or switched off?")
    median = float(np.median(m.samples["depth"].median_m))
    found = f"median {median:.3f} m, {valid:.0%} of the pixels have a depth"
    wrong_low, low, high, wrong_high = _SCALE_M
    if median > wrong_high:
        return Finding("depth scale", "error", found, "millimetres were stored as metres: 32FC1 is in metres, 16UC1 in "
                                                      "millimetres (REP 118); republish it in the right unit")
    if median < wrong_low:
        return Finding("depth scale", "error", found, "metres were stored as millimetres: 16UC1 is in millimetres, "
                                                      "32FC1 in metres (REP 118); republish it in the right unit")
    if not low <= median <= high:
        return Finding("depth scale", "warning", found, "unusual for a room: is the unit right?")
    if valid < _VALID:
        return Finding("depth scale", "warning", found, "most of the image has no depth: maps will have holes")
    return Finding("depth scale", "ok", found)


def _base(m: Measured) -> Iterator[Finding]:
    """Yield the findings about intrinsics and transforms that do not make frames unusable."""
    if len(m.cameras) > 1:
        yield Finding("intrinsics", "warning", f"{len(m.cameras)} different ones in one bag",
                      "is it the topic of one camera? does its driver change the zoom or the resolution?")
    if m.invalid:
        yield Finding("invalid transforms", "warning", f"{m.invalid.total()} of {', '.join(m.invalid)} are not finite "
                      "and rigid", "they are left out: check their publisher")
    if m.where is not None:
        yield Finding("base", "ok", m.where.base) if m.where.base else Finding(
            "base", "warning", "no base_link, base_footprint or base", "the base is taken to be on the ground (z = 0) "
            "below the camera; say --base-frame where there is one")


def _frames(path: Path, options: BagOptions, images: int) -> Finding:
    """Read some frames of a bag with the reader that every command uses; return what it accepts or refuses."""
    remedy = ("--remap names other topics, --map-frame and --base-frame other frames, --tolerance allows a greater "
              "difference of stamps")
    try:
        history = BagHistory(path, options)
        only = {int((i + i * _STRIDE % 1) * images / _LOOKED) for i in range(_LOOKED)} if images > _LOOKED else {
            *range(images)}
        frames = [recorded.frame for recorded in history.recorded(only)]
    except (StorageError, BadFrame) as error:
        return Finding("frames", "error", str(error), remedy)
    reasons = "; ".join(f"{n} x {reason}" for reason, n in sorted(history.dropped.items()))
    found = f"{len(frames)} of {len(only)} that were looked at can be used"
    if len(only) - len(frames) <= max(_FEW * len(only), len(only) >= _LOOKED):
        k = frames[0].intrinsics
        return Finding("frames", "ok", f"{found}: {k.width}x{k.height}, fx {k.fx:.1f}, fy {k.fy:.1f}")
    return Finding("frames", "warning" if len(frames) >= _HALF * len(only) else "error", f"{found}: {reasons}", remedy)


_ENOUGH = 10  # minimum number of messages for a comparison
_SAME = 0.95  # share of the larger number from which on two numbers count as equal
_ONCE = 0.05  # below this ratio to the images, a camera_info was sent once for many images
_EVEN = 0.9  # minimum share of time steps near their median in a stream with a constant rate
_NEAR = 0.5  # tolerance of a time step, as a share of the median


def compared(stamps_ns: Mapping[str, Sequence[int]]) -> Iterator[Finding]:
    """Compare the numbers of messages. stamps_ns: role (color, depth, camera_info) -> stamps in recorded order, ns."""
    color, depth, info = (stamps_ns[role] for role in ("color", "depth", "camera_info"))
    if color and depth:
        few, many = sorted((("color", color), ("depth", depth)), key=lambda stream: len(stream[1]))
        yield from _pair("counts of images", few, many)
    images = max(("color", color), ("depth", depth), key=lambda stream: len(stream[1]))
    if info and len(info) > _ONCE * len(images[1]):
        yield from _pair("counts of camera_info", ("camera_info", info), images)


def _pair(name: str, few: tuple[str, Sequence[int]], many: tuple[str, Sequence[int]]) -> Iterator[Finding]:
    share = len(few[1]) / max(len(many[1]), 1)
    if len(many[1]) < _ENOUGH:
        return
    found = f"{len(few[1])} of {few[0]}, {len(many[1])} of {many[0]}"
    if share >= _SAME:
        yield Finding(name, "ok", found)
    elif _even(few[1], many[1]):
        yield Finding(name, "ok", f"{found}: {few[0]} has a lower rate")
    else:
        yield Finding(name, "warning" if share >= _HALF else "error", f"{found}, in no even steps: {few[0]} was lost",
                      "look at what the recorder says it lost (its log, /diagnostics), at its disk and the network; a "
                      "rate that is meant to be lower keeps even steps")


def _even(few: Sequence[int], many: Sequence[int]) -> bool:
    """Return whether a stream has a constant rate and lasts as long as the other."""
    stamps, others = np.unique(np.array(few, np.int64)), np.array(many, np.int64)
    steps = np.diff(stamps)
    if len(stamps) < 3 or np.ptp(stamps) < _HALF * np.ptp(others):
        return False
    period = float(np.median(steps))
    return bool((abs(steps - period) <= _NEAR * period).mean() >= _EVEN)
