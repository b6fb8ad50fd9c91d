"""`eqa doctor` of a machine: it tries the Python that is named for Habitat."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from eqa_nodes.core.findings import Finding
from eqa_nodes.doctor import machine
from sim_bridge.habitat import session as habitat_devices


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set."""
    for name in ("EQA_SCENES", "EQA_HABITAT_PYTHON", "ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE",
                 "ROS_LOCALHOST_ONLY"):
        monkeypatch.delenv(name, raising=False)


def script(path: Path, text: str) -> str:
    """Write an executable that stands in for a Python."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(("check", "environment", "state", "words"), [
    ("_scans", {}, "ok", "no folder"), ("_scans", {"EQA_SCENES": "{tmp}/scans"}, "ok", "hm3d, mp3d"),
    ("_scans", {"EQA_SCENES": "{tmp}/nowhere"}, "error", "no such folder"),
    ("_habitat", {}, "ok", "not configured"),
    ("_habitat", {"EQA_HABITAT_PYTHON": "{tmp}/good"}, "ok", "habitat_sim of"),
    ("_habitat", {"EQA_HABITAT_PYTHON": "{tmp}/bad"}, "error", "has no habitat_sim"),
    ("_discovery", {}, "ok", "SUBNET"), ("_discovery", {"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, "warning", "OFF"),
    ("_discovery", {"ROS_AUTOMATIC_DISCOVERY_RANGE": "far"}, "error", "far"),
    ("_discovery", {"ROS_LOCALHOST_ONLY": "1"}, "warning", "ROS_LOCALHOST_ONLY"),
    ("_ros_domain", {"ROS_DOMAIN_ID": "7"}, "ok", "ROS_DOMAIN_ID 7"),
    ("_ros_domain", {"ROS_DOMAIN_ID": "150"}, "warning", "150"),
    ("_ros_domain", {"ROS_DOMAIN_ID": "x"}, "error", "'x'"),
    ("_ros_domain", {"ROS_DOMAIN_ID": "233"}, "error", "'233'")])
def test_what_is_around(check: str, environment: Mapping[str, str], state: str, words: str, tmp_path: Path,
                        monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("hm3d", "mp3d"):
        (tmp_path / "scans" / name).mkdir(parents=True)
    script(tmp_path / "good", "exit 0")
    script(tmp_path / "bad", "exit 1")
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(tmp=tmp_path))
    found: Finding = getattr(machine, check)()
    assert found.state == state and words in found.found and bool(found.remedy) == (state != "ok")


def test_a_python_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(habitat_devices, "_LOOK_DEADLINE_S", 0.2)
    monkeypatch.setenv("EQA_HABITAT_PYTHON", script(tmp_path / "slow", "exec sleep 60"))
    found = machine._habitat()
    assert found.state == "error" and "within 0.2 s" in found.found
    monkeypatch.setenv("EQA_HABITAT_PYTHON", str(tmp_path / "nowhere"))
    assert machine._guarded(machine._habitat).state == "error"


def test_the_real_machine_is_checked() -> None:
    names = [finding.name for finding in machine.machine_findings()]
    assert names == ["python", "ros", "rmw", "interfaces", "ros domain", "discovery", "shared memory", "house",
                     "perceiver", "scans", "habitat", "disk", "temporary"] and sys.version_info >= (3, 10)
