"""Duration of a question up to its first look, and of the demo for a new user, without the set-up."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import Figure, median_ms
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup

SCENE, REPEATS = "house:1990", 5  # a house that no other benchmark has
LOOKED = "remembering"  # the first line of progress once there is a picture


def figures() -> list[Figure]:
    """Return the times of a question's start and of the demo."""
    return [_first_look(), _demo()]


def _first_look() -> Figure:
    """Return the time from the shell to the first picture of a house, compared with building that house."""
    begin = time.perf_counter()
    HouseSimulator().reset(EpisodeSetup(SCENE))
    build = (time.perf_counter() - begin) * 1e3
    walls, cpus = zip(*(_asked() for _ in range(REPEATS)), strict=True)
    median = statistics.median(walls)
    return Figure("eqa ask --through process, from the shell to the first look", round(median),
                  f"house built, lit and drawn, {build:.0f} ms", round(median / build, 2),
                  f"least {min(walls):.0f} ms; {min(cpus):.1f} s of processor time with answer and report")


def _asked() -> tuple[float, float]:
    """Return the milliseconds to the first look, and the processor seconds of the whole command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        command = [sys.executable, "-m", "eqa_nodes.cli", "ask", "Where is the mug?", "--scene", SCENE, "--labels",
                   "--through", "process", "--max-steps", "1", "--out", f"{folder}/run"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as asked:
            assert asked.stderr is not None
            looked = next((time.perf_counter() for line in asked.stderr if line.startswith(LOOKED)), None)
            asked.communicate(timeout=300)
    if looked is None:
        raise RuntimeError(f"{' '.join(command)} ended with code {asked.returncode} before its first look")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (looked - begin) * 1e3, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _demo() -> Figure:
    """Return the seconds of the whole command, compared with those of its episodes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "eqa_nodes.cli", "demo", "--out", f"{folder}/run"]
        whole = median_ms(lambda: subprocess.run(command, check=True, timeout=600, stdout=subprocess.DEVNULL), 1) / 1e3
        lines = Path(folder, "run", "predictions.jsonl").read_text().splitlines()
    receipts = [json.loads(line)["answer"]["receipt"] for line in lines]
    seconds, steps = (sum(r[name] for r in receipts) for name in ("seconds", "steps"))
    return Figure("eqa demo, five episodes", round(whole * 1e3), f"its episodes, {seconds:.0f} s",
                  round(whole / seconds, 2), f"{steps} steps; start, houses, scoring and report are the rest")
