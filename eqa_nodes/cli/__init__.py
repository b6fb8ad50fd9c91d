"""The command `eqa`. Parser and verbs load inside `main`, so that an early Ctrl-C ends it without a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

COMPLETING = "_ARGCOMPLETE"  # variable of a shell that wants words completed


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    with _terminable() as told:
        try:
            return _run(argv)
        except KeyboardInterrupt:
            print("eqa: ended by SIGTERM" if told else "eqa: interrupted", file=sys.stderr)
            return 128 + (signal.SIGTERM if told else signal.SIGINT)


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Let SIGTERM end the command as Ctrl-C does, so that the robot is stopped; give what it is noted in.

    A second one changes nothing, so that it tears nothing. Verbs that serve have handlers of their own.
    """
    told, process = list[int](), os.getpid()

    def end(number: int, _: object) -> None:
        if os.getpid() != process:  # a fork of this one: it ends as by default
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not told:
            told.append(number)
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield told
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield told
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(argv: Sequence[str] | None) -> int:
    from eqa_nodes.cli.options import check_outputs
    from eqa_nodes.cli.terminal import first_word, in_one_line
    from eqa_nodes.cli.verbs import command_of

    try:
        _speak_utf8()
        if COMPLETING in os.environ:
            from eqa_nodes.cli.completion import complete

            complete()
        command = command_of(sys.argv[1:] if argv is None else argv)
        check_outputs(command)
        with first_word():
            code = command.run()
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
