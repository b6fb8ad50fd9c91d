"""Histories of colour images alone: agents that look at images answer from them, all others are told what to do."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.cli import main
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.camera.privacy import PrivacyConfig
from eqa_nodes.core.components import HISTORIES
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.memory import MemoryConfig
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.recordings.episode_history import RecordedHistory
from eqa_nodes.recordings.formats.pictures import ColourHistory
from eqa_nodes.recordings.histories import first_frames, open_history
from eqa_nodes.recordings.history_views import NOWHERE, ViewSelection, check_history, open_views
from eqa_nodes.runners import answerers
from eqa_nodes.runners.history import HistoryRunner, file_source
from eqa_nodes.runners.sources import history_path, source_finder
from tests.fixtures.histories import looking, sens_bytes, write_scannet


def shot(number: int) -> Image.Image:
    """Return an image whose grey is its number."""
    return Image.new("RGB", (24, 16), (number, number, number))


def write_frames(folder: Path, count: int, form: str = "{:05d}-rgb.png", step: int = 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(0, count * step, step):
        shot(number).save(folder / form.format(number))
    return folder


def greys(history: ColourHistory, selection: ViewSelection, cache: Path) -> list[int]:
    views = open_views("x", {"of": str(cache)}, lambda: history, selection, cache)
    items = views.items(Question("What is there?"))
    return [int(np.asarray(Image.open(io.BytesIO(i.keyframe.jpeg)))[0, 0, 0]) for i in items]


@pytest.mark.parametrize(("form", "kind"), [("{:05d}-rgb.png", "openeqa"), ("{:06d}-rgb.png", "openeqa"),
                                            ("{}.jpg", "images"), ("{:03d}.png", "images")])
def test_the_views_are_evenly_spaced(form: str, kind: str, tmp_path: Path) -> None:
    folder = write_frames(tmp_path / "frames", 101, form)
    history = open_history(folder)
    assert isinstance(history, ColourHistory) and HISTORIES[kind].fits(folder)
    assert len(history) == 101 and not history.labels
    assert greys(history, ViewSelection("uniform", 5), tmp_path / "c") == pytest.approx([0, 25, 50, 75, 100], abs=1)
    assert greys(history, ViewSelection("none", 5), tmp_path / "d") == []


def test_damaged_images_are_counted_and_replaced(tmp_path: Path) -> None:
    folder = write_frames(tmp_path / "frames", 9)
    for number in (4, 5):
        (folder / f"{number:05d}-rgb.png").write_bytes(b"\x89PNG")
    views = open_views("x", {}, lambda: open_history(folder), ViewSelection("uniform", 3), tmp_path / "c")
    assert [v.keyframe.id - 1 for v in views.items(Question("What?"))] == [0, 3, 8]
    assert views.kept.frames + sum(views.kept.dropped.values()) == 9 and views.kept.dropped
    for path in folder.iterdir():
        path.write_bytes(b"")
    with pytest.raises(StorageError, match="no usable image"):
        open_views("x", {"again": 1}, lambda: open_history(folder), ViewSelection("uniform", 3), tmp_path / "c")


@pytest.mark.parametrize("frames", ["recalled", "kept", "objects"])
def test_a_memory_of_them_is_refused_with_the_remedy(frames: str, tmp_path: Path) -> None:
    history = open_history(write_frames(tmp_path / "frames", 2))
    with pytest.raises(ConfigError, match="extract-frames.py.*eqa history render"):
        check_history(history, ViewSelection(frames, labels=True))
    with pytest.raises(StorageError, match="without depth"):
        next(iter(history))


def test_commands_that_need_frames_say_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write_frames(tmp_path / "frames", 2))
    assert main(["history", "info", folder]) == 0
    assert "2 colour images, without depth" in capsys.readouterr().out
    assert main(["history", "export", folder, str(tmp_path / "out")]) == 2
    assert "without depth" in capsys.readouterr().err
    assert main(["ask", "--history", folder, "--answerer", "label", "--frames", "recalled", "Is there a cup?",
                 "--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "run")]) == 2
    assert "multi-frame" in capsys.readouterr().err


@pytest.mark.parametrize("privacy", [PrivacyConfig(kinds=("person",)), PrivacyConfig(zones=(0, 0, 1, 1))])
def test_what_lies_somewhere_cannot_be_hidden_in_them(privacy: PrivacyConfig, tmp_path: Path) -> None:
    history = open_history(write_frames(tmp_path / "frames", 2))
    with pytest.raises(ConfigError, match="privacy.image works"):
        open_views("x", {}, lambda: history, ViewSelection("uniform", 2, memory=MemoryConfig(privacy=privacy)),
                   tmp_path / "c")


def test_shares_of_the_image_are_hidden(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    Image.new("RGB", (24, 16), "white").save(folder / "0.png")
    memory = MemoryConfig(privacy=PrivacyConfig(image=(0, 0, 0.5, 1)))
    selection = ViewSelection("uniform", 2, memory=memory)
    views = open_views("x", {}, lambda: open_history(folder), selection, tmp_path / "c")
    pixels = np.asarray(Image.open(io.BytesIO(views.items(Question("What?"))[0].keyframe.jpeg)))
    assert pixels[:, :10].max() < 20 and pixels[:, 14:].min() > 235


def test_an_answer_from_them_says_that_its_place_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_frames(tmp_path / "frames", 4)
    reply = {"answer": "grey", "confidence": 0.8, "images": [1], "abstain": False}  # alike: sent once
    monkeypatch.setattr(answerers, "open_model", lambda config: ScriptedBackend([json.dumps(reply)]))
    runner = HistoryRunner(lambda sample: file_source(folder), AnswererSettings(answerer="vlm"),
                           ViewSelection("uniform", 4), tmp_path / "cache")
    result = runner.run(Sample("q", "What colour is the wall?", "grey", scene=""))
    runner.close()
    assert result.answer.text == "grey" and not result.trace.poses
    assert [(e.frame, NOWHERE in e.note) for e in result.answer.evidence] == [(0, True)]


def test_histories_of_scannet_are_the_first_600_frames(tmp_path: Path) -> None:
    name = "scannet-v0/002-scannet-scene0709_00"
    for form, folder in (("{:06d}-rgb.png", tmp_path / "a" / name), ("{:06d}-rgb.png", tmp_path / "b" / "hm3d-v0/x")):
        write_frames(folder, 8, form, step=100)
    find = source_finder(tmp_path / "a", (64, 48), ViewSelection("uniform", 4))
    sample = Sample("q", "What?", "x", scene="", metadata={"episode_history": name})
    assert len(find(sample).open()) == 6  # numbers 0 to 500
    other = Sample("q", "What?", "x", scene="", metadata={"episode_history": "hm3d-v0/x"})
    assert len(source_finder(tmp_path / "b", (64, 48), ViewSelection("uniform", 4))(other).open()) == 8


@pytest.mark.parametrize("folder", ["", "scans", "scans_test"])
def test_scannets_own_files_are_found_and_cut(folder: str, tmp_path: Path) -> None:
    file = tmp_path / folder / "scene0709_00" / "scene0709_00.sens"
    file.parent.mkdir(parents=True)
    file.write_bytes(sens_bytes([looking(0.1 * i, 0.0) for i in range(3)]))
    assert history_path(tmp_path, "scannet-v0/002-scannet-scene0709_00") == file
    assert history_path(tmp_path, "scannet-v0/002-scannet-scene0001_00") is None
    assert history_path(tmp_path, "hm3d-v0/002-hm3d-scene0709_00") is None
    history = first_frames(open_history(file), 2)
    assert len(history) == 2 and [r.index for r in history.recorded()] == [0, 1]


def test_a_folder_with_every_20th_frame_keeps_its_numbers(tmp_path: Path) -> None:
    folder = write_scannet(tmp_path / "scene0000_00", {n: looking(0.01 * n, 0.0) for n in (0, 20, 40, 600, 620)})
    history = first_frames(open_history(folder), 600)
    assert isinstance(history, RecordedHistory)
    assert len(history) == 3 and [f.pose.x for f in history] == pytest.approx([0.0, 0.2, 0.4])
