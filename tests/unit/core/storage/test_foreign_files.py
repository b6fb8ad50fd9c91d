"""Files that the model's side reads and that somebody else may have made: refused by name, and never written to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.prompts import from_file
from eqa_nodes.core.agent.stopping import Calibration, load_calibration
from eqa_nodes.core.errors import ConfigError, EqaError, StorageError
from eqa_nodes.core.model import Choice, Message
from eqa_nodes.core.storage import json_lines
from eqa_nodes.core.storage.codec import decode, encode, loads, read_json, write_json
from eqa_nodes.core.storage.json_lines import read_lines
from eqa_nodes.core.storage.text import storable
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.core.types.questions import Support
from eqa_nodes.models.cassette import Call, Cassette, CassetteEntry
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import ScriptedBackend, read_script

ASK = (Message("user", ("What color?",)),)
DEEP = "[" * 100_000


def _tape(path: Path, mode: str = "auto") -> Cassette:
    config = ModelConfig(cassette=str(path), cassette_mode=mode, model="scripted")
    return Cassette(config, lambda: ScriptedBackend(["red"]))


@pytest.mark.parametrize("mode", ["auto", "record", "replay"])
@pytest.mark.parametrize("content", [
    b'{"my": "only copy"}', b'{"my": "only copy"}\n', b"[1, 2]", b"SQLite format 3\x00" + bytes(99), b"\xff\xfe\n",
    b"\x89PNG\r\n\x1a\n\x00", b"Dear diary\n", b"\n", b'{"call": 1}\n', (DEEP + "\n").encode(),
    b'{"call": ' + b"9" * 5000 + b"}\n"])
def test_a_cassette_that_is_somebody_elses_file_is_refused_and_stays(tmp_path: Path, content: bytes, mode: str) -> None:
    path = tmp_path / "holiday.json"
    path.write_bytes(content)
    with pytest.raises(StorageError, match="holiday.json.*(was not written by|is broken)") as caught:
        _tape(path, mode)
    assert path.read_bytes() == content and len(str(caught.value)) < 1000


@pytest.mark.parametrize("torn", ['{"call":{"ma', '{"c', "{", "\0" * 300, '{"call":{"max' + "\0" * 300])
def test_a_cassette_that_a_kill_or_a_power_cut_tore_goes_on(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "tape.jsonl"
    _tape(path).generate(ASK)
    whole = path.read_text()
    path.write_text(whole + torn)
    tape = _tape(path)
    assert tape.generate(ASK).text == "red"
    tape.generate((Message("user", ("Another?",)),))
    assert path.read_text().startswith(whole) and len(read_lines(path, CassetteEntry, "ask").values) == 2


GOOD = CassetteEntry("k", Call("m", 0.0, (), ("a", "b"), 0, 0), Usage(1, 5, 2), choice=Choice((0.1, 0.9), "logits"))


@pytest.mark.parametrize("change", [
    lambda d: d["usage"].update(tokens_in=10 ** 30), lambda d: d["usage"].update(tokens_out=-1),
    lambda d: d["usage"].update(calls=10 ** 9), lambda d: d["usage"].update(tokens_in=1e30),
    lambda d: d["usage"].update(calls=True), lambda d: d["usage"].update(money=float("nan")),
    lambda d: d["choice"].update(probabilities=[float("nan"), 0.5]), lambda d: d["choice"].update(probabilities=[0.5]),
    lambda d: d["choice"].update(probabilities=[2.0, -1.0]), lambda d: d["choice"].update(probabilities=[10 ** 400, 0]),
    lambda d: d["choice"].update(probabilities=["0.5", "0.5"]), lambda d: d.update(choice=None),
    lambda d: d.update(error="too"), lambda d: d["call"].update(options=[]), lambda d: d["call"].update(seed="1"),
    lambda d: d.update(completion={"text": "x"}, choice=None), lambda d: d["call"].update(temperature=float("inf"))])
def test_a_recording_that_no_call_can_have_made_is_refused(tmp_path: Path, change: Callable[[Any], None]) -> None:
    assert decode(CassetteEntry, loads(json.dumps(encode(GOOD)))) == GOOD
    data = encode(GOOD)
    change(data)
    path = tmp_path / "tape.jsonl"
    path.write_text(json.dumps(data) + "\n")
    with pytest.raises(StorageError, match="tape.jsonl, line 1 is broken"):
        _tape(path)


def test_what_a_cassette_plays_can_be_written_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    tape = _tape(path, "record")
    tape.generate((Message("user", ("What \ud83d color?",)),))
    path.write_text(path.read_text().replace('"red"', '"r\\ud83dd"'))
    assert storable(_tape(path, "replay").generate((Message("user", ("What \ud83d color?",)),)).text)


def test_an_endless_line_is_not_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "_LONGEST", 1000)
    path = tmp_path / "tape.jsonl"
    path.write_bytes(b'{"call":"' + b"x" * 5000)
    with pytest.raises(StorageError, match="longer than 1000 bytes"):
        _tape(path)


READERS: dict[str, Callable[[Path], object]] = {
    "cassette": _tape, "script": read_script, "prompt": from_file, "JSON": read_json,
    "calibration": lambda path: load_calibration(str(path))}


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, reader: str) -> None:
    pipe, folder = tmp_path / "pipe.json", tmp_path / "folder.json"
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (pipe, folder):
        with pytest.raises(EqaError, match=r"\.json"):
            READERS[reader](path)


@pytest.mark.parametrize("content", [DEEP, "9" * 5000, "{", "\ufeff{}", "null", '{"a": 1}', "[[NaN]]", '[["a"]]',
                                     "[[2]]", "[[{}]]", "[[" + "9" * 400 + "]]"])
def test_a_script_that_is_none_is_a_named_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match="script.json"):
        read_script(path)


@pytest.mark.parametrize("change", [
    {"weights": [float("nan")] * 5}, {"weights": [1e300] * 5}, {"weights": [10 ** 400] * 5}, {"weights": ["1"] * 5},
    {"episodes": -1}, {"wrong": [-1, -2]}, {"wrong": [99, 98]},
    {"thresholds": [float("nan"), 0.5]}, {"thresholds": [0.5, 7.0]},
    {"episodes": 1e30}, {"source": 5}])
def test_a_calibration_of_other_numbers_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    good = Calibration((0.5, 1.0, 0.0, 0.0, 0.0), (0.1, 0.9), (2, 1), 20)
    path = tmp_path / "mine.json"
    write_json(path, good)
    assert load_calibration(str(path)) == good
    assert 0.0 <= good.probability(Support(1.0, 10 ** 9, 1.0, float("inf"))) <= 1.0
    path.write_text(json.dumps({**encode(good), **change}))
    with pytest.raises(ConfigError):
        load_calibration(str(path))


def test_a_prompt_of_a_megabyte_is_no_prompt(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("{question} {answer} {prediction}" + "x" * 1_000_000)
    with pytest.raises(ConfigError, match="prompt.txt cannot be read: it is not a file of at most"):
        from_file(path)
    path.write_bytes(b"{question} {answer} {prediction} \xff")
    with pytest.raises(ConfigError, match="prompt.txt cannot be read"):
        from_file(path)


@pytest.mark.parametrize("field", [{"temperature": float("nan")}, {"temperature": float("inf")}, {"seed": 10 ** 30},
                                   {"timeout_s": float("nan")}, {"price_in": float("inf")}])
def test_settings_that_no_request_can_hold_are_refused(field: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"model.{next(iter(field))}"):
        replace(ModelConfig(), **field)
