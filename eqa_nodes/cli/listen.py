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
    """Records one question, shows what was recognised, and asks it when you agree or have corrected it; then it prints
    the answer as `eqa ask` does, and reads it aloud. Everything stays on this machine.
    """

    file: Path | None = option(None, "WAV file with the question, 16 bits (default: the microphone)", metavar="WAV")
    microphone: str = option("", "ALSA's name of the microphone, as in hw:1,0; arecord -l lists them (default: that "
                             "of ALSA)",
                             metavar="NAME")
    recogniser: str = option("moonshine", "what recognises the words", complete=listed("RECOGNISERS"))
    silent: bool = flag("do not read the answer aloud")

    def run(self) -> int:
        """Listen, ask, speak; 1 when nothing was sent or the question ends in an error."""
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
        """Return the question's sound. Raises EqaError where there is none."""
        from eqa_nodes.core.errors import ConfigError
        from eqa_nodes.voice.audio import check_microphone, record
        from eqa_nodes.voice.recogniser import MOST_S, read_wav

        if self.file is not None:
            return read_wav(self.file.read_bytes())
        check_microphone()
        if not sys.stdin.isatty():
            raise ConfigError("this is not a terminal, where Enter ends the recording: name a WAV file with --file")
        console.print(f"listening: ask your question and press Enter ({MOST_S:.0f} s at most)")
        return record(self.microphone, _entered)


def _entered(wait_s: float) -> bool:
    """Wait, and say whether Enter was pressed."""
    if not select.select([sys.stdin], [], [], wait_s)[0]:
        return False
    sys.stdin.readline()
    return True


def _confirmed(text: str, console: Console) -> str:
    """Return the question that the person agrees to, "" = none."""
    from eqa_nodes.cli.printing import shown

    console.print(f"[bold]{shown(text)}[/bold]", soft_wrap=True)
    try:
        reply = console.input(SEND).strip()
    except EOFError:
        return ""
    return "" if reply.lower() in ("n", "no") else text if reply.lower() in ("", "y", "yes") else reply
