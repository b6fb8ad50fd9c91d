"""What turns sound into words, behind one protocol."""

from __future__ import annotations

from typing import Protocol

from eqa_nodes.core.components import RECOGNISERS
from eqa_nodes.voice.sound import Sound

DEFAULT = "moonshine"


class Recogniser(Protocol):
    """Recognises English on this machine. Made without arguments; making it loads its model."""

    def recognise(self, sound: Sound) -> str:
        """Return the words of a sound, "" where none were recognised. One call at a time. Raises EqaError."""


def open_recogniser(name: str) -> Recogniser:
    """Return a recogniser by its name. Raises ConfigError for an unknown one, MissingExtra."""
    made: Recogniser = RECOGNISERS.make(name)
    return made


def words_of(recogniser: Recogniser, sound: Sound) -> str:
    """Return the words of a sound in one line, "" for silence."""
    return " ".join(recogniser.recognise(sound).split())
