"""A model on this machine, through transformers: image-text-to-text models such as the Qwen-VL and SmolVLM families."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.model import (
    LETTERS,
    Choice,
    Completion,
    Message,
    Schema,
    Usage,
    choose_verbalised,
    images_in,
    letter_menu,
)
from eqa_nodes.core.traits import Traits
from eqa_nodes.models.accelerator import device_of, dtype_of, quick_dtype
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.local_processor import letter_tokens, load_processor, shows_images, tensors
from eqa_nodes.models.meter import UsageMeter

T = TypeVar("T")


class _Written(NamedTuple):
    """What a pass gave. tokens: (B, new) int64; logits: (B, vocabulary) of the first new one; tokens_in: a chat's."""

    tokens: Any
    logits: Any
    tokens_in: list[int]


class LocalModel:
    """The model of a folder or hub name, loaded at once. One pass at a time; other threads wait, up to deadline_s.

    Temperature 0 takes the likeliest token; above it the seed decides. Code that comes with a model is never run.
    Raises ConfigError for a model that cannot be loaded, a device or dtype that there is not; MissingExtra.
    """

    traits = Traits(library="torch", extra="local")

    def __init__(self, config: ModelConfig, api_key: str = "") -> None:
        """api_key: as of every backend; a local model needs none."""
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtra(error.name or "transformers", "local") from error
        self._torch, self._transformers, self._config = torch, transformers, config
        self.model = config.model or os.environ.get("EQA_VLM_MODEL", "")
        if not self.model:
            raise ConfigError("no name of the local model: set --model or EQA_VLM_MODEL to a folder or a hub name")
        self.device = device_of(torch, config.device, "model.device")
        self.dtype = dtype_of(torch, config.dtype or quick_dtype(torch, self.device), "model.dtype")
        self._processor, self._model = self._load()
        self._meter, self._lock = UsageMeter(config), threading.Lock()

    @staticmethod
    def check(config: ModelConfig) -> None:
        """Raise MissingExtra where a library is absent; the model is not loaded for it."""
        for library in ("torch", "transformers"):
            if find_spec(library) is None:
                raise MissingExtra(library, "local")

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._meter.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None) -> Completion:
        """Return the model's next turn. Raises ModelError, BudgetSpent. schema: not used."""
        return self.generate_many([messages], max_tokens, seed)[0]

    def generate_many(self, chats: Sequence[Sequence[Message]], max_tokens: int = 1024,
                      seed: int = 0) -> list[Completion]:
        """Return the next turn of each chat, `batch` neighbours in one pass. Raises ModelError, BudgetSpent."""
        found: list[Completion] = []
        for _, alike in groupby(chats, shows_images):
            rows = list(alike)
            for begin in range(0, len(rows), self._config.batch):
                found += self._pass(rows[begin:begin + self._config.batch], max_tokens, seed, self._completions)
        return found

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0) -> Choice:
        """Return each option's probability: that of its letter as the next token, among the letters of the menu."""
        chat = [*messages, letter_menu(options)]
        letters = letter_tokens(self._processor.tokenizer, LETTERS[:len(options)])
        if letters is None or not self._config.logprobs:
            return choose_verbalised(self, messages, options, seed)
        return self._pass([chat], 1, seed, partial(self._choice, letters))

    def close(self) -> None:
        """Let go of the model's memory."""
        self._model = self._processor = None
        if self.device.type == "cuda":
            self._torch.cuda.empty_cache()

    def _load(self) -> tuple[Any, Any]:
        path = Path(self.model)
        if (path.is_absolute() or self.model.startswith(".")) and not path.is_dir():
            raise ConfigError(f"the model's folder {path} is not there: name one with config.json and weights")
        try:
            model = self._transformers.AutoModelForImageTextToText.from_pretrained(
                self.model, dtype=self.dtype, trust_remote_code=False)
            return load_processor(self.model), self._on_device(model).eval()
        except ImportError as error:
            raise ConfigError(f"the model {self.model} wants another library: {_line(error)}") from error
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(
                f"the model {self.model} cannot be loaded: {_line(error)}. It must be a whole folder, or the "
                "hub name of an image-text-to-text model that transformers knows; without a network, one that was "
                "fetched before (hf download NAME)") from error

    def _on_device(self, model: Any) -> Any:
        try:
            return model.to(self.device)
        except (RuntimeError, AssertionError) as error:
            raise ConfigError(f"the model {self.model} does not fit on {self.device}: {_line(error)}. Choose "
                              "another model.device, model.dtype or a smaller model") from error

    def _pass(self, chats: Sequence[Sequence[Message]], max_tokens: int, seed: int,
              read: Callable[[_Written, int], T]) -> T:
        self._meter.check()
        until = time.monotonic() + self._config.deadline_s
        if not self._lock.acquire(timeout=self._config.deadline_s):
            raise ModelError(f"timed out: {self.model} was busy for {self._config.deadline_s:g} s with other calls")
        try:
            if self._model is None:
                raise ModelError(f"closed: {self.model} was closed")
            self._meter.add(len(chats), images=sum(map(images_in, chats)))
            with self._named():
                return read(self._written(chats, max_tokens, seed, until), max_tokens)
        finally:
            self._lock.release()

    def _written(self, chats: Sequence[Sequence[Message]], max_tokens: int, seed: int, until: float) -> _Written:
        torch = self._torch
        inputs = tensors(self._processor, chats).to(self.device, dtype=self.dtype)
        width = inputs["input_ids"].shape[1]
        self._check_length(width + max_tokens)
        rng = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=rng), torch.inference_mode():
            torch.manual_seed(self._config.seed + seed)
            out = self._model.generate(**inputs, max_new_tokens=max_tokens, return_dict_in_generate=True,
                                       output_logits=max_tokens == 1, max_time=max(until - time.monotonic(), 0.0),
                                       pad_token_id=self._pad(), **self._sampling())
        tokens_in = inputs["attention_mask"].sum(dim=1).tolist()
        return _Written(out.sequences[:, width:], out.logits[0] if out.logits else None, tokens_in)

    def _completions(self, written: _Written, max_tokens: int) -> list[Completion]:
        found = []
        for row, tokens_in in zip(written.tokens.tolist(), written.tokens_in):
            end = next((i + 1 for i, token in enumerate(row) if token in self._ends()), 0)
            row = row[:end] if end else row
            self._meter.add(0, tokens_in, len(row))
            text = self._processor.tokenizer.decode(row, skip_special_tokens=True).strip()
            found.append(Completion(text, tokens_in, len(row), "stop" if end else "length"))
        if any(done.finish_reason == "length" and done.tokens_out < max_tokens for done in found):
            raise ModelError(f"timed out: {self.model} had not finished after {self._config.deadline_s:g} s: raise "
                             "model.deadline_s, or ask for fewer tokens")
        return found

    def _choice(self, letters: list[list[int]], written: _Written, max_tokens: int) -> Choice:
        self._meter.add(0, written.tokens_in[0], 1)
        logits = written.logits[0].double().tolist()
        top = max(logits[token] for tokens in letters for token in tokens)
        if not math.isfinite(top):
            raise ModelError(f"failed: {self.model} gives no probabilities ({top}): choose another model.dtype")
        weights = [sum(math.exp(logits[token] - top) for token in tokens) for tokens in letters]
        return Choice(tuple(weight / sum(weights) for weight in weights), "logits")

    def _sampling(self) -> dict[str, Any]:
        temperature = self._config.temperature
        if temperature < 0.0:
            return {}
        if temperature == 0.0:
            return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        return {"do_sample": True, "temperature": temperature}

    def _ends(self) -> set[int]:
        ends = self._model.generation_config.eos_token_id
        return set(ends if isinstance(ends, (list, tuple)) else [] if ends is None else [ends])

    def _pad(self) -> int:
        pad = self._processor.tokenizer.pad_token_id
        return int(min(self._ends(), default=0) if pad is None else pad)

    def _check_length(self, tokens: int) -> None:
        limit = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        if limit and tokens > limit:
            raise ModelError(f"too long: {tokens} tokens of question, images and reply, but {self.model} takes "
                             f"{limit}: use fewer or smaller images")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Turn what the libraries raise into ModelError."""
        try:
            yield
        except (RuntimeError, ValueError, IndexError, MemoryError) as error:
            words = str(error)
            if isinstance(error, (MemoryError, self._torch.OutOfMemoryError)) or "out of memory" in words \
                    or "not enough memory" in words:
                raise ModelError(f"out of memory: {self.model} on {self.device} ({words[:120]}): show fewer or smaller "
                                 "pictures, set model.batch 1, or choose a smaller model") from error
            raise ModelError(f"failed: {self.model} on {self.device}: {type(error).__name__}: {words[:200]}") from error


def _line(error: Exception) -> str:
    """Return what an error says as one line that is not too long."""
    return " ".join(str(error).split())[:240]
