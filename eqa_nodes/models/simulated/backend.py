"""The simulated model as a backend that takes the real prompts and replies in their formats; recorded requests."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from PIL import Image

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Choice, Completion, Message, Picture, Schema, images_in
from eqa_nodes.core.storage.codec import decode, read_json, write_json
from eqa_nodes.core.traits import BackendTraits
from eqa_nodes.core.types.calls import OptionMark
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter
from eqa_nodes.models.openai_chat import OpenAIChat
from eqa_nodes.models.simulated.replies import REPLIES
from eqa_nodes.models.simulated.request import read_request
from eqa_nodes.models.simulated.sight import SightLimits, read_limits, stored_size

_CHARS_PER_TOKEN = 4
_TILE_PX, _TILE_TOKENS, _IMAGE_TOKENS = 512, 170, 85  # for an image at high detail, as GPT-4o counts
_INSIDE_PX, _SHORTER_PX = 2048, 768
NAME = "simulated"
FOLDER_VARIABLE = "EQA_REQUESTS"  # folder that RecordingChat writes to
REQUEST, REPLY = "request.json", "reply.txt"


class SimulatedModel:
    """A model that reads the labels of the views behind the pictures, limited to what a model could see.

    For sweeps over many questions when no model is available. Privileged. The same messages and seed give the same
    reply. Captions in the text are not read. Tokens are estimated. Raises ModelError for prompts that it does not
    know and for pictures without a view, BudgetSpent.
    """

    traits = BackendTraits(labels=True)
    privileged = ("SimulatedModel",)

    def __init__(self, limits: SightLimits = SightLimits(), config: ModelConfig = ModelConfig()) -> None:
        self.model, self._limits, self._meter = NAME, limits, UsageMeter(config)

    @classmethod
    def from_options(cls, config: ModelConfig, api_key: str = "") -> SimulatedModel:
        """Create it for the registry. config.model: JSON file of SightLimits, "" = defaults. Raises ConfigError."""
        return cls(read_limits(Path(config.model)) if config.model else SightLimits(), config)

    @classmethod
    def check(cls, config: ModelConfig) -> None:
        """Raise ConfigError for limits that cannot be read."""
        cls.from_options(config)

    @property
    def usage(self) -> Usage:
        """A copy of the counts so far."""
        return self._meter.usage

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the reply in the form that the system message asks for. schema: not used."""
        with self._meter.holding(self._read(messages), max_tokens):
            self._meter.add(account, 1)
        request = read_request(messages, seed)
        text = json.dumps(REPLIES[request.form](request, self._limits))
        read, written = self._read(messages), math.ceil(len(text) / _CHARS_PER_TOKEN)
        self._meter.add(account, 0, read, written, images_in(messages))
        cut = written > max_tokens
        return Completion(text[:max_tokens * _CHARS_PER_TOKEN] if cut else text, read, min(written, max_tokens),
                          "length" if cut else "stop")

    def choose(self, messages: Sequence[Message], options: Sequence[str], seed: int = 0,
               account: CallAccount | None = None) -> Choice:
        """Return probabilities: the option that it answers gets its confidence, and the rest is spread evenly.

        It answers with an option if the messages hold a question that `generate` answers.
        """
        said = json.loads(self.generate(messages, seed=seed, account=account).text)
        rest = (1.0 - float(said.get("confidence", 0.0))) / len(options)
        weights = [rest + (float(said["confidence"]) if option == said.get("answer") else 0.0) for option in options]
        return Choice(tuple(weight / sum(weights) for weight in weights), "verbalised")

    def close(self) -> None:
        """Nothing to release."""

    def _read(self, messages: Sequence[Message]) -> int:
        parts = [part for message in messages for part in message.parts]
        words = sum(len(part) for part in parts if isinstance(part, str))
        return math.ceil(words / _CHARS_PER_TOKEN) + sum(
            picture_tokens(part, self._limits.sent_px) for part in parts if isinstance(part, Picture))


