"""Words of what pages record: a few recordings wait, one is recognised at a time."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from eqa_nodes.console.values import RequestRefused
from eqa_nodes.core.errors import EqaError
from eqa_nodes.voice.recogniser import Recogniser, open_recogniser, words_of
from eqa_nodes.voice.sound import MOST_S, read_wav

WAITING = 4  # recordings at once, the one that is recognised included


class Spoken:
    """A recogniser that is loaded when a page first wants it. Used from the server's threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._recogniser: Recogniser | None = None
        self._one, self._places = threading.Lock(), threading.BoundedSemaphore(WAITING)

    def ready(self) -> float:
        """Load the recogniser, and return the seconds that a recording may take. Raises EqaError with the remedy."""
        with self._turn():
            return MOST_S

    def words(self, wav: object) -> str:
        """Return the words of a recording. wav: a WAV file in base64. Raises EqaError."""
        if not isinstance(wav, str):
            raise RequestRefused("a recording is a WAV file in base64", 400)
        try:
            sound = read_wav(base64.b64decode(wav, validate=True))
        except (binascii.Error, ValueError) as error:
            raise RequestRefused("a recording is a WAV file in base64", 400) from error
        except EqaError as error:
            raise RequestRefused(str(error), 400) from error
        with self._turn() as recogniser:
            return words_of(recogniser, sound)

    @contextmanager
    def _turn(self) -> Iterator[Recogniser]:
        if not self._places.acquire(blocking=False):
            raise RequestRefused("other recordings are being recognised: try again in a few seconds", 503)
        try:
            with self._one:
                self._recogniser = self._recogniser or open_recogniser(self._name)
                yield self._recogniser
        finally:
            self._places.release()
