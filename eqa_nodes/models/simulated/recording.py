"""Requests with the labels behind their pictures, and what a model (or a person in its place) replied."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from PIL import Image

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.model import Completion, Message, Picture, Schema
from eqa_nodes.core.storage.codec import decode, read_json, write_json
from eqa_nodes.core.traits import BackendTraits
from eqa_nodes.core.types.calls import OptionMark
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.openai_chat import OpenAIChat
from eqa_nodes.models.simulated.sight import stored_size

FOLDER_VARIABLE = "EQA_REQUESTS"  # where RecordingChat writes to
REQUEST, REPLY = "request.json", "reply.txt"


@dataclass(frozen=True)
class RecordedPart:
    """A text, or a picture by its view (without its image), the size sent, and the numbers drawn on it."""

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
        return tuple(Message(role, tuple(map(_sent, parts)))
                     for role, parts in zip(self.roles, self.parts, strict=True))


def recorded(messages: Sequence[Message], seed: int) -> RecordedRequest:
    """Return a request as it is recorded."""
    return RecordedRequest(tuple(m.role for m in messages), tuple(tuple(map(_kept, m.parts)) for m in messages), seed)


def read_requests(folder: Path) -> list[tuple[RecordedRequest, str]]:
    """Return the requests of a folder with their replies, in order. Raises ConfigError, StorageError."""
    places = sorted(path.parent for path in folder.glob(f"*/{REQUEST}") if (path.parent / REPLY).exists())
    if not places:
        raise ConfigError(f"{folder} holds no request with a reply: each is a folder with {REQUEST} and {REPLY}, as "
                          f"the backend {__name__}:RecordingChat writes them")
    return [(decode(RecordedRequest, read_json(place / REQUEST)), (place / REPLY).read_text(encoding="utf-8"))
            for place in places]


class RecordingChat(OpenAIChat):
    """An OpenAI-compatible endpoint whose requests are recorded with their labels, into the folder of EQA_REQUESTS."""

    traits = BackendTraits(library=OpenAIChat.traits.library, extra=OpenAIChat.traits.extra, labels=True)

    def __init__(self, config: ModelConfig, api_key: str = "") -> None:
        """Raises ConfigError where no folder is named, and as OpenAIChat."""
        super().__init__(config, api_key)
        folder = os.environ.get(FOLDER_VARIABLE, "")
        if not folder:
            raise ConfigError(f"set {FOLDER_VARIABLE} to the folder that requests are recorded in")
        self._folder, self._writing = Path(folder), Lock()

    def generate(self, messages: Sequence[Message], max_tokens: int = 1024, seed: int = 0,
                 schema: Schema | None = None) -> Completion:
        """Return the model's reply after it was recorded."""
        reply = super().generate(messages, max_tokens, seed, schema)
        save(self._folder, self._writing, recorded(messages, seed), reply.text)
        return reply


def save(folder: Path, lock: Lock, request: RecordedRequest, reply: str) -> None:
    """Write a request and its reply as the next one of a folder. Raises StorageError."""
    with lock:
        place = folder / f"{len(list(folder.glob(f'*/{REQUEST}'))) + 1:05d}"
        place.mkdir(parents=True)
        write_json(place / REQUEST, request)
        (place / REPLY).write_text(reply, encoding="utf-8")


def _kept(part: str | bytes) -> RecordedPart:
    if isinstance(part, str):
        return RecordedPart(part)
    if not isinstance(part, Picture):
        raise ConfigError("only pictures of remembered views can be recorded")
    stored = b"" if part.view.geometry else _blank(*stored_size(part.view))
    return RecordedPart("", replace(part.view, jpeg=stored), Image.open(io.BytesIO(part)).size, part.marks)


def _sent(part: RecordedPart) -> str | bytes:
    return part.text if part.view is None else Picture(_blank(*part.size), part.view, part.marks)


def _blank(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (width, height)).save(out, "JPEG")
    return out.getvalue()
