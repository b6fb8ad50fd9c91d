"""Paths that a command writes to: they are checked before anything starts, and left as they were."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from eqa_nodes.cli.options import FOLDER, written_paths
from eqa_nodes.core.errors import StorageError

_BLOCK = b"\0" * 4096  # a full disk makes files, and has no room in them


def run_folder(chosen: Path | None) -> Path:
    """Return the run directory: as chosen, else runs/<time>. Raises StorageError where nothing can be written there."""
    folder = chosen or Path("runs") / time.strftime("%Y%m%d-%H%M%S")
    check_folder(folder)
    return folder


def check_outputs(command: Any) -> None:
    """Try every path of a command's options that is to be written. Raises StorageError for the first that cannot be."""
    for kind, path in written_paths(command):
        (check_folder if kind == FOLDER else check_file)(path)


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
