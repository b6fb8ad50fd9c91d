"""`eqa history`: what an episode history holds, and other forms of it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eqa_nodes.bags.histories import EpisodeHistory, open_history, survey
from eqa_nodes.commands.bag import remapping
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types import Frame

LIVE = "live"
Export = Callable[[Iterable[Frame], Path, Callable[[int], None]], "Counter[str]"]


def info(arguments: argparse.Namespace) -> int:
    """Read a whole history and print what it holds."""
    history = _opened(arguments)
    with frames_bar(history) as show:
        found = survey(_counted(history, show))
    (x0, y0, z0), (x1, y1, z1) = found.lowest, found.highest
    console = Console()
    width, height = found.image
    _print(console, f"{history.name}: {found.frames} frames of {width}x{height}, {found.seconds:.1f} s at "
                    f"{found.rate_hz:.1f} Hz")
    _print(console, f"path {found.path_m:.2f} m; x {x0:.2f} to {x1:.2f} m, y {y0:.2f} to {y1:.2f} m, z {z0:.2f} to "
                    f"{z1:.2f} m")
    _print_counts(console, "not used", history.dropped)
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Write a history in another form."""
    write = EXPORTS.get(arguments.to)
    if write is None:
        raise ConfigError(unknown("form of export", arguments.to, EXPORTS))
    history = _opened(arguments)
    with frames_bar(history) as show:
        lost = write(history, arguments.out, show)
    console = Console()
    _print_counts(console, "not used", history.dropped)
    _print_counts(console, "not kept", lost)
    _print(console, f"written: {arguments.out}")
    return 0


def _opened(arguments: argparse.Namespace) -> EpisodeHistory:
    """Return the history of a path, or of a robot that runs."""
    kind, colon, namespace = str(arguments.path).partition(":")
    if kind != LIVE or not colon:
        return open_history(arguments.path, arguments.format)
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    from eqa_nodes.ros.live_history import LiveHistory

    return LiveHistory(namespace, remapping(arguments.remap), arguments.seconds)


def video(arguments: argparse.Namespace) -> int:
    """Write a history as a video."""
    from eqa_nodes.bags.video import write_video

    history = _opened(arguments)
    with frames_bar(history) as show:
        frames = write_video(history, arguments.out, show)
    console = Console()
    _print_counts(console, "not used", history.dropped)
    _print(console, f"written: {arguments.out}, {frames} frames")
    return 0


def _openeqa(frames: Iterable[Frame], out: Path, progress: Callable[[int], None]) -> Counter[str]:
    from eqa_nodes.bags.openeqa_folder import write_openeqa

    return write_openeqa(frames, out, progress)


def _bag(frames: Iterable[Frame], out: Path, progress: Callable[[int], None]) -> Counter[str]:
    from eqa_nodes.bags.export import write_bag

    return write_bag(frames, out, progress)


EXPORTS: dict[str, Export] = {"bag": _bag, "openeqa": _openeqa}


@contextmanager
def frames_bar(history: EpisodeHistory) -> Iterator[Callable[[int], None]]:
    """Show a bar over the frames of a history; yields what is told how many are done."""
    with Progress(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("frames"),
                  transient=True) as bar:
        task = bar.add_task("", total=len(history) or None)
        yield lambda done: bar.update(task, completed=done)


def _counted(frames: Iterable[Frame], show: Callable[[int], None]) -> Iterator[Frame]:
    for i, frame in enumerate(frames, start=1):
        show(i)
        yield frame


def _print_counts(console: Console, what: str, counts: Counter[str]) -> None:
    for reason, n in sorted(counts.items()):
        _print(console, f"{what}: {n} x {reason}")


def _print(console: Console, line: str) -> None:
    console.print(line, soft_wrap=True, markup=False, highlight=False)
