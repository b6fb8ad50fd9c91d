"""Pictures in words: described once, kept, told in order; and what agents that know things are told and tell."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from eqa_nodes.core.answerers.snapshot import SnapshotAnswerer, SnapshotsConfig
from eqa_nodes.core.answerers.socratic import GRAPH, VOXEL, CaptionAnswerer, Captioner, CaptionStore, SceneGraphAnswerer
from eqa_nodes.core.errors import BudgetSpent, ModelError, StorageError
from eqa_nodes.core.model import Message
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Question, Recalled
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.rooms import LIVING_ROOM, view

QUESTION = Question("What is on the coffee table?")
REPLY = {"answer": "a vase", "confidence": 0.8, "why": "blue thing on it", "abstain": False}


def picture(shade: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (640, 480), (shade, shade, shade)).save(out, "JPEG")
    return out.getvalue()


VIEWS = [view(i, Pose2(0.0, 1.0, 1.57), *LIVING_ROOM[i - 1:], jpeg=picture(40 * i)) for i in (1, 2, 3)]


def items(views: Sequence[Keyframe] = VIEWS) -> list[Recalled]:
    return [Recalled(v, 0.0, "") for v in views]


def model(**reply: object) -> ScriptedBackend:
    """Return a model that describes a picture by its number of bytes, and replies so to everything else."""
    def said(messages: Sequence[Message]) -> str:
        if str(messages[0].parts[0]).startswith("You describe"):
            return f"seen in {len(messages[1].parts[-1])} bytes"
        return json.dumps({**REPLY, **reply})

    return ScriptedBackend([said] * 200)


def told(backend: ScriptedBackend) -> str:
    """Return what the last request says in words, after the question."""
    return "\n".join(part for part in backend.requests[-1][1].parts[1:] if isinstance(part, str))


def test_each_picture_is_described_once_and_the_words_answer() -> None:
    backend = model(images=[3, 1])
    answerer = CaptionAnswerer(backend)
    answer = answerer.answer(QUESTION, items(list(reversed(VIEWS))))
    assert (answer.text, answer.receipt.calls) == ("a vase", 4)
    assert [(e.keyframe_id, e.note) for e in answer.evidence] == [(3, "blue thing on it"), (1, "blue thing on it")]
    assert not any(isinstance(part, bytes) for part in backend.requests[-1][1].parts)
    lines = [json.loads(line) for line in told(backend).splitlines()[1:-1]]
    assert lines == [f"{v.id}. seen in {len(v.jpeg)} bytes" for v in VIEWS]  # the oldest first
    assert answerer.answer(QUESTION._replace(text="Is it day?"), items()).receipt.calls == 1


def test_the_robot_looks_first_where_the_things_of_a_question_usually_are() -> None:
    answerer = CaptionAnswerer(ScriptedBackend(()))
    assert answerer.regions(Question("Is the kettle on?"))[0].name == "kitchen"
    assert [region.name for region in answerer.regions(Question("What is on the desk in the study?"))] == ["study"]
    assert answerer.regions(Question("zxqv grmpf?")) == [] and answerer.spent().calls == 0


def test_what_was_described_stays_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "captions.sqlite"
    first = CaptionAnswerer(model(images=[1]), CaptionStore(path)).answer(QUESTION, items())
    backend = model(images=[1])
    again = CaptionAnswerer(backend, CaptionStore(path)).answer(QUESTION, items())
    assert (first.receipt.calls, again.receipt.calls) == (4, 1) and again.text == first.text
    assert CaptionStore(path).put("key", "first") == CaptionStore(path).put("key", "second") == "first"
    other = ScriptedBackend(["other"], model="another model")
    assert Captioner(other, CaptionStore(path)).caption("caption", VIEWS[0].jpeg) == "other"
    path.write_bytes(b"no database" * 100)
    with pytest.raises(StorageError, match="captions"):
        CaptionStore(path)


def test_a_picture_that_gets_no_words_is_asked_about_once_more() -> None:
    backend = ScriptedBackend([" ", "a  wall\n"])
    assert Captioner(backend).caption("caption", b"x") == "a wall"
    with pytest.raises(ModelError, match="empty caption twice"):
        Captioner(ScriptedBackend(["", " "])).caption("caption", b"x")


def test_a_spent_budget_keeps_what_was_described() -> None:
    store, replies = CaptionStore(), ["one", "two", "three", "four"]
    with pytest.raises(BudgetSpent):
        CaptionAnswerer(ScriptedBackend(replies, budget_calls=2), store).answer(QUESTION, items())
    backend = ScriptedBackend(["three", json.dumps({**REPLY, "images": [1]})])
    assert CaptionAnswerer(backend, store).answer(QUESTION, items()).receipt.calls == 2


def test_things_are_told_with_and_without_boxes_and_relations() -> None:
    texts = {}
    for name, config in {"voxel": VOXEL, "graph": GRAPH, "bare": replace(VOXEL, boxes=False)}.items():
        backend = model(things=[1])
        answer = SceneGraphAnswerer(backend, config).answer(QUESTION, items())
        texts[name] = told(backend)
        assert answer.text == "a vase" and answer.receipt.privileged == ("labels",)
    assert "1. coffee table: seen in" in texts["bare"] and "box" not in texts["bare"]
    assert "box centre (0.0, 2.2, 0.2) m, size 1.0 x 0.6 x 0.4 m" in texts["voxel"] and " is on " not in texts["voxel"]
    numbers = {kind: next(line.split(".")[0].strip('"') for line in texts["graph"].splitlines() if f". {kind}:" in line)
               for kind in ("vase", "coffee table")}
    assert f"{numbers['vase']} is on {numbers['coffee table']}" in texts["graph"]
    for text in texts.values():  # a detector would know neither
        assert "living room" not in text and "ceramic" not in text


def test_evidence_is_the_best_view_of_the_thing_that_is_named() -> None:
    seen = [replace(v, sightings=tuple(s._replace(pixels=100 * v.id) for s in v.sightings)) for v in VIEWS]
    answer = SceneGraphAnswerer(model(things=[1]), VOXEL).answer(QUESTION, items(seen))
    coffee_table = next(v for v in reversed(seen) if any(s.label.kind == "coffee table" for s in v.sightings))
    assert [(e.keyframe_id, e.note) for e in answer.evidence] == [(coffee_table.id, "blue thing on it")]


def test_only_the_likest_things_are_described() -> None:
    backend = model(things=[1])
    SceneGraphAnswerer(backend, replace(VOXEL, objects=2)).answer(QUESTION, items())
    assert len(backend.requests) == 3 and len(told(backend).splitlines()) == 4


def kinds_then(*kinds: str) -> Callable[[Sequence[Message]], str]:
    def said(messages: Sequence[Message]) -> str:
        return json.dumps({"classes": kinds} if '{"classes"' in str(messages[0].parts[0]) else {**REPLY, "images": [1]})

    return said


def test_the_model_picks_a_snapshot_of_the_kinds_that_it_chose() -> None:
    rest = [view(1, Pose2(0.0, 3.0, 0.0), *LIVING_ROOM[:4], jpeg=picture(9)),
            view(2, Pose2(0.0, 3.0, 0.0), *LIVING_ROOM[5:], jpeg=picture(9))]
    lamp = view(8, Pose2(0.0, 3.0, 0.0), LIVING_ROOM[4], jpeg=picture(99))
    backend = ScriptedBackend([kinds_then("floor lamp")] * 2)
    answer = SnapshotAnswerer(backend, SnapshotsConfig(classes=2)).answer(QUESTION, items([*rest, lamp]))
    assert (answer.text, [e.keyframe_id for e in answer.evidence], answer.receipt.calls) == ("a vase", [8], 2)
    assert [part for part in backend.requests[-1][1].parts if isinstance(part, bytes)] == [lamp.jpeg]
    assert "Picture 1: " in told(backend) and "floor lamp" in told(backend)


def test_a_kind_off_the_list_is_asked_for_once_more() -> None:
    backend = ScriptedBackend([kinds_then("dragon")] * 2)
    with pytest.raises(ModelError, match="'dragon' is not on the list"):
        SnapshotAnswerer(backend, SnapshotsConfig(classes=2)).answer(QUESTION, items())


def test_few_kinds_need_no_filter_and_none_chosen_shows_all() -> None:
    backend = ScriptedBackend([kinds_then()] * 2)
    assert SnapshotAnswerer(backend).answer(QUESTION, items()).receipt.calls == 1
    backend = ScriptedBackend([kinds_then()] * 2)
    assert SnapshotAnswerer(backend, SnapshotsConfig(classes=2)).answer(QUESTION, items()).text == "a vase"
