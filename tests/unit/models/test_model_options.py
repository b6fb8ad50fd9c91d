"""From the command line to a model's configuration, for the answerer and for other roles."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from eqa_nodes.cli import main
from eqa_nodes.cli.ask import Ask
from eqa_nodes.cli.bench.score import Score
from eqa_nodes.cli.generate import Express
from eqa_nodes.cli.verbs import command_of
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Message
from eqa_nodes.models import open_model
from eqa_nodes.models.config import ModelConfig

SAID = {"--backend": "transformers", "--model": "m", "--base-url": "http://x", "--temperature": "0.5",
        "--sample-seed": "7", "--price-in": "1.5", "--price-out": "2",
        "--budget-calls": "5", "--budget-tokens": "6", "--budget-money": "0.5", "--device": "cpu",
        "--dtype": "float32", "--cassette": "/tape", "--cassette-mode": "replay"}
MEANT = ModelConfig("transformers", "m", "http://x", 0.5, 7, price_in=1.5,
                    price_out=2.0, budget_calls=5, budget_tokens=6, budget_money=0.5, device="cpu", dtype="float32",
                    cassette="/tape", cassette_mode="replay")


def test_every_option_reaches_the_answerers_configuration() -> None:
    words = ["ask", "Where?", "--answerer", "vlm", *(word for pair in SAID.items() for word in pair)]
    command = command_of(words)
    assert isinstance(command, Ask)
    assert command.chain.model.config() == MEANT == command.config.settings.answerer.model


def test_roles_do_not_mix() -> None:
    words = [word for option, value in SAID.items() for word in (option.replace("--", "--judge-"), value)]
    command = command_of(["bench", "score", "RUN", *words])
    assert isinstance(command, Score) and command.how.model.config() == MEANT
    made = command_of(["generate", "express", "--model", "m"])
    assert isinstance(made, Express) and made.evaluator.config() == ModelConfig() != made.model.config()


def test_a_cassette_is_found_from_any_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    command = command_of(["ask", "Where?", "--cassette", "tape.jsonl"])
    assert isinstance(command, Ask) and command.config.model.cassette == str(tmp_path / "tape.jsonl")


def test_money_without_prices_is_wrong_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["ask", "Where?", "--answerer", "vlm", "--budget-money", "1", "--out", str(tmp_path)]
    assert main(words) == 2
    assert "--price-in, --price-out" in capsys.readouterr().err


@pytest.mark.parametrize(("change", "complaint"), [
    ({"budget_calls": -1}, "budget_calls is -1"), ({"price_in": float("nan")}, "price_in is nan"),
    ({"deadline_s": 0.0}, "deadline_s is 0.0"), ({"batch": 0}, "batch is 0"),
    ({"cassette_mode": "rewind"}, "'rewind'.*auto, record, replay")])
def test_values_that_mean_nothing(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        dataclasses.replace(ModelConfig(), **change)  # type: ignore[arg-type]


def test_a_script_on_file(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["red", [0.25, 0.75]]))
    backend = open_model(ModelConfig("scripted", str(script)))
    assert backend.generate([Message("user", ("?",))]).text == "red"
    assert backend.choose([Message("user", ("?",))], ("a", "b")).probabilities == (0.25, 0.75)


@pytest.mark.parametrize("text", ["{}", "[", None])
def test_a_script_that_is_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "script.json").write_text(text)
    with pytest.raises(ConfigError, match=r"script\.json"):
        open_model(ModelConfig("scripted", str(tmp_path / "script.json")))
