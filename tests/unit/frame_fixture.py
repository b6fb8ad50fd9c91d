"""Small frames with known content, for tests."""

from __future__ import annotations

import numpy as np

from eqa_nodes.core.types.geometry import Pose2, camera_mount
from eqa_nodes.core.types.views import Frame, Intrinsics, Label

W, H, F = 64, 48, 32.0
INTRINSICS = Intrinsics(W, H, F, F, W / 2, H / 2)
HERE = Pose2(0.0, 0.0, 0.0)
MOUNT = camera_mount(1.2)


def frame(stamp_ns: int, pose: Pose2 = HERE, boxes: dict[int, tuple[int, int, int, int]] | None = None,
          depth: float = 2.0, shade: int = 100) -> Frame:
    """Return a frame of a wall `depth` metres ahead; boxes: instance id -> left, top, right, bottom in pixels."""
    rgb = np.empty((H, W, 3), np.uint8)
    rgb[:] = (np.arange(W)[None, :, None] * 2 + shade).clip(0, 255).astype(np.uint8)
    labels = None
    if boxes is not None:
        labels = np.zeros((H, W), np.uint16)
        for i, (left, top, right, bottom) in boxes.items():
            labels[top:bottom, left:right] = i
            rgb[top:bottom, left:right] = (i * 37 % 256, i * 91 % 256, i * 53 % 256)
    return Frame(stamp_ns, rgb, np.full((H, W), depth, np.float32), INTRINSICS, pose.transform(), MOUNT, labels)


LABELS = {
    1: Label(1, "kettle", "kitchen", {"colour": "red", "state": "on", "support": "counter", "relation": "on"}),
    2: Label(2, "counter", "kitchen", {"colour": "white", "material": "stone", "relation": "floor"}),
    3: Label(3, "table lamp", "study", {"state": "off", "support": "desk", "relation": "on"}),
    4: Label(4, "desk", "study", {"material": "wood", "relation": "floor"}),
    5: Label(5, "table lamp", "bedroom", {"state": "on", "support": "nightstand", "relation": "on"}),
    6: Label(6, "sofa", "living room", {"colour": "green", "relation": "floor"}),
    7: Label(7, "painting", "living room", {"relation": "wall"}),
}
