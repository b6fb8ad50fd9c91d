"""Reading text with the package that brings its weights, and what is said where that is absent."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.core.memory.texts import READING, Texts
from eqa_nodes.core.perception.detection import Detector, DetectorConfig
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.pillow import writing_font
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.perception import open_detector, open_texts
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup
from tests.fixtures.frames import frame

OCR = DetectorConfig(name="ocr")


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"pip install 'eqa-nodes\[ocr\]'"):
        open_texts("ocr")
    assert open_texts("") is None
    with pytest.raises(ConfigError, match="choose ocr"):
        open_texts("labels")


@pytest.fixture
def reader() -> Detector:
    pytest.importorskip("rapidocr", reason="RapidOCR is not installed: pip install 'eqa-nodes[ocr]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'eqa-nodes[ocr]'")
    return open_detector(OCR, ())


def test_short_lines_of_a_sign_are_read_and_joined(reader: Detector) -> None:
    """In a picture of a house, from where a person would read it: "NO" above "SMOKING"."""
    sign = next(s for s in open_dataset("house-text", limit=4) if s.answer == "NO SMOKING")
    x, y, yaw = (float(value) for value in sign.metadata["view"])  # type: ignore[attr-defined]
    with closing(HouseSimulator()) as house:
        shown = house.reset(EpisodeSetup(sign.scene, sign.id, Pose2(x, y, yaw))).frame
    read = Texts(Perceiver(reader, READING)).read(replace(shown, labels=None), ())
    assert "NO SMOKING" in [s.label.attributes["text"] for s in read]


def test_it_reads_what_is_written_and_where(reader: Detector) -> None:
    empty = frame(1)
    height, width = empty.depth_m.shape
    picture = Image.fromarray(np.full((height, width, 3), 200, np.uint8)).resize((640, 480))
    ImageDraw.Draw(picture).text((200, 100), "QUIET 12:45", (20, 20, 20), writing_font(28))
    shown = replace(empty, rgb=np.asarray(picture), depth_m=np.full((480, 640), 2.0, np.float32))
    (found,) = reader.detect(shown, {})
    assert (found.name, found.text) == ("text", "QUIET 12:45")
    left, top, right, bottom = found.box
    assert abs(left - 200) < 12 and abs(top - 104) < 16 and 100 < right - left < 220 and bottom - top < 50
    assert found.mask is not None and found.mask.sum() == (right - left) * (bottom - top)
