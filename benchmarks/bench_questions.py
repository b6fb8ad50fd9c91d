"""Questions one after the other for 100 minutes, as a robot gets them: does memory stay flat, and does each one end?

The simulated robot is driven by Nav2's own servers where they are installed, elsewhere by a stand-in, in real time, a
process a node, with everything noisy: odometry drifts and slips, localisation jumps, depth is noisy, objects are missed
and confused, and three people walk about. Ctrl-C ends it early with what was measured so far.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.asking import FAILED, ask
from benchmarks.bench_soak import COMPRESSED, ROBOT, rss_mb
from benchmarks.driven import Driven, driven
from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.samples import Sample
from eqa_nodes.config.graph import driven_by, merged, of_robot
from eqa_nodes.config.nodes import NAV2
from eqa_nodes.core.types.questions import Limits

MINUTES, WARM_S, WANTED = 100, 600.0, 1.05
NOISY = Path(__file__).resolve().parents[1] / "launch" / "params" / "noisy.yaml"
LIMITS = Limits(metres=40.0, seconds=240.0)


def rows() -> list[dict[str, object]]:
    """Return a row of how the questions ended, and one a process: its memory at the end and after the warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        chosen = driven_by(NAV2)
        chosen["memory"] = {"labels": True, "folder": f"{folder}/memory"}
        chosen["recorder"] = {"folder": f"{folder}/bags", **COMPRESSED}
        with driven(Path(folder), NAV2, merged(NOISY, of_robot(ROBOT), chosen)) as world:
            soak = Soak(world)
            with contextlib.suppress(KeyboardInterrupt):
                soak.run()
            restarts = world.graph.restarts()
        left = processes_of(world.graph.domain)
    return [soak.ends(restarts, left), *soak.memory()]


class Soak:
    """Asks, and measures after each question."""

    def __init__(self, world: Driven) -> None:
        self._world, self._pids = world, {child.nodes[0]: child.process.pid for child in world.graph.children}
        self._begin = time.monotonic()
        self.ended: Counter[str] = Counter()
        self.megabytes: list[tuple[float, dict[str, float]]] = []

    @property
    def spent_s(self) -> float:
        return time.monotonic() - self._begin

    def run(self) -> None:
        """Ask for MINUTES; a question that has begun may end."""
        for number, sample in enumerate(self._samples()):
            if self.spent_s > 60 * MINUTES:
                return
            how, why, *_ = ask(self._world.client, self._world.driver, f"q{number}", sample, LIMITS)
            self.ended[how] += 1
            self.megabytes.append((self.spent_s, {node: rss_mb(pid) for node, pid in self._pids.items()}))
            print(f"{self.spent_s / 60:5.1f} min  {how:9}  {sample.scene}  {sample.question}  {why}  "
                  f"{self._world.drives.in_words()}", flush=True)

    @staticmethod
    def _samples() -> Iterator[Sample]:
        seed = 0
        while True:
            yield from open_dataset("house-people", limit=5, seed=seed)
            seed += 1

    def ends(self, restarts: dict[str, int], left: list[int]) -> dict[str, object]:
        """Return the row of how the questions ended."""
        counts = ", ".join(f"{count} {how}" for how, count in sorted(self.ended.items()))
        ended = sum(self.ended.values()) - self.ended[FAILED]
        return {"name": f"questions for {self.spent_s / 60:.0f} minutes, all noisy, driven by {self._world.name}",
                "median_ms": "", "baseline": "", "ratio": "",
                "note": f"{ended} of {sum(self.ended.values())} ended: {counts}; {self._world.drives.in_words()}; "
                        f"processes started anew: {sum(restarts.values())}; processes left after the end: {len(left)}"}

    def memory(self) -> list[dict[str, object]]:
        """Return a row a process: medians of the ten questions after the warm-up, and of the last ten."""
        warm = [sizes for at, sizes in self.megabytes if at > WARM_S]
        if len(warm) < 20:
            return [{"name": "memory over questions", "note": f"{len(warm)} questions after the warm-up of "
                                                              f"{WARM_S / 60:.0f} minutes are too few"}]
        first, last = ({node: statistics.median(sizes[node] for sizes in part) for node in self._pids}
                       for part in (warm[:10], warm[-10:]))
        return [{"name": f"memory of {node} over questions", "median_ms": "", "baseline": f"{first[node]:.0f} MB",
                 "ratio": round(last[node] / first[node], 3),
                 "note": f"{last[node] - first[node]:+.1f} MB resident (wanted: at most {WANTED:g})"}
                for node in self._pids]


def processes_of(domain: int) -> list[int]:
    """Return the processes, but for this one, whose environment names the ROS domain."""
    wanted, found = f"ROS_DOMAIN_ID={domain}".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # it has ended, or belongs to somebody else
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found
