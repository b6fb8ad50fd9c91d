"""Checks of files: that they can be written to later, and that SQLite files of unknown origin run no code."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Collection
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
        raise _unwritable(path, "it is a folder, but a file is needed")
    if not path.exists():
        check_folder(path.parent)
    elif not os.access(path, os.W_OK):
        raise _unwritable(path, "it is write-protected")


def _unwritable(path: Path, why: str) -> StorageError:
    return StorageError(f"{path} cannot be written to ({why}): choose another path, or check its permissions and free "
                        "space")


def check_tables(file: Path, database: sqlite3.Connection, names: Collection[str] = (),
                 known: Callable[[str], bool] = lambda sql: False) -> None:
    """Raise StorageError for a view, a trigger, a virtual table, or a table with computed columns.

    Reading those could run code of the file.

    names: names of the tables that are read; none = check everything. known: returns whether the SQL of any other
    object, with single blanks, is allowed.
    """
    for kind, name, sql in database.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        stored = " ".join(str(sql).split())
        if kind == "index" or (names and name not in names) or known(stored):
            continue
        if kind != "table" or stored.lower().startswith("create virtual"):
            what = "virtual one" if kind == "table" else kind
            raise StorageError(f"{file}: {name} is not a plain table but a {what}, which could run anything: name "
                               "another file")
        if database.execute("SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden", (name,)).fetchone():
            raise StorageError(f"{file}: the table {name} has columns that are computed: name another file")
