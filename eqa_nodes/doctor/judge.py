"""All findings about a robot, live or in a bag: those of `eqa bag check`, then frames, floor, time and map."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.findings import Finding
from eqa_nodes.core.types.views import Intrinsics
from eqa_nodes.doctor.facts import ALSO, Grid, RobotFacts
from eqa_nodes.doctor.floor import judge_measured
from eqa_nodes.doctor.frames import judge_frames
from eqa_nodes.doctor.times import judge_times
from eqa_nodes.recordings.bags.check import check_bag
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.measure import Measured
from eqa_nodes.wire import messages

_WIDE_DEG = (20.0, 130.0)
_OF_ANOTHER = "is it the matrix of another resolution, or of the image before it was cropped? calibrate the camera"


def bag_findings(path: Path, options: BagOptions) -> list[Finding]:
    """Check a bag in one pass. Raises StorageError when it cannot be opened, ConfigError for an unknown role."""
    facts = RobotFacts()
    report = check_bag(path, options, facts.take, ALSO)
    facts.move_by_odometry()
    more = list(judge(facts, report.measured, options, live=False, camera=CameraConfig(upright=True)))
    return [*(line for line in report.findings if line.name not in {other.name for other in more}), *more]


def judge(facts: RobotFacts, measured: Measured, options: BagOptions, live: bool,
          camera: CameraConfig = CameraConfig()) -> Iterator[Finding]:
    """Judge what `bags.check.judged` does not. camera: the graph's settings of it."""
    yield from judge_frames(facts, options.map_frame, options.base_frame)
    yield from _floor(measured, camera)
    yield from judge_times(facts, live)
    if facts.grid is not None:
        yield judge_map(facts.grid)


def _floor(measured: Measured, camera: CameraConfig) -> Iterator[Finding]:
    for info in list(measured.cameras.values())[:1]:
        with suppress(BadFrame):  # the line "intrinsics" says so
            yield judge_matrix(messages.intrinsics_of(info))
    yield from judge_measured(measured, camera.upright)


def judge_matrix(k: Intrinsics) -> Finding:
    """Judge whether a camera matrix may be that of an image of this size."""
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
    """Judge a map: there is something in it."""
    found = f"{grid.width}x{grid.height} cells of {grid.resolution_m:g} m, {grid.known:.0%} known"
    if not (grid.width and grid.height and grid.resolution_m > 0):
        return Finding("map", "error", found, "give map_server a map, or start SLAM")
    return Finding("map", "ok" if grid.known else "warning", found, "" if grid.known else
                   "nothing is known yet: drive a little, or load a map")
