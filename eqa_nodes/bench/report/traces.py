"""Files of episode traces; stamps do not depend on earlier episodes of the same simulator."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqa_nodes.bench.running.predictions import PREDICTIONS, read_predictions
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.codec import decode, dumps, loads, write_bytes
from eqa_nodes.core.storage.text import inside
from eqa_nodes.core.types.floor import GridMap
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.trace import EpisodeTrace, Moment
from eqa_nodes.recordings.run_bags import named_episode


def begin_of(trace: EpisodeTrace | None) -> int:
    """Return the stamp of an episode's first observation, ns; 0 = unknown."""
    return trace.poses[0][0] if trace is not None and trace.poses else 0


def answer_since(answer: Answer, begin_ns: int) -> Answer:
    """Return the answer with stamps relative to the beginning of the episode."""
    return replace(answer, evidence=tuple(e._replace(stamp_ns=e.stamp_ns - begin_ns) for e in answer.evidence))


def trace_since(trace: EpisodeTrace, begin_ns: int) -> EpisodeTrace:
    """Return the trace with stamps relative to the beginning of the episode."""
    return replace(
        trace, poses=[(stamp - begin_ns, pose) for stamp, pose in trace.poses],
        decisions=[d._replace(stamp_ns=d.stamp_ns - begin_ns) for d in trace.decisions],
        keyframes=[replace(k, stamp_ns=k.stamp_ns - begin_ns) for k in trace.keyframes],
        weighed=[(stamp - begin_ns, weighed) for stamp, weighed in trace.weighed],
        grid=None if trace.grid is None else replace(trace.grid, stamp_ns=trace.grid.stamp_ns - begin_ns),
        calls=[call._replace(stamp_ns=call.stamp_ns - begin_ns) for call in trace.calls],
        moments=[moment._replace(stamp_ns=moment.stamp_ns - begin_ns) for moment in trace.moments],
        judged=[a._replace(stamp_ns=a.stamp_ns - begin_ns) for a in trace.judged],
        answer=None if trace.answer is None else answer_since(trace.answer, begin_ns))


_EPOCH = (1980, 1, 1, 0, 0, 0)  # fixed date: the same trace gives the same file
_VIEW = "view.jpg"
_MAX_BYTES = 1 << 30  # a file with a larger unpacked size is refused


class _GridHead(NamedTuple):
    """A GridMap without its arrays."""

    stamp_ns: int
    resolution_m: float
    origin: tuple[float, float]
    z: float = 0.0


