"""Overhead of the graph per step and per answer from memory, its start time, and its memory in an hour of driving."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.timing import Figure, median_ms, resident_mb, time_ms, times_ms
from eqa_nodes.config.graph import Parameters, merged, of_robot
from eqa_nodes.core.types.floor import Action
from eqa_nodes.core.types.questions import Question
from eqa_nodes.core.types.robot import CameraModel, RobotModel
from eqa_nodes.ros.client import GraphClient
from eqa_nodes.ros.runner import RunningGraph
from sim_bridge.house.simulator import HouseSimulator
from sim_bridge.simulator import EpisodeSetup

SCENE, STEPS, WARM_UP = "house:3", 24, 12
TURNS, ASKED = 12, 20
FORMS = {"of the past": "When did you last see the {}?",
         "of views, by rules over labels": "Is there a {} in the house?"}
HOUR_S, WARM_S = 3600, 600
SMALL = RobotModel(camera=CameraModel(320, 240))  # an hour of larger or raw images does not fit on every disk


def figures() -> list[Figure]:
    """Return the times of a step, the start and answers from memory, each with a baseline of the same run."""
    return [*_steps(False), *_steps(True), *_answers()]


@contextmanager
def _running(isolate: bool = True, robot: RobotModel = RobotModel(), compress: bool = False
             ) -> Iterator[tuple[RunningGraph, GraphClient]]:
    """Run a graph with labels in a new folder, in an episode that has begun."""
    with tempfile.TemporaryDirectory() as folder:
        bags = {"folder": f"{folder}/bags", **({"bag.color": "jpeg", "bag.depth": "png"} if compress else {})}
        own: Parameters = {"memory": {"labels": True, "folder": f"{folder}/memory"}, "recorder": bags}
        with RunningGraph(Path(folder), merged(None, of_robot(robot), own), isolate=isolate) as graph, \
                GraphClient(graph.environment) as client:
            client.reset(SCENE, "bench", None, 0)
            yield graph, client


def _steps(isolate: bool) -> list[Figure]:
    """Return the figures of a step; beside each one the same step is taken by the simulator alone."""
    simulator = HouseSimulator()
    simulator.reset(EpisodeSetup(SCENE))
    name, begin = "a process a node" if isolate else "one process", time.perf_counter()
    with _running(isolate) as (graph, client):
        up, act = (time.perf_counter() - begin) * 1e3, client.services["act"]
        works = (lambda: act.call(60.0, action=int(Action.TURN_LEFT)), lambda: simulator.act(Action.TURN_LEFT))
        pairs = [[time_ms(work) for work in works] for _ in range(WARM_UP + STEPS)][WARM_UP:]
        step, alone = (statistics.median(times) for times in zip(*pairs, strict=True))
        beyond = statistics.median(both - simulated for both, simulated in pairs)
        memory = sum(map(_shared_mb, (graph.server.pid, *(child.process.pid for child in graph.children))))
    return [Figure(f"lock-step action, {name}", round(step, 1), f"simulator alone, {alone:.1f} ms",
                   round(step / alone, 2), f"{beyond:.1f} ms beyond rendering (of pairs); all written and durable"),
            Figure(f"graph up and its first episode, {name}", round(up, 1),
                   note=f"{memory / 1024:.2f} GiB (proportional set size) after the steps")]


def _shared_mb(pid: int) -> float:
    """Return the proportional memory of a process (shared pages are divided), so that the sum is correct."""
    line = next(line for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) / 1024


def _answers() -> Iterator[Figure]:
    """Ask questions that memory can answer, without driving and without a model."""
    with _running() as (_, client):
        for _ in range(TURNS):
            client.services["act"].call(60.0, action=int(Action.TURN_LEFT))
        recall = client.services["recall"]
        views = recall.call(60.0, in_order=True).keyframes
        thing = Counter(s.label.kind for view in views for s in view.sightings).most_common(1)[0][0]
        once = median_ms(lambda: recall.call(60.0, text=thing, limit=8), ASKED, WARM_UP)
        for form, words in FORMS.items():
            took = times_ms(lambda words=words: _answered(client, words.format(thing)), ASKED, WARM_UP)  # type: ignore[misc]
            median = statistics.median(took)
            yield Figure(f"answer from memory, {form}", round(median, 1), f"one recall, {once:.1f} ms",
                         round(median / once, 2), f"through the graph, a process a node; worst of {ASKED} "
                         f"{max(took):.0f} ms, {len(views)} views (wanted: 300 ms)")


def _answered(client: GraphClient, text: str) -> None:
    answer = client.ask(Question(text, may_explore=False))
    if answer.abstained or answer.error:
        raise RuntimeError(f"{text!r} was not answered: {answer.message}")


def hour() -> list[Figure]:
    """Return the memory of each process after an hour of simulated time in lock-step, compared with an early value."""
    with _running(robot=SMALL, compress=True) as (graph, client):
        begin, pids = time.monotonic(), {child.nodes[0]: child.process.pid for child in graph.children}
        _drive(client, WARM_S)
        warm = {node: resident_mb(pid) for node, pid in pids.items()}
        _drive(client, HOUR_S - WARM_S)
        minutes, after = (time.monotonic() - begin) / 60, {node: resident_mb(pid) for node, pid in pids.items()}
    return [Figure(f"memory of {node} over an hour of driving", None, f"after {WARM_S / 60:.0f} minutes, "
                   f"{warm[node]:.0f} MB", round(after[node] / warm[node], 4),
                   f"{after[node] - warm[node]:+.1f} MB resident (wanted: at most 1.02); "
                   f"{round(HOUR_S / SMALL.step_s)} observations of 320x240, in {minutes:.0f} minutes")
            for node in pids]


def _drive(client: GraphClient, seconds: float) -> None:
    """Drive at random for some seconds of simulated time."""
    random, act = np.random.default_rng(0), client.services["act"]
    turns, turn = 0, Action.TURN_LEFT
    for _ in range(round(seconds / SMALL.step_s)):
        done = act.call(60.0, action=int(turn if turns else Action.MOVE_FORWARD))
        turns = max(0, turns - 1)
        if done.collided or random.random() < 0.02:
            turns, turn = int(random.integers(1, 7)), (Action.TURN_LEFT, Action.TURN_RIGHT)[random.integers(2)]
