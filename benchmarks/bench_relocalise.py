"""Where one map of memory lies in another: 20 houses after a week in which things were moved, and all pairs of houses.

EQA_BENCH_HOUSES=5 takes fewer. Each house is toured once. A week later 30 % of what can be moved stands elsewhere, and
a robot looks round in one or two rooms from another start, in a new map frame; once with exact depth and poses, once
with noise. The files are written by MemoryStore from frames, as the memory node writes them.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import relocalise_sessions as sessions
from eqa_nodes.core.memory import MemoryStore
from eqa_nodes.core.relocalisation.place import KnownStorey, places_of
from eqa_nodes.core.relocalisation.registration import Registration, register
from eqa_nodes.core.types.geometry import Pose2, compose, inverse, pose2_of
from eqa_nodes.core.types.views import Keyframe

KINDS = ("exact", "noisy")
RIGHT_M, RIGHT_DEG = 0.10, 3.0


class House(NamedTuple):
    """What is remembered of a house. before_from: the true pose of each later map in that of the tour."""

    before: list[Keyframe]
    later: dict[str, list[Keyframe]]
    before_from: dict[str, Pose2]
    changed: float


def rows() -> list[dict[str, object]]:
    """Return rows: name, median_ms, baseline, ratio, note."""
    seeds = range(int(os.environ.get("EQA_BENCH_HOUSES", "20")))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{seed}.sqlite" for seed in seeds]
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            houses = list(pool.map(remembered, paths, seeds))
    _same(houses, "exact", 0)  # compiles
    return [*(_same_row(houses, kind) for kind in KINDS), _pairs_row(houses)]


def remembered(path: Path, seed: int) -> House:
    """Write the sessions of a house into a file and read them back, as an alignment does."""
    rng = np.random.default_rng(seed)
    before, after = sessions.world_of(seed, False), sessions.world_of(seed, True)
    frames = {name: Pose2(*rng.uniform(-20, 20, 2), float(rng.uniform(-math.pi, math.pi)))
              for name in ("before", *KINDS)}
    sessions.memory_of(path, "before", before, sessions.tour(before, rng), frames["before"], 0)
    changed = []
    for week, kind in enumerate(KINDS, start=1):
        poses = sessions.glance(after, rng)
        changed.append(sessions.changed(before, after, poses))
        sessions.memory_of(path, kind, after, poses, frames[kind], week * sessions.WEEK_NS,
                           rng if kind == "noisy" else None)
    store = MemoryStore(path, write=False)
    views = {name: store.views_of_map(name) for name in frames}
    store.close()
    truth = {kind: pose2_of(compose(frames["before"].transform(), inverse(frames[kind].transform())))
             for kind in KINDS}
    print(f"house {seed}: {', '.join(f'{len(v)} views {n}' for n, v in views.items())}; "
          f"{statistics.fmean(changed):.0%} of the pixels of later views show something else", flush=True)
    return House(views.pop("before"), views, truth, statistics.fmean(changed))


def error_of(found: Registration, truth: Pose2, views: list[Keyframe]) -> tuple[float, float]:
    """Return how far off a registration is: metres in the middle of what was driven, degrees."""
    x, y = np.mean([k.map_from_base.xyz[:2] for k in views], axis=0).tolist()
    here = Pose2(x, y, 0.0).transform()
    a, b = pose2_of(compose(found.pose.transform(), here)), pose2_of(compose(truth.transform(), here))
    return a.distance(b), abs(math.degrees(math.remainder(a.yaw - b.yaw, 2 * math.pi)))


def _same(houses: list[House], kind: str, i: int) -> tuple[Registration, float, float, tuple[float, float]]:
    house = houses[i]
    begin, cpu = time.perf_counter(), time.process_time()
    found = register(places_of(house.later[kind]), places_of(house.before))
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return found, seconds, cpu, error_of(found, house.before_from[kind], house.later[kind])


def _same_row(houses: list[House], kind: str) -> dict[str, object]:
    outcomes = [_same(houses, kind, i) for i in range(len(houses))]
    for i, (found, seconds, _, (metres, degrees)) in enumerate(outcomes):
        print(f"house {i} {kind}: off by {metres * 100:.1f} cm, {degrees:.2f} degrees; overlap {found.overlap:.2f}, "
              f"agreement {found.agreement:.2f}, walls {found.structure:.2f}, lying {found.lying:.2f}, second "
              f"{found.second:.2f}; {seconds:.2f} s {found.refused}", flush=True)
    accepted = [o for o in outcomes if not o[0].refused]
    right = [o for o in accepted if o[3][0] <= RIGHT_M and o[3][1] <= RIGHT_DEG]
    return {"name": f"relocalise in {len(houses)} houses a week later, {kind}",
            "median_ms": round(1e3 * statistics.median(o[1] for o in outcomes)),
            "note": f"{len(right)} right within 10 cm and 3 degrees, {len(accepted) - len(right)} wrong, "
                    f"{len(outcomes) - len(accepted)} refused; worst {100 * max(o[3][0] for o in right):.1f} cm, "
                    f"{max(o[3][1] for o in right):.2f} degrees; longest {max(o[1] for o in outcomes):.2f} s, CPU time "
                    f"{max(o[2] for o in outcomes):.2f} s; {statistics.fmean(h.changed for h in houses):.0%} of the "
                    "pixels show something else"}


def _pairs_row(houses: list[House]) -> dict[str, object]:
    """Look for what was seen later in one house in the tour of another: every pair once, half of them noisy."""
    before = [places_of(h.before) for h in houses]
    later: list[dict[str, list[KnownStorey]]] = [{k: places_of(v) for k, v in h.later.items()} for h in houses]
    accepted, times, pairs = [], [], list(combinations(range(len(houses)), 2))
    for i, j in pairs:
        a, b = (i, j) if (i + j) % 2 else (j, i)
        begin = time.perf_counter()
        found = register(later[b][KINDS[i % 2]], before[a])
        times.append(time.perf_counter() - begin)
        if not found.refused:
            accepted.append((a, b))
            print(f"WRONG: house {b} accepted in house {a}: {found}", flush=True)
    return {"name": f"relocalise in another house, all {len(pairs)} pairs of {len(houses)}",
            "median_ms": round(1e3 * statistics.median(times)), "note": f"{len(accepted)} of {len(pairs)} accepted"}
