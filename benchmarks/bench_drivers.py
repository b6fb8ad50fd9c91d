"""The same questions to a robot that atomic actions drive and to one that Nav2 drives: answers, drives, contacts.

Nav2's own servers drive where they are installed, elsewhere a stand-in. Ctrl-C ends a driver's questions early, with
what was measured so far.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.asking import CORRECT, Ended, ask
from benchmarks.bench_soak import ROBOT
from benchmarks.driven import Driven, driven
from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.samples import Sample
from eqa_nodes.config.graph import ATOMIC, driven_by, merged, of_robot
from eqa_nodes.config.nodes import NAV2
from eqa_nodes.core.types.questions import Limits

HOUSES, DRAWN, LIMITS = 20, 200, Limits(metres=60.0)


def rows() -> list[dict[str, object]]:
    """Return a row a driver."""
    return measured("house", 2)


def measured(dataset: str, per_house: int) -> list[dict[str, object]]:
    """Ask the first questions about each of twenty houses of a data set with each driver; return a row for each."""
    houses: dict[str, list[Sample]] = {}
    for sample in open_dataset(dataset, limit=DRAWN):
        houses.setdefault(sample.scene, []).append(sample)
    samples = [sample for scene in list(houses)[:HOUSES] for sample in houses[scene][:per_house]]
    return [_row(dataset, *_asked(navigator, samples)) for navigator in (ATOMIC, NAV2)]


def _asked(navigator: str, samples: list[Sample]) -> tuple[Driven, list[tuple[Sample, Ended]]]:
    with tempfile.TemporaryDirectory() as folder:
        own = {"memory": {"labels": True, "folder": f"{folder}/memory"}, "recorder": {"folder": f"{folder}/bags"}}
        parameters = merged(None, of_robot(ROBOT), own, driven_by(navigator))
        ended: list[tuple[Sample, Ended]] = []
        with driven(Path(folder), navigator, parameters) as graph, contextlib.suppress(KeyboardInterrupt):
            for sample, end in _ends(graph, samples):
                ended.append((sample, end))
                print(f"{graph.name}  {len(ended)}  {end.how:9}  {sample.scene}  {sample.question}  {end.why}  "
                      f"{end.wall_s:.0f} s wall; {graph.drives.in_words()}", flush=True)
        return graph, ended


def _ends(graph: Driven, samples: list[Sample]) -> Iterator[tuple[Sample, Ended]]:
    for number, sample in enumerate(samples):
        yield sample, ask(graph.client, graph.driver, f"q{number}", sample, LIMITS)


def _row(dataset: str, graph: Driven, ended: list[tuple[Sample, Ended]]) -> dict[str, object]:
    how = Counter(end.how for _, end in ended)
    answered = [(sample, end.answer.receipt, end.wall_s) for sample, end in ended
                if end.answer is not None and end.how == CORRECT]
    note = f"{', '.join(f'{count} {word}' for word, count in sorted(how.items()))}; {graph.drives.in_words()}"
    if answered:
        means = [statistics.mean(values) for values in zip(*((receipt.metres, receipt.seconds, wall_s)
                                                             for _, receipt, wall_s in answered), strict=True)]
        note += "; of those answered right, on average: {:.1f} m, {:.0f} s of the robot's time, {:.0f} s".format(*means)
    return {"name": f"{len(ended)} questions of {dataset} in {len({sample.scene for sample, _ in ended})} houses, "
                    f"driven by {graph.name}", "median_ms": "", "baseline": "", "ratio": "", "note": note}
