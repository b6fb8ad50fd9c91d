"""The demo as a newcomer runs it, set-up apart."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def rows() -> list[dict[str, object]]:
    """Return one row: seconds of the whole command, beside the seconds that its episodes took."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "eqa_nodes.cli", "demo", "--out", f"{folder}/run"], check=True,
                       timeout=600, stdout=subprocess.DEVNULL)
        whole = time.perf_counter() - start
        lines = Path(folder, "run", "predictions.jsonl").read_text().splitlines()
    receipts = [json.loads(line)["answer"]["receipt"] for line in lines]
    seconds, steps = (sum(r[name] for r in receipts) for name in ("seconds", "steps"))
    return [{"name": "eqa demo, five episodes", "median_ms": round(whole * 1e3),
             "baseline": f"its episodes, {seconds:.0f} s", "ratio": round(whole / seconds, 2),
             "note": f"{steps} steps; start, houses, scoring and report are the rest"}]
