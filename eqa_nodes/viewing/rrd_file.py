"""An .rrd file that appears whole or not at all, and whose failed writes are named.

Rerun's own sink for files waits forever after a failed write. Here it writes into a pipe; a thread carries what comes
out of that to the disk, and goes on reading when the disk fails.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from eqa_nodes.core.errors import ConfigError, StorageError
from eqa_nodes.viewing.library import rerun

STAMP, STEP = "stamp", "step"
_CALENDAR_NS = 1_000_000_000 * 1_000_000_000  # stamps beyond (2001) are of the wall clock, others of a simulation
_FLUSH_S = 300.0
_PIECE = 1 << 20


class RrdFile:
    """A recording in the making; use it in a `with`, which writes the file at its end unless an error ends it.

    Raises MissingExtra, ConfigError for a name without .rrd or where the environment turns Rerun off; StorageError
    where the file cannot be written.
    """

    def __init__(self, path: Path, name: str) -> None:
        """name: of the recording."""
        self._rr = rerun()
        check_name(path)
        self.path, self._part = path, path.with_name(f".{path.name}.part")
        self._failure: OSError | None = None
        self._recording = self._rr.RecordingStream("eqa", recording_id=name)
        if not self._rr.is_enabled(self._recording):
            raise ConfigError("the environment variable RERUN turns Rerun off: unset it")
        self._recording.set_log_time_enabled(False)
        self._recording.set_log_tick_enabled(False)

    def __enter__(self) -> RrdFile:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._part.open("wb")
        except OSError as error:
            raise self._unwritable(error) from error
        reading, writing = os.pipe()
        self._thread = threading.Thread(target=self._carry, args=(reading, self._file), name="rrd", daemon=True)
        self._thread.start()
        try:
            self._recording.save(f"/proc/self/fd/{writing}")
        finally:
            os.close(writing)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self._recording.disconnect()
            self._thread.join(_FLUSH_S)
            self._close()
            if kind is None:
                self._raise_failure()
                self._part.replace(self.path)
        finally:
            self._part.unlink(missing_ok=True)

    def at(self, stamp_ns: int, step: int) -> None:
        """Set the time of what is logged next. step: number of the camera image, from 0."""
        calendar = stamp_ns > _CALENDAR_NS
        when: dict[str, Any] = ({"timestamp": np.datetime64(stamp_ns, "ns")} if calendar else
                                {"duration": np.timedelta64(stamp_ns, "ns")})
        self._recording.set_time(STAMP, **when)
        self._recording.set_time(STEP, sequence=step)

    def log(self, path: str, *what: Any, static: bool = False) -> None:
        """Log archetypes of an entity at the time that was set; static: for all times."""
        self._recording.log(path, *what, static=static, strict=True)

    def lay_out(self, blueprint: Any) -> None:
        """Say how a viewer shows the recording."""
        self._recording.send_blueprint(blueprint)

    def flush(self) -> None:
        """Wait until all that was logged is written: memory stays bounded. Raises StorageError."""
        try:
            self._recording.flush(timeout_sec=_FLUSH_S)
        except (RuntimeError, ValueError) as error:
            raise StorageError(f"{self.path} cannot be written: {error}") from error
        self._raise_failure()

    def _carry(self, reading: int, file: IO[bytes]) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while data := pipe.read(_PIECE):
                if self._failure is None:
                    try:
                        file.write(data)
                        file.flush()
                    except OSError as error:
                        self._failure = error

    def _close(self) -> None:
        try:
            with self._file as file:
                if self._failure is None:
                    os.fsync(file.fileno())
        except OSError as error:
            self._failure = self._failure or error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._unwritable(self._failure) from self._failure

    def _unwritable(self, error: OSError) -> StorageError:
        return StorageError(f"{self.path} cannot be written to ({error.strerror or error}): name another place, or see "
                            "to its permissions and room")


def check_name(path: Path) -> None:
    """Raise ConfigError for a name that viewers do not take for a recording."""
    if path.suffix.lower() != ".rrd":
        raise ConfigError(f"{path} is no name of a Rerun recording: let it end in .rrd")
