"""Limits are found again from replies that were made with them, and recorded requests lose nothing."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import pytest

from eqa_nodes.core.answerers.vlm import VlmAnswerer
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Completion, Message
from eqa_nodes.core.types.questions import Question, Recalled
from eqa_nodes.models.simulated.backend import (
    RecordedRequest,
    RecordingChat,
    SimulatedModel,
    read_requests,
    recorded,
    save,
)
from eqa_nodes.models.simulated.fitting import agreement, fit, halves
from eqa_nodes.models.simulated.sight import SightLimits
from tests.fixtures.simulated_model import BEYOND, QUESTIONS, ROOMS, SOFA, advised, view

ANOTHER = SightLimits(surest=0.3, doorway=0.8, least_said=0.1)


class Noting(SimulatedModel):
    """Keeps its requests with its replies."""

    def __init__(self, limits: SightLimits) -> None:
        super().__init__(limits)
        self.kept: list[tuple[RecordedRequest, str]] = []

    def generate(self, messages, max_tokens=1024, seed=0):  # type: ignore[no-untyped-def]
        done: Completion = super().generate(messages, max_tokens, seed)
        self.kept.append((recorded(messages, seed), done.text))
        return done


def replies(limits: SightLimits) -> list[tuple[RecordedRequest, str]]:
    model = Noting(limits)
    for n, text in enumerate(QUESTIONS[:6]):
        question, answerer = Question(text, seed=n), VlmAnswerer(model)
        answerer.regions(question)
        answerer.assess(question, ROOMS)
        answerer.answer(question, [Recalled(one, 1.0, "") for one in ROOMS])
    return model.kept


def test_a_model_agrees_with_itself_and_less_with_another() -> None:
    own = replies(SightLimits())
    assert set(agreement(own, SightLimits()).values()) == {1.0}
    assert agreement(own, ANOTHER)[""] < 0.99


def test_fitting_on_some_questions_agrees_better_on_others() -> None:
    fitted_on, held_out = halves(replies(ANOTHER))
    assert fitted_on and held_out
    before, after = (agreement(held_out, limits)[""] for limits in (SightLimits(), fit(fitted_on, 40)))
    assert after > before + 0.005


def test_no_question_is_in_both_halves() -> None:
    texts = [{request.parts[1][0].text for request, _ in half} for half in halves(replies(SightLimits()))]
    assert texts[0] and texts[1] and not texts[0] & texts[1]


def test_requests_come_back_from_a_folder(tmp_path: Path) -> None:
    kept = replies(SightLimits())
    for request, reply in kept:
        save(tmp_path, Lock(), request, reply)
    assert read_requests(tmp_path) == kept
    with pytest.raises(ConfigError, match="no request"):
        read_requests(tmp_path / "nothing")


def test_pictures_keep_what_is_drawn_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Message] = []
    generate = SimulatedModel.generate
    monkeypatch.setattr(SimulatedModel, "generate", lambda self, messages, *rest: (
        asked.extend(messages), generate(self, messages, *rest))[1])
    advised("Is the kettle on?", view(1, *SOFA), view(2, *BEYOND))
    again = recorded(asked, 1).messages()
    assert generate(SimulatedModel(), again, 2048, 1).text == generate(SimulatedModel(), asked, 2048, 1).text


def test_replies_that_are_no_json_are_left_out() -> None:
    (request, reply), *_ = replies(SightLimits())
    assert agreement([(request, reply), (request, "I cannot see.")], SightLimits())[""] == 1.0
    with pytest.raises(ConfigError, match="none of the recorded"):
        agreement([(request, "I cannot see.")], SightLimits())


def test_recording_needs_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    from eqa_nodes.models.config import ModelConfig

    monkeypatch.delenv("EQA_REQUESTS", raising=False)
    with pytest.raises(ConfigError, match="EQA_REQUESTS"):
        RecordingChat(ModelConfig(base_url="http://127.0.0.1:9/v1", model="m"), "key")
