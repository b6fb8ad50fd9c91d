"""A history without labels gets them from a detector, and questions about it are answered from what that saw."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from eqa_nodes.cli import main
from eqa_nodes.cli.ask import Ask
from eqa_nodes.cli.verbs import command_of
from eqa_nodes.config.graph import GraphParameters
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.views import Frame, Label
from eqa_nodes.perception.oracle import ScriptedDetector
from eqa_nodes.recordings.detected_history import DetectedHistory
from eqa_nodes.recordings.episode_history import RecordedHistory
from eqa_nodes.recordings.history_views import ViewSelection, check_history
from tests.fixtures.frames import frame

CUP = Detection("cup", 0.9, (20, 10, 30, 20))


class Cups:
    """Three views of a wall with something cup-sized before it."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Frame:
        shown = frame(index + 1)
        shown.depth_m[10:20, 20:30] = 1.5
        return shown


def test_a_detector_looks_once_however_often_a_history_is_read() -> None:
    detector = ScriptedDetector([[CUP]] * 5)
    history = DetectedHistory(RecordedHistory("cups", Cups()), Perceiver(detector))
    check_history(history, ViewSelection("recalled", labels=True))
    assert len(list(islice(history.recorded(), 2))) == 2, "an iteration that is cut short is begun anew"
    first, second = list(history), list(history)
    assert len(detector.frames) == 5 and len(first) == len(second) == len(history) == 3
    assert history.labels == {1: Label(1, "cup", "", {"relation": "wall"}, True, 0.45)}
    for one, other in zip(first, second, strict=True):
        assert one.labels is not None and (one.labels > 0).sum() == 100 and np.array_equal(one.labels, other.labels)


def test_a_question_about_a_history_is_answered_from_detections(tmp_path: Path,
                                                                capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("embreex", reason="the house needs embreex: pip install 'eqa-nodes[house]'")
    bag = tmp_path / "tour"
    assert main(["history", "record", "house:3", str(bag), "--kind", "express", "--image", "160x120", "--to",
                 "bag"]) == 0
    asked = ["ask", "Is there a bed?", "--history", str(bag), "--cache", str(tmp_path / "cache")]
    assert main([*asked, "--detector", "labels"]) == 0
    assert "yes" in capsys.readouterr().out
    assert main([*asked, "--detector", "eyes"]) == 2
    assert "unknown detector 'eyes'" in capsys.readouterr().err
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_detector_on_the_command_line_or_in_a_file_gives_memory_its_labels(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("/**/perception:\n  ros__parameters: {detector.name: transformers, detector.model: here}\n"
                    "/**/memory:\n  ros__parameters: {labels: true, labels_from: detector}\n")
    line = ["ask", "where?", "--answerer", "vlm"]
    for options in (["--params", str(file)], ["--detector", "transformers", "--detector-model", "here"]):
        parameters = parameters_of([*line, *options])
        memory, seen = parameters.settings.memory, parameters.settings.perception
        assert memory.labels and memory.labels_from == "detector" and seen.detector.model == "here"
        assert "perception" in parameters.settings.agent.observers
    without = parameters_of(line)
    assert not without.settings.memory.labels and "perception" not in without.settings.agent.observers


def parameters_of(words: list[str]) -> GraphParameters:
    """Return the parameters that a command line says."""
    command = command_of(words)
    assert isinstance(command, Ask)
    return command.config.parameters
