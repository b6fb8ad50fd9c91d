"""Finds the history of a question and the cache folder, and checks whether the files of scenes exist."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.config.run import RunConfig, image_size
from eqa_nodes.core.errors import BadPose, ConfigError, EqaError, StorageError, UnknownScene
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.geometry import transform_from_habitat
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.samples import Sample, VisitStart, history_of, visits_of
from eqa_nodes.recordings.bags.history import BagOptions
from eqa_nodes.recordings.bags.reader import is_bag
from eqa_nodes.recordings.formats.laeqa_folder import episode_folder
from eqa_nodes.recordings.history_views import ViewSelection, check_history
from eqa_nodes.runners.history import (
    HistorySource,
    file_source,
    joined_source,
    path_source,
    tour_source,
    weeks_source,
)
from eqa_nodes.runners.opening import selection_of
from eqa_nodes.tours.rendered import PosedPath
from sim_bridge.registry import has_simulator, is_scan, simulator_of
from sim_bridge.robots import ROBOTS
from sim_bridge.scans import SceneFiles, check_labels, fault_of, find_scan

IMAGE = "640x480"  # image size of tours of the built-in houses
SCANNET_FRAMES = 600  # OpenEQA's histories are the first of each scan (its extract-frames.py)
_SCANNET = re.compile(r"scannet-v\d+/(?:.*-)?(scene\d{4}_\d{2})", re.ASCII)
_SCANS = ("", "scans", "scans_test")  # ScanNet's own folders


def cache_folder(chosen: Path | None) -> Path:
    """Return the folder for data computed from histories: as chosen, else EQA_CACHE, else the user's cache."""
    if folder := chosen or os.environ.get("EQA_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eqa"


def benchmark_sources(config: RunConfig, histories: Path | None,
                      bags: BagOptions | None = None) -> Callable[[Sample], HistorySource]:
    """Return a function that finds a benchmark question's history: in `histories`, or a tour of a built-in house.

    bags: options for reading bags.

    The function raises StorageError naming a missing history, ConfigError for one without the labels that the
    answerer reads; opened histories are cached.
    """
    detected = bool(config.settings.perception.detector.name)
    return source_finder(histories, image_size(config.image) if config.image else None, selection_of(config), detected,
                         bags)


def source_finder(histories: Path | None, image: tuple[int, int] | None, selection: ViewSelection,
                  detected: bool = False, bags: BagOptions | None = None) -> Callable[[Sample], HistorySource]:
    """Return a function that finds the history of a question, as benchmark_sources does.

    image: width and height of rendered images, None = IMAGE for tours of houses, the data set's own for its paths;

    detected: a detector provides the labels, so a history needs none;
    bags: options for reading bags.
    """
    def opened(name: str, path: Path) -> HistorySource:
        source = file_source(path, options=bags if is_bag(path) else None,
                             first=SCANNET_FRAMES if _SCANNET.fullmatch(name) else 0)
        if not detected:
            check_history(source.open(), selection)
        return source

    def rendered(path: PosedPath) -> HistorySource:
        source = path_source(replace(path, robot=_sized(path.robot, image)))
        if not detected:
            check_history(source.open(), selection)
        return source

    def visited(name: str, visits: Sequence[VisitStart]) -> HistorySource:
        parts = []
        for visit in visits:
            if histories is None or (file := history_path(histories, visit.name)) is None:
                raise _missing(visit.name, histories)
            parts.append((file_source(file, options=bags if is_bag(file) else None), visit.begin_ns))
        source = joined_source(name, parts)
        if not detected:
            check_history(source.open(), selection)
        return source

    @cache
    def named(name: str, scene: str, path: PosedPath | None,
              visits: tuple[VisitStart, ...]) -> HistorySource | EqaError:
        if visits:
            return _tried(lambda: visited(name, visits))
        if histories is not None and (file := history_path(histories, name)) is not None:
            return _tried(lambda: opened(name, file))
        if path is not None:
            return _tried(lambda: rendered(path))
        if simulator_of(scene) == "house":
            from eqa_nodes.tours.tours import house_tour
            from eqa_nodes.tours.weeks import weeks_history

            if (weeks := weeks_history(name)) is not None:
                return weeks_source(weeks)

            def toured() -> HistorySource:
                tour = house_tour(scene)
                return tour_source(replace(tour, robot=_sized(tour.robot, image or image_size(IMAGE))))

            return _tried(toured)
        return _missing(name, histories)

    def source_of(sample: Sample) -> HistorySource:
        found = named(history_of(sample), sample.scene, posed_path(sample), visits_of(sample))
        if isinstance(found, EqaError):
            raise found
        return found

    return source_of


def _missing(name: str, histories: Path | None) -> StorageError:
    return StorageError(f"the history {name} is not in {histories or 'any folder that was named'}: put its frames "
                        "there (docs/histories.md says in which form), or name another --histories")


def posed_path(sample: Sample) -> PosedPath | None:
    """Return the recorded path of a question in its data set (metadata "path"), None if it has none.

    Raises ConfigError for an invalid path.
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
    """Return the robot with this image size (width, height), None = unchanged."""
    if image is None:
        return robot
    return replace(robot, camera=replace(robot.camera, width=image[0], height=image[1]))


def history_path(histories: Path, name: str) -> Path | None:
    """Return the path of a history, under its name or in ScanNet's or LA-EQA's layout; None if it does not exist."""
    scan = _SCANNET.fullmatch(name)
    places = [inside(histories, name)]
    if scan is not None:
        places += [histories / folder / scan[1] / f"{scan[1]}.sens" for folder in _SCANS]
        places += [histories / folder / scan[1] for folder in _SCANS]
    return next((place for place in places if place.exists()), None) or episode_folder(histories, name)


def _tried(make: Callable[[], HistorySource]) -> HistorySource | EqaError:
    """Return the created source, or its error, so that the cache stores errors too."""
    try:
        return make()
    except EqaError as error:
        return error


class Problem(NamedTuple):
    """One kind of problem. questions: number of affected ones; first: the first with its message; remedy: action."""

    kind: str
    questions: int
    first: str
    remedy: str = ""

    @property
    def line(self) -> str:
        """Return the problem as one line of text."""
        return f"{self.kind}: {self.questions} questions; {self.first}" + (f". {self.remedy}" if self.remedy else "")


class SceneState(NamedTuple):
    """One scene. error: reason why it cannot be used, None = usable; without: missing optional files.

    scan: its files, None if none were found, or the scene needs no files.
    """

    scene: str
    scan: SceneFiles | None = None
    error: EqaError | None = None
    without: tuple[str, ...] = ()


class ScenePreflight:
    """Checks the files of scenes, once each. labels: whether answers are made from the simulator's labels."""

    def __init__(self, labels: bool = False) -> None:
        self._labels = labels
        self._known: dict[str, SceneState] = {}

    def __call__(self, sample: Sample) -> None:
        """Raise EqaError if a question cannot be asked in its scene."""
        if (error := self.state(sample.scene).error) is not None:
            raise error

    def state(self, scene: str) -> SceneState:
        """Return the state of a scene: its files and its error."""
        if scene not in self._known:
            self._known[scene] = self._looked(scene)
        return self._known[scene]

    def problems(self, samples: Sequence[Sample]) -> list[Problem]:
        """Return the problems of scenes, by data set and kind of error; `scene_problems` covers unknown simulators."""
        lost: dict[str, list[Sample]] = {}
        for sample in samples:
            if has_simulator(sample.scene) and (error := self.state(sample.scene).error) is not None:
                lost.setdefault(f"scenes of {_family(sample.scene)} ({type(error).__name__})", []).append(sample)
        return [Problem(kind, len(group), f"{len({s.scene for s in group})} scenes, the first: "
                                          f"{self.state(group[0].scene).error}") for kind, group in lost.items()]

    def summary(self, samples: Sequence[Sample]) -> str:
        """Return one line with the counts, "" if no scene has files."""
        scenes = list(dict.fromkeys(s.scene for s in samples if is_scan(s.scene)))
        lost = [scene for scene in scenes if self.state(scene).error is not None]
        lack: dict[str, int] = {}
        for scene in scenes:
            for name in self.state(scene).without:
                lack[name] = lack.get(name, 0) + 1
        less = "".join(f", {count} of them without {name}" for name, count in lack.items())
        ready = sum(self.state(s.scene).error is None for s in samples)
        if not scenes:
            return ""
        return (f"{len(samples)} questions, {ready} can be asked; {len(scenes)} scenes, {len(scenes) - len(lost)} "
                f"there{less}, {len(lost)} missing")

    def rows(self, samples: Sequence[Sample]) -> list[dict[str, object]]:
        """Return, for each question, its scene, whether it can be asked, the reason if not, and the existing files."""
        return [_row(sample, self.state(sample.scene)) for sample in samples]

    def _looked(self, scene: str) -> SceneState:
        simulator = simulator_of(scene)
        if scene and not has_simulator(scene):
            return SceneState(scene, error=UnknownScene(f"no simulator opens {scene!r}, which is recorded: --task em"))
        if not is_scan(scene):
            return SceneState(scene)
        scan: SceneFiles | None = None
        try:
            scan = find_scan(scene.partition(":")[2])
            self._check(simulator, scan)
        except EqaError as error:
            return SceneState(scene, scan, error)
        there = {"a navmesh": scan.navmesh, "labels": scan.labelled}
        return SceneState(scene, scan, None, tuple(name for name, found in there.items() if not found))

    def _check(self, simulator: str, scan: SceneFiles) -> None:
        """Raise EqaError for a scan that this simulator cannot open, or whose answers need labels that it lacks."""
        if simulator == "mesh" and scan.glb is None:
            why = ("is put together of a stage and objects" if scan.instance else "has Basis-compressed textures only")
            raise UnknownScene(f"the scene {scan.place!r} {why}, which only Habitat opens: --simulator habitat"
                               + ("" if scan.instance else ", or obtain its plain GLB too (docs/scenes.md)"))
        file = scan.glb if simulator == "mesh" or scan.basis_glb is None else scan.basis_glb
        if file is not None and (fault := _fault(file)):
            raise UnknownScene(fault)
        if self._labels:
            check_labels(simulator, scan)


def _fault(file: Path) -> str:
    try:
        return fault_of(file)
    except OSError as error:
        return f"{file} cannot be read: {error}"


def _family(scene: str) -> str:
    name, slash, _ = scene.partition(":")[2].partition("/")
    return name if slash and name and "." not in name else "files"


def _row(sample: Sample, state: SceneState) -> dict[str, object]:
    files = {} if state.scan is None else {
        name: str(path) for name, path in state.scan._asdict().items() if isinstance(path, Path)}
    return {"id": sample.id, "scene": sample.scene, "ready": state.error is None,
            "why_not": "" if state.error is None else str(state.error), "files": files,
            "without": list(state.without)}
