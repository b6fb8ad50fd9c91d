"""`eqa bench perception`: a detector against the simulator's labels, along tours of scenes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from rich.console import Console
from rich.progress import track
from rich.table import Table

from eqa_nodes.bench.perception import DetectionCounts, KindScore, measure, scores_of
from eqa_nodes.cli.chain import image_size
from eqa_nodes.cli.detector import detector_of
from eqa_nodes.config.graph import merged, settings
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.storage.codec import write_json
from eqa_nodes.perception import open_perceiver
from eqa_nodes.recordings.tours import RECIPES, TourHistory, plan_tour


def run(arguments: argparse.Namespace) -> int:
    """Measure and print a table; --json keeps the rows."""
    console = Console()
    histories = [_tour(scene, arguments.image) for scene in arguments.scenes]
    perceiver = _perceiver(arguments, histories)
    tallies: dict[str, DetectionCounts] = {}
    begin, seen = time.monotonic(), 0
    for history in histories:
        frames = list(track(islice(history, arguments.frames), f"rendering {history.name}", arguments.frames,
                            console=console, transient=True))
        seen += len(frames)
        measure(track(frames, f"looking at {history.name}", console=console, transient=True), history.labels, perceiver,
                tallies)
    rows = scores_of(tallies)
    console.print(_table([*rows[:-1][:arguments.kinds], rows[-1]]))
    console.print(f"{seen} frames, {(time.monotonic() - begin) / seen:.2f} s a frame, rendering included", style="dim",
                  highlight=False)
    if arguments.json:
        write_json(arguments.json, [row._asdict() for row in rows])
    return 0


def _perceiver(arguments: argparse.Namespace, histories: Sequence[TourHistory]) -> Perceiver:
    """Return the perception step; its vocabulary is what the scenes hold: measured is seeing, not naming."""
    arguments.detector = arguments.detector or "transformers"
    own = settings("perception", merged(arguments.params, {"perception": detector_of(arguments)}))
    kinds = sorted({label.kind for history in histories for label in history.labels.values()})
    if not kinds:
        raise ConfigError(f"{', '.join(arguments.scenes)}: no labels to measure against; take built-in houses")
    detection = replace(own.perceiver.detection, vocabulary=tuple(kinds))
    return open_perceiver(own.detector, replace(own.perceiver, detection=detection))


def _tour(scene: str, image: str) -> TourHistory:
    tour, (width, height) = plan_tour(scene, RECIPES["openeqa"]), image_size(image)
    camera = replace(tour.robot.camera, width=width, height=height)
    return TourHistory(replace(tour, robot=replace(tour.robot, camera=camera)))


def _table(rows: list[KindScore]) -> Table:
    table = Table(*KindScore._fields, title="a detector against the simulator's labels")
    for row in rows:
        table.add_row(row.kind, str(row.labelled), str(row.detected), *(f"{v:.2f}" for v in row[3:]))
    return table
