"""Live cameras on their side, in other units, binned, cut out or half as fine give the frames of a usual camera."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from eqa_nodes.core.camera.config import CameraConfig
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.views import Frame, clean_depth
from eqa_nodes.wire import messages
from eqa_nodes.wire.frame_assembler import FrameAssembler
from eqa_nodes.wire.transforms import TfBuffer
from tests.fixtures.foreign_bags import BEGIN, OPTICAL, StandardCdr
from tests.fixtures.odd_cameras import ODD_CAMERAS, OddCamera, assert_is_the_view, view


def shown(camera: OddCamera, cdr: StandardCdr, *parts: str) -> tuple[list[Frame], list[str]]:
    """Return what nodes that want these parts make of a moment, and why they refuse it."""
    tf, frames, refused = TfBuffer(), list[Frame](), list[str]()
    assembler = FrameAssembler(parts, tf, lambda frame, labels: frames.append(frame),
                               camera=CameraConfig(depth_unit_m=camera.unit_m, upright=True))
    assembler.rejected = lambda stamp_ns, reason: refused.append(reason)
    tf.put("base_link", OPTICAL, BEGIN, messages.transform_of(cdr.tf("base_link", OPTICAL, BEGIN, camera.mount)), True)
    tf.put("map", "base_link", BEGIN, Pose2(-3.0, 7.0, 0.4).transform())
    for part, message in camera.messages(cdr, BEGIN).items():
        if part in parts:
            assembler.put(part, message)
    return frames, refused


@pytest.mark.parametrize("made", ODD_CAMERAS.values(), ids=ODD_CAMERAS)
def test_frames_are_those_of_a_usual_camera(made: Callable[[np.ndarray, np.ndarray], OddCamera],
                                            standard_cdr: StandardCdr) -> None:
    camera = made(*view())
    (frame,), refused = shown(camera, standard_cdr, "color", "depth", "camera_info")
    assert not refused
    assert_is_the_view(replace(frame, depth_m=clean_depth(frame.depth_m)[0]))  # as each use of depth takes it


@pytest.mark.parametrize("made", ODD_CAMERAS.values(), ids=ODD_CAMERAS)
def test_a_map_needs_no_colour_for_the_same(made: Callable[[np.ndarray, np.ndarray], OddCamera],
                                            standard_cdr: StandardCdr) -> None:
    (frame,), _ = shown(made(*view()), standard_cdr, "depth", "camera_info")
    k, depth_m = frame.intrinsics, frame.depth_m
    step = round(k.width / view()[1].shape[1])
    assert depth_m.shape == (k.height, k.width) and k.fx / step == 32.0 and (k.cx, k.cy) == (k.width / 2, k.height / 2)
    seen = np.where(depth_m > 0, depth_m, 0)[::step, ::step]
    assert np.allclose(np.where(np.isfinite(seen), seen, 0), view()[1], atol=1e-4)


def test_depth_of_another_view_is_refused_with_a_remedy(standard_cdr: StandardCdr) -> None:
    cut = OddCamera(view()[0], np.ones((40, 64), np.uint16))
    for parts in (("color", "depth", "camera_info"), ("depth", "camera_info")):
        frames, (reason,) = shown(cut, standard_cdr, *parts)
        assert not frames and reason.startswith("depth is 64x40, the camera_info of colour 64x48: ")
        assert reason.endswith("publish depth that is registered to the whole colour image")
