"""Microphone and loudspeaker of this machine, by ALSA's arecord and espeak-ng."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.language.query import DID_YOU_MEAN, MEANT
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.voice.recogniser import MOST_S, RATE_HZ, BadSound, Sound, of_pcm

_END_S = 5.0  # time for arecord to write its data
_SPEAK_S = 120.0  # maximum duration of an answer


def check_microphone() -> None:
    """Raise ConfigError if this machine has no program to record."""
    if shutil.which("arecord") is None:
        raise ConfigError("arecord is not installed: apt-get install alsa-utils, or name a WAV file with --file")


def record(device: str, done: Callable[[float], bool]) -> Sound:
    """Record the microphone until `done` returns True, at most MOST_S.

    device: ALSA device ("hw:1,0"), "" = the default. done: waits for the given seconds and returns whether to stop.
    Raises ConfigError if there is no microphone, BadSound if nothing was recorded.
    """
    check_microphone()
    command = ["arecord", "-q", "-t", "raw", "-f", "S16_LE", "-c", "1", "-r", str(RATE_HZ),
               *(("-D", device) if device else ())]
    with tempfile.TemporaryFile() as heard, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=heard, stderr=said)
        try:
            end = time.monotonic() + MOST_S
            while process.poll() is None and time.monotonic() < end and not done(0.1):
                pass
            failed = process.poll() is not None  # it should record until it is terminated
        finally:
            process.terminate()
            process.wait(_END_S)
        heard.seek(0)
        said.seek(0)
        if failed:
            why = said.read().decode(errors="replace").strip().splitlines()
            raise ConfigError(f"the microphone cannot be used ({why[-1] if why else 'arecord ended'}): arecord -l "
                              "lists the microphones, --microphone hw:1,0 names one, and --file reads a WAV file "
                              "instead")
        if not (data := heard.read()):
            raise BadSound("nothing was recorded: wait until it says that it listens, then speak")
        return of_pcm(data)


def check_speaker() -> None:
    """Raise ConfigError if this machine has no program to speak."""
    if shutil.which("espeak-ng") is None:
        raise ConfigError("espeak-ng is not installed: apt-get install espeak-ng, or choose --silent")


def speak(text: str) -> None:
    """Read a text aloud and return at its end. Raises ConfigError if this machine cannot."""
    check_speaker()
    try:
        done = subprocess.run(["espeak-ng", "--stdin"], input=text.encode(), capture_output=True, timeout=_SPEAK_S)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"espeak-ng did not end within {_SPEAK_S:.0f} s: is a loudspeaker connected?") from error
    why = (done.stderr.decode(errors="replace").strip().splitlines() or [""])[-1]
    if done.returncode or why.startswith("error"):  # it returns 0 even without a loudspeaker
        raise ConfigError(f"espeak-ng cannot speak ({why or done.returncode}): is a loudspeaker connected? "
                          "Choose --silent to read the answer only")


def spoken(answer: Answer) -> str:
    """Return the text to read aloud for an answer.

    How the question was understood is said only if it was not understood, or if a person said what it means.
    """
    if answer.error:
        return f"The question ended with an error: {answer.error.name.replace('_', ' ').lower()}."
    if answer.abstained:
        return answer.message if DID_YOU_MEAN in answer.message else "I do not know."
    understood = f"Understood: {answer.understood}. " if answer.understood and MEANT in answer.message else ""
    return understood + answer.text
