"""The command `eqa`. Parser and verbs load inside `main`, so that an early Ctrl-C ends it without a traceback."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

_COLLECTED = 100_000  # new objects between two garbage collections: with Python's 700 they are a tenth of the start
COMPLETING = "_ARGCOMPLETE"  # a shell sets this variable when it asks for completions


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    gc.set_threshold(_COLLECTED)
    with _terminable() as received:
        try:
            return _run(argv)
        except KeyboardInterrupt:
            print("eqa: ended by SIGTERM" if received else "eqa: interrupted", file=sys.stderr)
            return 128 + (signal.SIGTERM if received else signal.SIGINT)


@contextmanager
def _terminable() -> Iterator[list[int]]:
    """Let SIGTERM end the command as Ctrl-C does, so that the robot is stopped; yield the list that records the signal.

    A second SIGTERM is ignored, so that it cannot interrupt the shutdown. Verbs that serve install their own handlers.
    """
    received, process = list[int](), os.getpid()

    def end(number: int, _: object) -> None:
        if os.getpid() != process:  # a fork of this process ends in the default way
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        elif not received:
            received.append(number)
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(argv: Sequence[str] | None) -> int:
    from eqa_nodes.cli.options import check_outputs
    from eqa_nodes.cli.verbs import command_of, complete

    try:
        _replace_unprintable()
        if COMPLETING in os.environ:
            complete()
        command = command_of(sys.argv[1:] if argv is None else argv)
        check_outputs(command)
        code = command.run()
        if sys.stdout is not None:  # None if it is closed: `eqa ... >&-`
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has closed the pipe, as in `eqa graph | head`
        _close_stdout()
        return 128 + signal.SIGPIPE
    except Exception as error:
        from eqa_nodes.cli.failures import in_one_line

        if (line := in_one_line(error)) is None:
            raise
        print(f"eqa: {line}", file=sys.stderr)
        if isinstance(error, OSError):  # the output itself may have failed
            _close_stdout()
        return 2


def _replace_unprintable() -> None:
    """Print "?" for a character that the terminal's encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _close_stdout() -> None:
    """Discard what is still buffered: at its end the interpreter would report that it cannot be written."""
    with suppress(OSError, ValueError):  # a replaced stdout may have no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
