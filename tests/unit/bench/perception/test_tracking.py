"""A detector's recall, precision and places are those that plain counting gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.bench.perception.tracking import DetectionCounts, TrackedKind, measure, scores_of
from eqa_nodes.core.perception.detection import Detection, DetectionConfig
from eqa_nodes.core.perception.instances import PerceptionConfig
from eqa_nodes.core.perception.tracking import Perceiver, PerceiverConfig
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.oracle import ScriptedDetector
from tests.fixtures.frames import frame

LABELS = {1: Label(1, "cup", "kitchen", {}), 2: Label(2, "sofa", "kitchen", {}), 3: Label(3, "cup", "kitchen", {})}
BOXES = {1: (5, 10, 15, 20), 2: (20, 20, 60, 40), 3: (50, 5, 58, 13)}
CONFIG = PerceiverConfig(DetectionConfig(perception=PerceptionConfig(min_share=5 / (48 * 64))))


def view(stamp: int = 1) -> Frame:
    shown = frame(stamp, boxes=BOXES, depth=3.0)
    for left, top, right, bottom in BOXES.values():
        shown.depth_m[top:bottom, left:right] = 2.0
    return shown


def of(name: str, number: int) -> Detection:
    return Detection(name, 0.9, BOXES[number], np.asarray(view().labels == number))


def rows(*script: Sequence[Detection]) -> dict[str, TrackedKind]:
    frames = [view(n) for n in range(len(script))]
    return {r.kind: r for r in scores_of(measure(frames, LABELS, Perceiver(ScriptedDetector(script), CONFIG)))}


def test_a_detector_without_fault_has_no_fault() -> None:
    found = rows(*[[of("cup", 1), of("couch", 2), of("cup", 3)]] * 2)
    assert found["all"] == TrackedKind("all", 6, 6, 1.0, 1.0, 0.0, 1.0)
    assert found["sofa"] == TrackedKind("sofa", 2, 2, 1.0, 1.0, 0.0, 1.0), "synonyms are one kind"
    assert list(found) == ["cup", "sofa", "all"]


def test_misses_inventions_and_misplaced_things_count() -> None:
    found = rows([of("cup", 1)], [of("cup", 1), of("cup", 2)], [of("dog", 2)], [])
    assert found["cup"][:5] == ("cup", 8, 3, 2 / 8, 2 / 3)
    assert found["dog"][:3] == ("dog", 0, 1) and math.isnan(found["dog"].recall) and found["dog"].precision == 0.0
    assert found["all"][:5] == ("all", 12, 4, 2 / 12, 2 / 4)
    assert math.isnan(found["sofa"].precision) and math.isnan(found["sofa"].off_m) and math.isnan(found["sofa"].stable)


def test_a_number_that_changes_is_seen() -> None:
    moved = replace(view(1), map_from_base=Pose2(0.0, 30.0, 0.0).transform())
    detector = ScriptedDetector([[of("cup", 1)]] * 3)
    tallies = measure([view(0), moved, moved], LABELS, Perceiver(detector, CONFIG))
    assert scores_of(tallies)[-1].stable == pytest.approx(2 / 3)


def test_scenes_add_up() -> None:
    tallies: dict[str, DetectionCounts] = {}
    for _ in range(2):
        measure([view()], LABELS, Perceiver(ScriptedDetector([[of("cup", 1)]]), CONFIG), tallies)
    assert scores_of(tallies)[-1][:3] == ("all", 6, 2)
