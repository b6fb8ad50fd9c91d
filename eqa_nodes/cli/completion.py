"""`eqa completion`: the script with which a shell completes eqa's words. argcomplete does the work."""

from __future__ import annotations

import os
from dataclasses import dataclass

from eqa_nodes.cli.options import argument

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, kw_only=True)
class PrintCompletion:
    """Prints the script that completes eqa's verbs, options, names and files.

    In bash: source <(eqa completion bash). In zsh: source <(eqa completion zsh), after compinit. In fish: eqa
    completion fish | source. Put the line into the shell's start-up file to keep it.
    """

    shell: str = argument("the shell", choices=SHELLS)

    def run(self) -> int:
        """Print the script."""
        import argcomplete

        print(argcomplete.shellcode(["eqa"], shell=self.shell))
        return 0


def complete() -> None:
    """Answer the shell that asks for the words that fit, and end; does nothing where it asks another program."""
    import argcomplete

    from eqa_nodes.cli.verbs import parser

    line = os.environ.get("COMP_LINE", "")[:int(os.environ.get("COMP_POINT", "0"))]
    finished = line.split()[1:] if line.endswith(" ") else line.split()[1:-1]  # without the word that is typed
    argcomplete.autocomplete(parser(finished))
