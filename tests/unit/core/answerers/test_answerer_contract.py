"""What every Answerer promises: labels by rules, a scripted model, the papers' agents, and the blind baselines."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from PIL import Image

from eqa_nodes.core.answerers.blind import BlindAnswerer, RandomAnswerer
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.answerers.snapshot import SnapshotAnswerer
from eqa_nodes.core.answerers.socratic import GRAPH, CaptionAnswerer, GraphConfig, SceneGraphAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import BadQuestion, BudgetSpent, ErrorCode, ModelError
from eqa_nodes.core.language.understanding import understand
from eqa_nodes.core.model import Message
from eqa_nodes.core.protocols import Answerer
from eqa_nodes.core.types.questions import Answer, Question, Recalled
from eqa_nodes.core.types.views import FloorPixel, Keyframe
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.rooms import HOME

VIEWS = tuple(Keyframe(v.id, v.stamp_ns, v.map_from_base, b"\xff\xd8jpeg", region=v.region) for v in HOME)  # no labels
QUESTION = Question("What color is the sofa?")
ANSWER = json.dumps({"answer": "gray", "confidence": 0.8, "images": [1], "things": [1], "abstain": False})


def _vlm(*replies: str) -> Answerer:
    return VlmAnswerer(ScriptedBackend(replies))


def assessment_of(count: int, letters: str = "") -> str:
    """Return a well-formed assessment of the first `count` pictures, each with the letters."""
    one = {"relevance": 0.5, "enough": 0.25, "worth": 0.5, "target": letters[:1], "region": "Kitchen", "says": "",
           "places": dict.fromkeys(letters, 0.5), "note": "a sink"}
    return json.dumps({"views": [{"image": i + 1, **one} for i in range(count)]})


def _by_prompt(*replies: str) -> ScriptedBackend:
    """Return a model that describes every picture alike and finds vases worth a look; else it replies in order."""
    left = iter(replies)

    def model(messages: Sequence[Message]) -> str:
        prompt = str(messages[0].parts[0])
        if prompt.startswith("You describe"):
            return "something gray"
        return '{"classes": ["vase"]}' if '{"classes"' in prompt else next(left)

    return ScriptedBackend([model] * 100)


def red_jpeg(width: int = 128, height: int = 96) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "gray").save(out, "JPEG")
    return out.getvalue()


SHOWN = tuple(replace(view, jpeg=red_jpeg(640, 480)) for view in HOME)
MAKERS: dict[str, tuple[Callable[..., Answerer], tuple[Keyframe, ...]]] = {
    "label": (lambda *replies: LabelAnswerer(), HOME),
    "vlm": (_vlm, VIEWS),
    "vlm, labels": (_vlm, tuple(replace(view, jpeg=b"\xff\xd8jpeg") for view in HOME)),
    "captions": (lambda *replies: CaptionAnswerer(_by_prompt(*replies)), VIEWS),
    "graph": (lambda *replies: SceneGraphAnswerer(_by_prompt(*replies), GRAPH), SHOWN),
    "voxel": (lambda *replies: SceneGraphAnswerer(_by_prompt(*replies), GraphConfig(boxes=False)), SHOWN),
    "snapshot": (lambda *replies: SnapshotAnswerer(_by_prompt(*replies)), SHOWN),
    "random": (lambda *replies: RandomAnswerer(), HOME),
    "blind": (lambda *replies: BlindAnswerer(LabelAnswerer()), HOME),
    "blind model": (lambda *replies: BlindAnswerer(_vlm(*replies)), VIEWS),
}
every = pytest.mark.parametrize("name", MAKERS)
BLIND = ("blind", "blind model", "random")
JUDGING = ("label", "vlm", "vlm, labels", "snapshot")  # the others judge no view on the way
ASKING = ("vlm", "vlm, labels", "snapshot")  # of those, a model
USUAL_ROOMS = ("captions", "graph", "voxel")  # know where the things of a question usually are


def _items(views: tuple[Keyframe, ...]) -> list[Recalled]:
    return [Recalled(view, 1.0 / (i + 1), "test") for i, view in enumerate(views)]


def _check(answer: Answer, views: tuple[Keyframe, ...]) -> None:
    assert 0.0 <= answer.confidence <= 1.0
    assert answer.error is ErrorCode.NONE
    assert bool(answer.text) != answer.abstained
    known = {view.id: view for view in views}
    assert {e.keyframe_id for e in answer.evidence} <= set(known)
    for e in answer.evidence:
        assert (e.stamp_ns, e.pose) == (known[e.keyframe_id].stamp_ns, known[e.keyframe_id].pose)
    assert (answer.receipt.steps, answer.receipt.metres, answer.receipt.seconds) == (0, 0.0, 0.0)


@every
def test_no_views_cost_nothing(name: str) -> None:
    answerer = MAKERS[name][0]()
    assert answerer.assess(QUESTION, []) == []
    assert answerer.spent().calls == 0


@every
def test_every_view_is_judged_in_order(name: str) -> None:
    make, views = MAKERS[name]
    answerer = make(assessment_of(len(views)))
    judged = answerer.assess(QUESTION, views)
    assert [(a.keyframe_id, a.stamp_ns) for a in judged] == [(v.id, v.stamp_ns) for v in views]
    assert all(0.0 <= a.relevance <= 1.0 and 0.0 <= a.enough <= 1.0 for a in judged)
    assert answerer.spent().calls == (1 if name in ASKING else 0)


@every
def test_places_are_valued_where_they_are(name: str) -> None:
    make, views = MAKERS[name]
    spots = tuple(FloorPixel(20 + 30 * i, 60, 0.5 * i, 2.0 + i) for i in range(3))
    views = tuple(replace(view, places=spots, jpeg=red_jpeg()) for view in views)
    judged = make(assessment_of(len(views), "ABC")).assess(QUESTION, views)
    assert [(a.keyframe_id, a.pose) for a in judged] == [(v.id, v.pose) for v in views]
    assert all(0.0 <= a.worth <= 1.0 for a in judged)
    for a in judged:
        assert [(c.x, c.y) for c in a.places] == ([(p.x, p.y) for p in spots] if name in JUDGING else [])
        assert not a.places or sum(c.weight for c in a.places) == pytest.approx(1.0)
        assert all(0.0 <= c.weight <= 1.0 for c in a.places)
        assert a.target is None or all(map(math.isfinite, a.target))
    assert any(a.target for a in judged) == (name in JUDGING)


@every
@pytest.mark.parametrize("text", [QUESTION.text, "Is the light in the kitchen on?", "zxqv grmpf?"])
def test_regions_are_ranked(name: str, text: str) -> None:
    answerer = MAKERS[name][0]('{"regions": {"kitchen": 0.2, "living room": 0.9}}')
    regions = answerer.regions(Question(text))
    assert all(0.0 < region.weight <= 1.0 and region.name for region in regions)
    assert [r.weight for r in regions] == sorted((r.weight for r in regions), reverse=True)
    assert len({r.name for r in regions}) == len(regions)
    usual = name in USUAL_ROOMS and understand(text).query is not None
    assert bool(regions) == (name in JUDGING or usual)
    assert answerer.spent().calls == (1 if name in ASKING else 0)


@every
def test_an_answer_points_to_given_items_only(name: str) -> None:
    make, views = MAKERS[name]
    answerer = make(ANSWER)
    answer = answerer.answer(QUESTION, _items(views))
    _check(answer, views)
    assert bool(answer.evidence) == (name not in BLIND)


@every
def test_without_items_it_guesses_without_evidence(name: str) -> None:
    answer = MAKERS[name][0](ANSWER).answer(QUESTION, [])
    _check(answer, ())
    assert answer.text
    assert not answer.evidence
    assert "blind guess" in answer.message


@every
def test_receipts_count_this_call_and_spent_counts_all(name: str) -> None:
    make, views = MAKERS[name]
    answerer = make(ANSWER, ANSWER)
    receipts = [answerer.answer(QUESTION, _items(views)).receipt for _ in range(2)]
    spent = answerer.spent()
    assert sum(r.calls for r in receipts) == spent.calls
    # pictures are described once, so is a guess; a snapshot is picked out of those of the kinds that are worth a look
    calls = {"label": 0, "blind": 0, "blind model": 0, "random": 0, "snapshot": 2}.get(name, 1)
    assert receipts[1].calls == calls <= receipts[0].calls
    assert sum(r.tokens_in for r in receipts) == spent.tokens_in
    assert sum(r.tokens_out for r in receipts) == spent.tokens_out
    assert all(r.privileged == spent.privileged for r in receipts)
    knows = dict.fromkeys(("vlm, labels", "graph", "voxel", "snapshot"), ("labels",))
    assert spent.privileged == {"label": ("LabelAnswerer",), **knows}.get(name, ())


@every
@pytest.mark.parametrize("text", ["", "   ", "x" * 10_000])
def test_bad_questions_are_refused(name: str, text: str) -> None:
    make, views = MAKERS[name]
    answerer = make(ANSWER)
    with pytest.raises(BadQuestion):
        answerer.answer(Question(text), _items(views))
    assert answerer.spent().calls == 0


@every
def test_choices_are_kept_to(name: str) -> None:
    make, views = MAKERS[name]
    answer = make(ANSWER).answer(Question(QUESTION.text, choices=("red", "grey")), _items(views))
    assert answer.text in ("red", "grey")


@every
def test_views_that_hold_nothing(name: str) -> None:
    make, views = MAKERS[name]
    empty = tuple(Keyframe(v.id, v.stamp_ns, v.map_from_base, b"\xff\xd8jpeg") for v in views)
    abstain = json.dumps({"answer": "", "confidence": 0.0, "images": [], "abstain": True})
    answer = make(ANSWER if name == "blind model" else abstain).answer(QUESTION, _items(empty))
    _check(answer, empty)
    assert answer.abstained == (name not in BLIND)
    guess = json.dumps({"answer": "gray", "confidence": 0.3})
    forced = make(*((guess,) if name == "blind model" else (abstain, guess))).answer(
        Question(QUESTION.text, force_guess=True), _items(empty))
    _check(forced, empty)
    assert forced.text
    assert not forced.evidence
    assert "guess" in forced.message


def test_a_failing_model_is_a_model_error_and_is_counted() -> None:
    answerer = VlmAnswerer(ScriptedBackend([ModelError("server error: HTTP 500")]))
    with pytest.raises(ModelError, match="HTTP 500"):
        answerer.assess(QUESTION, VIEWS)
    assert answerer.spent().calls == 1


def test_a_spent_budget_is_its_own_error() -> None:
    answerer = VlmAnswerer(ScriptedBackend([ANSWER, ANSWER], budget_calls=1))
    answerer.answer(QUESTION, _items(VIEWS))
    with pytest.raises(BudgetSpent, match="1 model calls"):
        answerer.answer(QUESTION, _items(VIEWS))
