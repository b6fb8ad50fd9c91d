"""NaVQA as it is published: its questions, where and when their answers show, and clips of CODa as histories."""

from __future__ import annotations

import csv
import json
import pickle
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.metrics.navqa import errors_of, mark
from eqa_nodes.bench.samples import EM, Sample
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.errors import ConfigError, EqaError, StorageError
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.recordings.formats.coda import read_coda
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.history_views import ViewSelection
from eqa_nodes.runners import answerers
from eqa_nodes.runners.navqa import NavqaRunner, hint_of
from eqa_nodes.runners.sources import source_finder

START = datetime(2023, 1, 17, 0, 25, tzinfo=timezone.utc).timestamp()  # 16:25 the day before in California
COLUMNS = ("UUID", "Seq ID", "Question", "Timestamp \nwith answer", "Type \n(binary, position, time, text)",
           "Text answer", "Parsable answer", "Question\nCategory")
ROWS = (("a", "4", "Where is the bench?", "16:25:30", "position", "", "[position]", "spatial"),
        ("b", "4", "When did you cross the street?", "16:25:30", "time", "", "[minutes] ago", "temporal"),
        ("c", "4", "How long were you inside?", "16:25:10,16:25:40", "duration", "For 0.5 minutes", "0.5", ""),
        ("d", "4", "Was it busy?", "16:25:30", "binary", "", "No", ""),
        ("e", "4", "What is on the left?", "16:25:30", "text", "a statue", "", "descriptive"))