def picture_tokens(picture: bytes, sent_px: float) -> int:
    """Estimate the tokens of a picture. sent_px: long side to which a smaller picture is scaled up, pixels."""
    width, height = Image.open(io.BytesIO(picture)).size
    scale = max(1.0, sent_px / max(width, height))
    scale *= min(1.0, _INSIDE_PX / (scale * max(width, height)))
    scale *= min(1.0, _SHORTER_PX / (scale * min(width, height)))
    tiles = math.ceil(scale * width / _TILE_PX) * math.ceil(scale * height / _TILE_PX)
    return _IMAGE_TOKENS + _TILE_TOKENS * tiles


@dataclass(frozen=True)
class RecordedPart:
    """A text, or a picture: its view (without image), the size sent in pixels, and the numbers drawn on it."""

    text: str = ""
    view: Keyframe | None = None
    size: tuple[int, int] = (0, 0)
    marks: tuple[OptionMark, ...] = ()


@dataclass(frozen=True)
class RecordedRequest:
    """The messages of a request (role and parts of each), and its seed."""

    roles: tuple[str, ...]
    parts: tuple[tuple[RecordedPart, ...], ...]
    seed: int

    def messages(self) -> tuple[Message, ...]:
        """Return the messages; their pictures are blank."""
        return tuple(Message(role, tuple(map(_as_sent, parts)))
                     for role, parts in zip(self.roles, self.parts, strict=True))


def recorded(messages: Sequence[Message], seed: int) -> RecordedRequest:
    """Convert a request to its recorded form."""
    parts = tuple(tuple(map(_as_kept, message.parts)) for message in messages)
    return RecordedRequest(tuple(message.role for message in messages), parts, seed)


def read_requests(folder: Path) -> list[tuple[RecordedRequest, str]]:
    """Read the requests of a folder with their replies, in order. Raises ConfigError, StorageError."""
    places = sorted(path.parent for path in folder.glob(f"*/{REQUEST}") if (path.parent / REPLY).exists())
    if not places:
        raise ConfigError(f"{folder} holds no request with a reply: each is a folder with {REQUEST} and {REPLY}, as "
                          f"the backend {__name__}:RecordingChat writes them")
    return [(decode(RecordedRequest, read_json(place / REQUEST)), (place / REPLY).read_text(encoding="utf-8"))
            for place in places]


class RecordingChat(OpenAIChat):
    """An OpenAI-compatible endpoint that records its requests with their labels in the folder EQA_REQUESTS."""

    traits = BackendTraits(library=OpenAIChat.traits.library, extra=OpenAIChat.traits.extra, labels=True)

    def __init__(self, config: ModelConfig, api_key: str = "") -> None:
        """Raises ConfigError if EQA_REQUESTS is not set, and the errors of OpenAIChat."""
        super().__init__(config, api_key)
        folder = os.environ.get(FOLDER_VARIABLE, "")
        if not folder:
            raise ConfigError(f"set {FOLDER_VARIABLE} to the folder that requests are recorded in")
        self._folder, self._writing = Path(folder), Lock()

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None, account: CallAccount | None = None) -> Completion:
        """Return the model's reply and record it."""
        reply = super().generate(messages, max_tokens, seed, schema, account)
        save(self._folder, self._writing, recorded(messages, seed), reply.text)
        return reply


def save(folder: Path, lock: Lock, request: RecordedRequest, reply: str) -> None:
    """Write a request and its reply as the next entry of a folder. Raises StorageError."""
    with lock:
        place = folder / f"{len(list(folder.glob(f'*/{REQUEST}'))) + 1:05d}"
        place.mkdir(parents=True)
        write_json(place / REQUEST, request)
        (place / REPLY).write_text(reply, encoding="utf-8")


def _as_kept(part: str | bytes) -> RecordedPart:
    if isinstance(part, str):
        return RecordedPart(part)
    if not isinstance(part, Picture):
        raise ConfigError("only pictures of remembered views can be recorded")
    stored = b"" if part.view.geometry else _blank(*stored_size(part.view))
    return RecordedPart("", replace(part.view, jpeg=stored), Image.open(io.BytesIO(part)).size, part.marks)


def _as_sent(part: RecordedPart) -> str | bytes:
    return part.text if part.view is None else Picture(_blank(*part.size), part.view, part.marks)


def _blank(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (width, height)).save(out, "JPEG")
    return out.getvalue()
