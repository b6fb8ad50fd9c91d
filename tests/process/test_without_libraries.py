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
            "from eqa_nodes.recordings import history, recover, rgbd_folder, trace")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_histories_need_no_ros() -> None:
    code = ("import sys; sys.modules.update(dict.fromkeys(('rclpy', 'std_msgs', 'sensor_msgs', 'eqa_interfaces'))); "
            "import eqa_nodes.recordings.histories, eqa_nodes.recordings.openeqa_folder, eqa_nodes.recordings.scannet, "
            "eqa_nodes.recordings.agent_state, eqa_nodes.recordings.export, eqa_nodes.cli.history")
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


VARIABLES = ("EQA_VLM_BASE_URL", "EQA_VLM_MODEL", "EQA_VLM_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY")
SMALL = ("--through", "process", "--image", "64x48", "--max-steps", "4")
MODEL_VERBS = {  # each asks a model
    "ask": ("ask", "Where is the sofa?", "--scene", "toy:flat", "--answerer", "vlm", *SMALL),
    "graph": ("ask", "Where is the sofa?", "--scene", "toy:flat", "--answerer", "vlm"),
    "run": ("bench", "run", "--questions", "1", "--split", "train", "--answerer", "vlm", *SMALL),
    "workers": ("bench", "run", "--questions", "2", "--split", "train", "--workers", "2", "--answerer", "vlm", *SMALL),
    "tasks": ("bench", "tasks", "--questions", "1", "--agent", "model"),
    "generate": ("generate", "express", "--count", "1", "--generator", "model"),
    "score": ("bench", "score", "run", "--judge", "llm-match"),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, without any setting of a model."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("library", "words", "extra"), [
    ("openai", MODEL_VERBS["ask"], "vlm"), ("rclpy", ("ask", "Where is it?", "--scene", "toy:flat"), "ros"),
    ("rclpy", ("ask", "Where is it?", "--attach"), "ros"), ("rclpy", ("record", "/tf"), "ros"),
    ("embreex", ("ask", "Where is it?", "--scene", "house:3", *SMALL), "house"),
    ("embreex", ("ask", "Where is it?", "--scene", "house:3"), "house"),
    ("embreex", ("bench", "run", "--questions", "1", *SMALL), "house"), ("starlette", ("console",), "console"),
    ("transformers", ("ask", "Where is it?", "--answerer", "vlm", "--backend", "transformers", *SMALL), "local"),
    ("ray", ("bench", "run", "--questions", "1", "--engine", "ray", *SMALL), "ray")])
def test_a_library_that_is_not_installed_is_named_with_its_extra(library: str, words: tuple[str, ...], extra: str,
                                                                 place: Path) -> None:
    """In a process of its own, to which the library is not there: this one has imported it."""
    script = (f"import sys; sys.modules[{library!r}] = None; from eqa_nodes.cli import main; sys.exit(main({words!r}))")
    environment = {**os.environ, "EQA_VLM_BASE_URL": "http://127.0.0.1:1/v1", "EQA_VLM_MODEL": "m",
                   "EQA_VLM_API_KEY": "k"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert f"{library} is not installed: pip install 'eqa-nodes[{extra}]'" in done.stderr
