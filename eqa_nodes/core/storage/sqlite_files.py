"""Check of SQLite files of unknown origin: only plain tables are allowed, since reading others runs code in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from pathlib import Path

from eqa_nodes.core.errors import StorageError


def check_tables(file: Path, database: sqlite3.Connection, names: Collection[str] = (),
                 known: Callable[[str], bool] = lambda sql: False) -> None:
    """Raise StorageError for a view, a trigger, a virtual table, or a table with computed columns.

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
