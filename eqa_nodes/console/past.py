"""Past episodes for the page: run directories in one folder, their episodes, and the moments of an episode."""

from __future__ import annotations

import stat
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from eqa_nodes.bench.report.pictures import outlines, proof_picture
from eqa_nodes.bench.report.traces import load_trace
from eqa_nodes.bench.running.predictions import PREDICTIONS, Prediction, read_predictions
from eqa_nodes.bench.running.runner import SAMPLES
from eqa_nodes.bench.samples import read_samples
from eqa_nodes.console.pictures import at_moment, map_picture
from eqa_nodes.console.values import RequestRefused, shown_answer, shown_decisions, shown_outlines
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.text import shown_name
from eqa_nodes.core.types.measures import shown_note
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.core.types.trace import EpisodeTrace
from eqa_nodes.wire.image_files import shrunk

MOMENTS = 240  # maximum per episode
RUNS = 200  # maximum number of run directories that are listed, newest first
_VIEW_PX = 960


class Past:
    """Reads run directories. Only names from the listing are accepted, so no name leads out of the folder."""

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        """folder: a run directory or a folder of run directories; own: one more run directory, at any place."""
        self._folder, self._own = folder, own

    def runs(self) -> dict[str, Path]:
        """Return the run directories that contain answers, by name, the newest first.

        Links that leave the folder and unreadable entries are left out; they do not affect the others.
        """
        return {name: path for name, (_, path) in self._found().items()}

    def listing(self) -> list[Mapping[str, object]]:
        """Return the runs for the page's list. changed: seconds since 1970."""
        return [{"name": name, "changed": changed_ns / 1e9} for name, (changed_ns, _) in self._found().items()]

    def _found(self) -> dict[str, tuple[int, Path]]:
        """Return time of change (ns) and path of each run by name; the second run of a name gets a number."""
        paths = {path: _changed_ns(path, root) for path, root in self._candidates()}
        known = sorted((-changed, path) for path, changed in paths.items() if changed is not None)[:RUNS]
        own = self._own and self._own.resolve()
        found: dict[str, tuple[int, Path]] = {}
        for changed, path in sorted(known, key=lambda one: one[1] != own):  # the own run keeps its name
            name, number = shown_name(path), 2
            while name in found:
                name, number = f"{shown_name(path)} ({number})", number + 1
            found[name] = -changed, path
        return dict(sorted(found.items(), key=lambda one: -one[1][0]))

    def _candidates(self) -> Iterator[tuple[Path, Path]]:
        """Yield possible run directories, each with the folder that it must not lead out of."""
        if self._own is not None:
            yield self._own.resolve(), self._own.resolve()
        with suppress(OSError, RuntimeError):  # a missing or unreadable folder lists nothing
            root = self._folder.resolve()
            yield root, root
            yield from ((path, root) for path in root.iterdir())

    def episodes(self, run: str) -> list[Mapping[str, object]]:
        """Return the answered episodes of a run. Raises RequestRefused, StorageError."""
        return [{"question": sample.question, "place": sample.scene, "reference": sample.answer,
                 "replay": bool(prediction.trace), **shown_answer(prediction.answer)}
                for sample, prediction in self._asked(run)]

    def episode(self, run: str, number: int) -> Mapping[str, object]:
        """Return an episode with its moments: seconds, metres, number of decisions so far, index of the last view."""
        sample, prediction, trace = self._episode(run, number)
        views, decided = [v.stamp_ns for v in trace.keyframes], [d.stamp_ns for d in trace.decisions]
        moments, begin = [], trace.poses[0][0] if trace.poses else 0
        for stamp, metres in _moments(trace):
            moments.append({"s": round((stamp - begin) / 1e9, 1), "m": round(metres, 2),
                            "goal": bisect_right(decided, stamp), "view": bisect_right(views, stamp) - 1})
        known = {view.id: view for view in trace.keyframes}
        proofs = [{"view": trace.keyframes.index(known[e.keyframe_id]), "note": shown_note(e.note),
                   "outlines": shown_outlines(outlines(known[e.keyframe_id], e.note))}
                  for e in prediction.answer.evidence if e.keyframe_id in known]
        return {"question": sample.question, "place": sample.scene, "reference": sample.answer, "moments": moments,
                "goals": shown_decisions(trace.decisions), "views": len(views),
                **shown_answer(prediction.answer), "proofs": proofs}

    def map(self, run: str, number: int, moment: int) -> bytes:
        """Return the map at a moment as SVG. Raises RequestRefused."""
        trace = self._episode(run, number)[2]
        stamps = [stamp for stamp, _ in _moments(trace)]
        if not 0 <= moment < len(stamps):
            raise RequestRefused(f"there is no moment {moment}", 404)
        return map_picture(at_moment(trace, stamps[moment]))

    def view(self, run: str, number: int, view: int) -> bytes:
        """Return a view as JPEG. Raises RequestRefused."""
        _, prediction, trace = self._episode(run, number)
        keyframes, notes = trace.keyframes, {e.keyframe_id: e.note for e in prediction.answer.evidence}
        if not 0 <= view < len(keyframes):
            raise RequestRefused(f"there is no view {view}", 404)
        shown = keyframes[view]
        calls = trace.calls if shown.id in notes else ()
        return shrunk(proof_picture(shown, notes.get(shown.id, ""), calls), _VIEW_PX)

    def _asked(self, run: str) -> list[tuple[Sample, Prediction]]:
        path = self.runs().get(run)
        if path is None:
            raise RequestRefused("there is no such run", 404)
        predictions = read_predictions(path).predictions
        return [(s, predictions[s.id]) for s in read_samples(path / SAMPLES) if s.id in predictions]

    def _episode(self, run: str, number: int) -> tuple[Sample, Prediction, EpisodeTrace]:
        asked = self._asked(run)
        if not 0 <= number < len(asked):
            raise RequestRefused(f"the run has no episode {number}", 404)
        sample, prediction = asked[number]
        path = self.runs()[run]
        file = (path / prediction.trace).resolve()
        if not prediction.trace or not file.is_relative_to(path.resolve()):
            raise RequestRefused("this episode was kept without a trace: there is nothing to replay", 404)
        try:
            changed = file.stat().st_mtime_ns
        except OSError as error:
            raise StorageError(f"the trace cannot be read: {error.strerror}") from error
        return sample, prediction, _loaded(file, changed)


def _changed_ns(path: Path, root: Path) -> int | None:
    """Return the time (ns) of the last answer in a run directory; None if it is not one or cannot be read."""
    try:
        file = (path / PREDICTIONS).resolve()
        if not (path.resolve().is_relative_to(root) and file.is_relative_to(root)):
            return None
        status = file.stat()
    except (OSError, RuntimeError, ValueError):  # a file, a loop of links, a folder without permission
        return None
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) and status.st_size else None


@lru_cache(maxsize=4)
def _loaded(file: Path, changed_ns: int) -> EpisodeTrace:
    """Load a trace. changed_ns: part of the key of the cache, so that a changed file is read again."""
    return load_trace(file)


def _moments(trace: EpisodeTrace) -> list[tuple[int, float]]:
    """Return the stamps of up to MOMENTS evenly chosen poses, each with the metres driven until then."""
    metres, along = 0.0, []
    for index, (stamp, pose) in enumerate(trace.poses):
        metres += pose.distance(trace.poses[index - 1][1]) if index else 0.0
        along.append((stamp, metres))
    if len(along) <= MOMENTS:
        return along
    step = (len(along) - 1) / (MOMENTS - 1)
    return [along[round(k * step)] for k in range(MOMENTS)]
