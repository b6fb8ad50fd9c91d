"""Captions of images by a model. Each image is described once, as long as the caption file is kept."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from eqa_nodes.core.answerers.object_graph import Crop
from eqa_nodes.core.answerers.roles import RoleModels
from eqa_nodes.core.errors import ModelError, StorageError
from eqa_nodes.core.ledger import BudgetedBackend
from eqa_nodes.core.model import Backend, Message
from eqa_nodes.core.storage.sqlite_files import check_tables
from eqa_nodes.core.storage.text import printable

MAX_TOKENS = 256
MAX_CHARS = 4000  # of a caption, whatever a server sends
FILE = "captions.sqlite"
_WAIT_S = 30.0  # for another process that writes


class CaptionStore:
    """Captions by a hash of image, model and prompt. Several processes may share a file."""

    def __init__(self, path: Path | None = None) -> None:
        """path None: kept in memory only. Raises StorageError where the file cannot be opened."""
        self._name, self._lock = str(path or ":memory:"), threading.Lock()
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self._name, timeout=_WAIT_S, check_same_thread=False, isolation_level=None)
            check_tables(Path(self._name), self._db)
            self._db.execute("CREATE TABLE IF NOT EXISTS captions (key TEXT PRIMARY KEY, text TEXT NOT NULL)")
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"the captions in {self._name} cannot be opened: {error}") from error

    def get(self, key: str) -> str | None:
        """Return a caption, None where there is none yet. Raises StorageError."""
        row = self._run("SELECT text FROM captions WHERE key = ?", key)
        return None if row is None else str(row[0])

    def put(self, key: str, text: str) -> str:
        """Store a caption and return the valid one, the first for a key. Raises StorageError."""
        self._run("INSERT OR IGNORE INTO captions VALUES (?, ?)", key, text)
        return self.get(key) or text

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._db.close()

    def _run(self, statement: str, *values: str) -> tuple[object, ...] | None:
        try:
            with self._lock, closing(self._db.execute(statement, values)) as found:
                row: tuple[object, ...] | None = found.fetchone()
                return row
        except sqlite3.Error as error:
            raise StorageError(f"the captions in {self._name} cannot be read or written: {error}") from error


class Captioner:
    """Describes images. Raises ModelError (BudgetSpent), StorageError."""

    def __init__(self, backend: Backend, store: CaptionStore | None = None) -> None:
        self._role = RoleModels.of(backend).role("caption")
        self._backend, self._store = BudgetedBackend(self._role.backend), store or CaptionStore()
        self.side_px = self._role.side(0)  # longest side of a whole picture, 0 = as stored

    def caption(self, prompt: str, jpeg: bytes, hint: str = "", crop: Crop | None = None) -> str:
        """Return the caption of an image, or of a crop of it, under a prompt of eqa_nodes/prompts.

        hint: text for the user turn. A caption serves all calls with the same hint, so one that holds the question
        serves that question alone.
        Raises BadFrame where nothing can be cut out.
        """
        system, where = self._role.text(prompt), repr(crop.bbox) if crop is not None else ""
        digest = hashlib.sha256()
        for part in (self._backend.model.encode(), system.encode(), hint.encode(), where.encode(), jpeg):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part)
        key = digest.hexdigest()
        kept = self._store.get(key)
        if kept is not None:
            return kept
        return self._store.put(key, self._asked(system, jpeg if crop is None else crop.jpeg(), hint))

    def _asked(self, system: str, jpeg: bytes, hint: str) -> str:
        """Ask for a caption; an empty one is asked for once more."""
        parts = (hint, jpeg) if hint else (jpeg,)
        for _ in range(2):
            reply = self._backend.generate((Message("system", (system,)), Message("user", parts)), MAX_TOKENS)
            if text := " ".join(printable(reply.text).split())[:MAX_CHARS]:
                return text
        raise ModelError(f"empty: {self._backend.model} described a picture twice with no word")
