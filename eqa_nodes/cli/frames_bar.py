"""A bar over the frames of a history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from eqa_nodes.recordings.episode_history import EpisodeHistory


@contextmanager
def frames_bar(history: EpisodeHistory) -> Iterator[Callable[[int], None]]:
    """Print a history's notes, and show a bar over its frames; yields a callback for the number of frames done."""
    with Progress(BarColumn(20), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("frames"),
                  transient=True) as bar:
        for note in history.notes:
            bar.console.print(note, soft_wrap=True, markup=False, highlight=False)
        task = bar.add_task("", total=len(history) or None)
        yield lambda done: bar.update(task, completed=done)
