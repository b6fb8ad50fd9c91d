"""Moonshine's tiny English model (arXiv 2410.15608), whose weights lie in the package moonshine-voice."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from eqa_nodes.core.errors import ConfigError, MissingExtra, ModelError
from eqa_nodes.core.traits import Traits
from eqa_nodes.voice.sound import RATE_HZ, Sound

_MODEL = "tiny-en"  # the one that the package holds up to its version 0.0.73; later ones download theirs


class Moonshine:
    """Recognises a question of 3 s in 0.15 s on two cores."""

    traits = Traits(library="moonshine_voice", extra="voice")

    def __init__(self) -> None:
        """Load the model. Raises MissingExtra, ConfigError where the package has no weights or cannot be loaded."""
        if find_spec("moonshine_voice") is None:
            raise MissingExtra("moonshine-voice", "voice")
        self._transcriber = _loaded()

    def recognise(self, sound: Sound) -> str:
        """As in Recogniser."""
        from moonshine_voice.errors import MoonshineError

        try:
            said = self._transcriber.transcribe_without_streaming(sound.samples.tolist(), RATE_HZ)
        except MoonshineError as error:
            raise ModelError(f"moonshine-voice cannot recognise this recording: {error}") from error
        return " ".join(line.text for line in said.lines)


def _loaded() -> Any:
    try:
        from moonshine_voice import ModelArch, Transcriber, get_model_path

        if not (weights := get_model_path(_MODEL) / "encoder_model.ort").exists():
            raise ConfigError(f"this moonshine-voice brings no weights ({weights} is absent): "
                              "pip install 'eqa-nodes[voice]'")
        return Transcriber(str(weights.parent), ModelArch.TINY)
    except (OSError, RuntimeError) as error:  # its library wants glibc 2.34
        raise ConfigError(f"moonshine-voice cannot be loaded ({error}): its wheels need glibc 2.34 or newer, that is "
                          "Debian 12 or Ubuntu 22.04") from error
