"""What was asked on the page, as a run directory: predictions with traces, so that it can be replayed later."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from eqa_nodes.bench.report.traces import save_trace
from eqa_nodes.bench.running.predictions import Prediction, PredictionWriter
from eqa_nodes.bench.running.runner import SAMPLES, episode_folder
from eqa_nodes.bench.samples import Sample, read_samples, write_samples
from eqa_nodes.console.values import Entry
from eqa_nodes.core.errors import StorageError
from eqa_nodes.core.storage.names import shown_name
from eqa_nodes.core.types.trace import EpisodeTrace


class KeptRun:
    """Appends episodes to a run directory; use `close` at the end. Raises StorageError where another one writes."""

    def __init__(self, out: Path) -> None:
        self.out = out
        out.mkdir(parents=True, exist_ok=True)
        self._writer = PredictionWriter(out)
        self._samples = read_samples(out / SAMPLES) if (out / SAMPLES).exists() else []
        self._asked = set(self._writer.before.predictions)  # what the listing counts

    def keep(self, entry: Entry, trace: EpisodeTrace) -> None:
        """Write an episode that has ended, durably; one that cannot be written whole leaves no trace in the listing.

        Raises StorageError, OSError.
        """
        if trace.answer is None:
            raise StorageError(f"question {entry.id} has no answer yet")
        number = len(self._samples) + 1
        sample = Sample(f"{number:04d}", entry.question.text, "", scene=entry.place)
        file = f"{episode_folder(number, sample.id)}/trace.zip"
        save_trace(self.out / file, trace)
        samples = [*self._samples, sample]
        write_samples(self.out / SAMPLES, samples)
        self._writer.append(Prediction(sample.id, trace.answer, trace.poses[-1][1] if trace.poses else None, file))
        self._samples = samples
        self._asked.add(sample.id)
        at = sum(known.id in self._asked for known in samples) - 1
        entry.replay = f"{quote(shown_name(self.out.resolve()))}/{at}"

    def close(self) -> None:
        """Let the directory go."""
        self._writer.__exit__(None, None, None)
