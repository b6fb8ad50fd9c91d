"""Each role asks its own model, by its own prompt, with pictures of its own size, and receipts say so."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import resources
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eqa_nodes.config.nodes import AnswererSettings
from eqa_nodes.config.run import RunConfig
from eqa_nodes.core.agent.reporting import CallRecorder
from eqa_nodes.core.answerers.asker import CHOOSE, ROLES, RoleModel, RoleModels, prompt_text, role_of, worded
from eqa_nodes.core.answerers.common import AnswererOptions, may_decline
from eqa_nodes.core.answerers.object_graph import Crop, CropRanker, GraphObject
from eqa_nodes.core.answerers.socratic import CaptionAnswerer, SceneGraphAnswerer
from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.answerers.wordings import OPENEQA
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Choice, Completion, Message
from eqa_nodes.core.types.calls import ModelCall
from eqa_nodes.core.types.costs import CallAccount, CallBudget
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import Recalled, Receipt, RoleCost
from eqa_nodes.core.types.views import FloorPixel
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.roles import absolute, open_models, role_configs
from eqa_nodes.models.scripted import ScriptedBackend
from tests.fixtures.rooms import sighted, view
from tests.fixtures.vlm_replies import ITEMS, QUESTION, VIEWS, answer_json, red_jpeg, views_json

DECLINED = "The question is unanswerable from the provided images."
GUESS = json.dumps({"answer": "brown", "confidence": 0.3})
FORCED = QUESTION._replace(force_guess=True)


def answers(value: bool) -> str:
    return json.dumps({"answers": value})


def test_every_prompt_of_an_answerer_has_a_role() -> None:
    named = [prompt for role in ROLES.values() for prompt in (*role.prompts, *role.chooses)]
    files = {file.name.removesuffix(".txt") for file in resources.files("eqa_nodes.prompts").iterdir()
             if file.name.endswith(".txt")}
    others = {name for name in files if name.startswith(("generate_", "judge_", "task", "view_confidence"))
              or name.endswith(f"_{OPENEQA}")}
    assert len(named) == len(set(named)) and set(named) == files - others
    assert role_of("answer_graph") == "answer" and role_of("stop_view") == "stop"


def test_an_answer_that_is_none_leads_to_the_blind_guess() -> None:
    backend = ScriptedBackend([answer_json(answer=DECLINED), answers(False), GUESS])
    answer = VlmAnswerer(backend).answer(FORCED, ITEMS)
    assert answer.text == "brown" and not answer.abstained and answer.evidence == ()
    assert answer.message == f"forced guess: {DECLINED!r} is no answer"
    checked = str(backend.requests[1][1].parts)
    assert DECLINED in checked and QUESTION.text in checked and not any(
        isinstance(part, bytes) for part in backend.requests[1][1].parts)


def test_what_is_an_answer_stands_although_a_guess_is_wanted() -> None:
    backend = ScriptedBackend([answer_json(), answers(True)])
    answer = VlmAnswerer(backend).answer(FORCED, ITEMS)
    assert answer.text == "gray" and answer.message == "" and [e.keyframe_id for e in answer.evidence] == [2]


def test_only_where_a_guess_is_wanted_is_an_answer_checked() -> None:
    assert VlmAnswerer(ScriptedBackend([answer_json(answer=DECLINED)])).answer(QUESTION, ITEMS).text == DECLINED
    options = FORCED._replace(choices=("gray", "brown"))
    assert VlmAnswerer(ScriptedBackend([answer_json()])).answer(options, ITEMS).text == "gray"


def test_without_calls_left_the_answer_stands_and_says_so() -> None:
    asked = FORCED._replace(account=CallAccount(CallBudget(calls=1)))
    answer = VlmAnswerer(ScriptedBackend([answer_json(), answers(False)])).answer(asked, ITEMS)
    assert answer.text == "gray" and "allowed no check" in answer.message


@pytest.mark.parametrize(("text", "declines"), [
    (DECLINED, True), ("Not enough information to answer", True), ("I can't tell", True), ("It is not visible", True),
    ("I don't know", True), ("no", False), ("a can of beans", False), ("on the kitchen table", False),
    ("it is not on", False)])
def test_what_may_decline_is_checked_by_a_model(text: str, declines: bool) -> None:
    assert may_decline(text) is declines


def test_roles_have_models_of_their_own() -> None:
    main = ScriptedBackend([answer_json(images=[1])], "writer")
    captions, blind = ScriptedBackend(["a gray sofa"] * 3, "llava"), ScriptedBackend([GUESS], "gpt")
    models = RoleModels(main, {"caption": RoleModel(captions), "blind": RoleModel(blind)})
    answerer = CaptionAnswerer(models)
    assert answerer.answer(QUESTION, ITEMS).text == "gray" and answerer.answer(QUESTION, ()).text == "brown"
    assert [len(backend.requests) for backend in (main, captions, blind)] == [1, 3, 1]
    spent = answerer.spent()
    assert spent.calls == 5
    assert {(cost.role, cost.model): cost.calls for cost in spent.roles} == {
        ("caption", "llava"): 3, ("answer", "writer"): 1, ("blind", "gpt"): 1}
    assert sum(cost.tokens_in for cost in spent.roles) == spent.tokens_in > 0


def test_roles_that_ask_one_model_at_once_pay_for_their_own_calls() -> None:
    together = Barrier(2, timeout=20.0)

    class Slow(ScriptedBackend):
        def generate(self, *args: Any, **more: Any) -> Completion:
            together.wait()
            reply = super().generate(*args, **more)
            together.wait()  # both have been counted
            return reply

    models = RoleModels(Slow(["one", "two"], "writer"))
    account = CallAccount()
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(models.asked(role, account).generate, [Message("user", ("?",))])
                     for role in ("caption", "answer")]:
            done.result()
    assert {cost.role: cost.calls for cost in models.spent().roles} == {"caption": 1, "answer": 1}
    assert models.spent().calls == account.total.calls == 2


def test_each_call_names_role_and_model() -> None:
    calls: list[ModelCall] = []

    class Still:
        def last(self) -> tuple[int, Pose2]:
            return 0, Pose2(0.0, 0.0, 0.0)

    models = RoleModels(ScriptedBackend([views_json(1, 2, 3), answer_json(), answers(False)], "writer"),
                        {"blind": RoleModel(ScriptedBackend([GUESS], "gpt"))})
    noted = CallRecorder(VlmAnswerer(models), Still().last, calls.append)  # type: ignore[arg-type]
    noted.assess(QUESTION, VIEWS)
    answer = noted.answer(FORCED, ITEMS)
    assert [call.models for call in calls] == [
        ("values by writer",), ("answer by writer", "abstention by writer", "blind by gpt")]
    paid = [(cost.role, cost.calls) for cost in answer.receipt.roles]
    assert paid == [("answer", 1), ("abstention", 1), ("blind", 1)]


def test_receipts_are_added_and_taken_apart_by_role() -> None:
    one = Receipt(calls=2, tokens_in=7, money=0.5, roles=(RoleCost("answer", "a", 2, 7, 0, 0.5),))
    more = Receipt(calls=1, tokens_in=3, roles=(RoleCost("blind", "b", 1, 3),))
    both = one.with_model(more)
    assert (both.calls, both.tokens_in, both.money) == (3, 10, 0.5) and both.roles == (*one.roles, *more.roles)
    assert both.model_since(one) == more and both.model_since(both) == Receipt()


def test_a_role_has_a_prompt_and_a_size_of_pictures() -> None:
    big = view(1, Pose2(0.0, 2.0, 0.0), jpeg=red_jpeg(640, 480))
    backend = ScriptedBackend([views_json(1), answer_json(images=[1])])
    models = RoleModels(backend, {"values": RoleModel(backend, "Judge: $REGIONS", 160)})
    answerer = VlmAnswerer(models)
    answerer.assess(QUESTION, [big])
    answerer.answer(QUESTION, [Recalled(big, 1.0, "")])
    judged, answered = backend.requests
    assert str(judged[0].parts[0]).startswith("Judge: bathroom, ")
    assert answered[0].parts[0] == prompt_text("answer")
    sizes = [Image.open(io.BytesIO(part)).size for request in (judged, answered) for part in request[1].parts
             if isinstance(part, bytes)]
    assert sizes == [(160, 120), (640, 480)]


def test_values_and_the_stop_are_probabilities_of_options() -> None:
    places = (FloorPixel(10.0, 20.0, 1.0, 0.0), FloorPixel(40.0, 20.0, 2.0, 1.0))
    seen = replace(view(1, Pose2(0.0, 2.0, 0.0), jpeg=red_jpeg()), places=places)
    judged = views_json(1, places={"A": 0.5, "B": 0.5})
    stated = ScriptedBackend([judged], "vlm")
    stop = ScriptedBackend([Choice((0.2, 0.8), "verbalised")], "judge")
    models = RoleModels(stated, {"stop": RoleModel(stop, how=CHOOSE)})
    (only_stop,) = VlmAnswerer(models).assess(QUESTION, [seen])
    assert only_stop.enough == 0.2 and only_stop.worth == 0.5 and only_stop.note == "sink; enough by verbalised"
    assert stop.requests[0][0].parts[0] == prompt_text("stop_view")
    values = ScriptedBackend([judged, Choice((0.7, 0.3), "logits"), Choice((0.9, 0.1), "logits")])
    (chosen,) = VlmAnswerer(RoleModels(values, {"values": RoleModel(values, how=CHOOSE)})).assess(QUESTION, [seen])
    assert [request[0].parts[0] for request in values.requests[1:]] == [
        prompt_text("value_worth"), prompt_text("value_places")]
    assert chosen.worth == 0.7 and [place.weight for place in chosen.places] == [0.9, 0.1]
    assert chosen.enough == 0.4 and chosen.note == "sink; worth by logits; places by logits"


def test_roles_are_configured_by_a_line_each(tmp_path: Path) -> None:
    prompt = tmp_path / "blind.txt"
    prompt.write_text("Guess.")
    base = ModelConfig(model="gpt-4o", cassette="tape", image_side_px=512)
    found = role_configs(base, ["caption=llava", "caption.backend=transformers", "values.image_side_px=0",
                                "values.how=choose", f"blind.prompt={prompt}", "stop.logprobs=false"])
    caption = found["caption"].model
    assert caption is not None and (caption.model, caption.backend) == ("llava", "transformers")
    assert caption.cassette == "tape.caption" and found["values"].model is None and found["values"].side_px == 0
    assert found["values"].how == CHOOSE and found["stop"].model is not None and not found["stop"].model.logprobs
    opened: list[ModelConfig] = []

    def opens(config: ModelConfig) -> ScriptedBackend:
        opened.append(config)
        return ScriptedBackend([], config.model)

    models = open_models(base, [f"blind.prompt={prompt}", "caption=llava", "regions=llava"], opens)
    assert [config.model for config in opened] == ["gpt-4o", "llava", "llava"] and models.model == "gpt-4o"
    here = Path("b.txt").resolve()
    assert absolute(["caption=llava", "blind.prompt=b.txt"]) == ("caption=llava", f"blind.prompt={here}")
    assert models.role("blind").text("blind") == "Guess." and models.role("blind").backend.model == "gpt-4o"
    assert models.role("caption").backend.model == "llava" and models.role("answer").backend.model == "gpt-4o"


@pytest.mark.parametrize(("line", "message"), [
    ("eyes=llava", "abstention, answer, blind, caption, filter, judge, regions, stop, values"),
    ("judge=gpt-4o", "--judge-backend, --judge-model, --judge-prompt, --judge-image-side"),
    ("caption", "ROLE=MODEL"), ("caption=", "ROLE=MODEL"), ("caption.colour=red", "image_side_px"),
    ("caption.image_side_px=big", "such as 512"), ("blind.how=choose", "choose for values, stop"),
    ("caption.prompt=/nowhere.txt", "cannot be read")])
def test_what_is_no_role_or_value_is_refused(line: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        open_models(ModelConfig(backend="scripted"), [line])


def test_openeqas_agents_have_its_structure_of_prompts() -> None:
    backend = ScriptedBackend(["The third picture shows it.\n" + answer_json(images=[3]), GUESS, answer_json()])
    answerer = VlmAnswerer(RoleModels(backend, wording=OPENEQA))
    answer = answerer.answer(QUESTION, ITEMS)
    assert (answer.text, [e.keyframe_id for e in answer.evidence]) == ("gray", [3])  # it thought before it answered
    assert answerer.answer(QUESTION, ()).text == "brown"
    thought, guessed = (str(request[0].parts[0]) for request in backend.requests)
    assert "Think step by step" in thought and guessed.count("\nQuestion: ") == 3
    assert worded("regions", OPENEQA) == prompt_text("regions")  # it has no wording of its own
    names = ("blind", "socratic-captions", "socratic-graph", "socratic-voxel", "multi-frame", "ours")
    worded_as = [RunConfig(agent=name).settings.answerer.wording for name in names]
    assert worded_as == [OPENEQA] * 5 + [""]
    with pytest.raises(ConfigError, match="unknown wording 'theirs'"):
        AnswererSettings(wording="theirs")


class Colours:
    """A picture's vector is its mean colour, a text's that of the colour it names."""

    def __init__(self) -> None:
        self.seen = 0

    def pictures(self, crops: Sequence[np.ndarray]) -> np.ndarray:
        self.seen += len(crops)
        means = np.array([crop.reshape(-1, 3).mean(axis=0) for crop in crops], np.float32)
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[float(name in text) for name in ("red", "green", "blue")] for text in texts], np.float32)


def coloured(number: int, colour: str) -> Crop:
    out = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(out, "JPEG")
    return Crop(view(number, Pose2(0.0, 0.0, 0.0), jpeg=out.getvalue()), (5, 5, 30, 25), 500, 1.0)


def test_objects_are_ranked_by_their_pictures_where_an_embedder_is_given() -> None:
    embedder = Colours()
    things = [GraphObject("thing", (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (coloured(n, colour),))
              for n, colour in enumerate(("red", "blue", "lime", "blue"), 1)]
    ranker = CropRanker(embedder)
    blue = ranker.likest("Is the blue thing on?", things, 3)
    assert blue == [things[1], things[3], things[0]] or blue == [things[1], things[3], things[2]]
    assert ranker.likest("What is green?", things, 1) == [things[2]] and ranker.likest("What?", [], 1) == []
    assert embedder.seen == 3  # each crop once, equal ones together


def test_more_objects_than_a_prompt_holds_are_chosen_by_their_pictures() -> None:
    sizes = [sighted(n, f"thing {n}", "kitchen", (2.0, 3.0 * n, 0.4), (0.5, 0.5, 0.5), 500) for n in range(3)]
    seen = replace(view(1, Pose2(0.0, 3.0, 0.0), *sizes), jpeg=red_jpeg(640, 480))
    made: list[Sequence[GraphObject]] = []

    class Last(CropRanker):
        def likest(self, question: str, objects: Sequence[GraphObject], limit: int) -> list[GraphObject]:
            made.append(objects)
            return list(objects[-1:])

    backend = ScriptedBackend(["something gray", json.dumps({"answer": "gray", "confidence": 0.8, "things": [1]})])
    options = AnswererOptions(lambda: backend, open_ranker=lambda: Last(Colours()))
    answer = SceneGraphAnswerer.from_options(options).answer(QUESTION, [Recalled(seen, 1.0, "")])
    assert answer.text == "gray" and len(made[0]) == 3 and "1. thing 2" in str(backend.requests[1][1].parts)
