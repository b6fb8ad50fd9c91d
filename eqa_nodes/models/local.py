"""A model on this machine, through transformers: image-text-to-text models such as the Qwen-VL and SmolVLM families.

Text models can be used for judges and for roles without pictures. The model's own chat template and image processor
turn chats into tensors.
"""

from __future__ import annotations

import gc
import importlib.util
import io
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from PIL import Image

from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.ledger import tokens_read
from eqa_nodes.core.model import (
    LETTERS,
    Choice,
    Completion,
    Message,
    Schema,
    alternating,
    choose_verbalised,
    images_in,
    letter_menu,
)
from eqa_nodes.core.traits import Traits
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.models.accelerator import device_of, dtype_of, free, named_failures, one_line, placed, quick_dtype
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter

T = TypeVar("T")
_SMALLER = "show fewer or smaller pictures, set model.batch 1, or choose a smaller model"


def load_processor(name: str) -> Any:
    """Return the processor of a folder or hub name. Raises OSError, ValueError, ImportError as transformers does.

    If torchvision is absent, processors that also take videos are loaded without the video part, which needs it.
    """
    import transformers

    if importlib.util.find_spec("torchvision") is not None:
        return transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False)
    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
    whole = transformers.PROCESSOR_MAPPING[type(config)]
    if "video_processor" not in whole.get_attributes():
        return transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False)
    return _without_video(whole, name)


class _Texts:
    """The processor of a text-only model: its tokenizer, which takes no images."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self.tokenizer, self._name = tokenizer, name
        self.chat_template = tokenizer.chat_template
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token

    def __call__(self, text: Sequence[str], images: object, **options: Any) -> Any:
        from transformers import BatchFeature

        if images is not None:
            raise ModelError(f"no pictures: {self._name} is a model of texts alone: choose one that takes pictures, or "
                             "use it for judges and for roles that show none")
        found = self.tokenizer(text, add_special_tokens=False, return_token_type_ids=False, **options)
        return BatchFeature(dict(found))


def load_texts(name: str) -> Any:
    """Return the processor of a text-only model. Raises ValueError if it was not made for chats."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    if not tokenizer.chat_template:
        raise ValueError("its tokenizer has no chat template: choose a model that was made for chats")
    return _Texts(tokenizer, name)


def _without_video(whole: Any, name: str) -> Any:
    """Return a processor of class `whole` whose video_processor is None."""
    import transformers

    class Stills(whole):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name == "video_processor":
                return type(None)
            return super().check_argument_for_proper_class(argument_name, argument)

    loaders = {"tokenizer": transformers.AutoTokenizer, "image_processor": transformers.AutoImageProcessor}
    settings, rest = whole.get_processor_dict(name)
    parts = [loaders[part].from_pretrained(name, trust_remote_code=False) if part in loaders else None
             for part in whole.get_attributes()]
    return Stills.from_args_and_dict(parts, settings, **rest)


def tensors(processor: Any, chats: Sequence[Sequence[Message]]) -> Any:
    """Return the model's inputs for a batch, texts padded on the left: input_ids is (B, tokens) int64.

    Either every chat contains images or none does. Raises ModelError for bytes that are not an image.
    """
    from jinja2 import TemplateError  # transformers needs it for templates

    template = {"chat_template": processor.chat_template} if processor.chat_template else {}
    write = partial(processor.tokenizer.apply_chat_template, add_generation_prompt=True, tokenize=False, **template)
    turns = _plain_turns if isinstance(processor, _Texts) else _turns
    try:
        texts = [write(turns(chat)) for chat in chats]
    except TemplateError:  # most such templates accept no system message, or require alternating roles
        texts = [write(turns(alternating(chat))) for chat in chats]
    images = [[_image(part) for message in chat for part in message.parts if isinstance(part, bytes)] for chat in chats]
    return processor(text=texts, images=images if images[0] else None, padding=True, padding_side="left",
                     return_tensors="pt")


def shows_images(chat: Sequence[Message]) -> bool:
    """Return whether a chat contains an image."""
    return any(isinstance(part, bytes) for message in chat for part in message.parts)


def letter_tokens(tokenizer: Any, letters: str) -> list[list[int]] | None:
    """Return the tokens of each letter, with and without a leading space; None if a letter needs several tokens."""
    found = []
    for letter in letters:
        encodings = [tokenizer.encode(text, add_special_tokens=False) for text in (letter, " " + letter)]
        found.append(sorted({tokens[0] for tokens in encodings
                             if len(tokens) == 1 and tokens[0] != tokenizer.unk_token_id}))
    return found if all(found) else None


