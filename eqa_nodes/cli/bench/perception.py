"""`eqa bench perception`: detectors against a simulator's labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import DetectorModels, DetectorOptions, ModelOptions, overrides
from eqa_nodes.cli.options import FOLDER, flag, group, listed, option

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.bench.perception.views import LabelledView, MeasuredViews
    from eqa_nodes.config.nodes import PerceptionSettings
    from eqa_nodes.core.perception.instances import NoiseConfig
    from eqa_nodes.core.perception.tracking import Perceiver
    from eqa_nodes.tours.tours import TourHistory


@dataclass(frozen=True, kw_only=True)
class Perception:
    """Shows the same views of test houses, or of any scenes with labels, to detectors, and compares what they find with
    the simulator's labels. With --tour it drives a tour of each scene and measures positions and tracking instead,
    with --recall how often memory finds a view of what a description means.
    """

    detector: tuple[str, ...] = option(("perceiver", "labels"), "detectors to compare; perceiver=FOLDER, onnx=FILE or "
                                       "transformers=NAME has its own model, labels=moderate the errors of a noise "
                                       "preset",
                                       metavar="NAME[=MODEL]", complete=listed("DETECTORS"))
    houses: int = option(40, "number of test houses", metavar="N")
    scenes: tuple[str, ...] = option((), "scenes instead of test houses, such as house:7+2 or mesh:PLACE (default: "
                                     "none)", metavar="SCENE")
    views: int = option(20, "views of each scene; with --tour, frames of each tour", metavar="N")
    image: str = option("320x240", "size of the camera image in pixels", metavar="WxH")
    depth_noise: float = option(0.004, "standard deviation of depth as a share of the distance; 0 is exact depth",
                                metavar="SHARE")
    seed: int = option(0, "seed of the houses and the views (default: 0)", metavar="N")
    iou: float = option(0.3, "minimum overlap of a detection and its object (intersection over union)",
                        metavar="SHARE", rare=True)
    score: float | None = option(None, "minimum score of a detection that counts (default: that of the parameters, "
                                 "perceiver.detection.score)", metavar="SHARE", rare=True)
    kinds: int = option(30, "rows of the table of kinds, the most frequent ones", metavar="N")
    tour: bool = flag("drive a tour of each scene, and measure positions and how stable the numbers of objects are")
    recall: int = option(0, 'measure recall from memory by N descriptions in each scene, such as "the white ceramic '
                         'thing by the window", instead of detection (default: 0)', metavar="N")
    save: Path | None = option(None, "folder for report.md, report.json and pictures of the worst failures (default: "
                               "not written)", metavar="DIR", writes=FOLDER)
    params: Path | None = option(None, "ROS parameter file with a perception node (default: none)", metavar="FILE")
    models: DetectorModels = group(DetectorModels, "models of the detectors")

    def run(self) -> int:
        """Measure and print tables. Return 1 if a detector failed on a view."""
        from rich.console import Console

        from eqa_nodes.bench.house.questions import house_scenes
        from eqa_nodes.bench.perception.views import MeasuredViews
        from eqa_nodes.config.run import image_size
        from eqa_nodes.core.errors import ConfigError

        if self.recall < 0:
            raise ConfigError(f"--recall is {self.recall}: it must be 0 or more")
        console, (width, height) = Console(), image_size(self.image)
        views = MeasuredViews(self.views, width, height, self.depth_noise, self.seed)
        scenes = self.scenes or house_scenes(self.houses, self.seed)
        if self.recall:
            return self._recall(console, scenes, views)
        return self._tours(console, scenes) if self.tour else self._compare(console, scenes, views)

    def _compare(self, console: Console, scenes: Sequence[str], views: MeasuredViews) -> int:
        """Show the views to all detectors."""
        from eqa_nodes.bench.perception.measure import MeasureConfig, measure_detectors
        from eqa_nodes.bench.perception.tables import sections, write_report
        from eqa_nodes.bench.perception.views import kinds_of
        from eqa_nodes.perception import open_detector

        settings = {shown: self._settings(name) for shown, name in _shown_names(self.detector).items()}
        scores = {s.perceiver.detection.score for s in settings.values()}
        config = MeasureConfig(self.iou, min(scores) if self.score is None else self.score)
        with console.status("opening scenes"):
            kinds = kinds_of(scenes)
        detectors = {name: open_detector(s.detector, kinds) for name, s in settings.items()}
        measured = measure_detectors(_shown(console, scenes, views), detectors, config, self.save is not None)
        figures = [m.figures for m in measured]
        for section in sections(figures, self.kinds):
            _print(console, section.title, section.headings, section.rows, section.note)
        if self.save is not None:
            head = (f"{len(scenes)} scenes, {self.views} views of each ({self.image}, depth noise "
                    f"{self.depth_noise:g}, seed {self.seed}); overlap of at least {config.least_iou:g}, score of at "
                    f"least {config.least_score:g}.")
            files = write_report(self.save, measured, head)
            console.print(f"report and pictures: {files[1]}", soft_wrap=True, markup=False, highlight=False)
        return 1 if any(f.errors for f in figures) else 0

    def _tours(self, console: Console, scenes: Sequence[str]) -> int:
        """Drive a tour of each scene, for each detector with tracking."""
        from itertools import islice

        from rich.progress import track

        from eqa_nodes.bench.perception.tracking import DetectionCounts, TrackedKind, measure, scores_of

        histories = [_tour(scene, self.image) for scene in scenes]
        kinds = _kinds_on(histories)
        for name, named in _shown_names(self.detector).items():
            perceiver = self._perceiver(named, kinds)
            tallies: dict[str, DetectionCounts] = {}
            for history in histories:
                frames = track(islice(history, self.views), f"{name} in {history.name}", self.views, console=console,
                               transient=True)
                measure(frames, history.labels, perceiver, tallies)
            rows = scores_of(tallies)
            shown = [(r.kind, str(r.labelled), str(r.detected), *(f"{v:.2f}" for v in r[3:]))
                     for r in [*rows[:-1][:self.kinds], rows[-1]]]
            _print(console, f"{name}, along tours", TrackedKind._fields, shown)
        return 0

    def _recall(self, console: Console, scenes: Sequence[str], config: MeasuredViews) -> int:
        """Store the views in a memory for each detector, and search it by descriptions."""
        from tempfile import TemporaryDirectory

        from eqa_nodes.bench.perception.recall import RecallTally, descriptions, measure_recall
        from eqa_nodes.bench.perception.tables import recall_section
        from eqa_nodes.bench.perception.views import kinds_of

        tallies = {name: RecallTally() for name in _shown_names(self.detector)}
        with console.status("opening scenes"):
            kinds = kinds_of(scenes)
        perceivers = {name: self._perceiver(named, kinds) for name, named in _shown_names(self.detector).items()}
        for scene in scenes:
            views = list(_shown(console, (scene,), config))
            asked = descriptions(views, self.recall)
            for name, perceiver in perceivers.items():
                with console.status(f"{name} in {scene}"), TemporaryDirectory(prefix="eqa-recall-") as folder:
                    measure_recall(views, asked, perceiver, Path(folder), tallies[name])
        section = recall_section(tallies)
        _print(console, section.title, section.headings, section.rows, section.note)
        return 0

    def _perceiver(self, named: str, kinds: tuple[str, ...]) -> Perceiver:
        """Return a detector with tracking. Raises ConfigError."""
        from eqa_nodes.perception import open_perceiver

        settings = self._settings(named)
        detection = replace(settings.perceiver.detection, vocabulary=kinds)
        return open_perceiver(settings.detector, replace(settings.perceiver, detection=detection))

    def _settings(self, named: str) -> PerceptionSettings:
        """Return the settings of the perception node with a detector. Raises ConfigError for an unknown one."""
        from eqa_nodes.config.run import RunConfig
        from eqa_nodes.core.components import DETECTORS

        name, _, model = named.partition("=")
        DETECTORS.check(name)
        labels = DETECTORS.traits(name).labels
        models = {key: getattr(self.models, key) for key in self.models.__dataclass_fields__}
        if model and not labels:
            models["detector_model"] = model
        chosen = overrides(ModelOptions(), DetectorOptions(detector=name, **models))
        settings = RunConfig(params=self.params, overrides=chosen).settings.perception
        if model and labels:
            settings = replace(settings, detector=replace(settings.detector, noise=_noise(model)))
        return settings


def _shown_names(detectors: Sequence[str]) -> dict[str, str]:
    """Return {name in the tables: detector}: a model without its folder, if that differs from the other names."""
    short = {name: "=".join((name.partition("=")[0], Path(name.partition("=")[2]).name)).rstrip("=")
             for name in dict.fromkeys(detectors)}
    return {one if list(short.values()).count(one) == 1 else name: name for name, one in short.items()}


def _noise(preset: str) -> NoiseConfig:
    """Return the errors of the labels in a noise preset. Raises ConfigError."""
    from eqa_nodes.bench.running.trials import noise_of
    from eqa_nodes.core.perception.instances import NoiseConfig

    errors = {name.rpartition(".")[2]: value for name, value in noise_of(preset).items()}
    return NoiseConfig(errors.get("miss", 0.0), errors.get("confuse", 0.0), errors.get("range_m", 0.0))


def _shown(console: Console, scenes: Sequence[str], config: MeasuredViews) -> Iterator[LabelledView]:
    """Yield the views of all scenes, with a bar."""
    from rich.progress import track

    from eqa_nodes.bench.perception.views import views_of

    every = (view for scene in scenes for view in views_of(scene, config))
    yield from track(every, "looking", len(scenes) * config.views, console=console, transient=True)


def _print(console: Console, title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], note: str = ""
           ) -> None:
    from eqa_nodes.bench.report.text_tables import notes_below, terminal_table

    console.print(terminal_table(headings, rows, title=title, gap=2))
    for line in notes_below([note] if note else []):
        console.print(line)


def _kinds_on(histories: Sequence[TourHistory]) -> tuple[str, ...]:
    """Return the kinds of the labelled objects. Raises ConfigError if there are none."""
    from eqa_nodes.core.errors import ConfigError

    kinds = sorted({label.kind for history in histories for label in history.labels.values()})
    if not kinds:
        raise ConfigError(f"{', '.join(h.tour.scene for h in histories)}: no labels to measure against; take built-in "
                          "houses, or scans with semantic annotations (docs/scenes.md)")
    return tuple(kinds)


def _tour(scene: str, image: str) -> TourHistory:
    from eqa_nodes.config.run import with_image
    from eqa_nodes.tours.tours import RECIPES, TourHistory, plan_tour

    tour = plan_tour(scene, RECIPES["openeqa"])
    return TourHistory(replace(tour, robot=with_image(tour.robot, image)))
