"""`eqa history`: what an episode history holds, other forms of it, and new ones out of a simulator."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eqa_nodes.cli.bag import remapping
from eqa_nodes.cli.chain import with_image
from eqa_nodes.cli.em import bag_options
from eqa_nodes.core.errors import ConfigError, unknown
from eqa_nodes.core.types.views import Frame
from eqa_nodes.recordings.episode_history import EpisodeHistory, survey
from eqa_nodes.recordings.histories import open_history

LIVE = "live"
Export = Callable[[EpisodeHistory, Path, Callable[[int], None]], "Counter[str]"]


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
    if history.labels:
        _print(console, f"labels of {len(history.labels)} things, out of a simulator: answers that use them are "
                        "privileged")
    _print_counts(console, "not used", history.dropped)
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Write a history in another form."""
    _form(arguments.to)
    return _write(_opened(arguments), arguments)


def record(arguments: argparse.Namespace) -> int:
    """Make a history in a simulator and write it."""
    from eqa_nodes.recordings.tours import RECIPES, TourHistory, plan_tour

    _form(arguments.to)
    recipe = RECIPES.get(arguments.kind)
    if recipe is None:
        raise ConfigError(unknown("kind of tour", arguments.kind, RECIPES))
    recipe = replace(recipe, robot=with_image(recipe.robot, arguments.image))
    if arguments.min_metres is not None:
        recipe = replace(recipe, min_m=arguments.min_metres)
    tour = plan_tour(arguments.scene, recipe, arguments.seed)
    _print(Console(), f"{arguments.scene}: {len(tour.actions)} actions along {tour.way_m:.2f} m")
    return _write(TourHistory(tour), arguments)


def _form(name: str) -> Export:
    if name not in EXPORTS:
        raise ConfigError(unknown("form of export", name, EXPORTS))
    return EXPORTS[name]


def _write(history: EpisodeHistory, arguments: argparse.Namespace) -> int:
    """Write a history in the form that was asked for, and print what it could not keep."""
    with frames_bar(history) as show:
        lost = _form(arguments.to)(history, arguments.out, show)
    console = Console()
    _print_counts(console, "not used", history.dropped)
    _print_counts(console, "not kept", lost)
    _print(console, f"written: {arguments.out}")
    return 0


def _opened(arguments: argparse.Namespace) -> EpisodeHistory:
    """Return the history of a path, or of a robot that runs."""
    kind, colon, namespace = str(arguments.path).partition(":")
    if kind != LIVE or not colon:
        return open_history(arguments.path, arguments.format, bag_options(arguments))
    from eqa_nodes.ros.environment import ensure_ros

    ensure_ros()
    from eqa_nodes.ros.live_history import LiveHistory

    return LiveHistory(namespace, remapping(arguments.remap), arguments.seconds)


def video(arguments: argparse.Namespace) -> int:
    """Write a history as a video."""
    from eqa_nodes.recordings.video import write_video

    history = _opened(arguments)
    with frames_bar(history) as show:
        frames = write_video(history, arguments.out, show)
    console = Console()
    _print_counts(console, "not used", history.dropped)
    _print(console, f"written: {arguments.out}, {frames} frames")
    return 0


def _openeqa(history: EpisodeHistory, out: Path, progress: Callable[[int], None]) -> Counter[str]:
    from eqa_nodes.recordings.openeqa_folder import write_openeqa

    return write_openeqa(history, out, progress)


def _bag(history: EpisodeHistory, out: Path, progress: Callable[[int], None]) -> Counter[str]:
    from eqa_nodes.recordings.export import write_bag

    return write_bag(history, out, progress, history.labels)


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
