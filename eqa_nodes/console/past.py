"""Past episodes for the page: run directories under one folder, their episodes, and an episode's moments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from eqa_nodes.bench.predictions import PREDICTIONS, Prediction, read_predictions
from eqa_nodes.bench.report import outlines, shrunk
from eqa_nodes.bench.runner import SAMPLES
from eqa_nodes.bench.samples import Sample, read_samples
from eqa_nodes.bench.traces import load_trace
from eqa_nodes.console.pictures import at_moment, map_picture
from eqa_nodes.console.shown import shown_answer, shown_decisions, shown_outlines
from eqa_nodes.console.values import Refused
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.trace import EpisodeTrace

MOMENTS = 240  # of an episode at most, even in time
RUNS = 200  # newest run directories that are listed
_VIEW_PX = 960


class Past:
    """Reads run directories; names come from the listing alone, so that no name leads out of the folder."""

    def __init__(self, folder: Path, own: Path | None = None) -> None:
        """folder: a run directory, or a folder that holds some; own: one more run directory, wherever it lies."""
        self._folder, self._own = folder, own

    def runs(self) -> dict[str, Path]:
        """Return the run directories in which something was asked, by name, the newest first.

        Links out of the folder are left out.
        """
        root = self._folder.resolve()
        candidates = [p for p in (root, *(root.iterdir() if root.is_dir() else [])) if p.resolve().is_relative_to(root)]
        found = {}
        for path in (*candidates, *([self._own.resolve()] if self._own else [])):
            if (file := path / PREDICTIONS).is_file() and file.stat().st_size:
                found[path.name] = (file.stat().st_mtime_ns, path)
        newest = sorted(found, key=lambda name: (-found[name][0], name))[:RUNS]
        return {name: found[name][1] for name in newest}

    def listing(self) -> list[Mapping[str, object]]:
        """Return the runs as the page lists them."""
        return [{"name": name, "changed": (path / PREDICTIONS).stat().st_mtime} for name, path in self.runs().items()]

    def episodes(self, run: str) -> list[Mapping[str, object]]:
        """Return the episodes of a run that were asked. Raises Refused, StorageError."""
        return [{"question": sample.question, "place": sample.scene, "reference": sample.answer,
                 "replay": bool(prediction.trace), **shown_answer(prediction.answer)}
                for sample, prediction in self._asked(run)]

    def episode(self, run: str, number: int) -> Mapping[str, object]:
        """Return an episode with its moments: stamp, metres, and which decision and which view were the last."""
        sample, prediction, trace = self._episode(run, number)
        views, decided = [v.stamp_ns for v in trace.keyframes], [d.stamp_ns for d in trace.decisions]
        moments, begin = [], trace.poses[0][0] if trace.poses else 0
        for stamp, metres in _moments(trace):
            moments.append({"s": round((stamp - begin) / 1e9, 1), "m": round(metres, 2),
                            "goal": bisect_right(decided, stamp), "view": bisect_right(views, stamp) - 1})
        known = {view.id: view for view in trace.keyframes}
        proofs = [{"view": trace.keyframes.index(known[e.keyframe_id]), "note": e.note,
                   "outlines": shown_outlines(outlines(known[e.keyframe_id], e.note))}
                  for e in prediction.answer.evidence if e.keyframe_id in known]
        return {"question": sample.question, "place": sample.scene, "reference": sample.answer, "moments": moments,
                "goals": shown_decisions(trace.decisions), "views": len(views),
                **shown_answer(prediction.answer), "proofs": proofs}

    def map(self, run: str, number: int, moment: int) -> bytes:
        """Return the map at a moment as SVG. Raises Refused."""
        trace = self._episode(run, number)[2]
        stamps = [stamp for stamp, _ in _moments(trace)]
        if not 0 <= moment < len(stamps):
            raise Refused(f"there is no moment {moment}", 404)
        return map_picture(at_moment(trace, stamps[moment]))

    def view(self, run: str, number: int, view: int) -> bytes:
        """Return a view as JPEG. Raises Refused."""
        keyframes = self._episode(run, number)[2].keyframes
        if not 0 <= view < len(keyframes):
            raise Refused(f"there is no view {view}", 404)
        return shrunk(keyframes[view].jpeg, _VIEW_PX)

    def _asked(self, run: str) -> list[tuple[Sample, Prediction]]:
        path = self.runs().get(run)
        if path is None:
            raise Refused("there is no such run", 404)
        predictions = read_predictions(path).predictions
        return [(s, predictions[s.id]) for s in read_samples(path / SAMPLES) if s.id in predictions]

    def _episode(self, run: str, number: int) -> tuple[Sample, Prediction, EpisodeTrace]:
        asked = self._asked(run)
        if not 0 <= number < len(asked):
            raise Refused(f"the run has no episode {number}", 404)
        sample, prediction = asked[number]
        path = self.runs()[run]
        file = (path / prediction.trace).resolve()
        if not prediction.trace or not file.is_relative_to(path.resolve()):
            raise Refused("this episode was kept without a trace: there is nothing to replay", 404)
        try:
            changed = file.stat().st_mtime_ns
        except OSError as error:
            raise StorageError(f"the trace cannot be read: {error.strerror}") from error
        return sample, prediction, _loaded(file, changed)


@lru_cache(maxsize=4)
def _loaded(file: Path, changed_ns: int) -> EpisodeTrace:
    """Return a trace; a file that has changed is read again."""
    return load_trace(file)


def _moments(trace: EpisodeTrace) -> list[tuple[int, float]]:
    """Return stamps, even in the order of poses, each with the metres driven until then."""
    metres, along = 0.0, []
    for index, (stamp, pose) in enumerate(trace.poses):
        metres += pose.distance(trace.poses[index - 1][1]) if index else 0.0
        along.append((stamp, metres))
    if len(along) <= MOMENTS:
        return along
    step = (len(along) - 1) / (MOMENTS - 1)
    return [along[round(k * step)] for k in range(MOMENTS)]