def save_trace(path: Path, trace: EpisodeTrace) -> None:
    """Write the trace durably; the same trace gives the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        light = replace(trace, grid=None, view=b"", keyframes=[replace(k, jpeg=b"") for k in trace.keyframes],
                        moments=[_light(moment) for moment in trace.moments])
        _add(archive, "trace.json", dumps(light).encode(), zipfile.ZIP_DEFLATED)
        for index, keyframe in enumerate(trace.keyframes):
            _add(archive, _jpeg_name(index), keyframe.jpeg, zipfile.ZIP_STORED)
        for index, moment in enumerate(trace.moments):
            for name, data in zip(_moment_names(index), (moment.view, moment.map.png if moment.map else b""),
                                  strict=True):
                if data:
                    _add(archive, name, data, zipfile.ZIP_STORED)
        if trace.view:
            _add(archive, _VIEW, trace.view, zipfile.ZIP_STORED)
        if trace.grid is not None:
            grid = trace.grid
            head = _GridHead(grid.stamp_ns, grid.resolution_m, grid.origin, grid.z)
            _add(archive, "grid.json", dumps(head).encode(), zipfile.ZIP_DEFLATED)
            _add(archive, "cells.npy", _npy(grid.cells.astype(np.int8)), zipfile.ZIP_DEFLATED)
            _add(archive, "explored.npy", _npy(grid.explored.astype(np.bool_)), zipfile.ZIP_DEFLATED)
    write_bytes(path, buffer.getvalue())


def load_trace(path: Path) -> EpisodeTrace:
    """Read a file of `save_trace`. Raises StorageError if it is missing, damaged or unreasonably large."""
    with _archive(path) as archive:
        trace = decode(EpisodeTrace, loads(archive.read("trace.json")))
        keyframes = [replace(k, jpeg=archive.read(_jpeg_name(i))) for i, k in enumerate(trace.keyframes)]
        grid = _read_grid(archive) if "grid.json" in archive.namelist() else None
        moments = [_whole(archive, index, moment) for index, moment in enumerate(trace.moments)]
        return replace(trace, keyframes=keyframes, grid=grid, view=_read_view(archive), moments=moments)


def last_view(path: Path) -> bytes | None:
    """Return only the JPEG of the last view, None if there is none. Raises StorageError like `load_trace`."""
    with _archive(path) as archive:
        return _read_view(archive) or None


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            claimed = sum(info.file_size for info in archive.infolist())
            if claimed > _MAX_BYTES:
                raise StorageError(f"{path} unpacks to {claimed} bytes: more than a trace can have")
            yield archive
    except (OSError, KeyError, ValueError, EOFError, MemoryError, OverflowError, RuntimeError,
            zipfile.BadZipFile, zlib.error) as error:
        raise StorageError(f"{path} is not a readable trace: {error}") from error


def _light(moment: Moment) -> Moment:
    """Return a moment without its pictures."""
    return Moment(moment.stamp_ns, b"", moment.map._replace(png=b"") if moment.map else None)


def _whole(archive: zipfile.ZipFile, index: int, light: Moment) -> Moment:
    """Return a moment with its pictures. Looking up names in the zip file is cheap, because they are a dictionary."""
    view, png = _moment_names(index)
    known = archive.NameToInfo
    return Moment(light.stamp_ns, archive.read(view) if view in known else b"",
                  light.map._replace(png=archive.read(png)) if light.map else None)


def _moment_names(index: int) -> tuple[str, str]:
    return f"moments/{index:06d}.jpg", f"moments/{index:06d}.png"


def _read_view(archive: zipfile.ZipFile) -> bytes:
    return archive.read(_VIEW) if _VIEW in archive.namelist() else b""


def _read_grid(archive: zipfile.ZipFile) -> GridMap:
    head = decode(_GridHead, loads(archive.read("grid.json")))
    cells, explored = (np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
                       for name in ("cells.npy", "explored.npy"))
    if cells.ndim != 2 or cells.shape != explored.shape or cells.dtype != np.int8 or explored.dtype != np.bool_:
        raise ValueError(f"map arrays do not fit: {cells.shape} {cells.dtype}, {explored.shape} {explored.dtype}")
    return GridMap(head.stamp_ns, head.resolution_m, head.origin, cells, explored, head.z)


def _jpeg_name(index: int) -> str:
    return f"keyframes/{index:06d}.jpg"


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, data: bytes, compression: int) -> None:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    archive.writestr(info, data, compression)


def trace_in(path: Path, name: str = "", namespace: str = "") -> tuple[str, EpisodeTrace]:
    """Return name and trace of an episode of a run directory or of a bag.

    name: name of the episode, needed if there are several; namespace: of the graph in the bag. Raises StorageError if
    there is no episode, none of that name, or several and no name.
    """
    if not (path / PREDICTIONS).is_file():
        from eqa_nodes.recordings.bags.trace import trace_of

        return path.resolve().name, trace_of(path, namespace)
    kept = {p.id: p.trace for p in read_predictions(path).predictions.values() if p.trace}
    if not kept:
        raise StorageError(f"run {path} keeps no trace of an episode: none of its questions was asked, or all failed")
    picked = named_episode(path, kept, name)
    return picked, load_trace(inside(path, kept[picked]))
