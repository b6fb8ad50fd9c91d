"""Paths that a command will write to: they are tried before anything starts, and left as they were."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from eqa_nodes.core.errors import StorageError

_BLOCK = b"\0" * 4096  # a full disk makes files, and has no room in them


class NewFolder(type(Path())):  # type: ignore[misc]
    """The type of an option that names a folder to write into; it is made where it is not there."""


class NewFile(type(Path())):  # type: ignore[misc]
    """The type of an option that names a file to write."""


def check_outputs(arguments: argparse.Namespace) -> None:
    """Try every path of the options that is to be written. Raises StorageError for the first that cannot be."""
    for value in vars(arguments).values():
        if isinstance(value, NewFolder):
            check_folder(Path(value))
        elif isinstance(value, NewFile):
            check_file(Path(value))


def check_folder(folder: Path) -> None:
    """Raise StorageError for a folder in which no file can be made; what this makes to find out, it removes."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(_BLOCK)
            file.flush()
    except OSError as error:
        raise _unwritable(folder, error.strerror or str(error)) from error
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()


def check_file(path: Path) -> None:
    """Raise StorageError for a file that cannot be written."""
    if path.is_dir():
        raise _unwritable(path, "it is a folder, and a file is wanted")
    if not path.exists():
        check_folder(path.parent)
    elif not os.access(path, os.W_OK):
        raise _unwritable(path, "it is write-protected")


def _unwritable(path: Path, why: str) -> StorageError:
    return StorageError(f"{path} cannot be written to ({why}): name another place, or see to its permissions and room")
