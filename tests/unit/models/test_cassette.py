"""What was recorded plays back to the bit, without the model; what was not is named."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqa_nodes.core.errors import BudgetSpent, ConfigError, ModelError, StorageError
from eqa_nodes.core.model import Backend, Choice, Completion, Message
from eqa_nodes.core.types.costs import Usage
from eqa_nodes.models import make_backend
from eqa_nodes.models.cassette import Call, Cassette
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.scripted import Scripted, ScriptedBackend
from eqa_nodes.testing.model_server import ServerReply, VlmServer, completion


def ask(text: str = "What color?") -> tuple[Message, ...]:
    return (Message("user", (text, b"\xff\xd8jpeg")),)


def cassette(path: Path, mode: str, replies: Sequence[Scripted] | None = None, **options: Any) -> Cassette:
    """Open a cassette over a script; None: the model must not be opened."""
    def opened() -> Backend:
        assert replies is not None, "the model was opened"
        return ScriptedBackend(replies)
    return Cassette(ModelConfig(cassette=str(path), cassette_mode=mode, **options), opened)


def test_replies_choices_errors_and_costs_play_back(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "tape.jsonl"

    def play(tape: Cassette) -> list[object]:
        found: list[object] = [tape.generate(ask(), 9, 3), tape.choose(ask(), ("a", "b"), 3)]
        with pytest.raises(ModelError) as error:
            tape.generate(ask("refused?"))
        return [*found, str(error.value), tape.usage]

    made = play(cassette(path, "record", [Completion("Réd\u2028", 5, 2, "length"), Choice((0.1, 0.9), "logits"),
                                          ModelError("refused: no")]))
    assert made[:3] == [("Réd\u2028", 5, 2, "length"), ((0.1, 0.9), "logits"), "refused: no"]
    assert made[3] == Usage(3, 5, 2, images=1)
    assert play(cassette(path, "replay")) == made
    assert "jpeg" not in path.read_text().replace("image/jpeg", "")


def test_a_miss_names_the_request_and_the_file(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    cassette(path, "record", ["red"]).generate(ask(), 9)
    tape = cassette(path, "replay")
    for wrong in (lambda: tape.generate(ask("What shape?"), 9), lambda: tape.generate(ask("What shape?"), 8, 1)):
        with pytest.raises(ModelError, match=r"^not recorded: .*tape.jsonl.*scripted to 'What shape\?' \(seed"):
            wrong()
    assert tape.usage == Usage()


OTHERS = [{"max_tokens": 8}, {"seed": 1}, {"messages": ask("x")},
          {"messages": (Message("user", ("What color?", b"y")),)},
          {"messages": (Message("system", ask()[0].parts),)}]


@pytest.mark.parametrize("change", OTHERS)
def test_another_request_is_another_one(tmp_path: Path, change: dict[str, Any]) -> None:
    path, same = tmp_path / "tape.jsonl", {"messages": ask(), "max_tokens": 9, "seed": 0}
    cassette(path, "record", ["red"]).generate(**same)
    assert cassette(path, "replay").generate(**same).text == "red"
    with pytest.raises(ModelError, match="^not recorded"):
        cassette(path, "replay").generate(**{**same, **change})
    with pytest.raises(ModelError, match="^not recorded"):
        cassette(path, "replay", temperature=0.5).generate(**same)
    with pytest.raises(ModelError, match="^not recorded"):
        cassette(path, "replay", model="other").generate(**same)


def test_record_asks_each_time_and_replay_plays_them_in_order(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    tape = cassette(path, "record", ["red", "blue"])
    assert [tape.generate(ask()).text for _ in range(2)] == ["red", "blue"]
    tape = cassette(path, "replay")
    assert [tape.generate(ask()).text for _ in range(3)] == ["red", "blue", "blue"]


def test_auto_asks_once_and_asks_again_what_had_failed(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    tape = cassette(path, "auto", [ModelError("rate limited: x"), "blue", "red"])
    with pytest.raises(ModelError, match="^rate limited"):
        tape.generate(ask())
    assert tape.generate(ask()).text == "blue" == tape.generate(ask()).text
    assert tape.usage.calls == 3  # as a replay counts them
    again = cassette(path, "auto")
    assert again.generate(ask()).text == "blue"
    assert cassette(path, "replay").generate(ask()).text == "blue"
    assert len(path.read_text().splitlines()) == 2


def test_a_spent_budget_is_not_recorded_and_ends_a_replay_at_the_same_place(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    for mode, replies in (("record", ["a", "b"]), ("replay", None)):
        tape = cassette(path, mode, replies, budget_calls=1)
        tape.generate(ask())
        with pytest.raises(BudgetSpent):
            tape.generate(ask("more"))
    assert len(path.read_text().splitlines()) == 1


def test_a_half_written_last_line_is_dropped_and_the_file_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    cassette(path, "record", ["a"]).generate(ask("one"))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:60])
    tape = cassette(path, "auto", ["b"])
    assert tape.generate(ask("one")).text == "a" and tape.generate(ask("two")).text == "b"
    assert path.read_bytes().startswith(whole) and len(path.read_bytes().splitlines()) == 2
    assert cassette(path, "replay").generate(ask("two")).text == "b"


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    cassette(path, "record", ["a"]).generate(ask("one"))
    path.write_bytes(b"{}\n" + path.read_bytes())
    with pytest.raises(StorageError, match="tape.jsonl, line 1 is broken"):
        cassette(path, "auto", [])


def test_which_model_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    with pytest.raises(ConfigError, match="does not exist.*cassette_mode record"):
        cassette(path, "replay")
    cassette(path, "record", ["a"], model="one").generate(ask())
    assert cassette(path, "replay").model == "one"
    cassette(path, "record", ["b"], model="two").generate(ask())
    with pytest.raises(ConfigError, match="one, two.*--model"):
        cassette(path, "replay")
    assert cassette(path, "replay", model="two").generate(ask()).text == "b"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        cassette(tmp_path / "file" / "tape.jsonl", "record", ["a"]).generate(ask())


def test_threads_record_whole_lines_with_their_own_costs(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"

    def slow(messages: Sequence[Message]) -> str:
        barrier.wait(5.0)
        return str(messages[0].parts[0]) * 3

    barrier = threading.Barrier(8)
    tape = cassette(path, "record", [slow] * 8)
    threads = [threading.Thread(target=tape.generate, args=(ask(f"{'w ' * i}{i}"),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 8
    for line in lines:
        assert line["usage"]["calls"] == 1 and line["usage"]["tokens_in"] == line["completion"]["tokens_in"]
    replay = cassette(path, "replay")
    assert {replay.generate(ask(f"{'w ' * i}{i}")).text for i in range(8)} == {f"{'w ' * i}{i}" * 3 for i in range(8)}
    assert replay.usage == tape.usage


@given(st.tuples(st.text(max_size=9), st.text(max_size=9)), st.integers(0, 9), st.sampled_from([(), ("a", "b")]))
def test_the_key_is_a_hash_of_all_of_the_request(texts: tuple[str, str], seed: int, options: tuple[str, ...]) -> None:
    call = Call("m", 0.0, (("user", texts),), options, 5, seed)
    assert call.key() == Call("m", 0.0, (("user", tuple(texts)),), tuple(options), 5, seed).key()
    assert call.key() != Call("m", 0.0, (("user", (*texts, "")),), options, 5, seed).key()
    assert call.key() != Call("m", 0.0, (("user", texts[:1]), ("user", texts[1:])), options, 5, seed).key()


def test_retries_are_recorded_with_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="openai is not installed: pip install 'eqa-nodes[vlm]'")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    options = {"model": "m", "cassette": str(tmp_path / "tape.jsonl"), "price_in": 3.0}
    with VlmServer([ServerReply(b"{}", 429), completion("Red")]) as server:
        recorder = make_backend("openai", "key", base_url=server.url, **options)
        recorder.generate(ask())
        recorder.close()
    player = make_backend("openai", "", cassette_mode="replay", **options)
    assert player.generate(ask()).text == "Red"
    assert player.usage == recorder.usage == Usage(2, 100, 7, pytest.approx(3e-4), 1)
