"""`eqa listen`: one question by voice. The recognised words are shown and confirmed before they are asked."""

from __future__ import annotations

import select
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.cli.ask import Asking
from eqa_nodes.cli.options import flag, listed, option

if TYPE_CHECKING:
    from rich.console import Console

    from eqa_nodes.voice.recogniser import Sound

SEND = "Send? Enter = yes, n = no, or type the right question: "


@dataclass(frozen=True, kw_only=True)
class Listen(Asking):
    """Records one question, shows the recognised words, and asks them after you have confirmed or corrected them. Then
    it prints the answer as `eqa ask` does, and reads it aloud. Speech is processed on this machine.
    """

    file: Path | None = option(None, "WAV file with the question, 16 bits (default: the microphone)", metavar="WAV")
    microphone: str = option("", "ALSA name of the microphone, such as hw:1,0; arecord -l lists them (default: "
                             "ALSA's)", metavar="NAME")
    recogniser: str = option("moonshine", "speech recogniser", complete=listed("RECOGNISERS"))
    silent: bool = flag("do not read the answer aloud")

    def run(self) -> int:
        """Listen, ask, speak; return 1 if nothing was sent or the question ends in an error."""
        from rich.console import Console

        from eqa_nodes.voice.audio import check_speaker, speak, spoken
        from eqa_nodes.voice.recogniser import BadSound, open_recogniser, words_of

        self.check()
        if not self.silent:
            check_speaker()
        console = Console(stderr=self.json)
        recogniser = open_recogniser(self.recogniser)
        text = words_of(recogniser, self._sound(console))
        if not text:
            raise BadSound("no words were recognised: speak nearer to the microphone, or choose another with "
                           "--microphone")
        if not (text := _confirmed(text, console)):
            console.print("not sent")
            return 1
        answer = self.ask(text)
        if not self.silent:
            speak(spoken(answer))
        return 1 if answer.error else 0

    def _sound(self, console: Console) -> Sound:
        """Return the question's sound. Raises EqaError if there is none."""
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.voice.audio import check_microphone, record
        from eqa_nodes.voice.recogniser import MOST_S, read_wav

        if self.file is not None:
            return read_wav(self.file.read_bytes())
        check_microphone()
        if not sys.stdin.isatty():
            raise ConfigError("without a terminal Enter cannot end the recording: name a WAV file with --file")
        console.print(f"listening: ask your question and press Enter ({MOST_S:.0f} s at most)")
        return record(self.microphone, _entered)


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
    try:
        reply = console.input(SEND).strip()
    except EOFError:
        return ""
    return "" if reply.lower() in ("n", "no") else text if reply.lower() in ("", "y", "yes") else reply
