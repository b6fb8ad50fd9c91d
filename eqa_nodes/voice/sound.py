"""Recorded sound: samples with their rate, read from WAV."""

from __future__ import annotations

import io
import wave
from typing import NamedTuple

import numpy as np

from eqa_nodes.core.errors import EqaError

RATE_HZ = 16_000  # of every sound: what recognisers are trained on, and what the page and `eqa listen` record
MOST_S = 20.0  # of one recording
_RATES = (8_000, 48_000)


class BadSound(EqaError):
    """A recording cannot be used: it is no WAV of 16 bits, is empty, or is too long."""


class Sound(NamedTuple):
    """samples: (N,) float32 from -1 to 1, one channel, RATE_HZ of them a second."""

    samples: np.ndarray

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / RATE_HZ


def of_pcm(data: bytes, rate_hz: int = RATE_HZ, channels: int = 1) -> Sound:
    """Return the sound of samples of 16 bits, at RATE_HZ; several channels become their mean. Raises BadSound."""
    whole = len(data) // (2 * channels) * 2 * channels
    samples = np.frombuffer(data[:whole], "<i2").reshape(-1, channels).mean(axis=1) / 32768
    seconds = len(samples) / rate_hz
    if not len(samples):
        raise BadSound("the recording is empty: record again, and speak before you end it")
    if seconds > MOST_S + 0.5:  # who records stops the clock a little late
        raise BadSound(f"the recording lasts {seconds:.1f} s: a question may take {MOST_S:.0f} s")
    return Sound((samples if rate_hz == RATE_HZ else _resampled(samples, rate_hz)).astype(np.float32))


def _resampled(samples: np.ndarray, rate_hz: int) -> np.ndarray:
    from scipy.signal import resample_poly

    resampled: np.ndarray = resample_poly(samples, RATE_HZ, rate_hz)
    return resampled


def read_wav(data: bytes) -> Sound:
    """Return the sound of a WAV file. Raises BadSound."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate_hz = file.getnchannels(), file.getsampwidth(), file.getframerate()
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError, RuntimeError, ValueError) as error:
        raise BadSound(f"this is no WAV file ({error or 'it ends too early'}): record one with arecord -f S16_LE "
                       f"-r {RATE_HZ} question.wav") from error
    if width != 2 or not _RATES[0] <= rate_hz <= _RATES[1]:
        raise BadSound(f"the WAV file has {8 * width} bits at {rate_hz} Hz: it needs 16 bits at {_RATES[0]} to "
                       f"{_RATES[1]} Hz")
    return of_pcm(frames, rate_hz, channels)
