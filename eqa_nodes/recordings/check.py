"""Checks whether questions can be answered from a bag: what is missing or wrong, how much, and the remedy."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.camera.depth import same_view
from eqa_nodes.core.camera.jumps import rhythm_of
from eqa_nodes.core.camera.rectify import calibration_of, distortion_of
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.doctor.findings import Finding, failed
from eqa_nodes.doctor.floor import TURN, judge_measured
from eqa_nodes.recordings.history import BagOptions
from eqa_nodes.recordings.measure import STAMPED, Measured, measure
from eqa_nodes.recordings.reader import Bag, Recorded, open_bag
from eqa_nodes.recordings.roles import rectified
from eqa_nodes.recordings.streams import compared
from eqa_nodes.ros import messages

_FEWEST = 3  # images of which each counts
_FEW = 0.05  # a share of images without a pose, partner or place in time that does no harm
_GAP_S = 1.0
_SCALE_M = (0.02, 0.1, 15.0, 100.0)  # median of a room's depths: below and above the outer two the unit is wrong
_VALID = 0.3
WHOLE = Finding("readable", "ok", "to its end")
# What must not be an error for a bag to be of use, by use.
_FRAMES = ("readable", "color", "depth", "camera_info", "color images", "depth images", "intrinsics", "lens",
           "registered", "sync", "counts of images", "transforms")
USES: dict[str, tuple[str, ...]] = {
    "mapping": ("readable", "depth", "camera_info", "depth images", "depth scale", "intrinsics", "lens", "transforms",
                "floor"),
    "keyframes and memory": (*_FRAMES, "depth scale", "floor"),
    "EM-EQA": _FRAMES,
    "replay": ("readable", "color", "depth", "camera_info", "stamps of color", "stamps of depth"),
}


class BagReport(NamedTuple):
    """uses: what the bag might be used for -> the errors in the way, none where it can be.

    measured: what the findings come from.
    """

    bag: str
    findings: tuple[Finding, ...]
    uses: dict[str, tuple[str, ...]]
    measured: Measured

    @property
    def usable(self) -> bool:
        """Whether no error was found."""
        return not failed(self.findings)


def check_bag(path: Path, options: BagOptions | None = None,
              watch: Callable[[Recorded], None] | None = None, also: tuple[str, ...] = ()) -> BagReport:
    """Check a bag in one pass; watch and also: as of `measure`.

    Raises StorageError when it cannot be opened, ConfigError for an unknown role.
    """
    path, options = Path(path), options or BagOptions()
    findings = [_closed(path)]
    with open_bag(_storage(path), options.namespace, options.remap) as bag:
        findings += [_topic(bag, role) for role in STAMPED]
        measured = measure(bag, options, watch, also)
        findings += judged(bag, measured, options)
    findings += [line for line in judge_measured(measured, upright=True) if line.remedy != TURN]
    errors = [finding.name for finding in findings if finding.state == "error"]
    return BagReport(str(path), tuple(findings),
                     {use: tuple(name for name in errors if name in needed) for use, needed in USES.items()}, measured)


def _storage(path: Path) -> Path:
    """Return the only sqlite3 file of a folder that was not closed (it can be read all the same), else the path."""
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
        return Finding(role, "error", f"may be {' or '.join(bag.unclear[role])}", say)
    if role not in bag.keys:
        return Finding(role, "error", "no topic", f"record it, or {say}")
    topic, count = bag.topics[role], bag.count(role)
    found = f"{topic} ({bag.types[topic]}), {count} messages"
    return Finding(role, "ok", found) if count > 0 else Finding(role, "error", found, f"record it, or {say}")


def judged(bag: Bag, m: Measured, options: BagOptions) -> list[Finding]:
    """Return the findings from the measurements of a bag or of a live robot."""
    findings = [Finding("readable", "error", m.broken, "recover it: `python -m eqa_nodes.recordings.recover`, "
                        "or sqlite3's `.recover`") if m.broken else WHOLE]
    for role in ("color", "depth"):
        if m.stamps_ns[role]:
            findings += _timing(role, m.stamps_ns[role], bag.count(role), bool(m.broken))
            findings.append(_images(role, m))
    findings += compared(m.stamps_ns)
    if m.samples["depth"].valid:
        findings.append(_scale(m))
    if m.cameras:
        findings += _intrinsics(bag, m)
    if m.samples["color"].sizes and m.samples["depth"].sizes:
        findings.append(_registered(m))
        findings.append(_sync(m.stamps_ns["color"], m.stamps_ns["depth"], options.tolerance_s))
    return [*findings, *_transforms(m)]


def _timing(role: str, stamps_ns: list[int], announced: int, broken: bool) -> Iterator[Finding]:
    """Rate, drops and order of stamps; announced: number of messages in the bag's own index."""
    steps = np.diff(np.array(stamps_ns, np.int64))
    back, twice = int((steps < 0).sum()), int((steps == 0).sum())
    found = f"{back} go back, {twice} come twice, of {len(stamps_ns)}"
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
                  f"gap {time.longest_s:.2f} s{f'; beside it {time}' if time.breaks_s else ''}", "; ".join(remedies))
    missing, lost = time.missing, 0 if broken else max(announced - len(stamps_ns), 0)
    share = (missing + lost) / (len(stamps_ns) + missing + lost)
    yield Finding(f"drops of {role}", "warning" if share > _FEW or lost else "ok",
                  f"{missing} of {len(stamps_ns) + missing} missing ({share:.1%})" + (
                      f"; metadata.yaml tells {announced} messages, the bag holds {len(stamps_ns)}" if lost else ""),
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


def _intrinsics(bag: Bag, m: Measured) -> Iterator[Finding]:
    infos = list(m.cameras.values())
    sizes = m.samples["color"].sizes
    if sizes:
        infos = [next((c for w, h in sizes if (c := calibration_of(each, (h, w))) is not each), each) for each in infos]
    info = infos[0]
    found = f"{info.width}x{info.height}, fx {info.k[0]:.1f}, fy {info.k[4]:.1f}"
    try:
        for each in infos:
            messages.intrinsics_of(each)
    except BadFrame as error:
        yield Finding("intrinsics", "error", str(error), "calibrate the camera, or load its calibration in the driver")
    else:
        if sizes and any((each.width, each.height) not in sizes for each in infos):
            seen = ", ".join(f"{w}x{h}" for w, h in sizes)
            yield Finding("intrinsics", "error", f"{found}, but the images are {seen}",
                          "name the camera_info of the colour camera: --remap camera_info:=/its/topic")
        elif len(infos) > 1:
            yield Finding("intrinsics", "warning", f"{found}; {len(infos)} different ones in one bag",
                          "is it the topic of one camera? does its driver change the zoom or the resolution?")
        else:
            yield Finding("intrinsics", "ok", f"{found}, constant")
    yield _lens(bag, infos)


def _lens(bag: Bag, infos: list[object]) -> Finding:
    try:
        lenses = [distortion_of(info, rectified(bag.topics)) for info in infos]
    except BadFrame as error:
        return Finding("lens", "error", str(error), "rectify images (image_proc) and name their topics")
    bent = sum(not lens.nothing for lens in lenses)
    return Finding("lens", "ok", f"{infos[0].distortion_model or 'a model'} is taken out on reading"  # type: ignore[attr-defined]
                   if bent else "images are rectified, or need not be")


def _registered(m: Measured) -> Finding:
    (color, depth) = (", ".join(f"{w}x{h}" for w, h in m.samples[role].sizes) for role in ("color", "depth"))
    scales = all(same_view(d, c) for c in m.samples["color"].sizes for d in m.samples["depth"].sizes)
    remedy = "take the depth that is registered to the colour camera (aligned_depth_to_color, depth_registered)"
    if not scales:
        return Finding("registered", "error", f"depth is {depth}, colour {color}: not of one view", remedy)
    if m.unregistered:
        frames = [next(iter(m.samples[role].frames)) for role in ("depth", "color")]
        return Finding("registered", "error", f"depth is seen from {frames[0]!r}, colour from {frames[1]!r}: more than "
                       f"1 cm apart in {m.unregistered} images", remedy)
    scaled = f"; depth of {depth} is spread over colour of {color}" if depth != color else ""
    return Finding("registered", "ok", f"depth and colour are seen from one place{scaled}")


def _sync(color_ns: list[int], depth_ns: list[int], tolerance_s: float) -> Finding:
    """How far the nearest depth image is from each colour image, in time.

    The partners of the first and of the last colour image may have come before or after what was heard: alone, they are
    not counted.
    """
    color, depth = np.sort(np.array(color_ns, np.int64)), np.sort(np.array(depth_ns, np.int64))
    first, last = depth[0] - tolerance_s * 1e9, depth[-1] + tolerance_s * 1e9
    if len(color) > _FEWEST and color[0] < first <= color[1]:
        color = color[1:]
    if len(color) > _FEWEST and color[-2] <= last < color[-1]:
        color = color[:-1]
    after = np.searchsorted(depth, color).clip(1, max(len(depth) - 1, 1))
    nearest = np.minimum(abs(depth[after.clip(max=len(depth) - 1)] - color), abs(depth[after - 1] - color)) / 1e9
    share = float((nearest <= tolerance_s).mean())
    found = (f"{share:.1%} of the colour images have depth within {tolerance_s * 1e3:.0f} ms; median "
             f"{np.median(nearest) * 1e3:.1f} ms, at most {nearest.max() * 1e3:.1f} ms")
    if share >= 1 - _FEW:
        return Finding("sync", "ok", found)
    return Finding("sync", "warning" if share >= 0.5 else "error", found, "let the driver synchronise the streams and "
                   "stamp both from one clock, or read with a greater tolerance")


def _transforms(m: Measured) -> Iterator[Finding]:
    if m.where is None:
        yield Finding("transforms", "error", m.no_poses, "record /tf, /tf_static and odometry, or name the frame: "
                                                         "--map-frame")
        return
    total = m.resolved + m.unresolved.total()
    if total:
        share = m.resolved / total
        found = f"{share:.1%} of the images have a pose in {m.where.fixed!r}"
        state = "ok" if share >= 1 - _FEW else "warning" if m.resolved else "error"
        yield Finding("transforms", state, found, next(iter(m.unresolved), ""))
    if m.invalid:
        yield Finding("invalid transforms", "warning", f"{m.invalid.total()} of {', '.join(m.invalid)} are not finite "
                      "and rigid", "they are left out: check their publisher")
    yield Finding("base", "ok", m.where.base) if m.where.base else Finding(
        "base", "warning", "no base_link, base_footprint or base", "the base is taken to be on the ground (z = 0) "
        "below the camera; say --base-frame where there is one")
