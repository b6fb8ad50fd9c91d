"""Where the history of a benchmark's question is, and where what was made of histories is kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from eqa_nodes.config.run import RunConfig, image_size
from eqa_nodes.core.errors import BadPose, ConfigError, EqaError, StorageError
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.geometry import transform_from_habitat
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample, history_of
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.reader import is_bag
from eqa_nodes.recordings.history_views import ViewSelection, check_history
from eqa_nodes.runners.history import HistorySource, file_source, path_source, tour_source
from eqa_nodes.runners.opening import selection_of
from eqa_nodes.tours.rendered import PosedPath
from sim_bridge.registry import simulator_of
from sim_bridge.robots import ROBOTS

IMAGE = "640x480"  # of tours of the built-in houses
SCANNET_FRAMES = 600  # OpenEQA's histories are the first of each scan (its extract-frames.py)
_SCANNET = re.compile(r"scannet-v\d+/(?:.*-)?(scene\d{4}_\d{2})", re.ASCII)
_SCANS = ("", "scans", "scans_test")  # of ScanNet's own folders


def cache_folder(chosen: Path | None) -> Path:
    """Return where what was made of histories is kept: as chosen, else EQA_CACHE, else the user's cache."""
    if folder := chosen or os.environ.get("EQA_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eqa"


def benchmark_sources(config: RunConfig, histories: Path | None,
                      bags: BagOptions | None = None) -> Callable[[Sample], HistorySource]:
    """Return the history of a benchmark's question: in the folder `histories`, or the tour of a built-in house.

    bags: how those that are bags are read.

    It raises StorageError naming the history that is missing, ConfigError for one that lacks the labels that the
    answerer reads; what it opened once it keeps.
    """
    detected = bool(config.settings.perception.detector.name)
    return source_finder(histories, image_size(config.image) if config.image else None, selection_of(config), detected,
                         bags)


def source_finder(histories: Path | None, image: tuple[int, int] | None, selection: ViewSelection,
                  detected: bool = False, bags: BagOptions | None = None) -> Callable[[Sample], HistorySource]:
    """Return the history of a question, as benchmark_sources.

    image: width and height of what is rendered, None: IMAGE for tours of houses, a data set's own for its paths;

    detected: a detector labels what is seen, so that a history needs no labels of its own;
    bags: how those that are bags are read.
    """
    def opened(name: str, path: Path, clip: tuple[float, float] | None) -> HistorySource:
        source = file_source(path, options=bags if is_bag(path) else None,
                             first=SCANNET_FRAMES if _SCANNET.fullmatch(name) else 0, clip=clip)
        if not detected:
            check_history(source.open(), selection)
        return source

    def rendered(path: PosedPath) -> HistorySource:
        source = path_source(replace(path, robot=_sized(path.robot, image)))
        if not detected:
            check_history(source.open(), selection)
        return source

    @cache
    def named(name: str, scene: str, path: PosedPath | None,
              clip: tuple[float, float] | None) -> HistorySource | EqaError:
        if histories is not None and (file := history_path(histories, name)) is not None:
            return _tried(lambda: opened(name, file, clip))
        if path is not None:
            return _tried(lambda: rendered(path))
        if simulator_of(scene) == "house":
            from eqa_nodes.tours.tours import house_tour

            def toured() -> HistorySource:
                tour = house_tour(scene)
                return tour_source(replace(tour, robot=_sized(tour.robot, image or image_size(IMAGE))))

            return _tried(toured)
        return StorageError(f"the history {name} is not in {histories or 'any folder that was named'}: put "
                            "its frames there (docs/histories.md says in which form), or name another --histories")

    def source_of(sample: Sample) -> HistorySource:
        found = named(history_of(sample), sample.scene, posed_path(sample), _clip(sample))
        if isinstance(found, EqaError):
            raise found
        return found

    return source_of


def _clip(sample: Sample) -> tuple[float, float] | None:
    """Return the part of the recording that a question is about, seconds; None for all of it. Raises ConfigError."""
    clip = sample.metadata.get("clip")
    if clip is None:
        return None
    if not (isinstance(clip, (list, tuple)) and len(clip) == 2 and all(isinstance(s, float) for s in clip)):
        raise ConfigError(f"question {sample.id!r} has the clip {clip!r:.60}: expected its first and last second")
    return clip[0], clip[1]


def posed_path(sample: Sample) -> PosedPath | None:
    """Return the recorded path that a data set brings with a question (metadata "path"), None where it has none.

    Raises ConfigError for one that cannot be read.
    """
    path = sample.metadata.get("path")
    if path is None:
        return None
    try:
        poses = tuple(transform_from_habitat(pose[:3], pose[3:]) for pose in path)  # type: ignore[attr-defined]
    except (TypeError, ValueError, BadPose) as error:
        raise ConfigError(f"question {sample.id!r} has no path that can be read: {error}") from error
    return PosedPath(sample.scene, ROBOTS["express"], poses, history_of(sample).rpartition("/")[2])


def _sized(robot: RobotModel, image: tuple[int, int] | None) -> RobotModel:
    """Return a robot with an image of this size, None: as it is."""
    if image is None:
        return robot
    return replace(robot, camera=replace(robot.camera, width=image[0], height=image[1]))


def history_path(histories: Path, name: str) -> Path | None:
    """Return where a history is, under its name or as ScanNet publishes it; None for nowhere."""
    scan = _SCANNET.fullmatch(name)
    places = [inside(histories, name)]
    if scan is not None:
        places += [histories / folder / scan[1] / f"{scan[1]}.sens" for folder in _SCANS]
        places += [histories / folder / scan[1] for folder in _SCANS]
    return next((place for place in places if place.exists()), None)


def _tried(make: Callable[[], HistorySource]) -> HistorySource | EqaError:
    """Return what is made, or the error that prevents it, which is kept as well."""
    try:
        return make()
    except EqaError as error:
        return error
