"""Local models: families, batches, probabilities from logits, seeds, limits, and names for what goes wrong."""

from __future__ import annotations

import builtins
import math
import shutil
import threading
import weakref
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from eqa_nodes.bench.judges.base import JudgeOptions
from eqa_nodes.bench.judges.marking import open_judge
from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.model import Message, letter_menu
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.models import make_backend
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.local import letter_tokens, tensors
from tests.fixtures.needs import need_transformers
from tests.fixtures.tiny_models import KINDS, jpeg, save_tiny

need_transformers()

MENU = ("red", "blue", "green")


def chat(text: str = "What color?", *pictures: bytes) -> tuple[Message, ...]:
    return Message("system", ("Look.",)), Message("user", (*pictures, text))


SHOWN = chat("What color?", jpeg())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny("smolvlm", tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return local(folder)


def local(folder: Path, **options: Any) -> Any:
    """Return the backend on the device that there is. In float32: in bfloat16 the words depend on the batch's size."""
    return make_backend("transformers", model=str(folder), **{"dtype": "float32", **options})


def test_a_model_of_texts_alone_judges_and_guesses(tmp_path: Path) -> None:
    backend = local(save_tiny("llama", tmp_path))
    done = backend.generate(chat("Blind?"), 10)
    assert done.text and done.tokens_out == 10
    assert backend.generate_many([chat("Blind?"), chat("What else is there to be seen?")], 10)[0] == done
    assert backend.choose(chat("Blind?"), MENU).how == "logits"
    with pytest.raises(ModelError, match="^no pictures: .* is a model of texts alone"):
        backend.generate(SHOWN, 10)
    judge = open_judge("llm-match", JudgeOptions(model=ModelConfig(backend="transformers", model=str(tmp_path))))
    assert judge.judge(Sample("q", "Where?", "on the desk"), "in the bath").note.startswith("wrong form")


@pytest.mark.parametrize("kind", KINDS)
def test_every_family_sees_writes_and_chooses(kind: str, tmp_path: Path) -> None:
    if kind == "smolvlm2" and find_spec("num2words") is None:
        pytest.skip("num2words is not installed: pip install 'eqa-nodes[local]'")
    backend = local(save_tiny(kind, tmp_path))
    chats = [SHOWN, chat("Which one is it?", jpeg(60, 30, 2), jpeg(30, 30, 3)), chat("Blind?"), SHOWN]
    alone = [backend.generate(one, 10) for one in chats]
    assert backend.generate_many(chats, 10) == alone
    assert alone[0] == alone[3] and all(done.text and done.tokens_out == 10 for done in alone)
    assert backend.choose(SHOWN, MENU) != backend.choose(chat("What color?", jpeg(seed=9)), MENU), "it looks at nothing"


def test_probabilities_are_those_of_the_letters_as_the_next_token(model: Any) -> None:
    """Recomputed with a plain forward pass."""
    import torch

    choice = model.choose(SHOWN, MENU)
    with torch.no_grad():
        inputs = tensors(model._loaded.processor, [[*SHOWN, letter_menu(MENU)]]).to(model.device)
        logits = model._loaded.model(**inputs).logits[0, -1].tolist()
    weights = [math.exp(logits[model._loaded.processor.tokenizer.convert_tokens_to_ids(letter)]) for letter in "ABC"]
    assert choice.how == "logits"
    assert choice.probabilities == pytest.approx([weight / sum(weights) for weight in weights], abs=1e-5)


def test_letters_are_counted_with_and_without_a_space() -> None:
    class Tokenizer:
        unk_token_id = 0

        def encode(self, text: str, add_special_tokens: bool) -> list[int]:
            return {"A": [1], " A": [2], "B": [3], " B": [9, 3], "C": [7, 7], " C": [0]}[text]

    assert letter_tokens(Tokenizer(), "AB") == [[1, 2], [3]]
    assert letter_tokens(Tokenizer(), "ABC") is None


def test_a_model_may_state_its_probabilities(folder: Path) -> None:
    backend = local(folder, logprobs=False)
    with pytest.raises(ModelError, match="^wrong form"):
        backend.choose(SHOWN, MENU)
    assert backend.usage.calls == 2


def test_the_seed_decides_above_temperature_0(folder: Path) -> None:
    warm = local(folder, temperature=3.0)
    texts = [warm.generate(SHOWN, 20, seed).text for seed in (0, 1, 0)]
    assert texts[0] == texts[2] != texts[1]
    assert local(folder, temperature=3.0, seed=1).generate(SHOWN, 20).text == texts[1]


def test_sampling_leaves_the_random_numbers_of_others_alone(folder: Path) -> None:
    import torch

    warm = local(folder, temperature=3.0)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    warm.generate(SHOWN, 5)
    assert torch.equal(torch.rand(3), expected)


def test_an_end_is_a_stop(folder: Path, tmp_path: Path) -> None:
    backend = local(folder)
    first = backend.generate(SHOWN, 6)
    inputs = tensors(backend._loaded.processor, [SHOWN]).to(backend.device)
    ids = backend._loaded.model.generate(**inputs, max_new_tokens=3, do_sample=False)[0, -3:]
    backend._loaded.model.generation_config.eos_token_id = int(ids[2])
    done = backend.generate(SHOWN, 6)
    assert (first.finish_reason, first.tokens_out, done.finish_reason) == ("length", 6, "stop")
    assert done.tokens_out <= 3 and first.text.startswith(done.text)


def test_memory_that_is_not_enough_has_a_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    backend = local(folder)
    for error in (torch.OutOfMemoryError("CUDA out of memory"), MemoryError(),
                  RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")):
        monkeypatch.setattr(backend._loaded.model, "generate", _raises(error))
        for ask in (lambda: backend.generate(SHOWN), lambda: backend.choose(SHOWN, MENU)):
            with pytest.raises(ModelError, match=r"^out of memory: .*model.batch 1"):
                ask()
    monkeypatch.setattr(backend._loaded.model, "generate", _raises(RuntimeError("mat1 and mat2")))
    with pytest.raises(ModelError, match=r"^failed: .*RuntimeError: mat1"):
        backend.generate(SHOWN)
    assert backend.usage.calls == 7


def _raises(error: Exception) -> Callable[..., Any]:
    def fails(**inputs: Any) -> Any:
        raise error
    return fails


def test_a_model_that_is_too_slow_or_busy_times_out(folder: Path) -> None:
    backend = local(folder, deadline_s=0.05)
    with pytest.raises(ModelError, match=r"^timed out: .*deadline_s"):
        backend.generate(SHOWN, 1800)
    with backend._lock, pytest.raises(ModelError, match="^timed out.*busy"):
        backend.generate(SHOWN, 5)


def test_what_does_not_fit_into_the_model(model: Any) -> None:
    with pytest.raises(ModelError, match=r"^too long: \d+ tokens .* takes 2048: use fewer or smaller images"):
        model.generate(SHOWN, 2048)


def test_a_picture_that_is_none(model: Any) -> None:
    with pytest.raises(ModelError, match="^wrong form: a picture of 4 bytes"):
        model.generate(chat("What?", b"jpeg"))


def test_after_close(folder: Path) -> None:
    backend = local(folder)
    backend.close()
    for ask in (lambda: backend.generate(SHOWN), lambda: backend.choose(SHOWN, MENU)):
        with pytest.raises(ModelError, match="^closed"):
            ask()


def test_a_pass_outlives_a_close_and_then_the_weights_are_gone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = local(folder)
    expected, weights = backend.generate(SHOWN, 6), weakref.ref(backend._loaded.model.lm_head.weight)
    generate = type(backend._loaded.model).generate

    def closing(model: Any, **inputs: Any) -> Any:
        backend.close()
        return generate(model, **inputs)

    monkeypatch.setattr(type(backend._loaded.model), "generate", closing)
    assert backend.generate(SHOWN, 6) == expected
    assert weights() is None


def test_an_error_that_is_kept_keeps_no_tensors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the call after one that needed too much memory would lack what that one held."""
    import torch

    backend, held = local(folder), []

    def fails(**inputs: Any) -> Any:
        cache = torch.zeros(3, device=backend.device)
        held.extend([weakref.ref(cache), weakref.ref(inputs["pixel_values"])])
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(backend._loaded.model, "generate", fails)
    with pytest.raises(ModelError, match="^out of memory") as kept:
        backend.generate(SHOWN)
    assert kept.value.__cause__ is not None and [tensor() for tensor in held] == [None, None]
    monkeypatch.undo()
    assert backend.generate(SHOWN, 4).text


def test_letters_are_looked_up_before_any_thread_uses_the_tokenizer(folder: Path, monkeypatch: pytest.MonkeyPatch
                                                                    ) -> None:
    """A tokenizer is used by one thread at a time: each use sets its padding."""
    backend = local(folder)
    free = []
    plain = type(backend._loaded.processor.tokenizer).encode
    monkeypatch.setattr(type(backend._loaded.processor.tokenizer), "encode",
                        lambda *args, **more: free.append(not backend._lock.locked()) or plain(*args, **more))
    backend.choose(SHOWN, MENU)
    assert not any(free)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("place", [0, 2])
def test_logits_that_are_no_numbers_give_no_probabilities(folder: Path, monkeypatch: pytest.MonkeyPatch, bad: float,
                                                          place: int) -> None:
    backend = local(folder)
    letter = backend._letters[place][0]
    generate = backend._loaded.model.generate

    def spoilt(**inputs: Any) -> Any:
        out = generate(**inputs)
        out.logits[0][0, letter] = bad
        return out

    monkeypatch.setattr(backend._loaded.model, "generate", spoilt)
    with pytest.raises(ModelError, match=r"^failed: .*no probabilities.*model.dtype"):
        backend.choose(SHOWN, MENU)


def test_threads_get_what_they_asked_for(model: Any) -> None:
    asked = [chat(f"What is {i}?", jpeg(seed=i)) for i in range(6)]
    expected = [model.generate(one, 8) for one in asked]
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: model.generate(asked[i], 8)})) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert [found[i] for i in range(6)] == expected


@pytest.mark.parametrize(("change", "complaint"), [
    ({"model": ""}, "EQA_VLM_MODEL"), ({"model": "/nowhere/at/all"}, "/nowhere/at/all does not exist"),
    ({"dtype": "float8"}, "'float8'.*bfloat16, float16, float32"), ({"device": "abacus"}, "'abacus'.*Use .*cpu, or"),
    ({"device": "meta"}, "'meta'.*Use .*cpu, or"),
    ({"device": "cuda:99"}, "'cuda:99'.*Use .*cpu, or")])
def test_settings_that_there_are_not(folder: Path, change: dict[str, str], complaint: str,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EQA_VLM_MODEL", raising=False)
    with pytest.raises(ConfigError, match=complaint):
        make_backend("transformers", **{"model": str(folder), **change})


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named_with_the_remedy(folder: Path, tmp_path: Path, file: str) -> None:
    shutil.copytree(folder, tmp_path / "m")
    (tmp_path / "m" / file).unlink()
    with pytest.raises(ConfigError, match="cannot be loaded: .*hf download"):
        make_backend("transformers", model=str(tmp_path / "m"))


def test_code_that_comes_with_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "m")
    config = tmp_path / "m" / "config.json"
    text = config.read_text().replace('"model_type": "idefics3"', '"model_type": "evil"')
    config.write_text(text.replace("{", '{"auto_map": {"AutoConfig": "evil.Config", '
                                        '"AutoModelForImageTextToText": "evil.Model"},', 1))
    (tmp_path / "m" / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        make_backend("transformers", model=str(tmp_path / "m"))
    assert not (tmp_path / "ran").exists()


def test_device_and_dtype_are_picked(model: Any, folder: Path) -> None:
    import torch

    assert (model.device.type, model.dtype) == ("cpu", torch.float32) or torch.cuda.is_available() \
        or torch.backends.mps.is_available()
    assert local(folder, dtype="bfloat16", device="cpu").generate(SHOWN, 4).text


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "transformers":
            raise ImportError(name, name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"transformers is not installed: pip install 'eqa-nodes\[local\]'"):
        make_backend("transformers", model="m")