def at(seconds: float) -> tuple[float, float, float]:
    return 2.0 * seconds, -seconds, 0.5


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """The files of ReMEmbR's folder data for one sequence, and CODa's poses of it."""
    folder = tmp_path / "navqa" / "4"
    folder.mkdir(parents=True)
    with (tmp_path / "navqa" / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows((COLUMNS, *ROWS))
    clips = [{"id": row[0], "length_category": "SHORT", "length": 60.0, "start_time": START, "end_time": START + 60.0,
              "file_info": {"qa_start_filename": "0.pkl", "qa_end_filename": "1.pkl"}} for row in ROWS]
    (folder / "qa_unfilled.json").write_text(json.dumps({"version": 0.1, "data": clips}))
    write_poses(tmp_path)
    return tmp_path


def write_poses(root: Path) -> None:
    (root / "poses" / "dense").mkdir(parents=True)
    lines = [[START + s, *at(s), np.sqrt(0.5), 0, 0, np.sqrt(0.5)] for s in np.arange(-20.0, 80.0, 0.5)]
    np.savetxt(root / "poses" / "dense" / "4.txt", lines, fmt="%.6f")


def by_id(folder: Path) -> dict[str, Sample]:
    return {s.id: s for s in open_dataset("navqa", folder=folder, task=EM)}


def test_the_truth_of_each_kind(published: Path) -> None:
    found = by_id(published)
    assert [(s.category, s.answer) for s in found.values()] == [
        ("position", "[60.0, -30.0, 0.5]"), ("time", "0.5 minutes ago"), ("duration", "0.5 minutes"),
        ("binary", "No"), ("text", "a statue")]
    facts = {i: dict(s.metadata) for i, s in found.items()}
    assert facts["a"]["truth"] == [60.0, -30.0, 0.5]
    assert (facts["b"]["truth"], facts["b"]["unit"], facts["b"]["ago"]) == (0.5, "min", True)
    assert (facts["c"]["truth"], facts["c"]["unit"]) == (0.5, "min") and "ago" not in facts["c"]
    assert [facts[i]["expects"] for i in "de"] == ["yes-no", "text"] and "truth" not in facts["d"]
    assert all(f["clip"] == [START, START + 60.0] and f["episode_history"] == "coda-v0/4" for f in facts.values())
    assert found["a"].question == "You are now at [120.0, -60.0, 0.5] in metres of the map. Where is the bench?"


@pytest.mark.parametrize(("question", "text", "right", "off"), [
    ("a", "(60, -30, 0.5)", True, 0.0), ("a", "at (60.0, -20.0)", True, 10.0), ("a", "(60, -50)", False, 20.0),
    ("b", "30 seconds ago", True, 0.0), ("b", "1.5 minutes ago", True, 60.0), ("b", "4 minutes ago", False, 210.0),
    ("b", "0.5", True, 0.0), ("c", "2 minutes", True, 90.0), ("c", "three minutes", False, 150.0)])
def test_answers_are_measured(question: str, text: str, right: bool, off: float, published: Path) -> None:
    sample = by_id(published)[question]
    errors, given = errors_of(sample, Answer(text)), mark(sample, Answer(text))
    assert (errors.position_m if question == "a" else errors.time_s) == pytest.approx(off)
    assert given is not None and (given.sigma == 5) is right


def test_files_that_remembr_made_of_them_are_read_first(published: Path) -> None:
    made = published / "questions" / "4"
    made.mkdir(parents=True)
    asked = ("You started moving at 2023-01-16 16:25:00. The current time is 2023-01-16 16:26:00 and you are located "
             "at [1.5, 2.5, 0.0]. \n ")
    common = {"length_category": "LONG", "length": 60.0, "start_time": START, "end_time": START + 60.0, "context": "x"}
    records = [{**common, "id": "p", "question": f"{asked}Where is it?", "type": "position",
                "answers": {"position": [1.0, 2.0, 0.1]}},
               {**common, "id": "t", "question": f"{asked}When?", "type": "time",
                "answers": {"text": ["0.47 minutes ago"], "time": 0.47}},
               {**common, "id": "y", "question": f"{asked}Was it?", "type": "binary",
                "answers": {"text": ["no", "no"]}}]
    (made / "human_qa.json").write_text(json.dumps({"version": 0.1, "data": records}))
    found = by_id(published)
    assert {i: (s.answer, s.metadata.get("truth")) for i, s in found.items()} == {
        "p": ("[1.0, 2.0, 0.1]", [1.0, 2.0, 0.1]), "t": ("0.47 minutes ago", 0.47), "y": ("no", None)}
    assert found["p"].question == "You are now at [1.5, 2.5, 0.0] in metres of the map. Where is it?"


def test_what_is_missing_is_named(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODA_ROOT_DIR", raising=False)
    coda = published / "elsewhere"
    coda.mkdir()
    (published / "poses").rename(coda / "poses")
    with pytest.raises(ConfigError, match=r"poses/dense/4\.txt of CODa.*form_question_jsons"):
        by_id(published)
    monkeypatch.setenv("CODA_ROOT_DIR", str(coda))
    assert len(by_id(published)) == 5
    (coda / "poses" / "dense" / "4.txt").unlink()
    with pytest.raises(ConfigError, match="part of CODa, whose devkit"):
        by_id(published)
    with pytest.raises(ConfigError, match=r"navqa/data\.csv"):
        by_id(coda)


@pytest.mark.parametrize(("old", "new", "complaint"), [
    ("16:25:30", "25:25:30", "time such as"), ("position,,[", "place,,[", "must be one of"),
    (",0.5,", ",some,", "minutes"), ("a,4,", "z,4,", "is not in data.csv")])
def test_damaged_rows_are_named(old: str, new: str, complaint: str, published: Path) -> None:
    file = published / "navqa" / "data.csv"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=complaint):
        by_id(published)


def write_pickles(root: Path) -> Path:
    """What preprocess_coda.py leaves: one pickle an image, with blue before red."""
    folder = root / "4"
    folder.mkdir(parents=True)
    for second in range(0, 80, 10):
        stamp = START - 10 + second
        image = np.zeros((12, 16, 3), np.uint8)
        image[..., 2] = second  # red
        value = {"cam0": image, "bbox_3d": {"3dbbox": [{"classId": "Tree", "cX": 1.5, "labelAttributes": {"a": None}}]},
                 "position": np.array(at(second - 10.0)), "rotation": np.array([0, 0, np.sqrt(0.5), np.sqrt(0.5)]),
                 "timestamp": np.float64(stamp)}
        (folder / f"{stamp}.pkl").write_bytes(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    return root


def write_own(root: Path) -> Path:
    """CODa's own layout of the same."""
    folder = root / "2d_rect" / "cam0" / "4"
    folder.mkdir(parents=True)
    (root / "timestamps").mkdir()
    (root / "timestamps" / "4.txt").write_text("".join(f"{START - 10 + 10 * i:.6f}\n" for i in range(8)))
    for i in range(8):
        Image.new("RGB", (16, 12), (10 * i, 0, 0)).save(folder / f"2d_rect_cam0_4_{i}.png")
    write_poses(root)
    return root


@pytest.mark.parametrize("write", [write_pickles, write_own])
def test_a_clip_of_a_sequence_is_the_history(write: Callable[[Path], Path], published: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    histories, sample = write(published / "coda"), by_id(published)["a"]
    reply = json.dumps({"answer": "(60, -30)", "confidence": 0.5, "images": [2], "abstain": False})
    backend = ScriptedBackend([reply])
    monkeypatch.setattr(answerers, "open_model", lambda config: backend)
    selection = ViewSelection("uniform", 50)
    source = source_finder(histories, None, selection)(sample)
    pictures = source.open().pictures  # type: ignore[attr-defined]
    assert [p.stamp_ns / 1e9 - START for p in pictures] == pytest.approx([0, 10, 20, 30, 40, 50, 60])
    assert [int(p.rgb()[0, 0, 0]) for p in pictures] == [10, 20, 30, 40, 50, 60, 70]
    assert [p.map_from_base().xyz for p in pictures[:2]] == [pytest.approx(at(0.0)), pytest.approx(at(10.0))]
    runner = NavqaRunner(lambda s: source, AnswererSettings(answerer="vlm"), selection, published / "cache")
    result = runner.run(sample)
    runner.close()
    words = " ".join(p for m in backend.requests[0] for p in m.parts if isinstance(p, str))
    assert "taken at (20.00, -10.00)" in words and "10.0 s after the start of 60.0 s" in words
    assert [(round(e.pose.x, 3), e.frame) for e in result.answer.evidence] == [(20.0, 2)]
    assert result.trace.poses[0][1].yaw == pytest.approx(np.pi / 2)


def test_minutes_ago_are_asked_for(published: Path) -> None:
    found = by_id(published)
    assert "minutes ago" in hint_of(found["b"]) and "in minutes" in hint_of(found["c"])
    assert "(x, y)" in hint_of(found["a"]) and hint_of(found["e"]) == ""


def test_a_missing_or_partial_sequence_says_so(published: Path) -> None:
    sample, selection = by_id(published)["a"], ViewSelection("uniform", 4)
    with pytest.raises(StorageError, match="coda-v0/4 is not in"):
        source_finder(published / "nothing", None, selection)(sample)
    root = write_pickles(published / "coda")
    for file in list((root / "4").glob("*.pkl"))[1:]:
        file.unlink()
    next((root / "4").glob("*.pkl")).rename(root / "4" / "1000000000.5.pkl")
    with pytest.raises(StorageError, match="another sequence, or not all of it"):
        source_finder(root, None, selection)(sample)
    with pytest.raises(ConfigError, match="recalled"):
        source_finder(write_pickles(published / "b"), None, ViewSelection("recalled"))(sample)
    own = write_own(published / "own")
    (own / "timestamps" / "4.txt").unlink()
    with pytest.raises(StorageError, match=r"timestamps/4\.txt"):
        open_history(own / "2d_rect" / "cam0" / "4")


class _Evil:
    def __reduce__(self) -> Any:
        return print, ("executed",)


@pytest.mark.parametrize("value", [{"cam0": _Evil()}, {"cam0": 5}, [1], {"cam0": np.zeros((2, 2))},
                                   {"cam0": np.zeros((2, 2, 3), np.uint8)}])
def test_a_pickle_that_is_none_of_these_is_refused(value: Any, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "1673884531.5.pkl").write_bytes(pickle.dumps(value))
    picture, = read_coda(tmp_path).pictures
    with pytest.raises(EqaError, match="1673884531"):
        assert picture.rgb() is picture.map_from_base()
    assert "executed" not in capsys.readouterr().out
