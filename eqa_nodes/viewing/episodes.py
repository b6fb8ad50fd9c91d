"""Finds the episodes of a run: a bag each, with the memory of it; any other episode history is one episode."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.names import file_name

BAGS, MEMORIES = "bags", "memory"
_OF_A_RUN = ("predictions.jsonl", "manifest.json", "params.yaml", MEMORIES)
_LISTED = 20


class Episode(NamedTuple):
    """One episode. history: a bag or another episode history; memory: file of its memory, None where there is none."""

    name: str
    history: Path
    memory: Path | None = None


def episode_of(run: Path, name: str = "") -> Episode:
    """Return an episode of a run. name: which one, where the run has several.

    Raises StorageError where there is none, none of that name, or several and no name.
    """
    known = {episode.name: episode for episode in episodes_of(run)}
    return known[chosen(run, known, file_name(name) if name else "")]


def chosen(run: Path, known: Collection[str], name: str) -> str:
    """Return the name of the only episode, or the one that is named. Raises StorageError as `episode_of` does."""
    wanted = name or (next(iter(known)) if len(known) == 1 else "")
    if wanted in known:
        return wanted
    listed = ", ".join(list(known)[:_LISTED]) + (f" and {len(known) - _LISTED} more" if len(known) > _LISTED else "")
    what = f"has no episode {name!r}" if name else f"has {len(known)} episodes"
    raise StorageError(f"{run} {what}: name one with --episode, of {listed}")


def history_of(path: Path, name: str = "") -> Path:
    """Return an episode history: a path itself, or the bag of an episode of the run that it is.

    Raises StorageError as episode_of does.
    """
    is_run = path.is_dir() and ((path / BAGS).is_dir() or (path / _OF_A_RUN[0]).exists())
    return episode_of(path, name).history if name or is_run else path


def episodes_of(run: Path) -> list[Episode]:
    """Return the episodes of a run folder, sorted by name, or the one that a path is. Raises StorageError for none."""
    folder = run / BAGS
    if not folder.is_dir():
        return [_alone(run)]
    found = [_with_memory(bag) for bag in sorted(folder.iterdir()) if bag.is_dir() and next(bag.glob("*.mcap"), None)]
    if not found:
        raise StorageError(f"{folder} holds no bag: {_remedy()}")
    return found


def _alone(path: Path) -> Episode:
    if path.is_dir() and any((path / name).exists() for name in _OF_A_RUN):
        raise StorageError(f"run {path} has no bags: {_remedy()}")
    return _with_memory(path)


def _with_memory(bag: Path) -> Episode:
    """Return the episode of a bag, whose memory lies where a run keeps it."""
    name = bag.resolve().name
    memory = bag.resolve().parents[1] / MEMORIES / f"{name}.sqlite"
    in_run = bag.resolve().parent.name == BAGS and memory.is_file()
    return Episode(name, bag, memory if in_run else None)


def _remedy() -> str:
    return ("eqa ask and eqa bench run record them with --through graph or isolated, eqa replay with --record; name a "
            "bag or another episode history to view that")
