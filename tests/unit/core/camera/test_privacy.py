"""Masks: of images in any encoding, the same for memory and recorder, and none is passed over for want of labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.cli import main
from eqa_nodes.config.graph import merged
from eqa_nodes.core.camera.privacy import PrivacyConfig, hidden_shares, masked
from eqa_nodes.core.errors import BadFrame
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.types.views import UNSEEN, Label
from eqa_nodes.wire import messages
from tests.fixtures.frames import LABELS, frame

KINDS = PrivacyConfig(kinds=("kettle",))
SIZES = {"rgb8": 3, "bgr8": 3, "rgba8": 4, "mono8": 1, "8UC3": 3, "16UC1": 2, "mono16": 2, "32FC1": 4}


def _image(encoding: str, padding: int, bigendian: bool) -> Any:
    """Return an image of 6x4 pixels without a zero byte, its padding included."""
    step = 6 * SIZES[encoding] + padding
    data = np.random.default_rng(0).integers(1, 256, 4 * step).astype(np.uint8)
    return SimpleNamespace(encoding=encoding, width=6, height=4, step=step, is_bigendian=bigendian, data=data)


@given(st.sampled_from(sorted(SIZES)), st.integers(0, 3), st.booleans(), st.integers(0, 2**24 - 1))
def test_hidden_pixels_and_padding_are_zero_and_the_others_stay(encoding: str, padding: int, bigendian: bool,
                                                                bits: int) -> None:
    hidden = np.array([bits >> i & 1 for i in range(24)], bool).reshape(4, 6)
    image = _image(encoding, padding, bigendian)
    data = messages.blacked_out(image, hidden)
    rows, before = data.reshape(4, image.step), image.data.reshape(4, image.step)
    assert not rows[:, 6 * SIZES[encoding]:].any()
    pixels, was = (a[:, :6 * SIZES[encoding]].reshape(4, 6, -1) for a in (rows, before))
    assert not pixels[hidden].any() and np.array_equal(pixels[~hidden], was[~hidden])
    image.data = data
    assert not messages.pixels_of(image)[hidden].any()


@pytest.mark.parametrize(("change", "complaint"), [
    ({"encoding": "bayer_rggb8"}, "bayer_rggb8"), ({"width": 9}, "bytes"), ({}, "6x4 image .* mask of 9x9 pixels")])
def test_an_image_that_is_not_understood_is_not_masked_but_refused(change: dict[str, Any], complaint: str) -> None:
    image = _image("rgb8", 0, False)
    vars(image).update(change)
    with pytest.raises(BadFrame, match=complaint):
        messages.blacked_out(image, np.ones((4, 6) if change else (9, 9), bool))


@given(st.floats(0, 0.99), st.floats(0, 0.99), st.integers(1, 200), st.integers(1, 200))
def test_a_rectangle_of_the_image_hides_every_pixel_that_it_touches(left: float, top: float, width: int,
                                                                    height: int) -> None:
    hidden = hidden_shares(height, width, (left, top, 1.0, 1.0))
    assert hidden.shape == (height, width) and hidden[-1, -1]
    v, u = np.nonzero(~hidden)
    assert ((u + 1 <= left * width) | (v + 1 <= top * height)).all()


def test_kinds_are_not_passed_over_where_nothing_is_labelled(tmp_path: Path) -> None:
    bare = replace(frame(10**9, boxes={1: (10, 10, 40, 40)}), labels=None)
    with pytest.raises(BadFrame, match="privacy.kinds.*no labels.*labels: true"):
        masked(bare, {}, KINDS)
    store = MemoryStore(tmp_path / "memory.db", MemoryConfig(privacy=KINDS))
    with pytest.raises(BadFrame):
        store.take(bare, LABELS)
    assert (len(store), store.refused) == (0, 1)
    store.close()


HALF = """
/**/memory:
  ros__parameters:
    memory.privacy.image: [0.0, 0.9, 1.0, 1.0]
"""


def test_memory_and_recorder_hide_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(HALF)
    built = merged(file).settings
    assert built.memory.memory.privacy == built.recorder.memory.privacy == PrivacyConfig(image=(0, 0.9, 1, 1))
    file.write_text(HALF + "/**/recorder:\n  ros__parameters:\n    memory.privacy.image: [0, 0.8, 1, 1]\n")
    assert main(["graph", "--check", str(file)]) == 2
    assert "two values for memory.privacy.image" in capsys.readouterr().err


def test_an_image_for_which_the_detector_failed_is_not_masked_but_refused() -> None:
    shown = frame(1)
    failed = replace(shown, labels=np.full(shown.depth_m.shape, UNSEEN, np.uint16))
    with pytest.raises(BadFrame, match="the detector failed for this image"):
        masked(failed, {}, KINDS)
    assert masked(failed, {UNSEEN: Label(UNSEEN, "cup", "", {})}, KINDS)[0].rgb.any(), "a simulator may use the number"
    assert masked(failed, {}, PrivacyConfig(image=(0.0, 0.0, 0.5, 0.5)))[0].rgb.any()
