"""A detector is tried on the last image of a robot or a recording, and what it finds is named and drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.core.components import DETECTORS
from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.perception.detection import Detection, DetectorConfig
from eqa_nodes.doctor.detector import DetectorTrial, detector_findings, drawn
from eqa_nodes.recordings.bags.export import write_bag
from tests.fixtures.bags import needs_messages
from tests.fixtures.frames import frame

CUP = Detection("cup", 0.75, (20, 10, 30, 20))


class Cups:
    """Finds a cup in every image, and a weak one that is not shown."""

    privileged = False

    def __init__(self, *options: Any) -> None:
        """Take any options."""

    def detect(self, *view: Any) -> list[Detection]:
        return [CUP._replace(score=0.05), CUP]


class Nothing(Cups):
    def detect(self, *view: Any) -> list[Detection]:
        return []


class Broken(Cups):
    def detect(self, *view: Any) -> list[Detection]:
        raise ModelError("the model returned NaN: export it again")


@pytest.fixture(autouse=True)
def detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Cups, Nothing, Broken):
        monkeypatch.setitem(DETECTORS, kind.__name__.lower(), kind)


@needs_messages
def test_a_detector_is_tried_on_the_last_image_of_a_recording(tmp_path: Path,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    write_bag([frame(k * 10 ** 9) for k in (1, 2, 3)], tmp_path / "bag")
    words = ["doctor", "--bag", str(tmp_path / "bag"), "--json", "--detector"]
    main([*words, "cups", "--boxes", str(tmp_path / "seen.png")])
    (line,) = [f for f in json.loads(capsys.readouterr().out)["findings"] if f["name"] == "detector"]
    assert line["found"].startswith("cups found cup 0.75 in ") and "for one image of 64x48, drawn in" in line["found"]
    assert Image.open(tmp_path / "seen.png").size == (64, 48)
    for name, state, said in (("nothing", "warning", "nothing found nothing in"), ("broken", "error", "returned NaN"),
                              ("eyes", "error", "unknown detector 'eyes'")):
        main([*words, name])
        (line,) = [f for f in json.loads(capsys.readouterr().out)["findings"] if f["name"] == "detector"]
        assert line["state"] == state and said in line["found"] and line["remedy"]


@needs_messages
def test_the_perceiver_is_no_detector_for_a_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DETECTORS, "perceiver", Cups)
    write_bag([frame(10 ** 9)], tmp_path / "bag")
    main(["doctor", "--bag", str(tmp_path / "bag"), "--json", "--detector", "perceiver"])
    (line,) = [f for f in json.loads(capsys.readouterr().out)["findings"] if f["name"] == "detector"]
    assert line["found"].startswith("perceiver found cup 0.75") and line["state"] == "warning"
    assert "on a robot use a model" in line["remedy"]


@pytest.mark.parametrize(("words", "said"), [
    (["--detector", "cups"], "add --robot or --bag"), (["--bag", "a", "--boxes", "b.png"], "name one with --detector")])
def test_options_that_need_others_are_named(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *words]) == 2
    assert said in capsys.readouterr().err


class Last:
    """The last messages of a robot: none."""

    def last(self, key: str) -> None:
        """Return nothing."""


def test_without_an_image_there_is_nothing_to_try() -> None:
    (line,) = detector_findings(DetectorTrial(DetectorConfig("cups")), Last())
    assert line.state == "error" and "no colour image was received" in line.found and line.remedy


def test_boxes_masks_and_names_are_drawn() -> None:
    rgb = np.full((96, 128, 3), 200, np.uint8)
    mask = np.zeros((96, 128), bool)
    mask[70:90, 5:45] = True
    pixels = np.asarray(drawn(rgb, [CUP._replace(box=(60, 30, 100, 60)), Detection("bed", 0.5, (5, 70, 45, 90), mask)]))
    changed = (pixels != 200).any(axis=-1)
    assert changed[30, 60:100].all() and changed[30:60, 60].all() and changed[80, 20]
    assert not changed[45, 80] and not changed[93:].any()
    assert (rgb == 200).all() and np.array_equal(np.asarray(drawn(rgb, [])), rgb)
