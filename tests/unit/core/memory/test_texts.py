"""What is written in kept views: whose it is, that it stays, and that other views are not read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.memory.forgetting import ForgetSelection
from eqa_nodes.core.memory.texts import READING, Texts, blocks
from eqa_nodes.core.perception.detection import Detection
from eqa_nodes.core.perception.tracking import Perceiver
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, Recalled
from eqa_nodes.core.types.views import Label, Sighting
from eqa_nodes.perception.oracle import ScriptedDetector
from tests.fixtures.frames import frame

SIGN = {3: Label(3, "sign", "hallway", {"text": "what only the simulator knows"})}
BOARD = {3: (10, 10, 40, 30)}  # rows 10 to 30 of the image, as `frame` paints them
NEARER = Pose2(0.6, 0.0, 0.0)  # to the same wall


def line(text: str, left: int, top: int, right: int, bottom: int) -> Detection:
    return Detection("text", 0.99, (left, top, right, bottom), None, text=text)


def test_lines_belong_to_the_object_that_bears_them_and_others_stand_alone(tmp_path: Path) -> None:
    lines = [line("SHOES", 12, 20, 38, 28), line("NO", 12, 11, 24, 18), line('EXIT "<now>"', 45, 11, 60, 20)]
    detector = ScriptedDetector([lines, []])
    with closing(MemoryStore(tmp_path / "m.sqlite", texts=Texts(Perceiver(detector, READING)))) as store:
        store.reset("one")
        first = frame(1, boxes=BOARD)
        view = store.take(first, SIGN)
        assert view is not None
        assert {s.label.kind: s.label.attributes["text"] for s in view.sightings} == {
            "sign": "NO SHOES", "text": "EXIT '(now)'"}
        assert 'sign "NO SHOES"' in view.caption
        alone = next(s for s in view.sightings if s.label.kind == "text")
        assert alone.label.detected and alone.label.instance >= 60_001 and alone.bbox == (45, 11, 60, 20)
        assert [o.kind for o in store.objects()] == ["sign"]  # a text on nothing is no object

        assert store.take(frame(2, boxes=BOARD), SIGN) is None  # the same view is not kept, and not read
        assert len(detector.frames) == 1
        again = store.take(frame(3 * 10 ** 9, NEARER, boxes=BOARD, depth=1.4), SIGN)
        assert again is not None and "text" not in again.sightings[0].label.attributes  # it could not be read there
        assert "NO SHOES" in {o.attributes.get("text") for o in store.objects()}
        store.forget(ForgetSelection(after_ns=1, before_ns=2))
        assert store.objects() and not any("text" in o.attributes for o in store.objects())


def test_without_a_reader_labels_say_what_is_written(tmp_path: Path) -> None:
    with closing(MemoryStore(tmp_path / "m.sqlite")) as store:
        store.reset("one")
        view = store.take(frame(1, boxes=BOARD), SIGN)
    assert view is not None and view.sightings[0].label.attributes == SIGN[3].attributes and view.privileged


def test_lines_on_nothing_that_stand_together_are_one_text(tmp_path: Path) -> None:
    """Without objects a sign of two lines is one text; what is apart, of another size or farther away is another."""
    sign = [line("SHOES", 8, 16, 30, 22), line("NO", 14, 8, 24, 14)]
    others = [line("PARIS", 8, 34, 30, 40), line("12:45", 40, 2, 60, 22)]
    detector = ScriptedDetector([[*sign, *others]])
    with closing(MemoryStore(tmp_path / "m.sqlite", texts=Texts(Perceiver(detector, READING)))) as store:
        store.reset("one")
        view = store.take(frame(1), {})
    assert view is not None
    read = {s.label.attributes["text"]: s for s in view.sightings}
    assert set(read) == {"NO SHOES", "PARIS", "12:45"}
    assert read["NO SHOES"].bbox == (8, 8, 30, 22)
    answer = LabelAnswerer().answer(Question("What does the sign say?"), [Recalled(view, 1.0, "")])
    assert answer.text in ("NO SHOES", "PARIS")  # two texts: either may be meant


def test_a_line_that_the_edge_of_the_image_may_cut_off_is_not_read(tmp_path: Path) -> None:
    """Close to a sign, "OES" is what is left of "SHOES". Letters at the upper edge are whole, or are not read."""
    lines = [line("OES", 0, 20, 38, 28), line("SMOK", 44, 11, 63, 20), line("NO", 12, 0, 24, 18)]
    detector = ScriptedDetector([lines])
    with closing(MemoryStore(tmp_path / "m.sqlite", texts=Texts(Perceiver(detector, READING)))) as store:
        store.reset("one")
        view = store.take(frame(1, boxes=BOARD), SIGN)
    assert view is not None
    assert [s.label.attributes.get("text") for s in view.sightings] == [None, "NO"]


def test_a_line_farther_away_is_another_text() -> None:
    label = Label(60_001, "text", "", {"text": "NO"}, True)
    near = Sighting(label, 100, (14, 8, 24, 14), (2.0, 0.1, 1.6), (0.0, 0.3, 0.1))
    below = Sighting(label, 100, (8, 16, 30, 22), (2.0, 0.1, 1.4), (0.0, 0.5, 0.1))
    behind = below._replace(centre=(5.0, 0.1, 1.1))
    assert [len(block) for block in blocks([near, below])] == [2]
    assert [len(block) for block in blocks([near, behind])] == [1, 1]
