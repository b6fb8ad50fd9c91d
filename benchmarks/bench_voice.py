"""50 household questions, said by espeak-ng in six voices at three speeds and in noise: the share of wrong words.

The questions are drawn from as many built-in houses. A synthesiser sounds unlike any person, so the figures compare
recognisers, speeds and noise; they do not say how well a person is understood.
"""

from __future__ import annotations

import random
import re
import subprocess
import time

import numpy as np

from eqa_nodes.voice.recogniser import DEFAULT, open_recogniser, words_of
from eqa_nodes.voice.sound import Sound, read_wav
from sim_bridge.house.generate import generate_house
from sim_bridge.house.questions import candidates

HOUSES = range(4000, 4050)
VOICES = ("en-us", "en-gb", "en-us+f3", "en-gb-x-rp+f2", "en-gb-scotland", "en-us+m3")
SPEEDS = (120, 160, 200)  # words a minute
NOISES_DB = (None, 20.0, 10.0)  # ratio of the speech's power to that of pink noise; None = no noise
_SAME = {"colour": "color", "whats": "what is", "wheres": "where is", "tv": "television"}
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def household_questions() -> list[str]:
    """Return one question of each house, all categories in turn."""
    draw, asked = random.Random(7), []
    for n, seed in enumerate(HOUSES):
        by_category = [found for found in candidates(generate_house(seed)).values() if found]
        asked.append(draw.choice(by_category[n % len(by_category)]).question)
    return asked


def synthesised(text: str, voice: str, speed: int) -> Sound:
    """Return a text as espeak-ng says it."""
    command = ["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", "--stdin"]
    return read_wav(subprocess.run(command, input=text.encode(), capture_output=True, check=True, timeout=60).stdout)


def with_noise(sound: Sound, ratio_db: float | None, seed: int) -> Sound:
    """Return a sound in pink noise, which falls by 3 dB an octave as that of fans and motors does."""
    if ratio_db is None:
        return sound
    white = np.fft.rfft(np.random.default_rng(seed).standard_normal(len(sound.samples)))
    pink = np.fft.irfft(white / np.sqrt(np.maximum(np.arange(len(white)), 1)), len(sound.samples))
    pink *= np.sqrt(np.mean(sound.samples ** 2) / np.mean(pink ** 2) / 10 ** (ratio_db / 10))
    return Sound((sound.samples + pink).astype(np.float32))


def plain_words(text: str) -> list[str]:
    """Return words that differ only where somebody says something else."""
    bare = re.sub(r"\d", lambda digit: f" {_DIGITS[int(digit[0])]} ", text.lower().replace("'", ""))
    return " ".join(_SAME.get(word, word) for word in re.findall(r"[a-z]+", bare)).split()


def wrong_words(said: list[str], recognised: list[str]) -> int:
    """Return the least number of words that are exchanged, left out or added (Levenshtein)."""
    row = list(range(len(recognised) + 1))
    for i, word in enumerate(said, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(recognised, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1]


def rows(name: str = DEFAULT) -> list[dict[str, object]]:
    """Return one row for each speed and noise. name: of the recogniser."""
    recogniser, found = open_recogniser(name), []
    questions = household_questions()
    for speed in SPEEDS:
        for ratio_db in NOISES_DB:
            wrong = spoken = right = 0
            seconds = 0.0
            for n, text in enumerate(questions):
                sound = with_noise(synthesised(text, VOICES[n % len(VOICES)], speed), ratio_db, n)
                began = time.perf_counter()
                said, got = plain_words(text), plain_words(words_of(recogniser, sound))
                seconds += time.perf_counter() - began
                wrong, spoken, right = wrong + wrong_words(said, got), spoken + len(said), right + (said == got)
            noise = "no noise" if ratio_db is None else f"noise at {ratio_db:.0f} dB"
            note = f"{wrong} of {spoken} words wrong; {right} of {len(questions)} questions word for word"
            found.append({"name": f"{name}: {speed} words a minute, {noise}", "baseline": "", "note": note,
                          "median_ms": round(1000 * seconds / len(questions)), "ratio": round(wrong / spoken, 3)})
            print(f"  {found[-1]['name']}: {note}", flush=True)
    return found
