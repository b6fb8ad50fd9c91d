"""A worker on an endless floor that fails as told. Started as a script: a JSON object, then what every worker is given.

{"file": counts the starts, "protocol": what it says, "import": what it says instead, "at": {op: what happens there},
"starts": in so many of the first processes only, "after": this many requests of that kind go well before, "drift":
later processes move the robot elsewhere}. What happens: "die", "hang", "garbage", "refuse", "gpu" (dies with a GPU).
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sim_bridge import habitat_wire as wire


class Scripted:
    """Answers as a worker in an empty world, except where the script says otherwise."""

    def __init__(self, script: dict[str, Any], images: wire.Images) -> None:
        self._script, self._images = script, images
        self._seen: Counter[str] = Counter()
        self._size = (0, 0)
        file = Path(script["file"])
        self._start = len(file.read_text()) if file.exists() else 0
        file.write_text("." * (self._start + 1))

    def answer(self, op: str, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request."""
        self._seen[op] += 1
        broken = self._start < self._script.get("starts", 1) and self._seen[op] > self._script.get("after", 0)
        what = self._script.get("at", {}).get(op) if broken else None
        if what == "die" or (what == "gpu" and request["scene"]["gpu"] >= 0):
            print("the last words", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "hang":
            signal.pause()
        if what == "garbage":
            os.write(int(sys.argv[2]), b"\0\0\0\3[1]")
        if what == "refuse":
            raise wire.Refused("Scripted", "no")
        drift = 0.1 if self._script.get("drift") and self._start else 0.0
        return getattr(self, "_" + op)(request, drift)  # type: ignore[no-any-return]

    def _hello(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        if "import" in self._script:
            raise wire.Refused("Import", self._script["import"])
        return {"protocol": self._script.get("protocol", wire.PROTOCOL)}

    def _open(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        self._size = (request["camera"]["width"], request["camera"]["height"])
        return {"labels": None, "navmesh": "computed", "note": "", "islands": [100.0],
                "bounds": [[-50.0, 0.0, -50.0], [50.0, 0.0, 50.0]]}

    def _snap(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        return {"points": [[[x, 0.0, z], 0] for x, _, z in request["points"]]}

    def _draw(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        return {"point": [float(request["seed"]), 0.0, 0.0]}

    def _walk(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        x, y, z = request["position"]
        moves = request["moves"]
        end = [x + sum(dx for dx, _ in moves) + drift, y, z + sum(dz for _, dz in moves)]
        return {"position": end, "metres": sum(math.hypot(*move) for move in moves), "collided": False}

    def _floor(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        return {"height": 0.0}

    def _path(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        return {"metres": math.dist(request["start"], request["end"]), "points": [request["start"], request["end"]]}

    def _look(self, request: dict[str, Any], drift: float) -> dict[str, Any]:
        width, height = self._size
        views = self._images.views(width, height)
        views.depth_m[:] = np.float32(math.hypot(*request["position"]))
        views.rgb[:] = np.uint8(round(10 * (sum(request["position"]) + sum(request["rotation"]))) % 256)
        return {}


if __name__ == "__main__":
    script, end, life, memory = json.loads(sys.argv[1]), *map(int, sys.argv[2:])
    wire.end_with(life)
    wire.serve(wire.line_of(end), Scripted(script, wire.Images(memory)).answer)
