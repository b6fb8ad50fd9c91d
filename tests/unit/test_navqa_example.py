"""The example package of NaVQA: its questions, where and when their answers show, and clips of CODa as histories."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.metrics.navqa import errors_of, mark
from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.core.components import HISTORIES, READERS
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.samples import EM, Sample
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.recordings.histories import open_history
from eqa_nodes.recordings.history_views import ViewSelection
from eqa_nodes.runners import answerers
from eqa_nodes.runners.navqa import NavqaRunner, hint_of
from eqa_nodes.runners.sources import source_finder
from tests.fixtures.examples import EXAMPLES

START = datetime(2023, 1, 17, 0, 25, tzinfo=timezone.utc).timestamp()  # 16:25 the day before in California
COLUMNS = ("UUID", "Seq ID", "Question", "Timestamp \nwith answer", "Type \n(binary, position, time, text)",
           "Text answer", "Parsable answer", "Question\nCategory")
ROWS = (("a", "4", "Where is the bench?", "16:25:30", "position", "", "[position]", "spatial"),
        ("b", "4", "When did you cross the street?", "16:25:30", "time", "", "[minutes] ago", "temporal"),
        ("c", "4", "How long were you inside?", "16:25:10,16:25:40", "duration", "For 0.5 minutes", "0.5", ""),
        ("d", "4", "Was it busy?", "16:25:30", "binary", "", "No", ""),
        ("e", "4", "What is on the left?", "16:25:30", "text", "a statue", "", "descriptive"))


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(EXAMPLES / "eqa_navqa"))
    example = import_module("eqa_navqa")
    READERS["navqa"], HISTORIES["coda"] = example.NavqaReader, example.CodaFormat
    yield
    del READERS["navqa"], HISTORIES["coda"]


def at(seconds: float) -> tuple[float, float, float]:
    return 2.0 * seconds, -seconds, 0.5


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """ReMEmbR's folder data with one sequence, and CODa's own files of it."""
    folder, images = tmp_path / "navqa" / "4", tmp_path / "2d_rect" / "cam0" / "4"
    folder.mkdir(parents=True)
    with (tmp_path / "navqa" / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows((COLUMNS, *ROWS))
    clips = [{"id": row[0], "length_category": "SHORT", "start_time": START, "end_time": START + 60.0} for row in ROWS]
    (folder / "qa_unfilled.json").write_text(json.dumps({"version": 0.1, "data": clips}))
    for part in ("poses/dense", "timestamps", "2d_rect/cam0/4"):
        (tmp_path / part).mkdir(parents=True)
    lines = [[START + s, *at(s), np.sqrt(0.5), 0, 0, np.sqrt(0.5)] for s in np.arange(-20.0, 80.0, 0.5)]
    np.savetxt(tmp_path / "poses" / "dense" / "4.txt", lines, fmt="%.6f")
    (tmp_path / "timestamps" / "4.txt").write_text("".join(f"{START - 10 + 10 * i:.6f}\n" for i in range(8)))
    for i in range(8):
        Image.new("RGB", (16, 12), (10 * i, 0, 0)).save(images / f"2d_rect_cam0_4_{i}.png")
    return tmp_path


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
    assert found["a"].question == "You are now at [120.0, -60.0, 0.5] in metres of the map. Where is the bench?"
    assert "minutes ago" in hint_of(found["b"]) and "in minutes" in hint_of(found["c"])


@pytest.mark.parametrize(("question", "text", "right", "off"), [
    ("a", "at (60.0, -20.0)", True, 10.0), ("a", "(60, -50)", False, 20.0), ("b", "1.5 minutes ago", True, 60.0),
    ("b", "4 minutes ago", False, 210.0), ("c", "2 minutes", True, 90.0), ("c", "three minutes", False, 150.0)])
def test_answers_are_measured(question: str, text: str, right: bool, off: float, published: Path) -> None:
    sample = by_id(published)[question]
    errors, given = errors_of(sample, Answer(text)), mark(sample, Answer(text))
    assert (errors.position_m if question == "a" else errors.time_s) == pytest.approx(off)
    assert given is not None and (given.sigma == 5) is right


def test_what_is_missing_is_named(published: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CODA_ROOT_DIR", raising=False)
    coda = tmp_path / "elsewhere"
    coda.mkdir()
    (published / "poses").rename(coda / "poses")
    with pytest.raises(ConfigError, match=r"poses/dense/4\.txt .*set CODA_ROOT_DIR"):
        by_id(published)
    monkeypatch.setenv("CODA_ROOT_DIR", str(coda))
    assert len(by_id(published)) == 5
    with pytest.raises(ConfigError, match=r"navqa/data\.csv"):
        by_id(coda)
    (published / "timestamps" / "4.txt").unlink()
    with pytest.raises(StorageError, match=r"timestamps/4\.txt"):
        open_history(published / "2d_rect" / "cam0" / "4")


@pytest.mark.parametrize(("old", "new", "complaint"), [
    ("16:25:30", "25:25:30", "time such as"), ("position,,[", "place,,[", "must be one of"),
    (",0.5,", ",some,", "minutes"), ("a,4,", "z,4,", "cannot be read")])
def test_damaged_rows_are_named(old: str, new: str, complaint: str, published: Path) -> None:
    file = published / "navqa" / "data.csv"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=complaint):
        by_id(published)


def test_a_clip_of_a_sequence_is_the_history(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = by_id(published)["a"]
    reply = json.dumps({"answer": "(60, -30)", "confidence": 0.5, "images": [2], "abstain": False})
    backend = ScriptedBackend([reply])
    monkeypatch.setattr(answerers, "open_model", lambda config: backend)
    selection = ViewSelection("uniform", 50)
    source = source_finder(published, None, selection)(sample)
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
    with pytest.raises(ConfigError, match="recalled"):
        source_finder(published, None, ViewSelection("recalled"))(sample)
