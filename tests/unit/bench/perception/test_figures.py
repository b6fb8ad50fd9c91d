"""The figures of a detector are those that plain counting gives."""

from __future__ import annotations

import numpy as np
import pytest

from eqa_nodes.bench.metrics.intervals import wilson
from eqa_nodes.bench.perception.figures import (
    AttributeScore,
    Confusion,
    DetectorTally,
    KindPixels,
    Rate,
    ScoreBin,
    rate,
    score_bins,
)
from eqa_nodes.bench.perception.matching import FoundObject, MatchedView, TruthObject
from eqa_nodes.core.perception.detection import Detection
from tests.fixtures.labelled_views import CUP, SOFA, of, view, within

BOX = (0, 0, 4, 4)


def seen(kind: str, found_as: str = "", width: float = 30.0, metres: float = 1.0, **said: str) -> TruthObject:
    return TruthObject(kind, BOX, width, metres, True, {"colour": "red", "room": "second bedroom"}, found_as, said)


def found(kind: str, true_kind: str = "", score: float = 0.9, width: float = 30.0, metres: float = 1.0) -> FoundObject:
    return FoundObject(kind, score, BOX, width, metres, True, true_kind)


def tally(*views: tuple[list[TruthObject], list[FoundObject]]) -> DetectorTally:
    result = DetectorTally("eyes", False)
    for n, (truth, detections) in enumerate(views):
        result.add(f"rooms:{n}", MatchedView(tuple(truth), tuple(detections)), 0.01 * (n + 1))
    return result


def test_recall_and_precision_are_counted_in_each_group() -> None:
    truth = [seen("cup", "cup"), seen("cup"), seen("sofa", "dog", 100.0, 3.0), seen("cup", "cup", 5.0, 5.0)]
    figures = tally((truth, [found("cup", "cup"), found("dog", "sofa", 0.5, 100.0, 3.0), found("cup", "cup", 0.4, 5.0,
                                                                                               5.0)])).figures()
    assert figures.all.recall == Rate(0.5, None, None, 2, 4) and figures.all.precision[3:] == (2, 3)
    assert figures.wanted.recall == Rate(1 / 3, None, None, 1, 3) and figures.wanted.precision[3:] == (1, 2)
    assert [g.recall[3:] for g in figures.sizes] == [(1, 1), (0, 0), (1, 2), (0, 1)]
    assert [g.precision[3:] for g in figures.distances] == [(1, 1), (0, 1), (1, 1)]
    assert [(k.kind, k.all.recall[3:], k.all.precision[3:]) for k in figures.kinds] == [
        ("cup", (2, 3), (2, 2)), ("sofa", (0, 1), (0, 0)), ("dog", (0, 0), (0, 1))]
    assert figures.confusions == (Confusion("sofa", "dog", 1),)
    assert (figures.views, figures.scenes, figures.median_ms) == (1, 1, pytest.approx(10.0))


def test_what_does_not_count_is_left_out() -> None:
    figures = tally(([seen("cup")._replace(counted=False)], [found("cup", "cup")._replace(counted=False)])).figures()
    assert figures.all.recall == Rate(None, None, None, 0, 0) and figures.kinds == () and figures.ece is None


def test_attributes_are_those_of_objects_with_the_right_kind() -> None:
    views = [seen("cup", "cup", colour="red", room="bedroom"), seen("cup", "cup", colour="blue", room="room"),
             seen("cup", "cup", state="on"), seen("cup", "dog", colour="red"), seen("cup")]
    scores = {a.name: a for a in tally((views, [])).figures().attributes}
    assert scores["colour"] == AttributeScore("colour", Rate(0.5, None, None, 1, 2), 1 - 2 / 3)
    assert scores["room"].accuracy[3:] == (1, 2), "a bedroom is right for the second bedroom, a room is not"
    assert scores["state"] == AttributeScore("state", Rate(None, None, None, 0, 0), None), "no truth, no error"


def test_intervals_are_over_scenes() -> None:
    parts = {f"rooms:{n}": (right, 10) for n, right in enumerate((10, 10, 0, 0))}
    value, low, high, *counts = rate(parts)
    assert (value, counts) == (0.5, [20, 40])
    assert low is not None and high is not None and low < 0.1 and high > 0.9, "40 objects of 4 scenes are 4 cases"
    assert rate({"a": (3, 3), "b": (2, 2)})[:3] == (1.0, *wilson(1.0, 2))
    assert rate({"a": (1, 2), "b": (0, 0)}) == Rate(0.5, None, None, 1, 2), "a scene without objects says nothing"
    assert rate(parts) == rate(parts), "the same figures give the same interval"


def test_scores_are_compared_with_the_share_of_right_detections() -> None:
    detections = [found("cup", "cup", 1.0), found("cup", "cup", 0.92), found("cup", "", 0.96), found("cup", "", 0.15)]
    low, high = score_bins(detections)
    assert low == ScoreBin(0.1, 0.2, 1, 0.15, 0.0) and high[:3] == (0.9, 1.0, 3)
    assert high[3:] == pytest.approx((0.96, 2 / 3))
    assert tally(([], detections)).figures().ece == pytest.approx((0.15 + 3 * (0.96 - 2 / 3)) / 4)


def pixels(*detections: Detection, depth_m: float = 2.0) -> KindPixels:
    shown, counts = view(depth_m=depth_m), KindPixels()
    assert shown.frame.labels is not None
    kinds = {i: label.kind for i, label in shown.labels.items()}
    counts.add(shown.frame.labels, kinds, shown.frame.depth_m, detections)
    return counts


def test_pixels_are_compared_by_kind() -> None:
    assert pixels(of("cup", CUP), within("couch", (20, 20, 40, 40))).ious() == {"cup": 100 / 132, "sofa": 0.5}
    assert pixels(of("sofa", SOFA), within("cup", (20, 20, 30, 40))).ious() == {
        "cup": 0.0, "sofa": 0.75}, "the smaller mask covers the larger one"
    assert pixels(of("sofa", SOFA)._replace(mask=None)).ious() == {}


def test_pixels_without_depth_in_range_are_left_out() -> None:
    assert pixels(of("sofa", SOFA), depth_m=5.0).ious() == {}
    shown = view()
    shown.frame.depth_m[:, :40] = 0.0
    counts = KindPixels()
    assert shown.frame.labels is not None
    counts.add(shown.frame.labels, {SOFA: "sofa"}, shown.frame.depth_m, [within("sofa", (40, 20, 60, 40))])
    assert counts.ious() == {"sofa": 1.0}


def test_times_are_a_median_and_a_percentile() -> None:
    figures = tally(*[([], [])] * 5).figures()
    assert figures.median_ms == pytest.approx(30.0)
    assert figures.p95_ms == pytest.approx(float(np.percentile([10, 20, 30, 40, 50], 95)))
