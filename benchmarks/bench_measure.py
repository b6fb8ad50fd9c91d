"""Measured answers about the built-in houses: how many are right, and by how much lengths are off.

Nothing is explored: the robot goes the shortest path of each question past its target views, and looks round there.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from eqa_nodes.bench.datasets import open_dataset
from eqa_nodes.bench.judges.offline import OfflineJudge
from eqa_nodes.bench.samples import Sample
from eqa_nodes.core.answerers.label.answerer import LabelAnswerer
from eqa_nodes.core.language.quantities import lengths
from eqa_nodes.core.perception.instances import sightings
from eqa_nodes.core.perception.projection import geometry_of
from eqa_nodes.core.types.geometry import Pose2, wrap
from eqa_nodes.core.types.questions import Answer
from eqa_nodes.core.types.remembered import Recalled
from eqa_nodes.core.types.robot import RobotModel
from eqa_nodes.core.types.views import Keyframe
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.house.world import seed_of, world
from sim_bridge.simulator import EpisodeSetup

QUESTIONS = int(os.environ.get("EQA_MEASURE_QUESTIONS", "100"))
STRIDE_M, LOOKS_DEG, SHOWN = 0.5, (-60, -30, 0, 30, 60), 12  # metres between views, headings at the end, views shown


def rows() -> list[dict[str, object]]:
    """Return one row a kind of question."""
    marks: dict[str, list[bool]] = {}
    off: dict[str, list[float]] = {}
    spent: list[float] = []
    judge, simulator = OfflineJudge(), HouseSimulator()
    with closing(simulator):
        for sample in open_dataset("house-measure", limit=QUESTIONS):
            views = list(_views(simulator, sample))
            began = time.perf_counter()
            answer = _answer(sample, views)
            spent.append(time.perf_counter() - began)
            kind, right = str(sample.metadata["measure"]), judge.judge(sample, answer.text).sigma == 5
            for name in (kind, "all"):
                marks.setdefault(name, []).append(right)
            if measured := lengths(answer.text):
                truth = float(str(sample.metadata["metres"]))
                for name in (kind, "all"):
                    off.setdefault(name, []).append(abs(measured[0] - truth))
            print("right" if right else "WRONG", f"{sample.id}: {sample.question} {answer.text or answer.message} "
                  f"({answer.confidence:.2f}); truth {sample.answer}, {sample.metadata['metres']} m", flush=True)
    return [_row(kind, marks[kind], off.get(kind, []), spent) for kind in sorted(marks)]


def _row(kind: str, right: list[bool], off: list[float], spent: list[float]) -> dict[str, object]:
    p50, p90 = (100 * float(np.percentile(off, p)) if off else math.nan for p in (50, 90))
    return {"name": f"measured answers, {kind}", "median_ms": round(1000 * float(np.median(spent))),
            "baseline": f"{len(right)} questions", "ratio": round(float(np.mean(right)), 3),
            "note": f"ratio = share right; {p50:.1f} cm off in the median, {p90:.1f} cm at the 90th percentile"}


def _views(simulator: HouseSimulator, sample: Sample) -> Iterator[Keyframe]:
    """Yield views along the shortest path past the target views, and round each of them."""
    base = RobotModel()
    robot = replace(base, camera=replace(base.camera, color=False))
    assert sample.start is not None
    for number, pose in enumerate(_poses(sample, robot), 1):
        step = simulator.reset(EpisodeSetup(sample.scene, sample.id, pose, 0, robot, 0.0))
        frame = step.frame
        yield Keyframe(number, number, frame.map_from_base, b"", sightings(frame, simulator.labels()),
                       geometry=geometry_of(frame))


def _poses(sample: Sample, robot: RobotModel) -> Iterator[Pose2]:
    place, at = world(seed_of(sample.scene)), sample.start
    assert at is not None
    for view in sample.viewpoints:
        heading = at.yaw
        for (ax, ay), (bx, by) in pairwise(place.shortest_path((at.x, at.y), (view[0], view[1]), robot)):
            heading, long = math.atan2(by - ay, bx - ax), math.dist((ax, ay), (bx, by))
            for k in range(max(1, int(long / STRIDE_M))):
                share = k * STRIDE_M / long if long else 0.0
                pose = Pose2(ax + share * (bx - ax), ay + share * (by - ay), heading)
                if place.free(pose.x, pose.y, robot):
                    yield pose
        targets: Any = sample.metadata["targets"]
        middle = np.mean([place.house.object_by_id(int(t)).position[:2] for t in targets], axis=0)
        towards = math.atan2(middle[1] - view[1], middle[0] - view[0])
        for degrees in LOOKS_DEG:
            yield Pose2(view[0], view[1], wrap(towards + math.radians(degrees)))
        at = Pose2(view[0], view[1], heading)


def _answer(sample: Sample, views: list[Keyframe]) -> Answer:
    """Return the answer from the views that promise most, as an agent shows them to its answerer."""
    answerer, question = LabelAnswerer(), sample.as_question()
    judged = sorted(answerer.assess(question, views), key=lambda a: (-a.enough, -a.relevance, a.keyframe_id))
    known = {view.id: view for view in views}
    return answerer.answer(question, [Recalled(known[a.keyframe_id], a.enough, "") for a in judged[:SHOWN]])
