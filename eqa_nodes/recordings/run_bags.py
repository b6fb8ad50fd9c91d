"""Finds the bag of an episode in a run directory."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.text import file_name

BAGS, PREDICTIONS = "bags", "predictions.jsonl"
_LISTED = 20


def named_episode(run: Path, known: Collection[str], name: str) -> str:
    """Return the name of the given episode, or of the only one if no name is given.

    Raises StorageError if there is no episode of that name, or if there are several and no name is given.
    """
    wanted = name or (next(iter(known)) if len(known) == 1 else "")
    if wanted in known:
        return wanted
    listed = ", ".join(list(known)[:_LISTED]) + (f" and {len(known) - _LISTED} more" if len(known) > _LISTED else "")
    what = f"has no episode {name!r}" if name else f"has {len(known)} episodes"
    raise StorageError(f"{run} {what}: name one with --episode, of {listed}")


def history_path(path: Path, name: str = "") -> Path:
    """Return the path of an episode history: the given path, or the bag of an episode if the path is a run directory.

    Raises StorageError as named_episode does, and for a run without bags.
    """
    name = file_name(name) if name else ""
    folder = path / BAGS
    if folder.is_dir():
        bags = {bag.name: bag for bag in sorted(folder.iterdir()) if bag.is_dir() and next(bag.glob("*.mcap"), None)}
    elif (path / PREDICTIONS).exists():
        bags = {}
    else:
        bags = {path.resolve().name: path}
        name = name or path.resolve().name
    if not bags:
        raise StorageError(f"run {path} has no bags: eqa ask and eqa bench run record them with --through graph or "
                           "isolated, and eqa replay with --record. Or name a bag or another episode history")
    return bags[named_episode(path, bags, name)]
