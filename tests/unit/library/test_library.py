"""`import eqa_nodes as eqa`: scenes, recordings and memory files are asked, and show themselves in a notebook."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path

import pytest

import eqa_nodes as eqa
from eqa_nodes.core.errors import BadQuestion, ConfigError, StorageError, UnknownScene
from eqa_nodes.core.language.bad_input import improper, unreadable
from eqa_nodes.core.language.query import Exchange
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.perception.detection import DetectorConfig
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.inquiries import MAY_I_DRIVE, Inquiry
from eqa_nodes.core.types.questions import Limits
from eqa_nodes.library.places import Scene, replying
from eqa_nodes.library.shown import Asked
from eqa_nodes.recordings.formats.openeqa_folder import write_openeqa
from eqa_nodes.testing.waiting import WAIT_S, until
from tests.fixtures.bad_questions import IMPROPER, UNREADABLE
from tests.fixtures.follow_up import FIRST, FOLLOW_UP, IN_FULL, parse_follow_ups
from tests.fixtures.frames import LABELS, frame
from tests.fixtures.histories import walk

NOON = 1_794_830_400 * 10**9  # a stamp of 2026
QUESTION = "Do I have any fruit left?"


@pytest.fixture(scope="module")
def house() -> Scene:
    return eqa.scene("house:7", image="160x120", labels=True)


@pytest.fixture(scope="module")
def asked(house: Scene) -> Asked:
    return eqa.ask(house, QUESTION)


def test_a_question_in_a_scene(asked: Asked) -> None:
    assert asked.text.startswith("yes") and asked.understood
    assert str(asked).startswith(f"understood: {asked.understood}\n{asked.text}")
    assert asked.answer.receipt.privileged == ("LabelAnswerer",) and asked.decisions
    assert list(asked) == list(asked.views)
    assert asked.evidence and {view.keyframe.id for view in asked.evidence} <= {view.keyframe.id for view in asked}


def test_without_labels_a_scene_is_seen_by_the_detector_of_its_simulator(house: Scene) -> None:
    assert house.config.settings.memory.reads_simulator
    seen = eqa.scene("house:7", image="320x240", limits=Limits(steps=12))
    settings = seen.config.settings
    assert settings.perception.detector.name == "perceiver" and not settings.memory.reads_simulator
    assert eqa.ask(seen, "Is there a unicorn?").answer.receipt.privileged == ()
    other = eqa.scene("house:7", detector=DetectorConfig("onnx"), answerer="label").config
    assert other.settings.perception.detector.name == "onnx"
    with pytest.raises(ConfigError, match="labels and detector in a launch file or in Python"):
        eqa.scene("house:7", detector=DetectorConfig("onnx"), labels=True)
    assert eqa.scene("toy:flat").config.settings.memory.reads_simulator


def test_a_notebook_shows_answer_evidence_and_map(asked: Asked, tmp_path: Path) -> None:
    page = asked._repr_html_()
    assert QUESTION in page and asked.text in page and "privileged: LabelAnswerer" in page
    assert page.count("data:image/jpeg;base64,") == len(asked.answer.evidence) and "data:image/svg+xml" in page
    assert asked.evidence[0]._repr_jpeg_()[:2] == b"\xff\xd8"
    asked.map.save(tmp_path / "map.svg")
    assert ET.parse(tmp_path / "map.svg").getroot().tag.endswith("svg")
    asked.evidence[0].save(tmp_path / "view.jpg")
    assert (tmp_path / "view.jpg").read_bytes() == asked.evidence[0].jpeg


def test_text_of_others_is_no_markup(asked: Asked) -> None:
    hostile = Asked("<script>alert(1)</script>", asked.answer, asked.trace)
    assert "<script>" not in hostile._repr_html_()


def test_the_robot_is_driven_by_hand(house: Scene) -> None:
    with house.drive() as robot:
        before = robot.observation
        after = robot.act(Action.TURN_LEFT)
        assert robot.steps == 1 and after.rgb.shape == (120, 160, 3) and after.labels is None
        assert after.pose.yaw != before.pose.yaw


def test_limits_hold(house: Scene) -> None:
    asked = eqa.ask(eqa.scene("house:7", image="160x120", limits=Limits(steps=3)), "Is there a unicorn?")
    assert asked.answer.abstained and asked.answer.receipt.steps <= 3 and "\nI do not know. (" in str(asked)


def test_a_recording(tmp_path: Path) -> None:
    write_openeqa(walk(5), tmp_path / "walk")
    recording = eqa.history(tmp_path / "walk", answerer="blind")
    frames = list(recording)
    assert len(frames) == len(recording) == 5 and frames[0].rgb.ndim == 3
    assert eqa.ask(recording, "Is the door open?").text in ("yes", "no")


def test_a_question_may_refer_to_the_one_before_it_in_the_same_place(tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    referred = parse_follow_ups(monkeypatch)
    write_openeqa(walk(5), tmp_path / "walk")
    recording, other = (eqa.history(tmp_path / "walk", answerer="blind") for _ in range(2))
    first = recording.ask(FIRST)
    assert recording.ask(FOLLOW_UP).question == IN_FULL and referred == [Exchange(FIRST, first.text)]
    assert other.ask(FOLLOW_UP).question == FOLLOW_UP


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_bad_input_is_refused_in_one_sentence(house: Scene, text: str) -> None:
    with pytest.raises(BadQuestion) as refused:
        house.ask(text)
    assert str(refused.value) == unreadable(text.strip())


@pytest.mark.parametrize("text", IMPROPER.values(), ids=IMPROPER)
def test_what_may_not_be_asked_moves_nothing(house: Scene, text: str) -> None:
    asked = house.ask(text)
    assert str(asked) == f"I do not know. (confidence 0.00): {improper(text)}" and not asked.answer.receipt.moved


def test_a_memory_file(tmp_path: Path) -> None:
    with closing(MemoryStore(tmp_path / "home.sqlite")) as store:
        store.reset("first", map_name="home")
        store.take(frame(NOON, boxes={1: (20, 16, 32, 30), 2: (0, 30, 60, 46)}), LABELS)
    with eqa.memory(tmp_path / "home.sqlite") as memory:
        names = {known.kind for known in memory.objects()}
        asked = memory.ask(f"When did you last see the {min(names)}?")
        assert asked.text and asked.evidence[0].keyframe.stamp_ns == NOON
        assert [view.seconds for view in memory.recall(min(names))] == [NOON / 1e9]
        with pytest.raises(BadQuestion, match="were and usually are"):
            memory.ask("What color is the sofa?")


def test_what_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UnknownScene, match="castle"):
        eqa.scene("castle:7")
    with pytest.raises(ConfigError, match="EQA_VLM"):
        eqa.scene("house:7", answerer="vlm")
    with pytest.raises(StorageError, match=r"no memory file .*none\.sqlite"):
        eqa.memory(tmp_path / "none.sqlite")
    with pytest.raises(BadQuestion):
        eqa.ask(eqa.scene("house:7"), " ")
    with pytest.raises(AttributeError, match="no attribute 'scenes'"):
        eqa.scenes  # noqa: B018


def test_a_function_replies_to_what_the_robot_asks() -> None:
    inquiries: list[Inquiry] = []

    def reply(inquiry: Inquiry) -> int:
        inquiries.append(inquiry)
        return 1 if len(inquiries) == 1 else 3

    place = eqa.scene("house:7", image="160x120", drive="confirm")
    answer = place.ask("Where is the unicorn?", reply).answer
    assert [i.text[:6] for i in inquiries] == ["May I "] * 2 and answer.receipt.steps > 0 and not answer.receipt.metres
    assert "a person said no" in answer.message
    silent = place.ask("Where is the unicorn?").answer  # nobody is there: it does not wait
    assert silent.receipt.steps == 0 and "nobody replied" in silent.message


def test_a_reply_that_comes_too_late_is_told(recwarn: pytest.WarningsRecorder) -> None:
    told = threading.Event()

    def hand_in(inquiry: str, option: int) -> None:
        told.set()
        raise ConfigError("nothing waits for it (any more)")

    inquiry = Inquiry("i", MAY_I_DRIVE, "May I?", ("yes",), 1.0)
    heard = replying(lambda inquiry: 1, hand_in)
    heard(inquiry._replace(reply=1))
    assert not told.is_set()
    heard(inquiry)
    assert told.wait(WAIT_S)
    until(lambda: any("did not count" in str(w.message) for w in recwarn.list))
