"""Checks that paths can be written to later, without changing them."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from eqa_nodes.core.errors import StorageError

_BLOCK = b"\0" * 4096  # a full disk lets files be created but not filled


def check_folder(folder: Path) -> None:
    """Raise StorageError for a folder in which no file can be created. Folders created for the check are removed."""
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
