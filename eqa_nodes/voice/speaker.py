"""Reads answers aloud with espeak-ng."""

from __future__ import annotations

import shutil
import subprocess

from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.questions import Answer

_SPEAK_S = 120.0  # the longest answer


def check_speaker() -> None:
    """Raise ConfigError where nothing here can speak."""
    if shutil.which("espeak-ng") is None:
        raise ConfigError("espeak-ng is not installed: apt-get install espeak-ng, or choose --silent")


def speak(text: str) -> None:
    """Read a text aloud and return when it was read. Raises ConfigError where this machine cannot."""
    check_speaker()
    try:
        done = subprocess.run(["espeak-ng", "--stdin"], input=text.encode(), capture_output=True, timeout=_SPEAK_S)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"espeak-ng did not end within {_SPEAK_S:.0f} s: is a loudspeaker connected?") from error
    why = (done.stderr.decode(errors="replace").strip().splitlines() or [""])[-1]
    if done.returncode or why.startswith("error"):  # without a loudspeaker it returns 0
        raise ConfigError(f"espeak-ng cannot speak ({why or done.returncode}): is a loudspeaker connected? "
                          "Choose --silent to read the answer only")


def spoken(answer: Answer) -> str:
    """Return what is read aloud of an answer."""
    if answer.error:
        return f"The question ended with an error: {answer.error.name.replace('_', ' ').lower()}."
    return "I do not know." if answer.abstained else answer.text
