"""Statistics of a generated data set, as ExploraQA's figure 4 shows them: lengths, categories and splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from eqa_nodes.bench.readers.explora import SPLITS, explora_file
from eqa_nodes.core.errors import ConfigError
from eqa_nodes.core.types.samples import Sample
from eqa_nodes.generate.results import READERS, read_manifest
from eqa_nodes.generate.values import benchmark

_WORDS, _METRES = 10, 2.5  # width of the bars of a histogram


class SetStatistics(NamedTuple):
    """What a data set holds. splits: name -> its questions and scenes; categories, viewpoints -> their questions.

    words: of directions and question together, metres: of the reference paths, each as a histogram (lower end of a bar
    -> its questions) with its mean.
    """

    splits: Mapping[str, tuple[int, int]]
    categories: Mapping[str, int]
    viewpoints: Mapping[int, int]
    words: tuple[Mapping[float, int], float]
    metres: tuple[Mapping[float, int], float]

    def rows(self) -> list[tuple[str, str, str]]:
        """Return the rows of a table: of what, which part, and its number of questions."""
        found = [("split", name, f"{count} in {scenes} scenes") for name, (count, scenes) in self.splits.items()]
        found += [("category", name, str(count)) for name, count in self.categories.items()]
        found += [("viewpoints", str(many), str(count)) for many, count in self.viewpoints.items()]
        for name, (bars, mean), width in (("words", self.words, _WORDS), ("path, m", self.metres, _METRES)):
            found += [(name, f"{low:g} to {low + width:g}", str(count)) for low, count in bars.items()]
            found.append((name, "mean", f"{mean:.1f}"))
        return found


def read_set(out: Path) -> dict[str, list[Sample]]:
    """Return the questions of a generated data set by split, or under its benchmark's name if it has none.

    Raises ConfigError, StorageError for a folder that holds no such set.
    """
    kind = benchmark(read_manifest(out).benchmark)
    files = {split: explora_file(out, split) for split in SPLITS} if kind.instructed else {
        kind.name: out / kind.file}
    read = READERS[kind.name]
    return {name: samples for name, file in files.items() if file.exists() and (samples := read(file))}


def statistics_of(parts: Mapping[str, Sequence[Sample]]) -> SetStatistics:
    """Return the statistics of a data set by split. Raises ConfigError for one without questions."""
    samples = [sample for part in parts.values() for sample in part]
    if not samples:
        raise ConfigError("the data set has no accepted question: generate more with a larger --count or --tries")
    words = [len(f"{s.instruction} {s.question}".split()) for s in samples]
    metres = [s.reference_metres for s in samples if s.reference_metres is not None]
    return SetStatistics({name: (len(part), len({s.scene for s in part})) for name, part in parts.items() if part},
                         dict(sorted(Counter(s.category for s in samples).items())),
                         dict(sorted(Counter(max(len(s.viewpoints), 1) for s in samples).items())),
                         (_bars(words, _WORDS), fmean(words)),
                         (_bars(metres, _METRES), fmean(metres) if metres else 0.0))


def _bars(values: Iterable[float], width: float) -> dict[float, int]:
    return dict(sorted(Counter(width * (value // width) for value in values).items()))
