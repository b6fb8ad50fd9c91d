"""Schemas of replies: what is sent to backends that take one, and to those that were written before there were any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from eqa_nodes.core.ledger import BudgetedBackend
from eqa_nodes.core.model import NUMBER, TEXT, WHOLE, Completion, Message, Schema, an_object, ask_json, list_of
from eqa_nodes.core.types.costs import CallAccount
from eqa_nodes.models.cassette import Cassette
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import ScriptedBackend
from eqa_nodes.testing.model_server import refusal

ASK = (Message("user", ("Reply in JSON.", b"picture")),)
SCHEMA = an_object(why=TEXT, answer=TEXT, confidence=NUMBER, images=list_of(WHOLE), rooms=list_of(an_object(a=TEXT)))


class Before(ScriptedBackend):
    """A backend of somebody who knew no schemas."""

    def generate(self, messages: Sequence[Message],  # type: ignore[override]
                 max_tokens: int = 1024, seed: int = 0) -> Completion:
        return super().generate(messages, max_tokens, seed)


class Now(ScriptedBackend):
    """A backend that keeps what it was given."""

    given: Schema | None = None

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None) -> Completion:
        self.given = schema
        return super().generate(messages, max_tokens, seed, schema)


def test_a_schema_reaches_a_backend_through_budget_and_cassette(tmp_path: Path) -> None:
    backend = Now(["{}"])
    tape = Cassette(ModelConfig(cassette=str(tmp_path / "tape"), model="m"), lambda: backend)
    assert ask_json(BudgetedBackend(tape, CallAccount()), ASK, dict, schema=SCHEMA) == {}
    assert backend.given == SCHEMA


def test_a_backend_without_schemas_still_works(tmp_path: Path) -> None:
    tape = Cassette(ModelConfig(cassette=str(tmp_path / "tape"), model="m"), lambda: Before(["{}"]))
    assert ask_json(BudgetedBackend(Before(["{}"]), CallAccount()), ASK, dict, schema=SCHEMA) == {}
    assert ask_json(tape, ASK, dict, schema=SCHEMA) == {}


def test_a_recording_without_schema_replays_with_one(tmp_path: Path) -> None:
    path = str(tmp_path / "tape")
    Cassette(ModelConfig(cassette=path, model="m"), lambda: ScriptedBackend(["{}"])).generate(ASK)
    replay = Cassette(ModelConfig(cassette=path, cassette_mode="replay"), lambda: pytest.fail("it is asked"))
    assert replay.generate(ASK, schema=SCHEMA).text == "{}"


def test_forms_are_strict_enough_for_openai() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "JSON"}], "response_format": {
        "type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA}}}
    assert refusal(body) == ""
