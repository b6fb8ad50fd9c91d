"""`eqa history`: what an episode history holds, other forms of it, and new ones out of a simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import CLOCK_START, FORMAT, PLACES, SOURCES, BagReading, ScanOptions, SimulatorOptions
from eqa_nodes.cli.options import FILE, FOLDER, argument, group, listed, option
from eqa_nodes.recordings.options import renamed

if TYPE_CHECKING:
    from eqa_nodes.recordings.episode_history import EpisodeHistory
    from eqa_nodes.tours.tours import Tour
    Export = Callable[[EpisodeHistory, Path, Callable[[int], None]], Counter[str]]
    from eqa_nodes.tours.rendered import PosedPath

LIVE = "live"
SURVEY = "survey"
PATH = f"{SOURCES}; live: or live:/NAMESPACE is the live view of the robot in this ROS_DOMAIN_ID"


@dataclass(frozen=True, kw_only=True)
class HistoryReading:
    """How a history is read."""

    seconds: float = option(0.0, "length of a live history, seconds (default: until the camera stops publishing)",
                            metavar="S")
    format: str = option("", FORMAT, complete=listed("HISTORIES"))
    bag: BagReading = group(BagReading)

    def opened(self, path: Path) -> EpisodeHistory:
        """Return the history of a path, or of a running robot. Raises StorageError, ConfigError."""
        from eqa_nodes.recordings.histories import open_history

        kind, colon, namespace = str(path).partition(":")
        if kind != LIVE or not colon:
            return open_history(path, self.format, self.bag.chosen())
        from eqa_nodes.ros.environment import ensure_ros

        ensure_ros()
        from eqa_nodes.ros.live_history import LiveHistory

        return LiveHistory(namespace, renamed(self.bag.remap), self.seconds)


@dataclass(frozen=True, kw_only=True)
class HistoryInfo:
    """Reads a whole history and prints what it holds."""

    path: Path = argument(PATH, metavar="PATH")
    how: HistoryReading = group(HistoryReading)

    def run(self) -> int:
        """Read and print."""
        from eqa_nodes.cli.printing import frames_bar
        from eqa_nodes.recordings.episode_history import survey
        from eqa_nodes.recordings.formats.pictures import ColourHistory

        history = self.how.opened(self.path)
        if isinstance(history, ColourHistory):
            _print(f"{history.name}: {len(history)} colour images, without depth")
            return 0
        with frames_bar(history) as show:
            found = survey(history, show)
        (x0, y0, z0), (x1, y1, z1) = found.lowest, found.highest
        width, height = found.image
        time, paused = found.rhythm, f"; not counted: {found.rhythm}" if found.rhythm.breaks_s else ""
        rate = f" at {1 / time.period_s:.1f} Hz" if time.period_s else ""
        _print(f"{history.name}: {found.frames} frames of {width}x{height}, {time.seconds:.1f} s{rate}{paused}")
        _print(f"path {found.path_m:.2f} m; x {x0:.2f} to {x1:.2f} m, y {y0:.2f} to {y1:.2f} m, z {z0:.2f} to "
               f"{z1:.2f} m")
        if history.labels:
            _print(f"labels of {len(history.labels)} things, out of a simulator: answers that use them are privileged")
        _print_counts("not used", history.dropped)
        return 0


@dataclass(frozen=True, kw_only=True)
class ExportHistory:
    """Writes a history in another form."""

    path: Path = argument(PATH, metavar="PATH")
    out: Path = argument("output folder", metavar="OUT", writes=FOLDER)
    to: str = option("openeqa", "form: openeqa, bag", complete=lambda: ("openeqa", "bag"))
    how: HistoryReading = group(HistoryReading)

    def run(self) -> int:
        """Write it."""
        export_of(self.to)
        return write_history(self.how.opened(self.path), self.to, self.out)


@dataclass(frozen=True, kw_only=True)
class Video:
    """Writes a history as a video with an inset of the path so far."""

    path: Path = argument(PATH, metavar="PATH")
    out: Path = argument("output file", metavar="OUT.mp4", writes=FILE)
    how: HistoryReading = group(HistoryReading)

    def run(self) -> int:
        """Write it."""
        from eqa_nodes.cli.printing import frames_bar
        from eqa_nodes.media.video import write_video

        history = self.how.opened(self.path)
        with frames_bar(history) as show:
            frames = write_video(history, self.out, show)
        _print_counts("not used", history.dropped)
        _print(f"written: {self.out}, {frames} frames")
        return 0


@dataclass(frozen=True, kw_only=True)
class RecordTour:
    """Records a history in a simulator."""

    scene: str = argument(PLACES, metavar="SCENE")
    out: Path = argument("output folder", metavar="OUT", writes=FOLDER)
    to: str = option("openeqa", "form: openeqa, bag", complete=lambda: ("openeqa", "bag"))
    kind: str = option("openeqa", "openeqa: more than 10 m of curved path, a look round every metre, 1920x1080; "
                       "express: 10 to 100 atomic actions, 512x512; exploraqa: at least 5 m, 512x512; survey: past "
                       "all of the floor, turning round often, for `eqa scan`, 640x480",
                       complete=lambda: ("openeqa", "express", "exploraqa", SURVEY))
    seed: int = option(0, "seed of its start and end (default: 0)")
    image: str = option("", "size of the camera image in pixels (default: that of the kind)", metavar="WxH")
    min_metres: float | None = option(None, "minimum length of the path, metres (default: that of the kind)",
                                      metavar="M")
    start: str = option("", CLOCK_START, metavar="TIME", rare=True)
    scans: ScanOptions = group(ScanOptions, "scans")

    def run(self) -> int:
        """Drive the tour and write it."""
        from eqa_nodes.core.ranges import date_ns
        from eqa_nodes.tours.tours import TourHistory

        clock_ns = date_ns(self.start, "--start") if self.start else 0
        self.scans.set_environment()
        export_of(self.to)
        tour = self._tour()
        _print(f"{self.scene}: {len(tour.actions)} actions along {tour.way_m:.2f} m")
        return write_history(TourHistory(tour, clock_ns), self.to, self.out)

    def _tour(self) -> Tour:
        """Plan the tour. Raises ConfigError for an unknown kind, SimulatorError where there is none."""
        from eqa_nodes.config.run import with_image
        from eqa_nodes.core.errors import ConfigError, unknown
        from eqa_nodes.tours.tours import RECIPES, plan_survey, plan_tour
        from sim_bridge.robots import DEFAULT, ROBOTS

        if self.kind == SURVEY:
            return plan_survey(self.scene, with_image(ROBOTS[DEFAULT], self.image))
        recipe = RECIPES.get(self.kind)
        if recipe is None:
            raise ConfigError(unknown("kind of tour", self.kind, (*RECIPES, SURVEY)))
        recipe = replace(recipe, robot=with_image(recipe.robot, self.image))
        if self.min_metres is not None:
            recipe = replace(recipe, min_m=self.min_metres)
        return plan_tour(self.scene, recipe, self.seed)


def export_of(name: str) -> Export:
    """Return what writes a form. Raises ConfigError for an unknown one."""
    from eqa_nodes.core.errors import ConfigError, unknown

    exports: dict[str, Export] = {"bag": _bag, "openeqa": _openeqa}
    if name not in exports:
        raise ConfigError(unknown("form of export", name, exports))
    return exports[name]


def write_history(history: EpisodeHistory, to: str, out: Path) -> int:
    """Write a history in a form, and print what it could not keep."""
    from eqa_nodes.cli.printing import frames_bar

    with frames_bar(history) as show:
        lost = export_of(to)(history, out, show)
    _print_counts("not used", history.dropped)
    _print_counts("not kept", lost)
    _print(f"written: {out}")
    return 0


def _openeqa(history: EpisodeHistory, out: Path, progress: Callable[[int], None]) -> Counter[str]:
    from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa

    return write_openeqa(history, out, progress)


def _bag(history: EpisodeHistory, out: Path, progress: Callable[[int], None]) -> Counter[str]:
    from eqa_nodes.recordings.bags.export import write_bag

    return write_bag(history, out, progress, history.labels)


def _print_counts(what: str, counts: Counter[str]) -> None:
    for reason, n in sorted(counts.items()):
        _print(f"{what}: {n} x {reason}")


def _print(line: str) -> None:
    from rich.console import Console

    Console().print(line, soft_wrap=True, markup=False, highlight=False)


@dataclass(frozen=True, kw_only=True)
class RenderStates:
    """Renders published agent states, such as OpenEQA's of HM3D, in a simulator, and writes the history. Of a folder of
    such folders each becomes a folder in OUT; those that are complete there are left as they are.
    """

    states: Path = argument("folder of NNNNN.pkl, or a folder of such folders (hm3d-v0)", metavar="STATES")
    out: Path = argument("output folder", metavar="OUT", writes=FOLDER)
    scene: str = option("", f"render in this scene (default: the scan of HM3D that the states name); {PLACES}")
    to: str = option("openeqa", "form: openeqa, bag", complete=lambda: ("openeqa", "bag"))
    image: str = option("", "size of the camera image in pixels (default: as the states say)", metavar="WxH")
    scans: SimulatorOptions = group(SimulatorOptions, "scans")

    def run(self) -> int:
        """Render each folder and write it."""
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.tours.rendered import RenderedHistory, read_states, state_folders

        self.scans.set_environment()
        export_of(self.to)
        folders = state_folders(self.states)
        if self.scene and len(folders) > 1:
            raise ConfigError(f"--scene {self.scene} names one scene, {self.states} holds {len(folders)} histories: "
                              "give the folder of one of them")
        for folder in folders:
            out = self.out if folder == self.states else self.out / folder.name
            path = self._sized(read_states(folder, self.scene, self.scans.simulator))
            if self.to == "openeqa" and self._complete(out, len(path.poses)):
                continue
            write_history(RenderedHistory(path), self.to, out)
        return 0

    def _sized(self, path: PosedPath) -> PosedPath:
        from eqa_nodes.config.run import with_image

        return replace(path, robot=with_image(path.robot, self.image))

    def _complete(self, out: Path, frames: int) -> bool:
        """Return whether a folder holds so many frames already."""
        from eqa_nodes.core.errors import StorageError
        from eqa_nodes.recordings.formats.openeqa_folder import OpenEqaFolder

        try:
            return len(OpenEqaFolder(out)) == frames
        except StorageError:
            return False  # writing says what is wrong with it
