"""What works without ROS, and what is said about libraries that are not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.paths import ROOT


def test_reading_needs_no_ros() -> None:
    code = ("import sys; sys.modules.update(dict.fromkeys(('rclpy', 'std_msgs', 'sensor_msgs', 'eqa_interfaces'))); "
            "from eqa_nodes.recordings.bags import history, recover, trace")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_histories_need_no_ros() -> None:
    code = ("import sys; sys.modules.update(dict.fromkeys(('rclpy', 'std_msgs', 'sensor_msgs', 'eqa_interfaces'))); "
            "import eqa_nodes.recordings.histories, eqa_nodes.recordings.formats.openeqa_folder, "
            "eqa_nodes.recordings.formats.scannet, eqa_nodes.recordings.formats.agent_state, "
            "eqa_nodes.recordings.bags.export, eqa_nodes.cli.history")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


SMALL = ("--through", "process", "--image", "64x48", "--max-steps", "4")
ASK = ("ask", "Where is it?", "--scene", "toy:flat")
RUN = ("bench", "run", "--questions", "1")
IN_HOUSE = ("ask", "Where is it?", "--scene", "house:3")


@pytest.mark.parametrize(("library", "extra", "lines"), [
    ("openai", "vlm", [(*ASK, "--answerer", "vlm", *SMALL)]),
    ("rclpy", "ros", [ASK, ("ask", "Where is it?", "--attach"), ("record", "/tf")]),
    ("embreex", "house", [(*IN_HOUSE, *SMALL), IN_HOUSE, (*RUN, *SMALL)]), ("starlette", "console", [("console",)]),
    ("transformers", "local", [(*ASK, "--answerer", "vlm", "--backend", "transformers", *SMALL)]),
    ("open3d", "map3d", [("scan", "PATH")])])
def test_a_library_that_is_not_installed_is_named_with_its_extra(library: str, extra: str, lines: list[tuple[str, ...]],
                                                                 tmp_path: Path) -> None:
    """In a process of its own, to which the library is not there: this one has imported it."""
    script = (f"import sys; sys.modules[{library!r}] = None; from eqa_nodes.cli import main; "
              f"sys.exit({{main(words) for words in {lines!r}}} != {{2}})")
    environment = {**os.environ, "EQA_VLM_BASE_URL": "http://127.0.0.1:1/v1", "EQA_VLM_MODEL": "m",
                   "EQA_VLM_API_KEY": "k"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=240,
                          cwd=tmp_path)
    said = done.stderr.splitlines()
    assert done.returncode == 0 and len(said) == len(lines), done.stderr
    assert all(f"{library} is not installed: pip install 'eqa-nodes[{extra}]'" in line for line in said)


def test_listing_names_imports_no_component() -> None:
    code = ("import sys, eqa_nodes.core.components as r; print([len(x) for x in (r.POLICIES, r.ANSWERERS, r.READERS, "
            "r.JUDGES, r.SIMULATORS, r.DETECTORS, r.BACKENDS, r.EMBEDDERS)], "
            "{'numpy', 'torch'} & set(sys.modules))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip().endswith("set()")
