"""Duration of the demo for a new user, without the set-up."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import Figure, median_ms


def figures() -> list[Figure]:
    """Return the seconds of the whole command, compared with those of its episodes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "eqa_nodes.cli", "demo", "--out", f"{folder}/run"]
        whole = median_ms(lambda: subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL), 1) / 1e3
        lines = Path(folder, "run", "predictions.jsonl").read_text().splitlines()
    receipts = [json.loads(line)["answer"]["receipt"] for line in lines]
    seconds, steps = (sum(r[name] for r in receipts) for name in ("seconds", "steps"))
    return [Figure("eqa demo, five episodes", round(whole * 1e3), f"its episodes, {seconds:.0f} s",
                   round(whole / seconds, 2), f"{steps} steps; start, houses, scoring and report are the rest")]
