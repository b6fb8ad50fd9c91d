"""The workflow for GitHub: least rights, pinned actions, and commands that the checkout has. It runs on GitHub only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_it_may_only_read_and_gives_way_to_a_newer_run(workflow: dict[Any, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    assert all("permissions" not in job and "secrets" not in job for job in workflow["jobs"].values())
    assert workflow["concurrency"]["cancel-in-progress"] is True
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads the key `on` as true


def test_actions_are_pinned_and_jobs_end(workflow: dict[Any, Any]) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in used)
    assert all(job["timeout-minutes"] <= 240 for job in workflow["jobs"].values())


def test_the_distributions_and_pythons_are_those_of_the_docs(workflow: dict[Any, Any]) -> None:
    jobs = workflow["jobs"]
    assert jobs["ros"]["strategy"]["matrix"]["distribution"] == ["humble", "jazzy", "kilted"]
    assert jobs["wheels"]["strategy"]["matrix"]["python"] == ["3.10", "3.12"]  # not the float 3.1


def test_its_commands_exist(workflow: dict[Any, Any]) -> None:
    commands = "\n".join(step.get("run", "") for step in steps(workflow))
    assert "${{" not in commands  # nothing from outside becomes part of a command
    targets = set(re.findall(r"\bmake ([\w-]+)", commands))
    assert {"setup", "lint", "test"} <= targets
    assert all(re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE) for target in targets)
    paths = re.findall(r"\b(?:tests|ros2_ws)/[\w/.]+", commands)
    assert {"tests/launch", "tests/nodes"} <= {*paths}
    assert all((ROOT / path).exists() for path in paths if "/install" not in path)
    worlds = re.search(r"for world in ([\w ]+);", commands)
    assert worlds and all((ROOT / "launch" / f"{world}.launch.py").is_file() for world in worlds[1].split())
