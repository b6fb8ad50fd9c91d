"""Reading text with the package that brings its weights, and what is said where that is absent."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eqa_nodes.core.errors import ConfigError, MissingExtra
from eqa_nodes.core.pillow import writing_font
from eqa_nodes.perception import open_detector, open_texts
from eqa_nodes.perception.config import DetectorConfig
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


def test_it_reads_what_is_written_and_where() -> None:
    pytest.importorskip("rapidocr", reason="RapidOCR is not installed: pip install 'eqa-nodes[ocr]'")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'eqa-nodes[ocr]'")
    empty = frame(1)
    height, width = empty.depth_m.shape
    picture = Image.fromarray(np.full((height, width, 3), 200, np.uint8)).resize((640, 480))
    ImageDraw.Draw(picture).text((200, 100), "QUIET 12:45", (20, 20, 20), writing_font(28))
    shown = replace(empty, rgb=np.asarray(picture), depth_m=np.full((480, 640), 2.0, np.float32))
    (found,) = open_detector(OCR, ()).detect(shown, {})
    assert (found.name, found.text) == ("text", "QUIET 12:45")
    left, top, right, bottom = found.box
    assert abs(left - 200) < 12 and abs(top - 104) < 16 and 100 < right - left < 220 and bottom - top < 50
    assert found.mask is not None and found.mask.sum() == (right - left) * (bottom - top)
