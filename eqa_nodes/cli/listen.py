"""`eqa listen`: questions by voice. The recognised words are shown and confirmed before they are asked."""

from __future__ import annotations

import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.ask import Asking
from eqa_nodes.cli.options import flag, listed, option

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.voice.recogniser import Recogniser, Sound

SEND = "Send? Enter = yes, n = no, or type the right question: "
AGAIN = "Another question? Enter = yes, n = no: "


@dataclass(frozen=True, kw_only=True)
class Listen(Asking):
    """Records a question, shows the recognised words, and asks them after you have confirmed or corrected them. Then it
    prints the answer as `eqa ask` does, reads it aloud, and listens again: "is it on?" refers to the question before.
    Speech is processed on this machine.
    """

    file: tuple[Path, ...] = option((), "WAV files with the questions, 16 bits (default: the microphone)",
                                    metavar="WAV")
    microphone: str = option("", "ALSA name of the microphone, such as hw:1,0; arecord -l lists them (default: "
                             "ALSA's)", metavar="NAME")
    recogniser: str = option("moonshine", "speech recogniser", complete=listed("RECOGNISERS"))
    silent: bool = flag("do not read the answer aloud")

    def run(self) -> int:
        """Listen, ask, speak; return 1 if a question was not sent or ends in an error."""
        from rich.console import Console

        from eqa_nodes.core.language.conversation import Conversation
        from eqa_nodes.voice.audio import check_speaker, speak, spoken
        from eqa_nodes.voice.recogniser import open_recogniser

        self.check()
        if not self.silent:
            check_speaker()
        console, talk, failed = Console(stderr=self.json), Conversation(), False
        recogniser = open_recogniser(self.recogniser)
        for sound in self._sounds(console):
            if not (text := _confirmed(_words(recogniser, sound), console)):
                console.print("not sent")
                failed = True
                continue
            question = talk.question(text)
            answer = self.ask(question)
            talk.answered(question, answer.text)
            failed = failed or bool(answer.error)
            if not self.silent:
                speak(spoken(answer))
        return 1 if failed else 0

    def _sounds(self, console: Console) -> Iterator[Sound]:
        """Yield the sound of each question until the person wants no other one. Raises EqaError if there is none."""
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.voice.audio import check_microphone, record
        from eqa_nodes.voice.recogniser import MOST_S, read_wav

        yield from (read_wav(file.read_bytes()) for file in self.file)
        if self.file:
            return
        check_microphone()
        if not sys.stdin.isatty():
            raise ConfigError("without a terminal Enter cannot end the recording: name a WAV file with --file")
        while True:
            console.print(f"listening: ask your question and press Enter ({MOST_S:.0f} s at most)")
            yield record(self.microphone, _entered)
            if _typed(AGAIN, console) not in ("", "y", "yes"):
                return


def _words(recogniser: Recogniser, sound: Sound) -> str:
    """Return the words of a question. Raises BadSound if none were recognised."""
    from eqa_nodes.voice.recogniser import BadSound, words_of

    if text := words_of(recogniser, sound):
        return text
    raise BadSound("no words were recognised: speak nearer to the microphone, or choose another with --microphone")


def _entered(wait_s: float) -> bool:
    """Wait, and return whether Enter was pressed."""
    if not select.select([sys.stdin], [], [], wait_s)[0]:
        return False
    sys.stdin.readline()
    return True


def _confirmed(text: str, console: Console) -> str:
    """Return the question that the person confirms, "" = none."""
    from eqa_nodes.cli.printing import shown

    console.print(f"[bold]{shown(text)}[/bold]", soft_wrap=True)
    reply = _typed(SEND, console)
    return "" if reply.lower() in ("n", "no") else text if reply.lower() in ("", "y", "yes") else reply


def _typed(prompt: str, console: Console) -> str:
    """Return what the person types; "no" at the end of the input."""
    try:
        return str(console.input(prompt)).strip()
    except EOFError:
        return "no"
