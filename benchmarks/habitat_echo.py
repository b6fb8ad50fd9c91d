"""What the boundary between the processes costs a frame, measured with a worker that draws nothing.

As a script it is that worker; `frame_seconds` measures it.
"""

from __future__ import annotations

import sys
import time
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np


def frame_seconds(frames: int = 50, width: int = 640, height: int = 480, labelled: bool = False) -> list[float]:
    """Return what each frame costs beyond rendering: the request, copies on both sides, the reply; seconds."""
    from eqa_nodes.core.types.robot import CameraModel
    from sim_bridge.habitat.session import CALL_S, WorkerProcess
    from sim_bridge.habitat.simulator import kept

    camera, seconds = CameraModel(width, height), []
    worker = WorkerProcess(command=(sys.executable, __file__))
    try:
        worker.call("open", CALL_S, camera={"width": width, "height": height}, labelled=labelled)
        for _ in range(frames):
            begin = time.perf_counter()
            worker.call("look", CALL_S, position=(1.0, 1.2, -2.0), rotation=(0.0, 0.5, 0.0, 0.5))
            kept(worker.views(width, height), camera, labelled)
            seconds.append(time.perf_counter() - begin)
    finally:
        worker.close()
    return seconds


def _echo() -> None:
    spec = util.spec_from_file_location("wire", Path(__file__).parents[1] / "sim_bridge" / "habitat" / "wire.py")
    assert spec is not None and spec.loader is not None
    wire = util.module_from_spec(spec)
    spec.loader.exec_module(wire)
    end, life, memory = map(int, sys.argv[1:4])
    images = wire.Images(memory)
    seen: dict[str, np.ndarray] = {}

    def answer(op: str, request: dict[str, Any]) -> dict[str, Any]:
        if op == "hello":
            return {"protocol": wire.PROTOCOL}
        if op == "open":
            size = (request["camera"]["height"], request["camera"]["width"])
            seen.update(rgb=np.ones((*size, 4), np.uint8), depth=np.ones(size, np.float32))
            if request["labelled"]:
                seen.update(labels=np.ones(size, np.uint32))
            return {}
        height, width = seen["depth"].shape
        wire.show(images.views(width, height), seen, np.zeros(2, np.uint16))
        return {}

    wire.end_with(life)
    wire.serve(wire.inherited(end), answer)


if __name__ == "__main__":
    sys.path.pop(0)  # names beside this file would hide those of other packages
    _echo()
