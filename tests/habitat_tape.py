"""Habitat in tests: the real habitat_sim where there is one, else what its worker answered when the tape was recorded.

EQA_HABITAT_RECORD=1 with a real one records the tape anew, from all tests that use `open_habitat`: run them together.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import json
import lzma
import os
import re
import sys
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.habitat.devices import PYTHON
from sim_bridge.habitat.session import Process
from sim_bridge.habitat.simulator import HabitatSimulator
from sim_bridge.habitat.wire import SharedImages
from tests.habitat_scans import scans

REAL = bool(os.environ.get(PYTHON)) or importlib.util.find_spec("habitat_sim") is not None
RECORD = REAL and bool(os.environ.get("EQA_HABITAT_RECORD"))
MODE = "real" if REAL else "recorded"  # part of the names of the tests, so that a log says which it was
TAPE = Path(__file__).with_name("contract") / "data" / "habitat.tape.xz"
REPLAYER = Path(__file__).with_name("habitat_replayer.py")
SCENE = "habitat:hm3d/00001-TwoRooms"  # of `scans`
_sessions: Counter[str] = Counter()


def open_habitat(folder: Path | None = None) -> HabitatSimulator:
    """Return a simulator over a folder of scans, at first that of `scans`."""
    folder = folder or scans()
    if REAL and not RECORD:
        return HabitatSimulator(folder)
    section = _section()
    number, _sessions[section] = _sessions[section], _sessions[section] + 1
    if RECORD:
        return HabitatSimulator(folder, partial(_Recording, section, number, str(folder)))
    command = (sys.executable, str(REPLAYER), str(TAPE), section, str(number), str(folder))
    return HabitatSimulator(folder, partial(Process, command=command))


def _section() -> str:
    """Return the name of the running test, the same in each mode."""
    name = os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0]
    return re.sub(r"habitat-(real|recorded)", "habitat", name)


class _Recording(Process):
    """A real worker whose answers are kept; each section's file is the newest run of its test."""

    def __init__(self, section: str, number: int, folder: str, gpu: int, flat: bool) -> None:
        self._key, self._folder, self._size = (section, number), folder, (0, 0)
        super().__init__(gpu, flat)

    def call(self, op: str, seconds: float, **fields: Any) -> dict[str, Any]:
        reply = super().call(op, seconds, **fields)
        if op == "open":
            self._size = (fields["camera"]["width"], fields["camera"]["height"])
        frame = _bytes(self.views(*self._size)) if op == "look" else None
        _Tape.of_this_run().keep(self._key, normal({"op": op, **fields}, self._folder), reply, frame)
        return reply


class _Tape:
    def __init__(self) -> None:
        self.sections: dict[str, list[list[Any]]] = {}
        self.frames: dict[str, tuple[int, bytes]] = {}
        atexit.register(self.write)

    @staticmethod
    @cache
    def of_this_run() -> _Tape:
        return _Tape()

    def keep(self, key: tuple[str, int], request: object, reply: object, frame: bytes | None) -> None:
        sessions = self.sections.setdefault(key[0], [])
        while len(sessions) <= key[1]:
            sessions.append([])
        number = None
        if frame is not None:
            number = self.frames.setdefault(hashlib.sha256(frame).hexdigest(), (len(self.frames), frame))[0]
        sessions[key[1]].append([request, reply, number])

    def write(self) -> None:
        frames = [frame for _, frame in sorted(self.frames.values())]
        head = json.dumps({"sections": self.sections, "sizes": [len(f) for f in frames]}, sort_keys=True).encode()
        TAPE.parent.mkdir(exist_ok=True)
        TAPE.write_bytes(lzma.compress(len(head).to_bytes(8, "big") + head + b"".join(frames), preset=9))


def _bytes(views: SharedImages) -> bytes:
    """Return the images, the bytes of depth by their weight: they pack better."""
    depth = np.ascontiguousarray(views.depth_m).view(np.uint8).reshape(-1, 4).T
    return depth.tobytes() + views.rgb.tobytes() + views.labels.tobytes()


def normal(request: dict[str, Any], folder: str) -> Any:
    """Return a request as it would be on another machine."""
    same = json.loads(json.dumps(request).replace(folder, "$SCENES"))
    if "scene" in same:
        same["scene"]["gpu"] = -1
    return same
