"""A worker without habitat_sim: answers what the tape says, and refuses a request that differs from the recorded one.

Started as a script: TAPE SECTION SESSION FOLDER, then what every worker is given.
"""

from __future__ import annotations

import json
import lzma
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sim_bridge.habitat import wire


class Replayer:
    """Follows one recorded session to its end."""

    def __init__(self, tape: Path, section: str, session: int, folder: str, images: wire.Images) -> None:
        data = lzma.decompress(tape.read_bytes())
        length = int.from_bytes(data[:8], "big")
        head = json.loads(data[8:8 + length])
        sessions = head["sections"].get(section, [])
        self._left = sessions[session] if session < len(sessions) else []
        starts = np.cumsum([8 + length, *head["sizes"]])
        self._frames = [data[a:b] for a, b in pairwise(starts)]
        self._folder, self._images, self._size = folder, images, (0, 0)

    def answer(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        """Give the recorded answer."""
        request.pop("id")
        asked = json.loads(json.dumps({"op": op, **request}).replace(self._folder, "$SCENES"))
        if op == "open":
            asked["scene"]["gpu"] = -1
            self._size = (asked["camera"]["width"], asked["camera"]["height"])
        if not self._left:
            raise wire.WorkerFailure("Tape",
                                     f"the tape ends before {asked!r:.300}: record it anew with EQA_HABITAT_RECORD=1")
        wanted, reply, frame = self._left.pop(0)
        if not alike(asked, wanted):
            raise wire.WorkerFailure("Tape",
                                     f"asked {asked!r:.600}, but recorded is {wanted!r:.600}: record the tape anew "
                                       "with EQA_HABITAT_RECORD=1")
        if frame is not None:
            self._show(self._frames[frame])
        return reply

    def _show(self, frame: bytes) -> None:
        width, height = self._size
        views = self._images.views(width, height)
        split = 4 * width * height
        views.depth_m[:] = np.ascontiguousarray(
            np.frombuffer(frame[:split], np.uint8).reshape(4, -1).T).view(np.float32).reshape(height, width)
        colours, labels = frame[split:-2 * width * height], frame[-2 * width * height:]
        views.rgb[:] = np.frombuffer(colours, np.uint8).reshape(height, width, 3)
        views.labels[:] = np.frombuffer(labels, np.uint16).reshape(height, width)


def alike(a: object, b: object) -> bool:
    """Say whether requests are the same but for the last bits of sines."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool):
        return abs(a - b) <= 1e-9
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return a == b


if __name__ == "__main__":
    tape, section, session, folder, end, life, memory = sys.argv[1:]
    wire.end_with(int(life))
    replayer = Replayer(Path(tape), section, int(session), folder, wire.Images(int(memory)))
    wire.serve(wire.line_of(int(end)), replayer.answer)
