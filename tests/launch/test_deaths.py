"""What dies is started again or ends the run, wrong settings end it, and one line says what it was."""

from __future__ import annotations

from tests.fixtures.needs import need_launch

need_launch()

import os
import re
import signal
from pathlib import Path

import pytest

from eqa_nodes.ros.runner import RESTARTS
from eqa_nodes.testing.waiting import gone, until
from tests.fixtures.launched import Launched, launched

pytestmark = pytest.mark.timeout(1000)
SMALL = {"image": "64x48", "policy": "random"}


def last_words(run: Launched) -> str:
    """Return launch's line that says why the run ended."""
    (line,) = [line for line in run.lines if "Caught exception in launch" in line]
    return line


def test_a_process_that_keeps_dying_ends_the_run(tmp_path: Path) -> None:
    with launched("sim", tmp_path, **SMALL, composed="true") as run:
        for death in range(RESTARTS + 1):
            run.says(r"\[graph-\d+\]: process started", death + 1)
            os.kill(run.pids("graph")[death], signal.SIGKILL)
        assert run.ends() == 1
    said = re.search(rf"graph ended with code -9 after {RESTARTS} restarts; its log is (\S+)$", last_words(run))
    assert said and Path(said[1]).is_file()
    assert len(run.pids("graph")) == RESTARTS + 1


def test_a_death_ends_the_run_where_that_is_wanted(tmp_path: Path) -> None:
    with launched("sim", tmp_path, **SMALL, on_exit="end") as run:
        run.says("eqa: ready")
        os.kill(run.pids("explorer")[0], signal.SIGKILL)
        assert run.ends() == 1
        until(lambda: all(gone(run.pids(node)[0]) for node in ("bridge", "recorder", "agent")))
    assert "explorer ended with code -9; its log is" in last_words(run)


def test_a_misspelt_parameter_starts_nothing(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("/**/mapper: {ros__parameters: {map.voxel: 0.1}}\n")
    with launched("sim", tmp_path, params_file=str(own)) as run:
        assert run.ends() == 1
    assert "own.yaml" in last_words(run) and "map.voxel_m" in last_words(run)
    assert "process started" not in run.output


def test_a_setting_that_a_node_refuses_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not started again: that would not help."""
    for name in ("EQA_VLM_MODEL", "EQA_VLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with launched("sim", tmp_path, **SMALL, answerer="vlm") as run:
        assert run.ends() == 1
    assert "answerer ended with code 2, a wrong setting; its log is" in last_words(run)
    assert "EQA_VLM_BASE_URL" in run.output and len(run.pids("answerer")) == 1


def test_a_scene_that_cannot_begin_ends_the_run(tmp_path: Path) -> None:
    with launched("sim", tmp_path, **SMALL, composed="true", scene="toy:nowhere") as run:
        assert run.ends() == 1
    assert "its episode has not begun" in last_words(run) and "nowhere" in run.says(r"\[ready-\d+\] eqa: (?!ready)")


def test_one_process_in_a_namespace_comes_up_and_ends(tmp_path: Path) -> None:
    with launched("sim", tmp_path, **SMALL, composed="true", namespace="r1", scene="toy:room") as run:
        run.says("episode run has begun")
        run.says(r"\[ready-\d+\]: process has finished cleanly")
        assert run.stop() == 0
        run.says(r"\[graph-\d+\]: process has finished cleanly")
    (bag,) = (tmp_path / "run" / "bags").iterdir()
    assert (bag / "metadata.yaml").is_file()  # the recorder had time to end it
