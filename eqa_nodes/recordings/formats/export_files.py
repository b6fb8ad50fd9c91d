"""Reads the files of an export: a folder, or the zip archive that an app shares. Nothing is unpacked to the disk."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO

from eqa_nodes.core.errors import BadFrame, StorageError
from eqa_nodes.core.storage.text import by_number
from eqa_nodes.wire.image_files import read_bounded

_MAX_BYTES = 1 << 27  # limit of one image or table
_MAX_FILES = 1 << 20


class ExportFiles:
    """Files by their paths below a root, with / between folders."""

    def __init__(self, path: Path, marker: str) -> None:
        """marker: name of a file or folder at the root; in an archive the root may be a subfolder.

        Raises StorageError for an archive that cannot be read or has no marker.
        """
        self.path = Path(path)
        self._zip = None if self.path.is_dir() else _open_zip(self.path)
        names = [] if self._zip is None else self._zip.namelist()
        root = archive_root(names, marker)
        if self._zip is not None and root is None:
            raise StorageError(f"{path} holds no {marker}")
        self._root = root or ""

    def names(self, folder: str, suffix: str) -> Mapping[str, str]:
        """Return stem -> name of the files of a folder with a suffix such as .png, in the order of their numbers."""
        if self._zip is None:
            found = [f"{folder}/{p.name}" for p in (self.path / folder).glob(f"*{suffix}")]
        else:
            below = f"{self._root}{folder}/"
            found = [n[len(self._root):] for n in self._zip.namelist()
                     if n.startswith(below) and n.endswith(suffix) and "/" not in n[len(below):]]
        return {PurePosixPath(name).stem: name for name in sorted(found, key=by_number)}

    def read(self, name: str, limit: int = _MAX_BYTES) -> bytes:
        """Return the content of a file. Raises BadFrame when it is missing, damaged, or larger than `limit` bytes."""
        if self._zip is None:
            return read_bounded(self.path / name, limit)
        try:
            info = self._zip.getinfo(self._root + name)
            if info.file_size > limit:
                raise BadFrame(f"{self.path}: {name} is larger than {limit} bytes: it cannot be what its name says")
            with self._zip.open(info) as file:
                return file.read(limit)
        except KeyError:
            raise BadFrame(f"{self.path} has no {name}") from None
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, NotImplementedError, RuntimeError,
                ValueError) as error:
            raise BadFrame(f"{self.path}: {name} cannot be read: {error}") from error

    def opened(self, name: str) -> IO[bytes]:
        """Return a seekable stream of a file, such as a video. Raises BadFrame when it is missing."""
        if self._zip is not None:
            return BytesIO(self.read(name, 1 << 30))
        if not (self.path / name).is_file():
            raise BadFrame(f"{self.path} has no {name}")
        return (self.path / name).open("rb")


def holds(path: Path, *names: str) -> bool:
    """Return whether a folder, or a zip archive, has all these files or folders at its root."""
    if path.is_dir():
        return all((path / name).exists() for name in names)
    if path.suffix.lower() != ".zip" or not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        entries = _open_zip(path).namelist()
    except StorageError:
        return False
    root = archive_root(entries, names[0])
    return root is not None and all(any(e.startswith(root + name) for e in entries) for name in names)


def archive_root(entries: list[str], marker: str) -> str | None:
    """Return the folder of an archive ("" or ending in /) that contains the marker, None if there is none."""
    for entry in entries:
        at = f"/{entry}".find(f"/{marker}")
        if at >= 0 and entry[:at].count("/") <= 1 and not entry.startswith("__MACOSX"):
            return entry[:at]
    return None


def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise StorageError(f"{path} is not a readable zip archive ({error}): copy it from the device again"
                           ) from error
    if len(archive.namelist()) > _MAX_FILES:
        raise StorageError(f"{path} holds {len(archive.namelist())} files, at most {_MAX_FILES} are read")
    return archive
