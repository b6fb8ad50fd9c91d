"""A worker on an endless floor that fails as told. Started as a script: a JSON object, then what every worker is given.

{"file": counts the starts, "protocol": what it says, "import": what it says instead, "at": {op: what happens there},
"starts": in so many of the first processes only, "after": this many requests of that kind go well before, "drift":
later processes move the robot elsewhere}. What happens: "die", "hang", "garbage", "refuse", "gpu" (dies with a GPU).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sim_bridge.habitat.worker import Worker, wire
from tests import habitat_like


class Scripted:
    """Answers as the worker does over a stand-in for habitat_sim, except where the script says otherwise."""

    def __init__(self, script: dict[str, Any], images: wire.Images) -> None:
        self._script, self._worker = script, Worker(images)
        self._worker._habitat = habitat_like
        self._seen: Counter[str] = Counter()
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
        if op == "hello":
            return self._hello()
        reply = self._worker.answer(op, request)
        if op == "walk" and self._script.get("drift") and self._start:
            reply["position"][0] += 0.1
        return reply

    def _hello(self) -> dict[str, Any]:
        if "import" in self._script:
            raise wire.Refused("Import", self._script["import"])
        return {"protocol": self._script.get("protocol", wire.PROTOCOL)}


if __name__ == "__main__":
    script, end, life, memory = json.loads(sys.argv[1]), *map(int, sys.argv[2:])
    wire.end_with(life)
    wire.serve(wire.line_of(end), Scripted(script, wire.Images(memory)).answer)
