"""Questions that people asked one after the other, as a run directory: it can be reported, replayed and scored."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from eqa_nodes.bench.report.traces import save_trace
from eqa_nodes.bench.running.manifest import MANIFEST, read_manifest, state_manifest
from eqa_nodes.bench.running.predictions import Prediction, PredictionWriter
from eqa_nodes.bench.running.runner import SAMPLES, episode_folder
from eqa_nodes.bench.samples import read_samples, write_samples
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.types.samples import EpisodeResult, Sample

ASKED = "asked"  # the data set that a manifest names


class KeptRun:
    """Appends episodes to a run directory. Use it with `with`, or call `close`.

    Raises StorageError where another one writes, or where the directory holds a run of a benchmark.
    """

    def __init__(self, out: Path, model: str = "") -> None:
        """model: who answers, for the manifest; "" = not known."""
        self.out, self._model = out, model
        if (out / MANIFEST).exists() and (held := read_manifest(out).dataset) != ASKED:
            raise StorageError(f"{out} holds a run of {held or 'a benchmark'}: choose a new directory")
        out.mkdir(parents=True, exist_ok=True)
        self._writer = PredictionWriter(out)
        self._samples = read_samples(out / SAMPLES) if (out / SAMPLES).exists() else []
        self._asked = set(self._writer.before.predictions)  # what a listing counts

    def keep(self, question: str, place: str, result: EpisodeResult) -> int:
        """Write an episode that has ended, durably, and return its place in a listing of the directory, from 0.

        One that cannot be written whole leaves no trace in the listing. Raises StorageError, OSError.
        """
        number = len(self._samples) + 1
        sample = Sample(f"{number:04d}", question, "", scene=place)
        file = f"{episode_folder(number, sample.id)}/trace.zip" if result.trace is not None else ""
        if result.trace is not None:
            save_trace(self.out / file, result.trace)
        samples = [*self._samples, sample]
        write_samples(self.out / SAMPLES, samples)
        state_manifest(self.out, ASKED, samples, self._model)
        self._writer.append(Prediction(sample.id, result.answer, result.final_pose, file))
        self._samples = samples
        self._asked.add(sample.id)
        return sum(known.id in self._asked for known in samples) - 1

    def close(self) -> None:
        """Let the directory go; a second call does nothing."""
        self._writer.__exit__(None, None, None)

    def __enter__(self) -> KeptRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
