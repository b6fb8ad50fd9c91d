"""A receipt says "labels" where a simulator labelled, and nothing where things were detected; also from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eqa_nodes.core.answerers.common import answer_of, from_labels
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.types.questions import Question, Recalled, Recollection
from eqa_nodes.core.types.views import Keyframe, Label
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.frames import LABELS, frame

SECOND = 1_000_000_000
BOXES = {1: (5, 5, 40, 40), 2: (41, 5, 60, 40)}
DETECTED = {i: Label(i, label.kind, "", {}, detected=True) for i, label in LABELS.items()}


def remembered(path: Path, labels: dict[int, Label], stamp: int = SECOND) -> Keyframe:
    store = MemoryStore(path, MemoryConfig(embedder="none"))
    taken = store.take(frame(stamp, boxes=BOXES), labels)
    store.close()
    assert taken is not None
    store = MemoryStore(path, MemoryConfig(embedder="none"), write=False)
    kept = store.keyframe(taken.id)
    store.close()
    assert kept == taken
    return taken


@pytest.fixture
def labelled(tmp_path: Path) -> Keyframe:
    return remembered(tmp_path / "labelled.sqlite", LABELS)


@pytest.fixture
def detected(tmp_path: Path) -> Keyframe:
    return remembered(tmp_path / "detected.sqlite", DETECTED)


def test_views_keep_who_labelled_them(labelled: Keyframe, detected: Keyframe) -> None:
    assert labelled.privileged and not detected.privileged
    assert [s.label.kind for s in labelled.sightings] == [s.label.kind for s in detected.sightings]
    assert detected.caption and "detect" not in detected.caption


def test_the_label_answerer_is_privileged_but_over_detections(labelled: Keyframe, detected: Keyframe) -> None:
    question = Question("Is there a kettle?")
    over_detections = LabelAnswerer()
    answer = over_detections.answer(question, [Recalled(detected, 1.0, "")])
    assert answer.text == "yes" and answer.receipt.privileged == () == over_detections.spent().privileged
    over_detections.assess(question, [labelled])
    assert over_detections.spent().privileged == ("LabelAnswerer",), "one labelled view is enough"
    assert LabelAnswerer().answer(question, [Recalled(labelled, 1.0, "")]).receipt.privileged == ("LabelAnswerer",)
    assert LabelAnswerer().spent().privileged == ("LabelAnswerer",), "nothing in view may be known from labels too"
    knowing = LabelAnswerer(detected=True)
    assert knowing.spent().privileged == (), "what a detector did not see is not privileged either"
    knowing.assess(question, [labelled])
    assert knowing.spent().privileged == ("LabelAnswerer",), "whatever the settings say"


@pytest.mark.parametrize("kind", ["labelled", "detected"])
def test_a_model_that_reads_captions_of_detections_is_not_privileged(kind: str, request: pytest.FixtureRequest) -> None:
    view = request.getfixturevalue(kind)
    backend = ScriptedBackend(['{"answer": "yes", "confidence": 0.9, "images": [1], "abstain": false}'])
    answer = VlmAnswerer(backend).answer(Question("Is there a kettle?"), [Recalled(view, 1.0, "")])
    assert answer.receipt.privileged == (("labels",) if kind == "labelled" else ())


def test_what_memory_tells_rests_on_its_proof(labelled: Keyframe, detected: Keyframe) -> None:
    told = Recollection("in the kitchen", 0.9, ())
    assert answer_of(told, [detected]).receipt.privileged == ()
    for proof in ([labelled], [detected, labelled], [replace(detected, sightings=())], []):
        assert from_labels(proof) and answer_of(told, proof).receipt.privileged == ("labels",)
