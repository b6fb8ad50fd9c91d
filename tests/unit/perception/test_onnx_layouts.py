"""Outputs of any shape are recognised or not, and what is recognised can be read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqa_nodes.perception.onnx_layouts import KindMap, ModelFacts, recognise

NAMES = ("output0", "output1", "labels", "boxes", "scores", "logits", "pred_boxes", "dets")
SIDES = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 8, 32, 84, 252, 300])
OUTPUTS = st.dictionaries(st.sampled_from(NAMES), st.tuples(
    st.lists(SIDES, max_size=3).map(lambda sides: (1, *sides)) | st.lists(SIDES, max_size=3).map(tuple),
    st.sampled_from([np.float32, np.int64])), max_size=3)


@given(OUTPUTS, st.integers(1, 4), st.booleans())
@settings(deadline=None)
def test_what_is_recognised_can_be_read(shapes: dict[str, tuple[tuple[int, ...], type]], classes: int,
                                        detr: bool) -> None:
    outputs = {name: np.zeros(shape, kind) for name, (shape, kind) in shapes.items()
               if np.prod(shape, dtype=float) < 1e6}
    facts = ModelFacts(64, 64, classes, detr)
    layout = recognise(outputs, facts)
    if layout is None:
        return
    read = layout.read(outputs, facts)
    if isinstance(read, KindMap):
        assert read.kinds.shape == read.confidence.shape and read.kinds.ndim == 2
        return
    n = len(read.boxes)
    assert read.boxes.shape == (n, 4) and read.scores.shape == read.classes.shape == (n,)
    if read.prototypes is not None:
        assert read.coefficients is not None and read.coefficients.shape == (n, len(read.prototypes))


@pytest.mark.parametrize(("shapes", "classes", "detr", "name"), [  # as exporters of 640 x 640 write them
    ({"output0": (1, 84, 8400)}, 80, False, "YOLO from version 8"),
    ({"output0": (1, 116, 8400), "output1": (1, 32, 160, 160)}, 80, False, "YOLO from version 8"),
    ({"output0": (1, 8400, 84)}, 80, False, "YOLO from version 8, turned"),
    ({"output0": (1, 25200, 85)}, 80, False, "YOLO up to version 7"),
    ({"output0": (1, 25200, 6)}, 1, False, "YOLO up to version 7"),
    ({"output0": (1, 25200, 117), "output1": (1, 32, 160, 160)}, 80, False, "YOLO up to version 7"),
    ({"output0": (1, 300, 6)}, 80, False, "YOLO with non-maximum"), ({"output0": (1, 300, 6)}, 1, False, "YOLO with"),
    ({"output0": (1, 300, 6)}, 2, False, "YOLO with"),
    ({"output0": (1, 300, 38), "output1": (1, 32, 160, 160)}, 80, False, "YOLO with non-maximum"),
    ({"output0": (1, 300, 84)}, 80, True, "Ultralytics' RT-DETR"), ({"output0": (1, 300, 6)}, 80, True, "Ultralytics'"),
    ({"logits": (1, 300, 80), "pred_boxes": (1, 300, 4)}, 80, False, "DETR"),
    ({"logits": (1, 100, 92), "pred_boxes": (1, 100, 4)}, 91, False, "DETR"),
    ({"dets": (1, 300, 4), "labels": (1, 300, 91)}, 91, False, "DETR"),
    ({"labels": (1, 300), "boxes": (1, 300, 4), "scores": (1, 300)}, 80, False, "RT-DETR"),
    ({"boxes": (17, 4), "labels": (17,), "scores": (17,)}, 91, False, "RT-DETR"),
    ({"logits": (1, 150, 160, 160)}, 150, False, "a segmentation map: (1, classes"),
    ({"output0": (1, 84, 8400)}, 79, False, ""), ({"output0": (1, 1000)}, 1000, False, ""), ({}, 3, False, "")])
def test_shapes_of_known_exporters(shapes: dict[str, tuple[int, ...]], classes: int, detr: bool, name: str) -> None:
    outputs = {key: np.zeros(shape, np.int64 if key == "labels" and len(shape) < 3 else np.float32)
               for key, shape in shapes.items()}
    layout = recognise(outputs, ModelFacts(640, 640, classes, detr))
    assert layout.name.startswith(name) if layout is not None and name else layout is None and not name
