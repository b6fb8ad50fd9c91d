"""Opens episode histories of every format: `open_history(path)` detects it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eqa_nodes.core.errors import ConfigError, StorageError, unknown
from eqa_nodes.recordings.episode_history import EpisodeHistory, RecordedHistory

if TYPE_CHECKING:
    from eqa_nodes.recordings.history import BagOptions


def _bag(path: Path, options: BagOptions | None = None) -> EpisodeHistory:
    from eqa_nodes.recordings.history import read_history

    if not path.is_dir() and not path.is_file():  # opening a pipe would wait for its writer
        raise StorageError(f"{path} is neither a folder nor a file")
    return read_history(path, options=options)


def _openeqa(path: Path) -> EpisodeHistory:
    from eqa_nodes.recordings.openeqa_folder import OpenEqaFolder
    from eqa_nodes.recordings.pictures import colour_alone, read_pictures

    if colour_alone(path, "-rgb"):
        return read_pictures(path, "-rgb")
    return RecordedHistory(path.name, OpenEqaFolder(path))


def _sens(path: Path) -> EpisodeHistory:
    from eqa_nodes.recordings.scannet import SensFile

    return RecordedHistory(path.stem, SensFile(path))


def _scannet(path: Path) -> EpisodeHistory:
    from eqa_nodes.recordings.scannet import ScanNetFolder

    return RecordedHistory(path.name, ScanNetFolder(path))


def _redwood(path: Path) -> EpisodeHistory:
    from eqa_nodes.recordings.rgbd_folder import RgbdFolder

    return RecordedHistory(path.name, RgbdFolder(path))


def _images(path: Path) -> EpisodeHistory:
    from eqa_nodes.recordings.pictures import read_pictures

    return read_pictures(path, "")


def _coda(path: Path) -> EpisodeHistory:
    from eqa_nodes.recordings.coda import read_coda

    return read_coda(path)


def _is_coda(path: Path) -> bool:
    from eqa_nodes.recordings.coda import is_coda

    return is_coda(path)


def _is_images(path: Path) -> bool:
    from eqa_nodes.recordings.pictures import colour_alone

    return path.is_dir() and colour_alone(path, "")


class _Format(NamedTuple):
    looks_like: str
    fits: Callable[[Path], bool]
    open: Callable[[Path], EpisodeHistory]


def is_bag(path: Path) -> bool:
    """Return whether a path is a rosbag2 folder or file."""
    if path.is_dir():
        return (path / "metadata.yaml").is_file() or _any(path, "*.mcap") or _any(path, "*.db3")
    return path.suffix in (".mcap", ".db3") and path.is_file()


def _any(path: Path, pattern: str) -> bool:
    return next(path.glob(pattern), None) is not None


FORMATS: dict[str, _Format] = {
    "bag": _Format("a rosbag2 folder, or a .mcap or .db3 file", is_bag, _bag),
    "openeqa": _Format("a folder with NNNNN-rgb.png", lambda p: _any(p, "*-rgb.png"), _openeqa),
    "redwood": _Format("a folder with color/, depth/ and trajectory.log",
                       lambda p: (p / "trajectory.log").is_file(), _redwood),
    "scannet": _Format("a folder with color/, depth/, pose/ and intrinsic/",
                       lambda p: (p / "pose").is_dir() and (p / "intrinsic").is_dir(), _scannet),
    "coda": _Format("a sequence of CODa: <seconds>.pkl as ReMEmbR makes them, or 2d_rect/cam0/SEQUENCE", _is_coda,
                    _coda),
    "images": _Format("a folder of images named by number (00012.jpg), without depth and poses", _is_images,
                      _images),
    "sens": _Format("a ScanNet .sens file", lambda p: p.suffix == ".sens" and p.is_file(), _sens),
}


def open_history(path: Path, format: str = "", options: BagOptions | None = None) -> EpisodeHistory:  # noqa: A002
    """Return the episode history of a path. format: one of FORMATS, empty = detect it; options: of a bag.

    Raises StorageError when the path is absent, fits no format or cannot be read as it; BadFrame when not even the
    first frame can be used where the map frame comes from it; ConfigError for options of a bag where there is none.
    """
    path = Path(path)
    if format and format not in FORMATS:
        raise StorageError(unknown("format of episode histories", format, FORMATS))
    try:
        if not path.exists():
            raise StorageError(f"there is no {path}: an episode history is {_wanted()}")
        found = FORMATS.get(format) or next((f for f in FORMATS.values() if f.fits(path)), None)
        if found is None:
            raise StorageError(f"{path} holds no episode history: looked for {_wanted()}")
        if options is None:
            return found.open(path)
        if found.open is not _bag:
            raise ConfigError(f"{path} is not a bag: only bags have topics and frames to choose, leave these options "
                              "out")
        return _bag(path, options)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error}") from error


def first_frames(history: EpisodeHistory, count: int) -> EpisodeHistory:
    """Return what the sensor recorded first: images numbered below `count`, also where some of these are missing.

    Only recordings with numbered images are cut; of others, such as bags, all is returned.
    """
    from eqa_nodes.recordings.pictures import ColourHistory

    if isinstance(history, ColourHistory):
        return history.first(count)
    return RecordedHistory(history.name, history.recording, count) if isinstance(history, RecordedHistory) else history


def clip_of(history: EpisodeHistory, start_s: float, end_s: float) -> EpisodeHistory:
    """Return the part of a recording between two times, seconds. Raises StorageError where it has no images of then.

    Only recordings of pictures have clips.
    """
    from eqa_nodes.recordings.pictures import ColourHistory

    if not isinstance(history, ColourHistory):
        raise StorageError(f"the history {history.name} is no recording of CODa: only of those are clips taken")
    clip = history.between(start_s, end_s)
    if not clip.pictures:
        raise StorageError(f"the history {history.name} has no image between {start_s:.1f} and {end_s:.1f} s: it is "
                           "another sequence, or not all of it is there")
    return clip


def _wanted() -> str:
    return "; ".join(f"{name}: {f.looks_like}" for name, f in FORMATS.items())
