"""All findings about a robot, live or in a bag: those of `eqa bag check`, then frames, floor, time and map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.doctor.facts import ALSO, Grid, HeardStream, RobotFacts
from eqa_nodes.doctor.frames import above, judge_frames
from eqa_nodes.recordings.bags.check import check_bag
from eqa_nodes.recordings.bags.floor import judge_measured
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.measure import Measured
from eqa_nodes.recordings.bags.poses import FIXED
from eqa_nodes.wire import messages

_WIDE_DEG = (20.0, 130.0)
_OF_ANOTHER = "is it the matrix of another resolution, or of the image before it was cropped? calibrate the camera"


def bag_findings(path: Path, options: BagOptions) -> list[Finding]:
    """Check a bag in one pass. Raises StorageError if it cannot be opened, ConfigError for an unknown role."""
    facts = RobotFacts()
    report = check_bag(path, options, facts.take, ALSO)
    facts.move_by_odometry()
    more = list(judge(facts, report.measured, options, live=False, camera=CameraConfig(upright=True)))
    return [*(line for line in report.findings if line.name not in {other.name for other in more}), *more]


def judge(facts: RobotFacts, measured: Measured, options: BagOptions, live: bool,
          camera: CameraConfig = CameraConfig()) -> Iterator[Finding]:
    """Judge what `bags.check.judged` does not. camera: camera settings of the graph."""
    yield from judge_frames(facts, options.map_frame, options.base_frame)
    yield from _floor(measured, camera)
    yield from judge_times(facts, live)
    if facts.grid is not None:
        yield judge_map(facts.grid)


def _floor(measured: Measured, camera: CameraConfig) -> Iterator[Finding]:
    for info in list(measured.cameras.values())[:1]:
        with suppress(BadFrame):  # reported in the line "intrinsics"
            yield judge_matrix(messages.intrinsics_of(info))
    yield from judge_measured(measured, camera.upright)


def judge_matrix(k: Intrinsics) -> Finding:
    """Judge whether a camera matrix is plausible for an image of this size."""
    wide = 2 * math.degrees(math.atan(k.width / 2 / k.fx))
    found = f"{k.width}x{k.height}, {wide:.0f} deg wide, centre at {k.cx:.0f}, {k.cy:.0f}"
    if not (0 < k.cx < k.width and 0 < k.cy < k.height):
        return Finding("camera matrix", "error", f"{found}: not in the image", _OF_ANOTHER)
    odd = [said for wrong, said in (
        (not _WIDE_DEG[0] <= wide <= _WIDE_DEG[1], "an unusual angle"),
        (max(k.fx / k.fy, k.fy / k.fx) > 1.25, f"fx {k.fx:.0f} and fy {k.fy:.0f} differ"),
        (abs(k.cx / k.width - 0.5) > 0.2 or abs(k.cy / k.height - 0.5) > 0.2, "far from the middle")) if wrong]
    return Finding("camera matrix", "warning", f"{found}: {', '.join(odd)}", _OF_ANOTHER) if odd else Finding(
        "camera matrix", "ok", found)


def judge_map(grid: Grid) -> Finding:
    """Judge whether a map has cells and some of them are known."""
    found = f"{grid.width}x{grid.height} cells of {grid.resolution_m:g} m, {grid.known:.0%} known"
    if not (grid.width and grid.height and grid.resolution_m > 0):
        return Finding("map", "error", found, "give map_server a map, or start SLAM")
    return Finding("map", "ok" if grid.known else "warning", found, "" if grid.known else
                   "nothing is known yet: drive a little, or load a map")


_OTHER_S = 3600.0  # a larger difference means two unrelated clocks
_OLD_S, _FUTURE_S, _APART_S, _WRONG_S = 0.5, 0.02, 0.1, 2.0
_JUMP_S = 1.0  # disagreement of stamps and arrival from one message to the next
_REPORTED = ("color", "depth")  # roles whose out-of-order stamps are reported with their rate


def judge_times(facts: RobotFacts, live: bool) -> Iterator[Finding]:
    """Judge ages and jumps. live: True = times of arrival are of now; in a bag, old messages only give warnings."""
    parents = facts.parents()
    chain = {frame for camera in facts.cameras.values() for frame in above(camera, parents)}
    streams = {**{role: s for role, s in facts.streams.items() if s.stamps_ns and role != "camera_info"},
               **{f"{link.parent} > {link.child}": s for link, s in facts.links.items()
                  if s.stamps_ns and link.child in chain}}
    if streams:
        ages = {name: float(np.median(s.age_s(facts.clock))) for name, s in streams.items()}
        yield _ages(ages, "/clock" if facts.clock.simulated else "this machine's clock" if live else
                    "the recorder's clock", live, _FUTURE_S + max(facts.clock.step_s, 0.0))
    anew = int((np.diff(np.array(facts.clock.values_ns, np.int64)) < 0).sum())
    if anew:
        yield Finding("clock", "error" if live else "warning", f"/clock went back {anew} times", "a simulation began "
                      "anew, or two publish /clock: end one, and start the graph again")
    jumps = [said for name, s in streams.items() if (said := _jumps(name, s, facts.clock.simulated))]
    back = any(" back " in said for said in jumps)
    yield Finding("time jumps", "error" if live and back else "warning" if jumps else "ok",
                  "; ".join(jumps) or f"none in {len(streams)} streams", "set clocks before the drivers start, and let "
                  "NTP or PTP slew them (chrony): what was mapped before a jump is lost" if jumps else "")


def _ages(ages: Mapping[str, float], clock: str, live: bool, slack_s: float) -> Finding:
    shown = ", ".join(f"{name} {_said(age)}" for name, age in ages.items())
    found = f"age on arrival by {clock}: {shown}"
    worst = max(ages.values(), key=abs)
    bad = "error" if live else "warning"
    if abs(worst) > _OTHER_S:
        return Finding("time sync", bad, found, "these are different clocks: with a simulator publish /clock and set "
                       "use_sim_time everywhere; else set the robot's clock (chrony), and stamps when images are taken")
    early = min((age for name, age in ages.items() if not name.startswith(f"{FIXED[0]} >")), default=0.0)
    if early < -slack_s:  # localisation post-dates its transforms by design
        return Finding("time sync", bad if early < -_APART_S - slack_s else "warning", found,
                       "stamps lie in the future: synchronise the clocks of the robot and this machine (chrony, PTP)")
    if max(ages.values()) > _WRONG_S:
        return Finding("time sync", bad, found, "what comes is too old to drive by: synchronise the clocks, or look at "
                       "the load and the network")
    if max(ages.values()) > _OLD_S:
        return Finding("time sync", "warning", found, "synchronise the clocks, or look at the load and the network")
    images = [age for name, age in ages.items() if name in _REPORTED]
    if images and (apart := max(abs(age - images[0]) for age in images)) > _APART_S:
        return Finding("time sync", "warning", f"{found}: colour and depth {apart:.2f} s apart",
                       "stamp both from one clock, when the image is taken")
    return Finding("time sync", "ok", found)


def _said(age_s: float) -> str:
    return f"{age_s * 1e3:.0f} ms" if abs(age_s) < 10 else f"{age_s:.4g} s"


def _jumps(name: str, stream: HeardStream, simulated: bool) -> str:
    """Describe stamps that went back or advanced by more than the time that passed; with /clock any pace is right."""
    stamps, received = (np.array(values, np.int64) for values in (stream.stamps_ns, stream.received_ns))
    steps, passed = np.diff(stamps) / 1e9, np.diff(received) / 1e9
    back = steps < 0 if name not in _REPORTED else steps < -_JUMP_S
    ahead = (steps - passed > _JUMP_S) & (not simulated)
    said = [f"{int(mask.sum())} x {word} by up to {abs(steps[mask]).max():.2f} s"
            for mask, word in ((back, "back"), (ahead, "ahead")) if mask.any()]
    return f"{name} {', '.join(said)}" if said else ""
