"""`eqa history localise`: poses for a recording without them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import BagReading
from eqa_nodes.cli.options import FOLDER, argument, group, option

if TYPE_CHECKING:
    from eqa_nodes.core.reconstruction.localisation import LocalisationReport
    from eqa_nodes.scanning.unposed import FolderOptions

_SHOWN = 20  # stretches


@dataclass(frozen=True, kw_only=True)
class LocaliseHistory:
    """Finds the poses of a recording of colour and depth that has none, and writes it as a history with poses."""

    path: Path = argument("folder with color/ (or rgb/) and depth/, bag without transforms, or a history, whose poses "
                          "are left out", metavar="PATH")
    out: Path = option(Path("localised"), "output folder: a history in OpenEQA's format, and localisation.json",
                       metavar="DIR", writes=FOLDER)
    camera: str = option("", "fx,fy,cx,cy of a folder's images in pixels, principal point from the centre of the first "
                         "pixel (default: a file intrinsic.json in it; a Kinect's for 640x480)",
                         metavar="FX,FY,CX,CY")
    depth_format: str = option("", "depth images of a folder: mm, tum, sun, nyu (default: tum for names as in that "
                              "benchmark, else mm)",
                               complete=lambda: ("mm", "tum", "sun", "nyu"))
    rate: float = option(30.0, "frames a second of a folder whose names are no stamps", metavar="HZ")
    range: float = option(5.0, "maximum depth that is used, metres", metavar="M")
    loops: int = option(4, "maximum number of earlier keyframes with which each keyframe is compared", metavar="N")
    bag: BagReading = group(BagReading)

    def run(self) -> int:
        """Read, write, and print the report; 1 where a stretch of the recording has no poses."""
        from eqa_nodes.core.reconstruction.config import PoseSearchConfig
        from eqa_nodes.scanning.localise import REPORT, localise
        from eqa_nodes.scanning.unposed import open_unposed

        recording = open_unposed(self.path, self._folder(), self.bag.chosen())
        for note in recording.notes:
            _print(note)
        with _bars(len(recording)) as show:
            report = localise(recording, self.out, PoseSearchConfig(range_m=self.range, loops=self.loops), show)
        for line in lines(report):
            _print(line)
        _print(f"written: {self.out}, with {REPORT}")
        return 1 if report.refused else 0

    def _folder(self) -> FolderOptions:
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.scanning.unposed import FolderOptions

        try:
            camera = tuple(float(word) for word in self.camera.split(",")) if self.camera else ()
        except ValueError as error:
            raise ConfigError(f"--camera {self.camera}: wanted fx,fy,cx,cy in pixels ({error})") from error
        return FolderOptions(camera, self.depth_format, self.rate)


def lines(report: LocalisationReport) -> Iterator[str]:
    """Yield the report as lines."""
    yield (f"{report.localised} of {report.frames} frames localised: {report.covered_s:.1f} of {report.seconds:.1f} s, "
           f"{report.length_m:.2f} m, {report.keyframes} keyframes")
    for reason, n in sorted(report.unusable.items()):
        yield f"not used: {n} x {reason}"
    for stretch in report.refused[:_SHOWN]:
        yield f"refused: frame {stretch.first} to {stretch.last}: {stretch.reason}"
    if len(report.refused) > _SHOWN:
        yield f"refused: {len(report.refused) - _SHOWN} more stretches"
    for last, after in report.joined:
        yield f"joined: frame {last} and {after} do not follow each other, but both show places seen before"
    if report.loops_kept:
        drift, rest = report.odometry_drift, report.loop_residual
        yield (f"loops: {report.loops_kept} of {report.loops_found} kept; odometry missed them by up to "
               f"{drift.largest_m:.3f} m and {drift.largest_deg:.2f} degrees; left: median {rest.median_m:.3f} m, at "
               f"most {rest.largest_m:.3f} m and {rest.largest_deg:.2f} degrees")
    else:
        yield "loops: none, so that the drift is not known"
    yield _level(report)


def _level(report: LocalisationReport) -> str:
    walls = "" if math.isnan(report.walls_deg) else f", walls lean {report.walls_deg:.1f} degrees (median)"
    floor = f"{report.floor_points} points, rms {report.floor_rms_m * 100:.1f} cm" if report.floor_points else (
        "no floor was seen: the mean camera's up stands for it, so that the map may lean")
    return (f"levelled by the {report.levelled_by}: {floor}, {report.tilt_deg:.1f} degrees from the mean camera's "
            f"up{walls}{'' if report.level_sure else '; not sure'}")


@contextmanager
def _bars(frames: int) -> Iterator[Callable[[str, int], None]]:
    """Show a bar for each step; yields a callback for the step and how much of it is done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    with Progress(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"),
                  transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(step: str, done: int) -> None:
            if step not in tasks:
                what, total = ("keyframes", None) if step == "compared" else ("frames", frames or None)
                tasks[step] = bar.add_task(f"{what} {step}", total=total)
            bar.update(tasks[step], completed=done)

        yield show


def _print(line: str) -> None:
    from rich.console import Console

    Console().print(line, soft_wrap=True, markup=False, highlight=False)
