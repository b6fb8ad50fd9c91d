"""Opens episode histories: `open_history(path)` detects the format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eqa_nodes.core.components import HISTORIES
from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory
from eqa_nodes.recordings.formats.rgbd_folder import POSES_REMEDY, holds_rgbd

if TYPE_CHECKING:
    from eqa_nodes.recordings.bags.history import BagOptions


def open_history(path: Path, format: str = "", options: BagOptions | None = None) -> EpisodeHistory:  # noqa: A002
    """Return the episode history of a path. format: one of HISTORIES, empty = detect it; options: for bags only.

    Raises StorageError when the path does not exist, fits no format or cannot be read in it; BadFrame when the first
    frame, which defines the map frame, cannot be used; ConfigError for an unknown format and for bag options if the
    path is not a bag; MissingExtra for a format whose decoder is not installed.
    """
    path = Path(path)
    if format:
        HISTORIES.check(format)
    try:
        if not path.exists():
            raise StorageError(f"there is no {path}: an episode history is {_wanted()}")
        if not path.is_dir() and not path.is_file():  # opening a pipe would wait for its writer
            raise StorageError(f"{path} is neither a folder nor a file")
        name = format or format_of(path)
        if not name:
            raise StorageError(f"{path} holds no episode history: {_unposed(path) or f'looked for {_wanted()}'}")
        if HISTORIES.traits(name).topics:
            opened: EpisodeHistory = HISTORIES[name].open(path, options)
        elif options is not None:
            raise ConfigError(f"{path} is not a bag: only bags have topics and frames to choose, leave these options "
                              "out")
        else:
            opened = HISTORIES[name].open(path)
        return opened
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


def format_of(path: Path) -> str:
    """Return the name of the format of a path, "" if none fits."""
    return next((name for name in HISTORIES if HISTORIES[name].fits(path)), "")


def first_frames(history: EpisodeHistory, count: int) -> EpisodeHistory:
    """Return the first part of a recording: images numbered below `count`, even if some of these are missing.

    Only recordings with numbered images are cut; others, such as bags, are returned unchanged.
    """
    from eqa_nodes.recordings.formats.pictures import ColourHistory

    if isinstance(history, ColourHistory):
        return history.first(count)
    return RecordedHistory(history.name, history.recording, count) if isinstance(history, RecordedHistory) else history


def _unposed(path: Path) -> str:
    """Return advice on colour and depth images without poses."""
    return f"it has colour and depth images, but no poses. {POSES_REMEDY}" if holds_rgbd(path) else ""


def _wanted() -> str:
    return "; ".join(f"{name}: {HISTORIES.traits(name).looks_like}" for name in HISTORIES)
