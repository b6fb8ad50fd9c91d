"""Shows the same views to several detectors and collects what each of them does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from eqa_nodes.bench.perception.failures import FailurePictures
from eqa_nodes.bench.perception.figures import DetectorFigures, DetectorTally
from eqa_nodes.bench.perception.matching import SURROUNDING_KINDS, match
from eqa_nodes.bench.perception.views import LabelledView
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.language.english import canonical
from eqa_nodes.core.perception.detection import Detection, DetectionConfig, Detector, sound
from eqa_nodes.core.ranges import Part, Share, check_ranges


@dataclass(frozen=True)
class MeasureConfig:
    """least_iou: minimum overlap of a detection and its object; least_score: minimum score of a detection that counts.
    """

    least_iou: Part = 0.3
    least_score: Share = DetectionConfig().score

    def __post_init__(self) -> None:
        check_ranges(self, "perception")


class MeasuredDetector(NamedTuple):
    """The figures of a detector, and its failures with pictures, None if they were not kept."""

    figures: DetectorFigures
    failures: FailurePictures | None


def measure_detectors(views: Iterable[LabelledView], detectors: Mapping[str, Detector],
                      config: MeasureConfig | None = None, pictures: bool = False) -> list[MeasuredDetector]:
    """Return the figures of each detector by name, in their order. pictures: keep pictures of the worst failures.

    A view on which a detector raises ModelError counts as one without detections, and the error is counted.
    """
    config = config or MeasureConfig()
    tallies = {name: DetectorTally(name, detector.privileged) for name, detector in detectors.items()}
    failures = {name: FailurePictures() for name in detectors} if pictures else {}
    for view in views:
        for name, detector in detectors.items():
            tally = tallies[name]
            found, seconds = _detected(detector, view, config, tally)
            matched = match(view, found, config.least_iou)
            tally.add(view.scene, matched, seconds)
            assert view.frame.labels is not None
            kinds = {i: canonical(label.kind) for i, label in view.labels.items()}
            objects = {i: kind for i, kind in kinds.items() if kind not in SURROUNDING_KINDS}
            tally.pixels.add(view.frame.labels, objects, view.frame.depth_m, found)
            if pictures:
                failures[name].add(view, matched)
    return [MeasuredDetector(tally.figures(), failures.get(name)) for name, tally in tallies.items()]


def _detected(detector: Detector, view: LabelledView, config: MeasureConfig, tally: DetectorTally
              ) -> tuple[Sequence[Detection], float | None]:
    """Return the usable detections in a view and their duration, None after an error."""
    frame = view.frame if detector.privileged else replace(view.frame, labels=None)
    begin = time.perf_counter()
    try:
        found = detector.detect(frame, view.labels if detector.privileged else {})
    except ModelError as error:
        tally.errors[str(error)] += 1
        return (), None
    seconds = time.perf_counter() - begin
    usable = sound(found, frame.depth_m.shape)
    tally.unusable += len(found) - len(usable)
    return [d for d in usable if d.score >= config.least_score], seconds