def _turns(chat: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in message.parts]}
        for message in chat]


def _plain_turns(chat: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": "\n".join(part for part in message.parts if isinstance(part, str))}
            for message in chat]


def _image(jpeg: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(jpeg)).convert("RGB")
    except OSError as error:
        raise ModelError(f"wrong form: a picture of {len(jpeg)} bytes cannot be decoded: {error}") from error


class _Loaded(NamedTuple):
    """A model and its processor. letters: the tokens of each letter of a menu, None if a letter needs several."""

    model: Any
    processor: Any
    letters: list[list[int]] | None

    @property
    def ends(self) -> set[int]:
        """The tokens that end a reply."""
        ends = self.model.generation_config.eos_token_id
        return set(ends if isinstance(ends, (list, tuple)) else [] if ends is None else [ends])

    @property
    def pad(self) -> int:
        """The padding token."""
        pad = self.processor.tokenizer.pad_token_id
        return int(min(self.ends, default=0) if pad is None else pad)


class _Written(NamedTuple):
    """Output of a pass. tokens: (B, new) int64; logits: (B, vocabulary) of the first new token; tokens_in: per chat."""

    loaded: _Loaded
    tokens: Any
    logits: Any
    tokens_in: list[int]


class LocalModel:
    """The model of a folder or hub name, loaded at construction. One pass runs at a time; others wait up to deadline_s.

    Temperature 0 takes the likeliest token; above 0, sampling depends on the seed. Code shipped with a model is never
    run. Raises ConfigError for a model that cannot be loaded or a device or dtype that is unavailable; MissingExtra.
    """

    traits = Traits(library="torch", extra="local")

    def __init__(self, config: ModelConfig, api_key: str = "") -> None:
        """api_key: not used; part of the signature of all backends."""
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
        self._loaded: _Loaded | None = self._load()
        self._letters = self._loaded.letters
        self._meter, self._lock = UsageMeter(config), threading.Lock()

    @staticmethod
    def check(config: ModelConfig) -> None:
        """Raise MissingExtra if a library is absent. Does not load the model."""
        for library in ("torch", "transformers"):
            if find_spec(library) is None:
                raise MissingExtra(library, "local")

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._meter.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the model's next turn. Raises ModelError, BudgetSpent. schema: not used."""
        return self.generate_many([messages], max_tokens, seed, account)[0]

    def generate_many(self, chats: Sequence[Sequence[Message]], max_tokens: int = 1024, seed: int = 0,
                      account: CallAccount | None = None) -> list[Completion]:
        """Return the next turn of each chat, up to `batch` chats per pass. Raises ModelError, BudgetSpent."""
        found: list[Completion] = []
        for _, alike in groupby(chats, shows_images):
            rows = list(alike)
            for begin in range(0, len(rows), self._config.batch):
                batch = rows[begin:begin + self._config.batch]
                found += self._pass(batch, max_tokens, seed, account, self._completions)
        return found

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return each option's probability: that its letter is the next token, normalised over the menu's letters."""
        chat = [*messages, letter_menu(options)]
        if self._letters is None or not self._config.logprobs:
            return choose_verbalised(self, messages, options, seed, account)
        return self._pass([chat], 1, seed, account, partial(self._choice, self._letters[:len(options)]))

    def close(self) -> None:
        """Release the model's memory; a running pass keeps its own reference and finishes first."""
        self._loaded = None
        self._free()

    def _free(self) -> None:
        gc.collect()  # parts of a model refer to each other
        free(self._torch, self.device)

    def _load(self) -> _Loaded:
        path = Path(self.model)
        if (path.is_absolute() or self.model.startswith(".")) and not path.is_dir():
            raise ConfigError(f"the model's folder {path} does not exist: name one with config.json and weights")
        try:
            kind = type(self._transformers.AutoConfig.from_pretrained(self.model, trust_remote_code=False))
            texts_only = kind not in self._transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
            auto = (self._transformers.AutoModelForCausalLM if texts_only else
                    self._transformers.AutoModelForImageTextToText)
            model = auto.from_pretrained(self.model, dtype=self.dtype, trust_remote_code=False)
            processor = load_texts(self.model) if texts_only else load_processor(self.model)
            letters = letter_tokens(processor.tokenizer, LETTERS)
            return _Loaded(placed(self._torch, model, self.device, f"the model {self.model}", "model"), processor,
                           letters)
        except ImportError as error:
            raise ConfigError(f"the model {self.model} needs another library: {one_line(error)}") from error
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(
                f"the model {self.model} cannot be loaded: {one_line(error)}. It must be a whole folder, or the "
                "hub name of an image-text-to-text model, or for texts alone of a text-generation model, that "
                "transformers knows; without a network, one that was fetched before (hf download NAME)") from error

    def _pass(self, chats: Sequence[Sequence[Message]], max_tokens: int, seed: int, account: CallAccount | None,
              read: Callable[[_Written, int, CallAccount | None], T]) -> T:
        expected = sum(map(tokens_read, chats))
        with self._meter.holding(expected, max_tokens * len(chats)):
            return self._alone(chats, max_tokens, seed, account, expected, read)

    def _alone(self, chats: Sequence[Sequence[Message]], max_tokens: int, seed: int, account: CallAccount | None,
               expected: float, read: Callable[[_Written, int, CallAccount | None], T]) -> T:
        until = time.monotonic() + self._config.deadline_s
        if not self._lock.acquire(timeout=self._config.deadline_s):
            raise ModelError(f"timed out: {self.model} was busy for {self._config.deadline_s:g} s with other calls")
        try:
            if (loaded := self._loaded) is None:
                raise ModelError(f"closed: {self.model} was closed")
            self._meter.add(account, len(chats), images=sum(map(images_in, chats)))
            with named_failures(self._torch, self.device, self.model, _SMALLER):
                written = self._written(loaded, chats, max_tokens, seed, until)
                self._meter.was_read(expected, sum(written.tokens_in))
                return read(written, max_tokens, account)
        finally:
            self._lock.release()
            if self._loaded is None:  # closed meanwhile
                loaded = None
                self._free()

    def _written(self, loaded: _Loaded, chats: Sequence[Sequence[Message]], max_tokens: int, seed: int,
                 until: float) -> _Written:
        torch = self._torch
        inputs = tensors(loaded.processor, chats).to(self.device, dtype=self.dtype)
        width = inputs["input_ids"].shape[1]
        self._check_length(loaded, width + max_tokens)
        rng = [self.device] if self.device.type == "cuda" else []
        with torch.random.fork_rng(devices=rng), torch.inference_mode():
            torch.manual_seed(self._config.seed + seed)
            out = loaded.model.generate(**inputs, max_new_tokens=max_tokens, return_dict_in_generate=True,
                                        output_logits=max_tokens == 1, max_time=max(until - time.monotonic(), 0.0),
                                        pad_token_id=loaded.pad, **self._sampling())
        tokens_in = inputs["attention_mask"].sum(dim=1).tolist()
        return _Written(loaded, out.sequences[:, width:], out.logits[0] if out.logits else None, tokens_in)

    def _completions(self, written: _Written, max_tokens: int,
                     account: CallAccount | None) -> list[Completion]:
        found, ends, tokenizer = [], written.loaded.ends, written.loaded.processor.tokenizer
        for row, tokens_in in zip(written.tokens.tolist(), written.tokens_in):
            end = next((i + 1 for i, token in enumerate(row) if token in ends), 0)
            row = row[:end] if end else row
            self._meter.add(account, 0, tokens_in, len(row))
            text = tokenizer.decode(row, skip_special_tokens=True).strip()
            found.append(Completion(text, tokens_in, len(row), "stop" if end else "length"))
        if any(done.finish_reason == "length" and done.tokens_out < max_tokens for done in found):
            raise ModelError(f"timed out: {self.model} had not finished after {self._config.deadline_s:g} s: raise "
                             "model.deadline_s, or ask for fewer tokens")
        return found

    def _choice(self, letters: list[list[int]], written: _Written, max_tokens: int,
                account: CallAccount | None) -> Choice:
        self._meter.add(account, 0, written.tokens_in[0], 1)
        row = written.logits[0].float().cpu()  # not all devices have float64
        logits = [row[tokens].tolist() for tokens in letters]
        top = max(chain(*logits))
        if not math.isfinite(top) or any(map(math.isnan, chain(*logits))):
            raise ModelError(f"failed: {self.model} gives no probabilities ({top}): choose another model.dtype")
        weights = [sum(math.exp(logit - top) for logit in of_letter) for of_letter in logits]
        return Choice(tuple(weight / sum(weights) for weight in weights), "logits")

    def _sampling(self) -> dict[str, Any]:
        temperature = self._config.temperature
        if temperature < 0.0:
            return {}
        if temperature == 0.0:
            return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        return {"do_sample": True, "temperature": temperature}

    def _check_length(self, loaded: _Loaded, tokens: int) -> None:
        limit = getattr(loaded.model.config.get_text_config(), "max_position_embeddings", None)
        if limit and tokens > limit:
            raise ModelError(f"too long: {tokens} tokens of question, images and reply, but {self.model} takes "
                             f"{limit}: use fewer or smaller images")
