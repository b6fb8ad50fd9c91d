"""Checks the scene files of each question before the first episode: what prevents it, and what is optional.

Only scans lie in files; scenes that are generated are always there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import EqaError, UnknownScene
from eqa_nodes.core.types.samples import Sample
from sim_bridge.registry import has_simulator, is_scan, simulator_of
from sim_bridge.scans import SceneFiles, check_labels, fault_of, find_scan


class Problem(NamedTuple):
    """One kind of problem. questions: how many it stops; first: one of them with its message; remedy: what to do."""

    kind: str
    questions: int
    first: str
    remedy: str = ""

    @property
    def line(self) -> str:
        """Return one line."""
        return f"{self.kind}: {self.questions} questions; {self.first}" + (f". {self.remedy}" if self.remedy else "")


class SceneState(NamedTuple):
    """One scene. error: why it cannot be used, None = it can; without: optional files that are missing.

    scan: None where nothing was found, or nothing has to lie in files.
    """

    scene: str
    scan: SceneFiles | None = None
    error: EqaError | None = None
    without: tuple[str, ...] = ()


class ScenePreflight:
    """Looks for the files of scenes, once each. labels: whether answers are made from the simulator's labels."""

    def __init__(self, labels: bool = False) -> None:
        self._labels = labels
        self._known: dict[str, SceneState] = {}

    def __call__(self, sample: Sample) -> None:
        """Raise EqaError when a question cannot be asked in its scene."""
        if (error := self.state(sample.scene).error) is not None:
            raise error

    def state(self, scene: str) -> SceneState:
        """Return which files of a scene exist."""
        if scene not in self._known:
            self._known[scene] = self._looked(scene)
        return self._known[scene]

    def problems(self, samples: Sequence[Sample]) -> list[Problem]:
        """Return the missing files, by data set of scans and kind of error; `scene_problems` tells the rest."""
        lost: dict[str, list[Sample]] = {}
        for sample in samples:
            if has_simulator(sample.scene) and (error := self.state(sample.scene).error) is not None:
                lost.setdefault(f"scenes of {_family(sample.scene)} ({type(error).__name__})", []).append(sample)
        return [Problem(kind, len(group), f"{len({s.scene for s in group})} scenes, the first: "
                                          f"{self.state(group[0].scene).error}") for kind, group in lost.items()]

    def summary(self, samples: Sequence[Sample]) -> str:
        """Return one line with the counts, "" where no scene has files."""
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
        """Return, for each question, its scene, whether it can be asked, why not, and the files that are there."""
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
