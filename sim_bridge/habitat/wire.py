"""The protocol between the Habitat client and its worker: JSON over a local socket, images in shared memory.

Both sides import this file, one of them in a Python without this project, so it uses only the standard library, numpy
and Python 3.9. A message is its length (4 bytes, big endian) and JSON. A request names its `op` and has an `id` that
its reply repeats; a reply has `ok`, or `error` (the kind of failure) and `message`. The first request is `hello`.
Shared resources have no names: they disappear with the last process that has them open.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

PROTOCOL = 1
LIMIT = 64 << 20  # maximum bytes of a message; longer ones are invalid
_LENGTH = struct.Struct(">I")

Message = dict[str, Any]


class ConnectionClosed(Exception):
    """The other side has closed the connection."""


class WireTimeout(Exception):
    """No message arrived before the deadline."""


class WorkerFailure(Exception):
    """A failure that the worker reports: `kind` for programs, the text for people."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class SharedImages(NamedTuple):
    """The images in shared memory.

    rgb (H, W, 3) uint8; depth_m (H, W) float32, metres along the optical axis, 0 = no hit; labels (H, W) uint16.
    """

    rgb: np.ndarray
    depth_m: np.ndarray
    labels: np.ndarray


class Images:
    """Anonymous shared memory for the exchanged images; each side maps it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def views(self, width: int, height: int) -> SharedImages:
        """Return views of the images of this size in memory, which grows if it is too small."""
        pixels = width * height
        size = 9 * pixels
        if self._map is None or len(self._map) < size:
            if os.fstat(self.descriptor).st_size < size:
                os.ftruncate(self.descriptor, size)
            self._map = mmap.mmap(self.descriptor, size)
        depth = np.frombuffer(self._map, np.float32, pixels).reshape(height, width)
        labels = np.frombuffer(self._map, np.uint16, pixels, 4 * pixels).reshape(height, width)
        rgb = np.frombuffer(self._map, np.uint8, 3 * pixels, 6 * pixels).reshape(height, width, 3)
        return SharedImages(rgb, depth, labels)

    def close(self) -> None:
        """Release the memory; views that are still in use keep it mapped."""
        os.close(self.descriptor)
        with contextlib.suppress(BufferError):
            if self._map is not None:
                self._map.close()


def show(views: SharedImages, seen: dict[str, np.ndarray], ids: np.ndarray) -> None:
    """Write habitat_sim's available observations into shared memory: RGBA as RGB, labels mapped by `ids`.

    ids: (n,) uint16, our label id for each of Habitat's label ids; the last one also for all higher ids.
    """
    views.depth_m[:] = seen["depth"]
    if "rgb" in seen:
        for channel in range(3):  # takes a third of the time of copying all three at once
            views.rgb[:, :, channel] = seen["rgb"][:, :, channel]
    if "labels" in seen:
        np.take(ids, seen["labels"], mode="clip", out=views.labels)


class WorkerSocket:
    """One end of the socket. Raises ConnectionClosed and WireTimeout."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, message: Message, seconds: float | None = None) -> None:
        """Send one message within `seconds`. Raises ValueError for NaN and infinity, which JSON does not have."""
        data = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
        try:
            self._end.settimeout(seconds)
            self._end.sendall(_LENGTH.pack(len(data)) + data)
        except socket.timeout as error:  # noqa: UP041 - two classes in Python 3.9
            raise WireTimeout("the other end does not read") from error
        except OSError as error:
            raise ConnectionClosed(str(error)) from error

    def receive(self, seconds: float | None = None) -> Message:
        """Wait for one message, at most `seconds`. Raises ValueError if it is not a valid message."""
        end = None if seconds is None else time.monotonic() + seconds
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, end))
        if length > LIMIT:
            raise ValueError(f"a message of {length} bytes is longer than {LIMIT}")
        message = json.loads(self._read(length, end))
        if not isinstance(message, dict):
            raise ValueError(f"a message must be an object, got {message!r:.60}")
        return message

    def close(self) -> None:
        """Close the socket; a second call does nothing."""
        self._end.close()

    def _read(self, count: int, end: float | None) -> bytes:
        parts = []
        while count:
            self._end.settimeout(None if end is None else max(1e-3, end - time.monotonic()))
            try:
                part = self._end.recv(min(count, 1 << 20))
            except socket.timeout as error:  # noqa: UP041 - two classes in Python 3.9
                raise WireTimeout("no message arrived in time") from error
            except OSError as error:
                raise ConnectionClosed(str(error)) from error
            if not part:
                raise ConnectionClosed("the other side has closed the socket")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def serve(connection: WorkerSocket, answer: Callable[[str, Message], Message]) -> None:
    """Answer requests until the connection closes. `answer` raises WorkerFailure for requests that it cannot do."""
    while True:
        try:
            request = connection.receive()
            reply = {"id": request.get("id")}  # type: Message
            try:
                reply["ok"] = answer(str(request.pop("op", "")), request)
            except WorkerFailure as error:
                reply.update(error=error.kind, message=str(error))
            except Exception as error:  # a fault of the simulator or the worker: the client reports it
                reply.update(error=type(error).__name__, message=str(error))
            connection.send(reply)
        except ConnectionClosed:
            return


def end_with(life: int) -> None:
    """End this process as soon as the writing end of the pipe `life` is closed, whatever it is doing.

    The kernel sends a signal that ends the process; a thread could not do so while a call into the simulator
    holds the GIL.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([life], [], [], 0)[0]:  # it was closed before the signal was requested
        os._exit(1)


def inherited(descriptor: int) -> WorkerSocket:
    """Return the worker's end of the socket, inherited as this file descriptor."""
    return WorkerSocket(socket.socket(fileno=descriptor))
