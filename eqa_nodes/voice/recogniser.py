"""Recorded questions as samples and as words: WAV files, the protocol of recognisers, and Moonshine.

Moonshine is a small English model (arXiv 2410.15608); its weights are in the package moonshine-voice.
"""

from __future__ import annotations

import io
import wave
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np

from eqa_nodes.core.components import RECOGNISERS
from eqa_nodes.core.errors import ConfigError, EqaError, MissingExtra, ModelError
from eqa_nodes.core.traits import Traits

DEFAULT = "moonshine"
RATE_HZ = 16_000  # of all sounds: the rate of the recognisers' training, the page and `eqa listen`
MOST_S = 20.0  # maximum length of a recording
_RATES = (8_000, 48_000)
_MODEL = "tiny-en"  # included in the package up to version 0.0.73; later versions download their models


class BadSound(EqaError):
    """A recording cannot be used: it is not a WAV file of 16 bits, or is empty or too long."""


class Sound(NamedTuple):
    """samples: (N,) float32 from -1 to 1, one channel, at RATE_HZ."""

    samples: np.ndarray

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return len(self.samples) / RATE_HZ


def of_pcm(data: bytes, rate_hz: int = RATE_HZ, channels: int = 1) -> Sound:
    """Convert 16-bit PCM samples to a sound at RATE_HZ; several channels are averaged. Raises BadSound."""
    whole = len(data) // (2 * channels) * 2 * channels
    samples = np.frombuffer(data[:whole], "<i2").reshape(-1, channels).mean(axis=1) / 32768
    seconds = len(samples) / rate_hz
    if not len(samples):
        raise BadSound("the recording is empty: record again, and speak before you end it")
    if seconds > MOST_S + 0.5:  # tolerance: the sender may stop a little late
        raise BadSound(f"the recording lasts {seconds:.1f} s: a question may take {MOST_S:.0f} s")
    return Sound((samples if rate_hz == RATE_HZ else _resampled(samples, rate_hz)).astype(np.float32))


def _resampled(samples: np.ndarray, rate_hz: int) -> np.ndarray:
    from scipy.signal import resample_poly

    resampled: np.ndarray = resample_poly(samples, RATE_HZ, rate_hz)
    return resampled


def read_wav(data: bytes) -> Sound:
    """Read a sound from the bytes of a WAV file. Raises BadSound."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate_hz = file.getnchannels(), file.getsampwidth(), file.getframerate()
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError, RuntimeError, ValueError) as error:
        raise BadSound(f"this is not a WAV file ({error or 'it ends too early'}): record one with arecord -f S16_LE "
                       f"-r {RATE_HZ} question.wav") from error
    if width != 2 or not _RATES[0] <= rate_hz <= _RATES[1]:
        raise BadSound(f"the WAV file has {8 * width} bits at {rate_hz} Hz: it needs 16 bits at {_RATES[0]} to "
                       f"{_RATES[1]} Hz")
    return of_pcm(frames, rate_hz, channels)


class Recogniser(Protocol):
    """Recognises English on this machine. The constructor takes no arguments and loads the model."""

    def recognise(self, sound: Sound) -> str:
        """Return the words of a sound, "" if none were recognised. One call at a time. Raises EqaError."""


def open_recogniser(name: str) -> Recogniser:
    """Return a recogniser by its name. Raises ConfigError for an unknown one, MissingExtra."""
    made: Recogniser = RECOGNISERS.make(name)
    return made


def words_of(recogniser: Recogniser, sound: Sound) -> str:
    """Return the words of a sound in one line, "" for silence."""
    return " ".join(recogniser.recognise(sound).split())


class Moonshine:
    """The Moonshine model; it recognises a question of 3 s in 0.15 s on two cores."""

    traits = Traits(library="moonshine_voice", extra="voice")

    def __init__(self) -> None:
        """Load the model. Raises MissingExtra; ConfigError if the package has no weights or cannot be loaded."""
        if find_spec("moonshine_voice") is None:
            raise MissingExtra("moonshine-voice", "voice")
        self._transcriber = _loaded()

    def recognise(self, sound: Sound) -> str:
        """Return the words of a sound (see Recogniser)."""
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
            raise ConfigError(f"the installed moonshine-voice has no weights ({weights} is missing): "
                              "pip install 'eqa-nodes[voice]'")
        return Transcriber(str(weights.parent), ModelArch.TINY)
    except (OSError, RuntimeError) as error:  # its library requires glibc 2.34
        raise ConfigError(f"moonshine-voice cannot be loaded ({error}): its wheels need glibc 2.34 or newer, that is "
                          "Debian 12 or Ubuntu 22.04") from error
