"""Finds the trace of an episode: in a run directory, or in a bag."""

from __future__ import annotations

from pathlib import Path

from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.predictions import PREDICTIONS, read_predictions
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.names import inside
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.viewing.episodes import chosen


def trace_in(path: Path, name: str = "", namespace: str = "") -> tuple[str, EpisodeTrace]:
    """Return name and trace of an episode of a run directory, or of a bag. name: which one, where there are several;
    namespace: of the graph in the bag.

    Raises StorageError for none, none of that name, or several and no name.
    """
    if not (path / PREDICTIONS).is_file():
        from eqa_nodes.recordings.trace import trace_of

        return path.resolve().name, trace_of(path, namespace)
    kept = {p.id: p.trace for p in read_predictions(path).predictions.values() if p.trace}
    if not kept:
        raise StorageError(f"run {path} keeps no trace of an episode: none of its questions was asked, or all failed")
    picked = chosen(path, kept, name)
    return picked, load_trace(inside(path, kept[picked]))
