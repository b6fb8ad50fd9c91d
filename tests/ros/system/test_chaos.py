"""The fault drill in short: one episode of each main kind of fault, and everything that must hold after it."""

from __future__ import annotations

from tests.fixtures.needs import need_ros

need_ros()

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.paths import ROOT

pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")

BRIEF = ("duplicated", "disk full")  # test_faults.py kills nodes
ALL = (*BRIEF, "kill", "late", "pause", "lost", "lost call", "clock", "model")
ROOM = ("--cases", "plant")  # one question for all: its answer without a fault is needed once


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kinds", "cases"), [
    (BRIEF, ROOM), pytest.param(ALL, (), marks=pytest.mark.thorough)], ids=["brief", "all"])
def test_every_kind_of_fault_ends_well(kinds: tuple[str, ...], cases: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.chaos", "--episodes", str(len(kinds)), "--seed", "1",
         "--kinds", ",".join(kinds), *cases, "--out", str(tmp_path / "drill")],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=1700)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    report = json.loads((tmp_path / "drill" / "report.json").read_text())
    assert report["episodes"] == len(kinds) and report["silent_wrong"] == report["lost"] == report["left_behind"] == 0
    by_kind = {o["plan"]["faults"][0]["kind"]: o for o in report["outcomes"]}
    assert set(by_kind) == set(kinds) and all(o["after"].startswith("works") for o in by_kind.values())
    assert by_kind["duplicated"]["how"] == "same"
    assert "kill" not in kinds or by_kind["kill"]["restarts"] == 1
    assert all(o["message"] for o in by_kind.values() if o["how"].isupper())
