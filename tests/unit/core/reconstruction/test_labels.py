"""Labels of vertices: what most pixels showed there, 0 away from everything seen, None where nothing labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.reconstruction.volume import LabelVotes
from eqa_nodes.core.types.geometry import Transform
from eqa_nodes.core.types.views import Frame, Intrinsics

K = Intrinsics(40, 30, 30.0, 30.0, 20.0, 15.0)
LEVEL = Transform((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
AT = np.array([[-0.3, 0.0, 1.0], [0.3, 0.0, 1.0], [0.0, 0.0, 2.0]])  # left, right, behind the plane


def plane(left: int = 7, right: int = 65535) -> Frame:
    """A plane one metre in front of a camera in the origin, optical axes = map axes, with a label on each half."""
    labels = np.full((K.height, K.width), left, np.uint16)
    labels[:, K.width // 2:] = right
    shape = (K.height, K.width)
    return Frame(1, np.zeros((*shape, 3), np.uint8), np.ones(shape, np.float32), K, LEVEL, LEVEL, labels)


def voted(*frames: Frame) -> LabelVotes:
    votes = LabelVotes(0.05)
    for frame in frames:
        votes.add(frame, frame.depth_m)
    return votes


def test_points_take_the_label_of_the_surface_that_they_lie_on() -> None:
    labels = voted(plane()).of(AT)
    assert labels is not None and labels.tolist() == [7, 65535, 0] and labels.dtype == np.uint16


def test_the_majority_of_the_views_decides_also_for_nothing() -> None:
    labels = voted(plane(), plane(8, 0), plane(8, 0)).of(AT)
    assert labels is not None and labels.tolist() == [8, 0, 0]


def test_pixels_without_depth_do_not_vote() -> None:
    votes = LabelVotes(0.05)
    votes.add(plane(), np.zeros((K.height, K.width), np.float32))
    labels = votes.of(AT)
    assert labels is not None and not labels.any()


def test_frames_without_labels_give_none() -> None:
    assert voted(replace(plane(), labels=None)).of(AT) is None


def test_merging_in_steps_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [plane(left, left + 1) for left in (3, 4, 3, 5, 3)]
    at_once = voted(*frames).of(AT)
    monkeypatch.setattr("eqa_nodes.core.reconstruction.volume._PENDING", 0)
    in_steps = voted(*frames).of(AT)
    assert at_once is not None and in_steps is not None and at_once.tolist() == in_steps.tolist() == [3, 4, 0]


def test_what_is_too_far_from_the_origin_is_left_out() -> None:
    far = replace(plane(), map_from_base=Transform((5000.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    labels = voted(far, plane()).of(AT)
    assert labels is not None and labels.tolist() == [7, 65535, 0]
