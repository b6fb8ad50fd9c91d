"""The command `eqa`. Its parser and its verbs load inside `main`, so that an early Ctrl-C ends it without a traceback.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    from eqa_nodes.cli.parser import parser as whole

    return whole()


def parsed(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options, those that an agent's name decides filled in. Raises ConfigError for an unknown agent."""
    from eqa_nodes.cli.parser import parsed as filled_in

    return filled_in(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        print("eqa: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def _run(argv: Sequence[str] | None) -> int:
    from eqa_nodes.cli.failures import in_one_line
    from eqa_nodes.cli.paths import check_outputs

    try:
        _speak_utf8()
        arguments = parsed(argv)
        check_outputs(arguments)
        module, _, function = arguments.run.partition(":")
        code = int(getattr(import_module(module), function)(arguments))
        if sys.stdout is not None:  # it may be closed: `eqa ... >&-`
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has what it wants, as in `eqa graph | head`
        _close_stdout()
        return 128 + signal.SIGPIPE
    except Exception as error:
        if (line := in_one_line(error)) is None:
            raise
        print(f"eqa: {line}", file=sys.stderr)
        if isinstance(error, OSError):  # perhaps of the output itself
            _close_stdout()
        return 2


def _speak_utf8() -> None:
    """Let a terminal without UTF-8 see "?" where it lacks a character, instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _close_stdout() -> None:
    """Let what is still buffered go nowhere: the interpreter would complain of it at its end."""
    with suppress(OSError, ValueError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
