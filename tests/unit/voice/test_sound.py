"""WAV files that are read, and those that are refused in words."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from eqa_nodes.voice.recogniser import BadSound, read_wav
from tests.fixtures.voices import wav


@pytest.mark.parametrize(("rate_hz", "channels"), [(8_000, 1), (22_050, 1), (48_000, 2)])
def test_a_wav_file_is_read(rate_hz: int, channels: int) -> None:
    sound = read_wav(wav(0.5, rate_hz, channels))
    assert sound.seconds == pytest.approx(0.5) and sound.samples.dtype == np.float32
    assert float(np.abs(sound.samples).max()) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("data", "why"), [
    (b"", "not a WAV file"), (b"RIFF\xff\xff\xff\xffWAVE", "not a WAV file"), (b"OggS" * 100, "not a WAV file"),
    (wav()[:30], "not a WAV file"), (wav(0.0), "is empty"), (wav(25.0), "lasts 25.0 s"),
    (wav(width=4), "32 bits"), (wav(rate_hz=4_000), "at 4000 Hz")])
def test_what_cannot_be_used_is_refused_in_words(data: bytes, why: str) -> None:
    with pytest.raises(BadSound, match=why):
        read_wav(data)


def test_a_file_that_lies_about_itself_is_read_or_refused() -> None:
    whole, draw = wav(0.05), np.random.default_rng(3)
    for _ in range(300):
        broken = bytearray(whole[:draw.integers(1, len(whole))])
        for place in draw.integers(0, min(44, len(broken)), 3):
            broken[place] = draw.integers(256)
        with suppress(BadSound):
            assert len(read_wav(bytes(broken)).samples)
