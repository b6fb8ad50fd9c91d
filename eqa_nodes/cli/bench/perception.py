"""`eqa bench perception`: a detector against the simulator's labels, along tours of scenes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.groups import DetectorOptions, ModelOptions, overrides
from eqa_nodes.cli.options import FILE, group, option

if TYPE_CHECKING:
    from rich.table import Table

    from eqa_nodes.bench.perception import KindScore
    from eqa_nodes.core.perception.tracking import Perceiver
    from eqa_nodes.tours.tours import TourHistory


@dataclass(frozen=True, kw_only=True)
class Perception:
    """Drives a tour of each scene, runs a detector for the kinds of objects in it, and compares the detections with the
    simulator's labels: in images, in space and over time.
    """

    scenes: tuple[str, ...] = option(("house:0",), "scenes to drive through", metavar="SCENE")
    frames: int = option(40, "frames of each tour, from its start", metavar="N")
    image: str = option("640x480", "size of the camera image in pixels", metavar="WxH")
    kinds: int = option(30, "rows of the table, the most frequent kinds", metavar="N")
    params: Path | None = option(None, "ROS parameter file with a perception node (default: none)", metavar="FILE")
    json: Path | None = option(None, "file for all rows in JSON (default: not written)", metavar="FILE", writes=FILE)
    detector: DetectorOptions = group(DetectorOptions, "the detector")

    def run(self) -> int:
        """Measure and print a table; --json keeps the rows."""
        from rich.console import Console
        from rich.progress import track

        from eqa_nodes.bench.perception import DetectionCounts, measure, scores_of
        from eqa_nodes.core.storage.codec import write_json

        console = Console()
        histories = [_tour(scene, self.image) for scene in self.scenes]
        perceiver = self._perceiver(histories)
        tallies: dict[str, DetectionCounts] = {}
        begin, seen = time.monotonic(), 0
        for history in histories:
            frames = list(track(islice(history, self.frames), f"rendering {history.name}", self.frames,
                                console=console, transient=True))
            seen += len(frames)
            measure(track(frames, f"looking at {history.name}", console=console, transient=True), history.labels,
                    perceiver, tallies)
        rows = scores_of(tallies)
        console.print(_table([*rows[:-1][:self.kinds], rows[-1]]))
        console.print(f"{seen} frames, {(time.monotonic() - begin) / seen:.2f} s a frame, rendering included",
                      style="dim", highlight=False)
        if self.json:
            write_json(self.json, [row._asdict() for row in rows])
        return 0

    def _perceiver(self, histories: Sequence[TourHistory]) -> Perceiver:
        """Return the perception step; its vocabulary is what the scenes hold: measured is seeing, not naming."""
        from eqa_nodes.config.run import RunConfig
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.perception import open_perceiver

        detector = replace(self.detector, detector=self.detector.detector or "transformers")
        own = RunConfig(params=self.params, overrides=overrides(ModelOptions(), detector)).settings.perception
        kinds = sorted({label.kind for history in histories for label in history.labels.values()})
        if not kinds:
            raise ConfigError(f"{', '.join(self.scenes)}: no labels to measure against; take built-in houses")
        detection = replace(own.perceiver.detection, vocabulary=tuple(kinds))
        return open_perceiver(own.detector, replace(own.perceiver, detection=detection))


def _tour(scene: str, image: str) -> TourHistory:
    from eqa_nodes.config.run import with_image
    from eqa_nodes.tours.tours import RECIPES, TourHistory, plan_tour

    tour = plan_tour(scene, RECIPES["openeqa"])
    return TourHistory(replace(tour, robot=with_image(tour.robot, image)))


def _table(rows: list[KindScore]) -> Table:
    from rich.table import Table

    table = Table(*type(rows[0])._fields, title="a detector against the simulator's labels")
    for row in rows:
        table.add_row(row.kind, str(row.labelled), str(row.detected), *(f"{v:.2f}" for v in row[3:]))
    return table
