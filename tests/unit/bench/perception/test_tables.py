"""The tables put detectors side by side, and the report says the same as the terminal."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from eqa_nodes.bench.perception.measure import MeasuredDetector, measure_detectors
from eqa_nodes.bench.perception.tables import sections, write_report
from eqa_nodes.core.storage.codec import read_json
from eqa_nodes.perception.oracle import LabelDetector, ScriptedDetector
from tests.fixtures.labelled_views import CUP, SOFA, of, view, within


def measured(pictures: bool = False) -> list[MeasuredDetector]:
    script = [[of("cup", CUP), of("dog", SOFA, 0.6)], [of("sofa", SOFA), within("ghost", (0, 40, 9, 48), 0.4)]]
    views = [view(f"rooms:{n}", n) for n in range(3)]
    return measure_detectors(views, {"labels": LabelDetector(), "eyes=my.onnx": ScriptedDetector(script)},
                             pictures=pictures)


def table(title: str, kinds: int = 9) -> dict[str, tuple[str, ...]]:
    found = {s.title: s for s in sections([m.figures for m in measured()], kinds)}
    return {row[0]: row[1:] for row in found[title].rows}


def test_detectors_stand_side_by_side() -> None:
    rows = table("Detectors")
    assert rows["recall, all"][0].startswith("100.0 (") and rows["recall, all"][1].startswith("22.2 (")
    assert rows["reads the simulator's labels"] == ("yes", "no") and rows["views with an error"] == ("0", "1")
    assert rows["false detections, parts of objects"] == ("0, 0", "1, 0")
    assert rows["colour, right (left out)"] == ("- (100.0)", "- (100.0)")
    assert table("By width in the picture and by distance")["over 40 px"] == ("6", "100.0 / 100.0", "33.3 / 50.0")
    assert table("By kind") == {"cup": ("6", "100.0 / 100.0", "33.3 / 100.0"),
                                "sofa": ("3", "100.0 / 100.0", "33.3 / 100.0"),
                                "dog": ("0", "-", "- / 0.0"), "ghost": ("0", "-", "- / 0.0")}
    assert list(table("By kind", 1)) == ["cup"]
    assert table("eyes=my.onnx: most frequent confusions") == {"sofa": ("dog", "1")}
    assert table("eyes=my.onnx: calibration of scores")["0.6 to 0.7"] == ("1", "60.0", "0.0")
    assert len(table("eyes=my.onnx: errors")) == 1


def test_the_report_is_written_with_pictures(tmp_path: Path) -> None:
    files = write_report(tmp_path / "new", measured(pictures=True), "3 scenes.")
    assert [path.name for path in files] == ["report.json", "report.md", "eyes-my.onnx-missed.png",
                                             "eyes-my.onnx-false.png", "eyes-my.onnx-confused.png"]
    data = read_json(files[0])
    assert data["detectors"][1]["all"]["recall"]["right"] == 2 and data["measured"] == "3 scenes."
    page = files[1].read_text()
    assert "| recall, all | 100.0" in page and "![](eyes-my.onnx-missed.png)" in page
    for path in files[2:]:
        assert Image.open(path).size[0] > 500
