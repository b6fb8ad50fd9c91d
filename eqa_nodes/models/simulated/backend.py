"""The simulated model as a backend that takes the real prompts and replies in their formats."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from eqa_nodes.core.model import Choice, Completion, Message, Picture, Schema, images_in
from eqa_nodes.core.traits import BackendTraits
from eqa_nodes.core.types.costs import CallAccount, Usage
from eqa_nodes.models.config import ModelConfig
from eqa_nodes.models.meter import UsageMeter
from eqa_nodes.models.simulated.replies import REPLIES
from eqa_nodes.models.simulated.request import read_request
from eqa_nodes.models.simulated.sight import SightLimits, read_limits

_CHARS_PER_TOKEN = 4
_TILE_PX, _TILE_TOKENS, _IMAGE_TOKENS = 512, 170, 85  # for an image at high detail, as GPT-4o counts
_INSIDE_PX, _SHORTER_PX = 2048, 768
NAME = "simulated"


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
