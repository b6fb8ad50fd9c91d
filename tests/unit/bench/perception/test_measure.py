"""Detectors get the same views, without the labels unless they are privileged, and their errors are counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.bench.perception.figures import DetectorFigures
from eqa_nodes.bench.perception.measure import MeasureConfig, measure_detectors
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.instances import NoiseConfig
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.oracle import LabelDetector, ScriptedDetector
from tests.fixtures.labelled_views import CUP, LABELS, SMALL_CUP, SOFA, of, view, within

VIEWS = [view(f"rooms:{n % 2}", n) for n in range(4)]


def figures(*script: Sequence[Detection], config: MeasureConfig | None = None) -> DetectorFigures:
    return measure_detectors(VIEWS[:len(script)], {"eyes": ScriptedDetector(script)}, config)[0].figures


def test_the_labels_have_no_fault() -> None:
    found = measure_detectors(VIEWS, {"labels": LabelDetector(), "boxes": LabelDetector(masks=False)})
    for one, miou in zip(found, (1.0, None), strict=True):
        assert one.figures.all.recall[::4] == (1.0, 12) and one.figures.all.precision[::4] == (1.0, 12)
        assert (one.figures.miou, one.figures.privileged, one.figures.scenes) == (miou, True, 2)
        assert one.figures.wanted.recall.of == 8, "the small cup is no wider than 20 px"


def test_labels_with_noise_miss_the_share_that_is_asked_for() -> None:
    views = [view(f"rooms:{n}", n) for n in range(12)]
    turned = [v._replace(frame=replace(v.frame, map_from_base=Pose2(0.0, 0.0, n * math.radians(30)).transform()))
              for n, v in enumerate(views)]
    detectors = {str(seed): LabelDetector(noise=NoiseConfig(miss=0.3, range_m=4.0, seed=seed)) for seed in range(12)}
    recalls = [m.figures.all.recall.value for m in measure_detectors(turned, detectors)]
    mean = float(np.mean([recall for recall in recalls if recall is not None]))
    assert mean == pytest.approx(0.7, abs=0.06), "2 m is half the range"


def test_labels_with_wrong_names_are_confused() -> None:
    detector = LabelDetector(noise=NoiseConfig(confuse=0.5, range_m=2.0))
    labels = {i: label._replace(room="kitchen", attributes={}) for i, label in LABELS.items()}
    found = measure_detectors([view(labels=labels, depth_m=1.9)], {"labels": detector})[0].figures
    assert found.confusions and found.false == 0 and found.all.recall.right < found.all.recall.of == 3


def test_walls_belong_to_no_figure() -> None:
    shown = view(labels={**LABELS, SOFA: LABELS[SOFA]._replace(kind="wall")})
    found = measure_detectors([shown], {"eyes": ScriptedDetector([[of("cup", CUP), of("cup", SMALL_CUP)]])})[0].figures
    assert (found.miou, found.all.recall[3:], found.all.precision[3:]) == (1.0, (2, 2), (2, 2))


def test_a_detector_sees_no_labels() -> None:
    seen: list[tuple[Frame, Mapping[int, Label]]] = []

    class Eyes:
        privileged = False

        def detect(self, frame: Frame, labels: Mapping[int, Label]) -> list[Detection]:
            seen.append((frame, labels))
            return []

    measure_detectors(VIEWS[:1], {"eyes": Eyes()})
    assert seen[0][0].labels is None and seen[0][1] == {}


def test_a_view_with_an_error_has_no_detections_and_is_counted() -> None:
    found = figures([of("cup", CUP), of("sofa", SOFA), of("cup", SMALL_CUP)], [of("cup", CUP)])
    assert found.all.recall[3:] == (4, 6) and not found.errors
    found = measure_detectors(VIEWS, {"eyes": ScriptedDetector([[of("cup", CUP)]])})[0].figures
    assert found.all.recall[3:] == (1, 12) and found.views == 4
    assert list(found.errors.values()) == [1, 1, 1] and all("script" in message for message in found.errors)


def test_unusable_detections_are_counted_and_unsure_ones_left_out() -> None:
    bad = of("cup", CUP)._replace(score=np.nan)
    unsure = within("sofa", (20, 20, 60, 40), 0.1)
    found = figures([bad, unsure, of("cup", CUP)])
    assert (found.unusable, found.all.precision[3:]) == (1, (1, 1))
    assert figures([unsure], config=MeasureConfig(least_score=0.05)).all.recall[3:] == (1, 3)


@pytest.mark.parametrize(("iou", "right"), [(0.45, 1), (0.55, 0)])
def test_the_overlap_is_an_option(iou: float, right: int) -> None:
    assert figures([within("sofa", (20, 20, 40, 40))], config=MeasureConfig(iou)).all.recall.right == right


def test_an_overlap_or_score_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="least_iou is 0"):
        MeasureConfig(0.0)
    with pytest.raises(ConfigError, match="least_score is 2"):
        MeasureConfig(least_score=2.0)
